"""Arguments that may be None: by their type at compile time, or, in njit code, by what they turn out to be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import float64, njit, optional
from numba.experimental import jitclass

import irad


@njit("float64(float64, optional(float64), optional(float64[:]))")
def kernel(x, scale, w):
    total = x * x
    if scale is not None:
        total *= scale
    if w is not None:
        w[0] *= x
        total += w.sum()
    return total


W = np.array([2.0, 3.0])


def expected(x: float, scale: float | None, w: Any) -> tuple[float, float, list[float]]:
    """The slopes by x, scale and w."""
    return 2 * x * (scale or 1.0) + (0.0 if w is None else w[0]), x * x, [x, 1.0]


@njit
def by_all(x, s, w, has_s, has_w):
    scale, weights = s if has_s else None, w.copy() if has_w else None
    by_x, by_scale, by_w = irad.grad(kernel, (0, 1, 2))(x, scale, weights)
    again = w.copy() if has_w else None
    _, dot = irad.jvp(kernel, (x, scale, again), (1.0, by_scale, by_w))
    again = w.copy() if has_w else None
    _, pull = irad.vjp(kernel, x, scale, again)
    by_x_again, by_scale_again, by_w_again = pull(1.0)
    same = by_x_again == by_x and (by_scale is None) == (by_scale_again is None)
    s_bar, w_bar, used = 0.0, np.zeros(2), np.zeros(2)
    if by_scale is not None and by_scale_again is not None:
        s_bar = by_scale
        same = same and by_scale == by_scale_again
    if by_w is not None and by_w_again is not None and weights is not None:
        w_bar[:] = by_w
        used[:] = weights
        same = same and by_w_again[0] == by_w[0]
    return by_x, s_bar, w_bar, used, dot, same


@pytest.mark.parametrize("has_s", [False, True])
@pytest.mark.parametrize("has_w", [False, True])
def test_inside_njit(has_s: bool, has_w: bool, allocations: Callable[[], int]) -> None:
    """A derivative is None where the argument is; whatever lies there is not looked at."""
    by_x, s_bar, w_bar, used, dot, same = by_all(3.0, 0.5, W, has_s, has_w)
    slopes = expected(3.0, 0.5 if has_s else None, W if has_w else None)
    assert by_x == slopes[0] and same
    assert s_bar == (slopes[1] if has_s else 0.0)
    assert w_bar.tolist() == (slopes[2] if has_w else [0.0, 0.0])
    assert used.tolist() == ([6.0, 3.0] if has_w else [0.0, 0.0])
    assert dot == pytest.approx(by_x + s_bar**2 + w_bar @ w_bar)
    del w_bar, used
    before = allocations()
    by_all(3.0, 0.5, W, has_s, has_w)
    assert allocations() == before


def test_from_python() -> None:
    """Python's None has a type of its own, and each argument is compiled for what it is."""
    assert irad.grad(kernel)(3.0, None, None) == expected(3.0, None, None)[0]
    x_bar, s_bar, w_bar = irad.grad(kernel, (0, 1, 2))(3.0, 0.5, W.copy())
    assert (x_bar, s_bar, w_bar.tolist()) == expected(3.0, 0.5, W)
    with pytest.raises(irad.Unsupported, match="scale is none"):
        irad.grad(kernel, 1)(3.0, None, None)


@njit
def some(x, n):
    """Numba's type of the result is optional."""
    if n < 0:
        return None
    return x * x * n


@njit
def none_or_number(x, n):
    return x * x * n if n > 0 else None


def test_a_result_that_may_be_none(allocations: Callable[[], int]) -> None:
    """A value has its derivative; None is refused by the call that meets it."""

    def run(n: int) -> None:
        value, dot = irad.jvp(some, (W, n), (W, None))
        again, pull = irad.vjp(some, W, n)
        assert np.array_equal(value, again)
        assert np.array_equal(value, some(W, n))
        assert np.array_equal(dot, 2 * value)
        assert np.array_equal(pull(W)[0], 2 * W**2 * n)

    run(3)
    assert irad.value_and_grad(none_or_number)(3.0, 2) == (18.0, 12.0)
    before = allocations()
    run(1)
    calls = (lambda: irad.jvp(some, (W, -1), (W, None)), lambda: irad.vjp(some, W, -1))
    for call in (*calls, lambda: irad.grad(none_or_number)(3.0, 0)):
        with pytest.raises(irad.BadArgumentValue, match="returned None"):
            call()
    assert allocations() == before


@jitclass([("k", float64), ("w", optional(float64[:]))])
class Holder:
    def __init__(self, k):
        self.k = k
        self.w = None


@njit
def held(o, x):
    return o.k * x


def test_an_attribute_that_may_be_none_is_refused() -> None:
    with pytest.raises(irad.Unsupported, match=r"o\.w is of Numba type OptionalType"):
        irad.grad(held, 1)(Holder(2.0), 3.0)
