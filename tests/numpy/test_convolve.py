"""NumPy functions whose implementation is too large to be inlined, and hands copies on to whole operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import irad

X, Y = np.array([1.0, -2.0, 0.5, 3.0]), np.array([0.3, 1.1, -0.7])


@njit
def convolve(x: Any, y: Any) -> Any:
    return np.convolve(x, y)


@njit
def correlate(x: Any, y: Any) -> Any:
    return np.correlate(x, y)


@pytest.mark.parametrize("kernel", [convolve, correlate])
def test_both_are_linear_in_each_argument(kernel: Any) -> None:
    tangent = np.array([0.2, 0.9, -0.4, 0.6])
    value, dot = irad.jvp(kernel, (X, Y), (tangent, None))
    np.testing.assert_array_equal(value, kernel(X, Y))
    np.testing.assert_allclose(dot, kernel(tangent, Y), rtol=1e-14)
    _, pullback = irad.vjp(kernel, X, Y)
    seed = np.arange(1.0, value.size + 1)
    x_bar, y_bar = pullback(seed)
    assert np.dot(x_bar, tangent) == pytest.approx(np.dot(seed, dot), rel=1e-13)
    assert np.dot(y_bar, Y) == pytest.approx(np.dot(seed, value), rel=1e-13)
