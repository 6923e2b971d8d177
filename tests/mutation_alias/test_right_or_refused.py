"""Where active data may go by another name: held in structures, moved as bits, through constants."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad
from tests.mutation_alias.parts import values
from tests.oracles import assert_derivatives_right

Pair = namedtuple("Pair", "first second")
RECORD = np.dtype([("u", "f8"), ("v", "f8")])


@njit
def in_a_list(x: Any, y: Any) -> Any:
    held = [x, y]
    for k in range(4):
        held[k % 2][k] = held[(k + 1) % 2][k] * x[0]
    return x[1] * y[2] + x[3] * y[0]


@njit
def in_a_list_with_its_own(x: Any, y: Any) -> Any:
    held = [x * 1.0, y]
    total = 0.0
    for array in held:
        total += array[0] * array[1]
    return total


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
def of_an_argument(records: Any, x: Any) -> Any:
    u, v = records["u"], records["v"]
    total = 0.0
    for k in range(4):
        u[k] = x[k] * x[k]
        v[k] = u[3 - k] * x[k]
        total += v[k] * u[k]
    return total


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (in_a_namedtuple, (values(4), values(4, 0.5))),
        (tuple_argument, ((values(4), values(4, 0.5)), 0.9)),
        (in_a_list, (values(4), values(4, 0.5))),
        (in_a_list_with_its_own, (values(4), values(4, 0.5))),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
@pytest.mark.parametrize("mode", ["forward", "reverse", "split"])
def test_arrays_held_in_tuples_and_lists(kernel: Any, args: tuple[Any, ...], mode: str) -> None:
    assert_derivatives_right(kernel, args, modes=[mode], analytic=False)


def test_fields_of_records() -> None:
    x, y = values(4), values(4, 0.5)
    x_bar, y_bar = irad.grad(in_fields, (0, 1))(x, y)
    assert x_bar == pytest.approx([0.0, 4.0 * x[1] ** 3 * y[2], 0.0, 0.0])
    assert y_bar == pytest.approx([0.0, 0.0, x[1] ** 4, 0.0])
    x_bar = irad.grad(of_an_argument, 1)(np.zeros(4, RECORD), x)
    # u[3 - k] is written before it is read for k of 2 and 3
    wanted = [2 * x[0] * x[3] ** 3, 2 * x[1] * x[2] ** 3, 3 * x[1] ** 2 * x[2] ** 2, 3 * x[0] ** 2 * x[3] ** 2]
    assert x_bar == pytest.approx(wanted)


# --- bits -----------------------------------------------------------------------------------------------------------


def moving(integer: Any) -> Any:
    sign = integer(np.iinfo(integer).min)

    @njit
    def kernel(x, y):
        bits, others = x.view(integer), y.view(integer)
        for k in range(4):
            bits[k] = others[3 - k] ^ sign
        bits[0], bits[1] = bits[1], bits[0]
        kept = np.empty(1, integer)
        kept[0] = others[1]
        return x[0] * x[1] + x[2] * x[2] * y[0] * kept.view(y.dtype)[0]

    return kernel


@pytest.mark.parametrize(("integer", "number"), [(np.int64, np.float64), (np.int32, np.float32)])
def test_integer_views_move_floats_and_flip_signs(integer: Any, number: Any) -> None:
    kernel, x, y = moving(integer), values(4).astype(number), values(4, 0.5).astype(number)
    value, (x_bar, y_bar) = irad.value_and_grad(kernel, (0, 1))(x.copy(), y.copy())
    wanted = [y[1] ** 3, 3 * y[1] ** 2 * y[0], y[3], y[2]]
    assert not x_bar.any()
    assert y_bar == pytest.approx(wanted, rel=1e-6)
    tangent = np.array([0.3, -0.2, 0.9, 0.4], number)
    result, dot = irad.jvp(kernel, (x.copy(), y), (np.ones(4, number), tangent))
    assert result == value == kernel(x, y)
    assert dot == pytest.approx(np.dot(wanted, tangent), rel=1e-6)


@njit
def by_sign(x):
    total, halves = 0.0, x * 0.5
    for i in range(x.size):
        total += x[i] ** 3 if np.signbit(x[i]) else x[i] * x[0]
        if np.signbit(halves[i]):
            halves[i] *= x[i]
    return total + np.sum(halves)


def test_numbers_whose_bits_are_tested() -> None:
    """LLVM loads such a number once, as an integer."""
    x = np.array([1.5, -2.0, 0.5])
    wanted = [2 * 1.5 + 0.5 + 0.5, 3 * 4.0 - 2.0, 1.5 + 0.5]
    value, bar = irad.value_and_grad(by_sign)(x)
    assert value == by_sign(x)
    assert bar == pytest.approx(wanted)
    assert irad.jvp(by_sign, (x,), (np.array([1.0, 2.0, 4.0]),))[1] == pytest.approx(np.dot(wanted, [1.0, 2.0, 4.0]))


@njit
def next_number(x):
    x.view(np.int64)[0] += 1
    return x[0] * x[1]


@njit
def magnitude(x):
    x.view(np.int64)[0] &= np.int64((1 << 63) - 1)
    return x[0] * x[1]


@njit
def half_a_number(x):
    halves = x.view(np.int32)
    halves[0] = halves[2]
    return x[0] * x[1]


@njit
def exponent(x):
    return x[1] * ((x.view(np.int64)[0] >> 52) & 0x7FF)


@pytest.mark.parametrize("kernel", [next_number, magnitude, half_a_number, exponent], ids=lambda f: f.__name__)
@pytest.mark.parametrize("derivative", [irad.grad, lambda f: lambda x: irad.jvp(f, (x,), (x,))], ids=["grad", "jvp"])
def test_arithmetic_on_bits_is_refused(kernel: Any, derivative: Any) -> None:
    with pytest.raises(irad.Unsupported, match=r"test_right_or_refused.*integer arithmetic on the bits"):
        derivative(kernel)(values(4))


# --- workspaces and constants ---------------------------------------------------------------------------------------


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
def partly_written(x, work):
    total = 0.0
    for i in range(0, x.size, 2):
        work[i] = x[i] * x[i] * work[i]
    for i in range(x.size):
        total += work[i] * x[i]
    return total


@njit
def in_a_tuple(x, pair):
    u, v = pair
    for i in range(x.size):
        a = u if i % 2 else v
        a[i] = x[i] * v[i]
        v[i] = u[i] * x[i]
    return u[0] * v[1] + v[2] * u[3]


@njit
def copied(x, work):
    work[:] = x
    work[1:] = work[:-1]
    return work[1] * work[2]


@njit
def of_integers(x, work):
    total = 0.0
    for i in range(x.size):
        work[i] = int(10.0 * x[i])
    for i in range(x.size):
        total += work[i] * x[i]
    return total


@pytest.mark.parametrize(
    ("kernel", "work", "modes"),
    [
        (partly_written, values(4, 0.5), ("forward", "reverse")),
        (partly_written, values(4, 0.5), ("gradient", "jvp")),
        (in_a_tuple, (values(4, 0.5), values(4, 0.4)), ("forward", "reverse")),
        (copied, values(4, 0.5), ("forward", "reverse")),
        (of_integers, np.zeros(4, np.int64), ("forward", "reverse")),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)
def test_active_data_passes_through_constants(kernel: Any, work: Any, modes: tuple[str, ...]) -> None:
    assert_derivatives_right(kernel, (values(4), work), [0], modes)


@njit
def through_integers(x, work):
    numbers = work.view(np.float64)
    for i in range(x.size):
        numbers[i] = x[i] * x[i]
    return numbers[0] * numbers[1]


def test_active_data_passes_through_a_workspace_of_integers() -> None:
    x = values(4)
    wanted = [2 * x[0] * x[1] ** 2, 2 * x[1] * x[0] ** 2, 0.0, 0.0]
    assert irad.grad(through_integers)(x, np.zeros(4, np.int64)) == pytest.approx(wanted)
    _, dot = irad.jvp(through_integers, (x, np.zeros(4, np.int64)), (np.ones(4), None))
    assert dot == pytest.approx(sum(wanted))


TABLE = values(4, 0.45)
FACTOR = 0.75


def with_closure(inner: Any) -> Any:
    @njit
    def kernel(x, n):
        total, work = 0.0, np.zeros(4)
        work[:] = TABLE
        for i in range(4):
            a = x if i % 2 == n else TABLE
            work[i] += x[i] * inner[3 - i] * FACTOR
            total += a[i] * work[i] * x[3 - i]
        return total

    return kernel


def test_globals_and_closures_are_constant_and_stay_so() -> None:
    table, inner = TABLE.copy(), values(4, 0.6)
    assert_derivatives_right(with_closure(inner), (values(4), 1))
    assert np.array_equal(table, TABLE)
    assert np.array_equal(inner, values(4, 0.6))


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
