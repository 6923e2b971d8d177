"""Tuples and named tuples that mix floats, complex numbers, arrays and what has no derivative."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad

Model = namedtuple("Model", "n gain weights table offset flags shape")
Pair = namedtuple("Pair", "left right")


@njit
def kernel(model, data):
    """Reads floats, arrays and integers of both arguments; builds, swaps and unpacks tuples on the way."""
    (first, scale), values = data
    total = 0.0
    state = Pair(first, (scale, model.n))
    for i in range(model.n):
        swapped = (state.right[0], state.left)
        total += model.weights[i] * model.table[i] * swapped[0] + model.gain * values[i % values.size]
        state = Pair(swapped[1] * model.gain, (swapped[0] + 0.1, model.n - i))
    if model.flags[1]:
        model.weights[0] = total * model.offset.real
    return total + model.weights[0] * abs(model.offset) + state.left * model.shape[1][0]


def arguments() -> tuple[Any, Any]:
    table = np.array([2, 3, 5])
    weights, values = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.25])
    return Model(3, 1.2, weights, table, 0.6 - 0.8j, (False, True), (None, (2.0, 7))), ((0.3, 0.9), values)


def flat(value: Any) -> np.ndarray:
    """The derivatives in a tuple, as real numbers."""
    if value is None:
        return np.zeros(0)
    if isinstance(value, tuple):
        return np.concatenate([flat(part) for part in value])
    return np.ravel(np.atleast_1d(value)).astype(complex).view(float)[:: 1 if np.iscomplexobj(value) else 2]


def moved(step: float, direction: Any) -> tuple[Any, Any]:
    def move(value: Any, along: Any) -> Any:
        if along is None:
            return value
        if isinstance(value, tuple):
            parts = [move(*pair) for pair in zip(value, along, strict=True)]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return value + step * along

    return move(arguments(), direction)


gradient = irad.value_and_grad(kernel, (0, 1))


def test_the_gradient_has_the_structure_of_the_argument(allocations: Callable[[], int]) -> None:
    expected, args = arguments(), arguments()
    value, (model, data) = gradient(*args)
    assert value == kernel(*expected)
    assert np.array_equal(args[0].weights, expected[0].weights)
    assert isinstance(model, Model) and (model.n, model.table, model.flags) == (None, None, (None, None))
    assert model.shape[0] is None and model.shape[1][1] is None
    # a gradient is a tangent, and the slope along it its own square
    squared = float(np.sum(flat((model, data)) ** 2))
    out, slope = irad.jvp(kernel, arguments(), (model, data))
    assert out == value and slope == pytest.approx(squared, rel=1e-13)
    h = 1e-7
    measured = (kernel(*moved(h, (model, data))) - kernel(*moved(-h, (model, data)))) / (2 * h)
    assert measured == pytest.approx(squared, rel=1e-6)
    before = allocations()
    gradient(*arguments())
    assert allocations() == before


def test_one_leaf_at_a_time() -> None:
    _, (model, data) = gradient(*arguments())
    unit = model._replace(gain=0.0, weights=np.zeros(3), offset=0j, shape=(None, (0.0, None)))
    none = ((0.0, 0.0), np.zeros(2))
    for direction, expected in (
        ((unit._replace(gain=1.0), none), model.gain),
        ((unit._replace(weights=np.array([0.0, 0.0, 1.0])), none), model.weights[2]),
        ((unit._replace(offset=1j), none), model.offset.imag),
        ((unit, ((0.0, 1.0), np.zeros(2))), data[0][1]),
        ((unit, ((0.0, 0.0), np.array([1.0, 0.0]))), data[1][0]),
    ):
        assert irad.jvp(kernel, arguments(), direction)[1] == pytest.approx(expected, rel=1e-13)


def test_shared_memory_and_constant_tuples() -> None:
    """An array in both tuples is one variable; a constant tuple that shares memory passes derivatives through."""
    model, (floats, _) = arguments()
    both = irad.grad(kernel, (0, 1))(model, (floats, model.weights[:2]))
    for position in (0, 1):
        model, (floats, _) = arguments()
        (one,) = irad.grad(kernel, (position,))(model, (floats, model.weights[:2]))
        assert flat(one) == pytest.approx(flat(both[position]), rel=1e-13)
    direction = np.array([0.7, -0.2, 0.4])
    h, ends = 1e-7, []
    for sign in (1, -1):
        model, (floats, _) = arguments()
        model = model._replace(weights=model.weights + sign * h * direction)
        ends.append(kernel(model, (floats, model.weights[:2])))
    assert both[0].weights @ direction == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)
    assert np.array_equal(both[0].weights[:2], both[1][1])


def test_inside_njit_and_by_pullback() -> None:
    @njit
    def inside(model, data):
        return irad.grad(kernel, (0, 1))(model, data)

    expected = gradient(*arguments())[1]
    np.testing.assert_allclose(flat(inside(*arguments())), flat(expected), rtol=1e-14)  # sums may be reassociated
    _, pullback = irad.vjp(kernel, *arguments())
    assert flat(pullback(2.0)) == pytest.approx(2 * flat(expected), rel=1e-13)


@njit
def made(x, pair):
    return Pair(x * pair[0], (x.size, 2.0 * pair[1])), x[0] * pair[1]


def test_results_are_tuples_too() -> None:
    x, pair = np.array([1.0, 2.0]), (3.0, 4j)
    _, pullback = irad.vjp(made, x, pair)
    x_bar, (by_float, by_complex) = pullback((Pair(np.array([1.0, 0.0]), (None, 1j)), 0j))
    assert np.array_equal(x_bar, [3.0, 0.0]) and (by_float, by_complex) == (1.0, 2j)
    _, dot = irad.jvp(made, (x, pair), (np.ones(2), (0.0, 1.0)))
    assert isinstance(dot[0], Pair) and np.array_equal(dot[0].left, [3.0, 3.0])
    assert (dot[0].right, dot[1]) == ((2, 2.0), 1.0 + 4j)
