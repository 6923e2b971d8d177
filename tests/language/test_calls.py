"""What a kernel calls, and what it is called with beside numbers."""

from __future__ import annotations

import enum

import numba
import numpy as np
from numba import carray, types

import irad

POINTER = types.CPointer(types.float64)


class Scheme(enum.IntEnum):
    PLAIN = 1
    STEEP = 3


@numba.njit("float64(float64)")
def halved(x):
    return x // 2 + x / 4


@numba.cfunc(types.void(types.float64, POINTER, POINTER))
def rate(t, u, du):
    state, out = carray(u, (2,)), carray(du, (2,))
    out[0] = state[1] + t
    out[1] = -state[0] * state[1]


def test_functions_with_given_signatures_take_what_they_take_in_numba() -> None:
    @numba.njit
    def kernel(x, n):
        state, change = np.array([x, halved(n)]), np.zeros(2)
        for step in range(3):
            rate(step, state.ctypes, change.ctypes)
            state += 0.1 * change
        return state[0] * halved(state[1])

    value, slope = irad.value_and_grad(kernel)(1.3, 7)
    assert value == kernel(1.3, 7)
    assert abs(slope - (kernel(1.3 + 1e-6, 7) - kernel(1.3 - 1e-6, 7)) / 2e-6) < 1e-8


def test_strings_dates_and_enumerations_are_constant_arguments() -> None:
    @numba.njit
    def kernel(x, name, day, limit, scheme):
        power = 2.0 if name == "quadratic" else 1.0
        late = day > limit
        return x**power * (3.0 if late else 1.0) * (2.0 if scheme == Scheme.STEEP else 1.0) * len(name)

    dates = np.datetime64("2026-05-01"), np.datetime64("2026-01-01")
    arguments = 1.5, "quadratic", *dates, Scheme.STEEP
    assert irad.value_and_grad(kernel)(*arguments) == (kernel(*arguments), 2 * 1.5 * 3.0 * 2.0 * 9)
    _, pullback = irad.vjp(kernel, *arguments)
    assert pullback(1.0)[0] == 2 * 1.5 * 3.0 * 2.0 * 9
