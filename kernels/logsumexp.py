"""log sum_i exp(x_i), shifted by the maximum so that it cannot overflow. Its gradient is softmax(x).

Source: Blanchard, Higham and Higham, IMA Journal of Numerical Analysis 41 (2021) 2311.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]

SIZES = {"tiny": 11, "demo": 100_000, "n1e4": 10_000, "n1e5": 100_000, "n1e6": 1_000_000}
WRT = (0,)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> tuple[Array]:
    """x (n), normal with standard deviation 3."""
    return (3.0 * np.random.default_rng(seed).normal(size=SIZES[size]),)


@njit
def logsumexp(x: Array) -> float:
    """log of the sum of the exponentials of x (n) float64, n > 0."""
    largest = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > largest:
            largest = x[i]
    total = 0.0
    for i in range(x.shape[0]):
        total += math.exp(x[i] - largest)
    return largest + math.log(total)


@njit
def _adjoint(x: Array, seed: float) -> Array:
    largest = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > largest:
            largest = x[i]
    x_bar = np.empty_like(x)
    total = 0.0
    for i in range(x.shape[0]):
        x_bar[i] = math.exp(x[i] - largest)
        total += x_bar[i]
    scale = seed / total
    for i in range(x.shape[0]):
        x_bar[i] *= scale
    return x_bar


def derivative(args: tuple[Array], seeds: tuple[float] | None = None) -> tuple[Array]:
    """Closed form: softmax(x)."""
    (seed,) = seeds or (1.0,)
    return (_adjoint(*args, seed),)
