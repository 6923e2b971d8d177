"""The naive matrix product C = A B in i-k-j order, seen through the scalar sum_ij W_ij C_ij.

With weights W the gradients are full products: A_bar = W B^T, B_bar = A^T W.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]

SIZES = {"tiny": 5, "demo": 96, "n56": 56, "n120": 120, "n256": 256}
WRT = (0, 1)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> tuple[Array, Array, Array]:
    """a (n, n+1), b (n+1, n+2), w (n, n+2), standard normal; square at the sizes that are measured."""
    n = SIZES[size]
    more = 1 if size == "tiny" else 0
    rng = np.random.default_rng(seed)
    shapes = (n, n + more), (n + more, n + 2 * more), (n, n + 2 * more)
    a, b, w = (rng.normal(size=shape) for shape in shapes)
    return a, b, w


@njit
def matmul(a: Array, b: Array, w: Array) -> float:
    """Sum of w (n, p) times the product of a (n, m) and b (m, p), element by element; all float64."""
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    for i in range(n):
        for k in range(m):
            for j in range(p):
                c[i, j] += a[i, k] * b[k, j]
    total = 0.0
    for i in range(n):
        for j in range(p):
            total += w[i, j] * c[i, j]
    return total


@njit
def _adjoint(a: Array, b: Array, w: Array) -> tuple[Array, Array]:
    n, m = a.shape
    p = b.shape[1]
    a_bar = np.empty((n, m))
    b_bar = np.zeros((m, p))
    for i in range(n):
        for k in range(m):
            total = 0.0
            for j in range(p):
                total += w[i, j] * b[k, j]
                b_bar[k, j] += a[i, k] * w[i, j]
            a_bar[i, k] = total
    return a_bar, b_bar


def derivative(args: tuple[Array, Array, Array], seeds: tuple[float] | None = None) -> tuple[Array, Array]:
    """Closed form, w @ b.T and a.T @ w, in Numba loops of the kernel's own order."""
    (seed,) = seeds or (1.0,)
    a_bar, b_bar = _adjoint(*args)
    return seed * a_bar, seed * b_bar
