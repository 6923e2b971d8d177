"""What a kernel calls, and what it is called with beside numbers."""

from __future__ import annotations

import enum
import math

import numba
import numpy as np
import pytest
from numba import carray, types

import irad
from tests.oracles.compare import assert_derivatives_right

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


@numba.njit("float64(float64)")
def cubed(x):
    return x * x * x


@numba.njit("float64(float64)")
def waved(x):
    if x > 1e3:
        raise ValueError("too large")
    return math.sin(3.0 * x)


@numba.njit("float64(float64)")
def summed(x):
    total = 0.0
    for i in range(5):
        total += x ** (i + 1) / (i + 1.0)
    return total


@numba.cfunc("float64(float64)")
def callback(x):
    return x * x * x


@numba.njit
def chosen(x, n):
    table = (cubed, waved, summed, halved)
    first = waved if n > 3 else summed
    for i in range(n):
        x = 0.5 * table[i % 4](x) + first(x)
    return x


@pytest.mark.filterwarnings("ignore:First-class function")
@pytest.mark.parametrize("n", [3, 5])
def test_functions_chosen_at_run_time(n: int) -> None:
    assert_derivatives_right(chosen, (0.3, n), modes=("forward", "reverse"), analytic=False)


@pytest.mark.filterwarnings("ignore:First-class function")
def test_a_cfunc_as_argument_is_followed_like_an_njit_function() -> None:
    @numba.njit
    def twice(f, g, x, which):
        h = f if which else g
        return h(f(x))

    gradient = irad.grad(twice, argnums=2)
    for which, wanted in ((True, 9 * 0.5**8), (False, 3 * 0.5**2 * 3 * math.cos(3 * 0.5**3))):
        assert gradient(callback, waved, 0.5, which) == pytest.approx(wanted, rel=1e-14)
    assert irad.jvp(twice, (callback, callback, 0.5, 0), (None, None, 1.0, None))[1] == pytest.approx(9 * 0.5**8)


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
