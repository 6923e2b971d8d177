"""Negative log-likelihood of a centred normal vector, by a Cholesky factorisation written as loops.

y^T A^-1 y / 2 + log det A / 2 + n log(2 pi) / 2, with A = L L^T.
Source: C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning (2006), equation 2.30 and
algorithm 2.1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]

SIZES = {"tiny": 5, "demo": 64, "n56": 56, "n120": 120, "n256": 256}
WRT = (0, 1)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> tuple[Array, Array]:
    """A (n, n), symmetric and well conditioned, and y (n)."""
    n = SIZES[size]
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return root @ root.T / n + np.eye(n), rng.normal(size=n)


@njit
def cholesky(a: Array, y: Array) -> float:
    """Negative log-likelihood of y (n) under the covariance a (n, n), both float64.

    Only the lower triangle of a is read. The result is nan when a is not positive definite; a zero pivot raises
    ZeroDivisionError.
    """
    n = a.shape[0]
    factor = np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            rest = a[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            if i == j:
                factor[j, j] = math.sqrt(rest)
            else:
                factor[i, j] = rest / factor[j, j]
    z = np.empty(n)
    total = 0.5 * n * math.log(2.0 * math.pi)
    for i in range(n):
        rest = y[i]
        for k in range(i):
            rest -= factor[i, k] * z[k]
        z[i] = rest / factor[i, i]
        total += 0.5 * z[i] * z[i] + math.log(factor[i, i])
    return total


def derivative(args: tuple[Array, Array], seeds: tuple[float] | None = None) -> tuple[Array, Array]:
    """Closed form by NumPy (Rasmussen and Williams, equation 5.9).

    An entry below the diagonal stands for two of the symmetric matrix, one above it for none.
    """
    (seed,) = seeds or (1.0,)
    a, y = args
    inverse = np.linalg.inv(np.tril(a) + np.tril(a, -1).T)
    weights = inverse @ y
    symmetric = 0.5 * (inverse - np.outer(weights, weights))
    return seed * (np.tril(symmetric) + np.tril(symmetric, -1)), seed * weights
