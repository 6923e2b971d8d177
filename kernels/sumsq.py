"""Sum of squares, sum_i x_i^2: the smallest kernel with a loop. Its gradient is 2 x."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]

SIZES = {"tiny": 11, "demo": 100_000, "n1e4": 10_000, "n1e5": 100_000, "n1e6": 1_000_000}
WRT = (0,)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> tuple[Array]:
    """x (n), standard normal."""
    return (np.random.default_rng(seed).normal(size=SIZES[size]),)


@njit
def sumsq(x: Array) -> float:
    """Sum of the squares of x (n) float64; 0 when empty."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


@njit
def _adjoint(x: Array, seed: float) -> Array:
    x_bar = np.empty_like(x)
    for i in range(x.shape[0]):
        x_bar[i] = 2.0 * seed * x[i]
    return x_bar


def derivative(args: tuple[Array], seeds: tuple[float] | None = None) -> tuple[Array]:
    """Closed form, in a Numba loop."""
    (seed,) = seeds or (1.0,)
    return (_adjoint(*args, seed),)
