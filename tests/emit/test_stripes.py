"""Loops that are reversed in several passes: as right as in one pass, wherever their memory lies."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import irad
from irad.pipeline import Derivation, Request

vector = numba.float64[::1]


@numba.njit
def stencil(x, y, k):
    total = 0.0
    for i in range(1, x.size - 1):
        v = x[i - 1] * k - 2.0 * x[i] + x[i + 1]
        y[i] = v * x[i]
        total += v * k
    for i in range(y.size):
        total += y[i] * y[i]
    return total


@numba.njit
def swapped(x, k, steps):
    u = x.copy()
    v = x.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            v[i] = u[i] + k * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    return np.sum(u * u)


@numba.njit
def in_place(x, k, steps):
    u = x.copy()
    for _ in range(steps):
        for i in range(1, u.size - 1):
            u[i] += k * (u[i - 1] - 2.0 * u[i] + u[i + 1])
    return np.sum(u * u)


@numba.njit
def running(x, k, steps):
    """Every iteration multiplies what the one before left."""
    p = 1.0
    for i in range(x.size - 1):
        p = p * (1.0 + 0.001 * x[i] * x[i + 1]) + k * x[i]
    return p * steps


@numba.njit
def twice_written(x, k, steps):
    """The store of one iteration is overwritten by the next."""
    y = np.zeros(x.size + 2)
    for i in range(x.size - 1):
        y[steps] = x[i] * k + x[i + 1]
    return y[steps] + y[0]


def loops(kernel: object, *types: object) -> list[str]:
    """How the reverse of each split loop is described."""
    activity = tuple("duplicated" if isinstance(t, numba.types.Array) else "const" for t in types)
    derivation = Derivation(Request(kernel, types, "reverse", activity))
    plan = derivation.functions[derivation.root].plan
    assert plan is not None
    return [str(split) for split in plan.stripes.values()]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (swapped, ["3 loops, where memory lies apart"]),
        (in_place, []),
        (running, ["2 loops"]),
        (twice_written, []),
    ],
)
def test_which_loops_are_split(kernel: object, expected: list[str]) -> None:
    assert loops(kernel, vector, numba.float64, numba.int64) == expected


@pytest.mark.parametrize("kernel", [swapped, in_place, running, twice_written])
def test_passes_add_up_to_the_plain_loop(kernel: object) -> None:
    split, plain = (irad.grad(kernel, argnums=(0, 1), strict=strict) for strict in (False, True))
    for n in (0, 1, 2, 3, 17, 18, 19, 1025, 1026, 1027, 2500):  # around the fewest iterations, and a chunk's
        x = np.random.default_rng(n).normal(size=n)
        steps = 0 if n < 3 else 3
        for got, expected in zip(split(x, 0.3, steps), plain(x, 0.3, steps), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shift", [None, -30, -1, 0, 1, 30])
def test_memory_that_meets_is_reversed_in_one_loop(shift: int | None) -> None:
    """The arrays of `stencil` overlap by all but `shift`; None is apart."""
    gradients = []
    for strict in (False, True):
        buffer = np.random.default_rng(1).normal(size=300)
        at = 200 if shift is None else 40 + shift
        value, bars = irad.value_and_grad(stencil, argnums=(0, 1, 2), strict=strict)(
            buffer[40:100], buffer[at : at + 60], 0.7
        )
        gradients.append([value, *bars])
    for got, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-11)
