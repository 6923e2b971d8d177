"""The normalised program, run as the primal, is Numba's own, bit for bit: results, writes to arguments, exceptions."""

from __future__ import annotations

import os
import pickle
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from typing import Any

import numba
import numpy as np
import pytest
from tests.frontend.corpus import CASES, Case, sum_of_squares
from tests.frontend.linked import linked

from irad import llvm
from irad.frontend.lower import lower

WORKERS = 2


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What happened to each case: "equal", or a description. Run in forked workers, so that a crash is an outcome."""
    lower(sum_of_squares, (numba.float64[::1],))  # warm: the workers inherit Numba's registries
    found: dict[str, str] = {}
    batches = [list(CASES)[i::WORKERS] for i in range(WORKERS)]
    running = [_start(batch) for batch in batches]
    for pid, reader, names in running:
        while True:
            done = dict(_received(reader))
            found |= done
            os.waitpid(pid, 0)
            names = [n for n in names if n not in done]
            if not names:
                break
            found[names[0]] = "the process crashed"
            pid, reader, names = _start(names[1:])
    return found


@pytest.mark.parametrize("name", CASES)
def test_equals_numba_bit_for_bit(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "equal"


def _start(names: list[str]) -> tuple[int, Connection, list[str]]:
    reader, writer = Pipe(duplex=False)
    pid = os.fork()
    if pid:
        writer.close()
        return pid, reader, names
    try:
        warnings.simplefilter("ignore")
        for name in names:
            start = time.perf_counter()
            writer.send((name, _outcome(CASES[name])))
            if os.environ.get("IRAD_TIMES"):
                print(f"{time.perf_counter() - start:6.2f} s {name}", flush=True)
    finally:
        os._exit(0)


def _received(reader: Connection) -> Iterator[tuple[str, str]]:
    try:
        while True:
            yield reader.recv()
    except EOFError:
        return


def _outcome(case: Case) -> str:
    try:
        ours, numbas = case.arguments(), case.arguments()
        lowered = lower(case.kernel, tuple(map(numba.typeof, ours)))
        got = _run(linked(llvm.normalize(lowered.text, lowered.name), lowered), ours)
        wanted = _run(case.kernel, numbas)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if not _same(got, wanted, case.exact):
        return f"result {got!r} instead of {wanted!r}"
    if not _same(ours, numbas, case.exact):
        return f"arguments {ours!r} instead of {numbas!r}"
    return "equal"


def _run(function: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return error


def _same(a: Any, b: Any, exact: bool) -> bool:
    if type(a) is not type(b):
        return False
    match a:
        case tuple() | numba.typed.List():
            return len(a) == len(b) and all(_same(x, y, exact) for x, y in zip(a, b, strict=True))
        case np.ndarray():
            return (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype) and _bits(a, b, exact)
        case Exception():
            return _same(a.args, b.args, exact)
        case numba.typed.Dict():
            return dict(a) == dict(b)
        case float() | int() | complex() | np.generic():
            return _bits(np.asarray(a), np.asarray(b), exact)
        case str() | None:
            return a == b
        case _ if hasattr(a, "_numba_type_") and hasattr(a, "v"):
            return _same((a.a, a.v), (b.a, b.v), exact)
        case _:
            return pickle.dumps(a) == pickle.dumps(b)


def _bits(a: np.ndarray, b: np.ndarray, exact: bool) -> bool:
    return a.tobytes() == b.tobytes() if exact else np.allclose(a, b, rtol=1e-13)
