"""Lists of arrays as arguments: gradients are lists of arrays, and what the kernel writes lies in the caller's."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba.typed import List

import irad


@numba.njit
def weighed(arrays, counts, w):
    """Writes into what it is given, and raises late where a number is large."""
    total = 0.0
    for i in range(len(arrays)):
        for v in arrays[i]:
            total += v**2 * w * counts[i][-1]
    own = List.empty_list(numba.float64[::1])
    for array in arrays:
        own.append(array * w)
    if len(arrays) > 0 and arrays[0].size > 0:
        arrays[0][0] *= own[0][-1]
        total += arrays[0][0]
    if total > 1e3:
        raise ValueError("large", len(arrays))
    return total


def views() -> Any:
    """Backwards, with gaps, empty, and alone."""
    grid = np.arange(1.0, 13.0).reshape(3, 4) / 10
    return List([grid[0][::-1], grid[1][::2], grid[2][:0:-2][:0], np.array([2.0])[::-1]])


def counts() -> Any:
    return List([np.array([3, 1]), np.array([2]), np.array([1]), np.array([4])])


def floats(arrays: Any) -> list[list[float]]:
    return [list(array) for array in arrays]


def by_differences(i: int, j: int) -> float:
    ends: list[float] = []
    for h in (1e-6, -1e-6):
        arrays = views()
        arrays[i][j] += h
        ends.append(weighed(arrays, counts(), 0.7))
    return (ends[0] - ends[1]) / 2e-6


def test_derivatives_and_what_the_kernel_writes(allocations) -> None:
    gradient = irad.value_and_grad(weighed, argnums=(0, 2))
    wanted = [[by_differences(i, j) for j in range(array.size)] for i, array in enumerate(views())]
    own, arrays, numbers = views(), views(), counts()
    value, (bar, w_bar) = gradient(arrays, numbers, 0.7)
    assert value == weighed(own, counts(), 0.7)
    assert floats(arrays) == floats(own)
    assert isinstance(bar, List) and [x.strides for x in bar] == [x.strides for x in arrays]
    for found, expected in zip(bar, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    dots = [np.ones_like(x) for x in arrays]
    _, dot = irad.jvp(weighed, (views(), numbers, 0.7), (List([x[::-1] for x in dots]), None, 1.0))
    assert dot == pytest.approx(sum(map(sum, wanted)) + w_bar, rel=1e-6)
    del bar
    before = allocations()
    gradient(arrays, numbers, 0.7)
    assert allocations() == before


def test_an_exception_leaves_what_the_kernel_wrote() -> None:
    seen: list[Any] = []
    for run in (weighed, irad.value_and_grad(weighed, argnums=(0, 2))):
        arrays = views()
        arrays[3][0] = 40.0
        with pytest.raises(ValueError, match="large") as caught:
            run(arrays, counts(), 0.7)
        seen.append((caught.value.args, floats(arrays)))
    assert seen[0] == seen[1]


@numba.njit
def layered(weights, x, w):
    for i in range(len(weights)):
        y = np.zeros(weights[i].shape[0])
        for j in range(y.size):
            for k in range(x.size):
                y[j] += weights[i][j, k] * x[k] ** 2
        x = y * w
    return x[0] * x[1]


layered_gradient = irad.grad(layered)


@numba.njit
def steepness(weights, x, w):
    total = 0.0
    for array in layered_gradient(weights, x, w):
        for row in array:
            total += row[0] * row[1]
    return total


def test_matrices_in_njit_code_and_differentiated_again() -> None:
    rng, x = np.random.default_rng(1), np.array([0.3, -0.2])
    given = [rng.normal(size=shape) for shape in ((3, 2), (2, 3))]
    bar = irad.grad(steepness)(List(given), x, 0.9)
    for k, at in ((0, (2, 1)), (1, (0, 2))):
        ends: list[float] = []
        for h in (1e-5, -1e-5):
            moved = [array.copy() for array in given]
            moved[k][at] += h
            ends.append(steepness(List(moved), x, 0.9))
        assert bar[k][at] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


@numba.njit
def exchanging(arrays, x, how):
    if how == 1:
        arrays[0], arrays[1] = arrays[1], arrays[0]
    elif how == 2:
        arrays.pop()
        arrays.append(x)
    elif how == 3:
        arrays[0] = arrays[0][:1]
    return arrays[0][0] * arrays[-1][0] * x[0]


def test_what_is_refused_and_shadows_that_the_caller_owns() -> None:
    gradient, x = irad.grad(exchanging), np.array([3.0, 1.0])
    a, b = np.array([2.0, 5.0]), np.array([7.0, 1.0])
    np.testing.assert_array_equal(np.array(gradient(List([a, b]), x, 0)), [[21.0, 0.0], [6.0, 0.0]])
    for how in (1, 2, 3):
        with pytest.raises(irad.BadArguments, match="puts other arrays into the list arrays"):
            gradient(List([a, b]), x, how)
    for arrays, what in (([a, a[1:]], "another one there"), ([a, x], "x")):
        with pytest.raises(irad.BadArguments, match=f"an array in arrays shares memory with {what}"):
            gradient(List(arrays), x, 0)
    shadow = List([np.zeros(2), np.ones(2)])
    irad.autodiff(irad.Reverse, exchanging, irad.Duplicated(List([a, b]), shadow), irad.Const(x), irad.Const(0))
    assert floats(shadow) == [[21.0, 0.0], [7.0, 1.0]]
    with pytest.raises(irad.BadArguments, match="has not arrays of the shapes"):
        irad.jvp(exchanging, (List([a, b]), x, 0), (List([a, b[:1]]), None, None))
