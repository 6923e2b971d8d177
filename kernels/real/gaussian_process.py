"""Negative log marginal likelihood of a Gaussian process, with np.linalg.

K = signal^2 exp(-sum_d ((x_d - x'_d) / l_d)^2 / 2) + noise^2 I; the result is y^T K^-1 y / 2 + log det K / 2 +
n log(2 pi) / 2, with K = L L^T.
Source: C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning (2006), equations 5.1 and 5.8,
algorithm 2.1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, float, float]

SIZES = {"tiny": (5, 2), "demo": (150, 3)}
WRT = (0, 1, 2, 3, 4)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """x (n, d), y (n), lengths (d), signal and noise; SIZES holds (n, d)."""
    n, d = SIZES[size]
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, d))
    return x, np.sin(x.sum(axis=1)) + 0.1 * rng.normal(size=n), rng.uniform(0.5, 1.5, d), 1.2, 0.3


@njit
def gaussian_process(x: Array, y: Array, lengths: Array, signal: float, noise: float) -> float:
    """Negative log marginal likelihood of y (n) at x (n, d) float64; lengths (d).

    Raises
    ------
    numpy.linalg.LinAlgError: the covariance is not positive definite.
    """
    n = x.shape[0]
    covariance = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            distance = np.sum(((x[i] - x[j]) / lengths) ** 2)
            covariance[i, j] = covariance[j, i] = signal**2 * math.exp(-0.5 * distance)
        covariance[i, i] += noise**2
    factor = np.linalg.cholesky(covariance)
    weights = np.linalg.solve(covariance, y)
    total = 0.5 * n * math.log(2.0 * math.pi)
    for i in range(n):
        total += 0.5 * y[i] * weights[i] + math.log(factor[i, i])
    return total


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array, Array, float, float]:
    """Closed form from the inverse (Rasmussen and Williams, equation 5.9): tr((K^-1 - a a^T) dK) / 2, a = K^-1 y."""
    (seed,) = seeds or (1.0,)
    x, y, lengths, signal, noise = args
    offset = x[:, None, :] - x[None, :, :]
    smooth = signal**2 * np.exp(-0.5 * np.sum((offset / lengths) ** 2, axis=2))
    inverse = np.linalg.inv(smooth + noise**2 * np.eye(y.size))
    weights = inverse @ y
    k_bar = 0.5 * seed * (inverse - np.outer(weights, weights))
    pairs = k_bar * smooth
    return (
        -2.0 * np.einsum("ij,ijd->id", pairs, offset) / lengths**2,
        seed * weights,
        np.einsum("ij,ijd->d", pairs, offset**2) / lengths**3,
        2.0 / signal * float(np.sum(pairs)),
        2.0 * noise * float(np.trace(k_bar)),
    )
