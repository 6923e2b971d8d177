"""Every module that is emitted for every kernel passes our own check and LLVM's verifier. Nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
import pytest

import kernels
from irad import llvm
from irad.ir.write import write
from irad.pipeline import Derivation, Request
from tests.sharing import lowered_once

# these take LLVM long to normalise, and emit nothing that others do not
SLOW = ("hand", "gmm", "nbody")


@pytest.fixture(scope="module", autouse=True)
def _normalised_once() -> Iterator[None]:
    """All modes of a kernel share its text."""
    with lowered_once():
        yield


def request(name: str, mode: str, *, aliased: bool) -> Request:
    module, args = kernels.load(name), kernels.load(name).make_args("tiny")
    activity = [
        ("duplicated" if isinstance(a, np.ndarray) or mode == "forward" else "active")
        if i in module.WRT or i in module.OUTPUTS
        else "const"
        for i, a in enumerate(args)
    ]
    return Request(kernels.function(name), tuple(map(numba.typeof, args)), mode, tuple(activity), aliased)


@pytest.mark.parametrize("name", [n for n in kernels.names() if n not in SLOW])
def test_modules(name: str) -> None:
    for mode, aliased in (("forward", False), ("split", False), ("reverse", True)):
        derivation = Derivation(request(name, mode, aliased=aliased))
        for concrete in (False, True):
            module = derivation.module(concrete=concrete)  # checked by `irad.ir.check` as it is made
            if concrete:
                llvm.verify(write(module))
