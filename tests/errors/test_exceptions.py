"""What a kernel raises, its derivatives raise: the class, the arguments and the message; from Python and in njit code.

PYTEST_DONT_REWRITE: the assertion in the kernel is Numba's to compile.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest

import irad


class Diverged(Exception):
    def __init__(self, step, value):
        super().__init__(step, value)
        self.step = step


@numba.njit
def several(x, n):
    """A different error for each n; every one arises after some work."""
    y = x.copy()
    y[0] *= 2.0
    if n == 0:
        raise ValueError("bad", n, x[1])
    if n == 1:
        raise Diverged(n, (y[0], n))
    assert n != 2, "two is no good"
    if n == 3:
        raise KeyError
    if n == 4:
        return np.sum(x.reshape(1, 2), axis=n)[0]
    if n == 5:
        y[1:] = x[:n]
    return y[0] * math.sqrt(x[1])


@numba.njit
def divided(x, n):
    """The Python error model raises."""
    return x[0] / (x[1] - n) + x[0]


@numba.njit(boundscheck=True)
def indexed(x, n):
    return x[n] * x[0]


CASES: list[tuple[Any, int]] = [*((several, n) for n in range(6)), (divided, 2), (indexed, 7)]


def _said(call: Any, *args: Any) -> tuple[type, str]:
    try:
        call(*args)
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("nothing was raised")


@pytest.fixture(scope="module")
def calls() -> dict[Any, tuple[Any, ...]]:
    """For each kernel its gradient and its tangent, from Python and from njit code."""
    made: dict[Any, tuple[Any, ...]] = {}
    for kernel in (several, divided, indexed):
        gradient = irad.grad(kernel)

        @numba.njit
        def caller(x, n, gradient=gradient):
            return gradient(x, n)

        def tangent(x, n, kernel=kernel):
            return irad.jvp(kernel, (x, n), (np.ones(2), None))

        made[kernel] = gradient, tangent, caller
    return made


@pytest.mark.parametrize(("kernel", "n"), CASES)
def test_derivatives_raise_what_the_kernel_raises(kernel: Any, n: int, calls: dict[Any, Any]) -> None:
    x = np.array([0.5, 2.0])
    wanted = _said(kernel, x, n)
    assert [_said(call, x, n) for call in calls[kernel]] == [wanted] * 3
