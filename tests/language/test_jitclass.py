"""jitclass instances made in the kernel: attributes read and written, methods, arrays inside, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import float64, int64, njit
from numba.experimental import jitclass

import irad


@jitclass([("k", float64), ("n", int64), ("w", float64[:])])
class Oscillator:
    """Counts its steps, and keeps what it has seen in an array that it may share."""

    def __init__(self, k, w):
        self.k = k
        self.n = 0
        self.w = w

    def step(self, x):
        self.n += 1
        self.w[0] += x * self.k
        self.k *= 1.1
        return self.k * x + self.w[0] * self.n


@njit
def made(k):
    return Oscillator(k, np.ones(2))


@njit
def advanced(o, x):
    return o.step(x) * o.n


@njit
def kernel(x, k):
    shared = Oscillator(0.3 * k, x[1:])
    total = 0.0
    for i in range(x.size):
        own = made(k * i)
        total += own.step(x[i]) + advanced(own, shared.k) + own.w[0] * own.n
        shared.n = i
        total += shared.step(x[0])
        if i == 1:
            shared.w = own.w
            shared.w[1] *= x[2]
    return total * shared.k + shared.w[1]


@njit
def exchanged(x, k):
    one, other = made(k), made(2 * k)
    for i in range(x.size):
        one.step(x[i])
        one, other = other, one
    return one.k * other.k


@njit
def given(o, x):
    return o.k * x


X = np.array([0.4, -1.2, 0.7])


def test_attributes_carry_derivatives(allocations: Callable[[], int]) -> None:
    gradient = irad.value_and_grad(kernel, (0, 1))
    called, used = X.copy(), X.copy()
    value, (x_bar, k_bar) = gradient(used, 0.5)
    assert value == kernel(called, 0.5) and np.array_equal(called, used)
    h = 1e-6
    for direction in np.eye(4):
        ends = [kernel(X + step * direction[:3], 0.5 + step * direction[3]) for step in (h, -h)]
        slope = x_bar @ direction[:3] + k_bar * direction[3]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-8)
        assert irad.jvp(kernel, (X.copy(), 0.5), (direction[:3], direction[3]))[1] == pytest.approx(slope, rel=1e-13)
    before = allocations()
    gradient(X.copy(), 0.5)
    assert allocations() == before


def test_inside_njit() -> None:
    @njit
    def inside(x, k):
        return irad.grad(kernel, (0, 1))(x, k)

    x_bar, k_bar = inside(X.copy(), 0.5)
    expected = irad.grad(kernel, (0, 1))(X.copy(), 0.5)
    assert np.array_equal(x_bar, expected[0]) and k_bar == expected[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: irad.grad(exchanged, 1)(X, 0.5), "test_jitclass.py"),
        (
            lambda: irad.grad(given, 1)(Oscillator(0.5, X), 2.0),
            "o is of Numba type instance.jitclass.Oscillator(.|\n)*make the instance in the kernel",
        ),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(irad.IradError, match=message):
        call()
