"""What we emit for one feature each: the text, and that it computes derivatives."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from irad.ir.write import write
from tests.emit.derived import Derived, dot_product_gap
from tests.emit.golden import NAMES, Golden, mismatch


@pytest.fixture(params=NAMES, scope="module")
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


@pytest.fixture(scope="module")
def derived(golden: Golden) -> Derived:
    return Derived(golden.text, **golden.asked)


def test_text(golden: Golden, derived: Derived) -> None:
    assert golden.checks
    assert not mismatch(golden.checks, "\n".join(write(m) for m in derived.modules))


def test_forward_and_reverse_agree(golden: Golden, derived: Derived, rng: np.random.Generator) -> None:
    for arguments in golden.runs(rng):
        assert dot_product_gap(derived, arguments, rng) <= 1e-12, arguments


def test_a_discarded_infinity_stays_discarded() -> None:
    golden = Golden("speculated")
    derived = Derived(golden.text, **golden.asked)
    x_bar = np.ones(1)
    assert derived.vjp([np.zeros(1), 0.7], [x_bar]).tolist() == [0.0]
    assert x_bar.tolist() == [0.0]
    x_dot = np.ones(1)
    derived.jvp([np.zeros(1), 0.7], [x_dot], [1.0])
    assert x_dot.tolist() == [0.0]


def test_a_failing_call_leaves_its_status() -> None:
    golden = Golden("raises")
    derived = Derived(golden.text, **golden.asked)
    x = np.array([1.0, 12345.0])
    frame = np.zeros(derived.frame_size, np.uint8)
    assert derived.call("augmented", [x, 2, np.zeros(2), frame], ctypes.c_int32) == 3
    assert derived.jvp([x, 2], [np.zeros(2)], []) == 3
