"""Ways to hold arrays that irad need not know: whatever it does, it is not a wrong number."""

from __future__ import annotations

import contextlib
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad
from tests.mutation_alias.parts import values
from tests.oracles import Refused, assert_derivatives_right

Pair = namedtuple("Pair", "first second")
RECORD = np.dtype([("u", "f8"), ("v", "f8")])


@njit
def in_a_list(x: Any, y: Any) -> Any:
    held = [x, y]
    for k in range(4):
        held[k % 2][k] = held[(k + 1) % 2][k] * x[0]
    return x[1] * y[2] + x[3] * y[0]


@njit
def in_a_namedtuple(x: Any, y: Any) -> Any:
    held = Pair(x, y)
    for k in range(4):
        held.first[k] = held.second[k] * x[0]
    return x[1] * y[2] + x[3] * y[0]


@njit
def tuple_argument(arrays: Any, w: Any) -> Any:
    x, y = arrays
    for k in range(4):
        x[k] = y[k] * x[0] * w
    return x[1] * y[2] + x[3] * arrays[1][0]


@njit
def in_fields(x: Any, y: Any) -> Any:
    records = np.zeros(4, RECORD)
    u, v = records["u"], records["v"]
    for k in range(4):
        u[k] = x[k] * x[k]
        v[k] = u[3 - k] * y[k]
    return records[1].u * records[2].v


@njit
def as_integers(x: Any, y: Any) -> Any:
    bits = x.view(np.int64)
    for k in range(4):
        bits[k] = y.view(np.int64)[3 - k]
    return x[1] * y[2] + x[3] * y[0]


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (in_a_list, (values(4), values(4, 0.5))),
        (in_a_namedtuple, (values(4), values(4, 0.5))),
        (tuple_argument, ((values(4), values(4, 0.5)), 0.9)),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
@pytest.mark.parametrize("mode", ["forward", "reverse", "split"])
def test_right_or_refused(kernel: Any, args: tuple[Any, ...], mode: str) -> None:
    with contextlib.suppress(Refused):
        assert_derivatives_right(kernel, args, modes=[mode], analytic=False)


def test_fields_of_records_are_right_or_refused() -> None:
    x, y = values(4), values(4, 0.5)
    with contextlib.suppress(irad.IradError):
        x_bar, y_bar = irad.grad(in_fields, (0, 1))(x, y)
        assert x_bar == pytest.approx([0.0, 4.0 * x[1] ** 3 * y[2], 0.0, 0.0])
        assert y_bar == pytest.approx([0.0, 0.0, x[1] ** 4, 0.0])


def test_integer_views_move_floats_or_are_refused() -> None:
    x, y = values(4), values(4, 0.5)
    with contextlib.suppress(irad.IradError):
        x_bar, y_bar = irad.grad(as_integers, (0, 1))(x.copy(), y.copy())
        assert not x_bar.any()
        assert y_bar == pytest.approx([2.0 * y[0], 0.0, 2.0 * y[2], 0.0])


@njit
def through_workspace(x: Any, work: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        work[i] = x[i] * x[i]
    for i in range(x.size):
        total += work[i] * (i + 1.0)
    return total


def test_active_data_passes_through_a_constant_workspace() -> None:
    x, work, bar = values(4), np.zeros(4), np.zeros(4)
    right = 2.0 * x * np.arange(1.0, 5.0)
    assert irad.grad(through_workspace)(x, work) == pytest.approx(right)
    irad.autodiff(irad.Reverse, through_workspace, irad.Duplicated(x, bar), irad.Const(work))
    assert bar == pytest.approx(right)
    _, dot = irad.autodiff(irad.Forward, through_workspace, irad.Duplicated(x, np.ones(4)), irad.Const(work))
    assert dot == pytest.approx(right.sum())
    assert work == pytest.approx(x * x, rel=1e-15)


@njit
def product(x: Any, y: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i] * y[i]
    return total


def test_arrays_that_share_memory_are_one_variable() -> None:
    x = values(4)
    for bar in irad.grad(product, (0, 1))(x, x):
        assert bar == pytest.approx(3.0 * x * x)
