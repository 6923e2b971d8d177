"""Lists of `numba.typed` as arguments: derivatives are lists too, and the caller sees what the kernel does to them."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba.typed import List

import irad

X = [0.7, -1.2, 0.4, 1.5]
N = [2, 0, 3]


@numba.njit
def assigned(values, counts, w):
    total = 0.0
    for i in range(len(values)):
        values[i] *= w + values[i - 1]
        total += values[i] * counts[i % len(counts)]
    values[1] = total
    return total * values[-1] + values[0]


@numba.njit
def edited(values, counts, w):
    """Grows beyond its room, moves, shrinks; and raises late where a value is large."""
    counts.append(len(values))
    first = values.pop(0)
    for i in range(9):
        values.append(values[i] * first + w)
    values.insert(1, first * w)
    del values[3:9:2]
    values[0] *= values[-1]
    if values[0] > 50.0:
        raise ValueError("large", len(values))
    return values[0] * values[-2] + values[1] * counts[-1]


@numba.njit
def emptied(values, counts, w):
    total = w
    while len(values) > 0:
        total = total * 0.5 + values.pop() * values[0] if len(values) > 1 else total * values.pop()
    counts.clear()
    return total


def primal(kernel: Any, x: Any, w: float = 0.3) -> tuple[Any, ...]:
    """What a kernel returns or raises, and what it leaves in its lists."""
    values, counts = List(x), List(N)
    try:
        found: Any = kernel(values, counts, w)
    except ValueError as error:
        found = error.args
    return found[0] if isinstance(found, tuple) and len(found) == 3 else found, list(values), list(counts)


def by_differences(kernel: Any, x: list[float], w: float = 0.3) -> list[float]:
    def at(i: int, h: float) -> float:
        return kernel(List([v + h * (i == j) for j, v in enumerate(x)]), List(N), w)

    return [(at(i, 1e-6) - at(i, -1e-6)) / 2e-6 for i in range(len(x))]


@pytest.mark.parametrize("kernel", [assigned, edited, emptied])
def test_derivatives_by_a_list_and_what_the_kernel_does_to_it(kernel) -> None:
    gradient, expected = irad.value_and_grad(kernel), by_differences(kernel, X)
    values, counts = List(X), List(N)
    value, bar = gradient(values, counts, 0.3)
    assert isinstance(bar, List)
    np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-8)
    assert (value, list(values), list(counts)) == primal(kernel, X)
    for i, slope in enumerate(expected):
        values, counts = List(X), List(N)
        out, out_dot = irad.jvp(kernel, (values, counts, 0.3), (List(np.eye(len(X))[i]), None, 0.0))
        np.testing.assert_allclose(out_dot, slope, rtol=1e-6, atol=1e-8)
        assert (out, list(values), list(counts)) == primal(kernel, X)


def test_lists_that_were_empty() -> None:
    values, counts = List.empty_list(numba.float64), List.empty_list(numba.int64)
    with pytest.raises(IndexError):
        irad.grad(edited)(values, counts, 0.3)
    assert list(counts) == [0]
    for made in (List.empty_list(numba.float64), List([1.5])):
        value, slope = irad.value_and_grad(filled, argnums=1)(made, 0.5)
        assert (value, slope) == (0.5**2 * 9, 9.0)
        assert list(made)[-9:] == [0.5] * 9


@numba.njit
def filled(values, w):
    for _ in range(9):
        values.append(w)
    total = 0.0
    for i in range(len(values) - 9, len(values)):
        total += values[i] * values[-1]
    return total


def test_a_list_that_the_kernel_changed_before_it_raised() -> None:
    x = [3.0, 60.0, 2.0, 5.0]
    for derivative in (irad.value_and_grad(edited), irad.value_and_grad(edited, argnums=2)):
        assert primal(lambda *args, d=derivative: d(*args)[0], x) == primal(edited, x)


def test_pullbacks_keep_what_the_list_held() -> None:
    values = List(X)
    out, pull = irad.vjp(edited, values, List(N), 0.3)
    values[0] = 1e3
    for seed in (1.0, 2.0):
        bar, counts_bar, w_bar = pull(seed)
        np.testing.assert_allclose(bar, np.multiply(by_differences(edited, X), seed), rtol=1e-6)
        assert counts_bar is None
        h = 1e-6
        slope = (primal(edited, X, 0.3 + h)[0] - primal(edited, X, 0.3 - h)[0]) / (2 * h)
        np.testing.assert_allclose(w_bar, seed * slope, rtol=1e-6)
    assert out == primal(edited, X)[0]


def test_shadows_that_the_caller_owns() -> None:
    bar, values = List([0.0] * len(X)), List(X)
    irad.autodiff(irad.Reverse, assigned, irad.Duplicated(values, bar), irad.Const(List(N)), irad.Active(0.3))
    np.testing.assert_allclose(bar, by_differences(assigned, X), rtol=1e-6)
    values, dot = List(X), List([1.0] * len(X))
    _, out_dot = irad.autodiff(
        irad.Forward, assigned, irad.Duplicated(values, dot), irad.Const(List(N)), irad.Const(0.3)
    )
    np.testing.assert_allclose(out_dot, sum(by_differences(assigned, X)), rtol=1e-6)
    with pytest.raises(irad.BadArguments, match=r"changed the length of values, whose shadow cannot follow"):
        irad.autodiff(irad.Reverse, edited, irad.Duplicated(List(X), List(X)), irad.Const(List(N)), irad.Active(0.3))


@numba.njit
def priced(pairs, flags, parts):
    total = 0.0
    for (x, n), (a, b) in zip(pairs, parts[0]):  # noqa: B905
        total += x**n * a.real + (a * b).imag * parts[1]
    return total if flags[0] else 0.0


def test_items_that_are_tuples_and_complex_and_lists_in_tuples() -> None:
    pairs, flags = List([(1.5, 2), (0.5, 3)]), List([True])
    parts = (List([(1 + 2j, 0.5 - 1j), (2 - 1j, 1j)]), 0.25)
    pairs_bar, (items_bar, y_bar) = irad.grad(priced, argnums=(0, 2))(pairs, flags, parts)
    assert [tuple(map(float, pair)) for pair in pairs_bar] == [(3.0, 0.0), (1.5, 0.0)]
    np.testing.assert_allclose(np.array(list(items_bar)).ravel(), _by_parts(pairs, flags, parts), rtol=1e-6)
    np.testing.assert_allclose(y_bar, sum((a * b).imag for a, b in parts[0]))


def _by_parts(pairs: Any, flags: Any, parts: Any) -> list[complex]:
    items, h = np.array(list(parts[0])).ravel(), 1e-6

    def at(i: int, step: complex) -> float:
        moved = items.copy()
        moved[i] += step
        return priced(pairs, flags, (List([tuple(p) for p in moved.reshape(-1, 2)]), parts[1]))

    return [
        (at(i, h) - at(i, -h)) / (2 * h) + 1j * (at(i, 1j * h) - at(i, -1j * h)) / (2 * h) for i in range(items.size)
    ]


@numba.njit
def chained(values):
    for i in range(1, len(values)):
        values[i] *= values[i - 1] * values[i]
    return values[-1]


@numba.njit
def slopes(values):
    made = List()
    for value in values:
        made.append(value * 2.0)
    return irad.grad(chained)(values)[1] + irad.grad(chained)(made)[0]


def test_derivatives_called_in_njit_code_and_differentiated_again() -> None:
    value = slopes(List(X))
    assert value == pytest.approx(irad.grad(chained)(List(X))[1] + irad.grad(chained)(List(np.multiply(X, 2.0)))[0])
    expected = by_differences(lambda values, *_: slopes(values), X)
    np.testing.assert_allclose(irad.grad(slopes)(List(X)), expected, rtol=1e-5)


@numba.njit
def both(one, other):
    one[0] *= other[0]
    return one[0]


@numba.njit
def of_arrays(arrays):
    return arrays[0][0]


@numba.njit
def slope_of_edited(values, counts):
    return irad.grad(edited)(values, counts, 0.3)[0]


def test_what_is_refused() -> None:
    values = List(X)
    with pytest.raises(irad.BadArguments, match=r"one and other are the same container"):
        irad.grad(both)(values, values)
    with pytest.raises(irad.BadArguments, match=r"the tangent of one has another shape"):
        irad.jvp(both, (values, List(X)), (List([1.0]), None))
    with pytest.raises(irad.Unsupported, match=r"(?s)one is reflected list.*pass a numba.typed.List"):
        irad.grad(both)([1.0], List(X))
    with pytest.raises(irad.Unsupported, match=r"(?s)arrays is ListType\[ListType.*make others in the kernel"):
        irad.grad(of_arrays)(List([List([1.0])]))
    with pytest.raises(irad.Unsupported, match=r"(?s)edited changes, or may change, the length.*not twice"):
        irad.grad(slope_of_edited)(values, List(N))
    frozen = List(X)
    frozen._make_immutable()
    with pytest.raises(ValueError, match="immutable"):
        irad.grad(both)(frozen, List(X))
    with pytest.raises(IndexError):
        irad.grad(both)(List.empty_list(numba.float64), List(X))
