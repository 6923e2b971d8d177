"""The chained Rosenbrock function, sum_i 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2.

Source: H. H. Rosenbrock, The Computer Journal 3 (1960) 175; chained as in P. L. Toint, Mathematics of
Computation 32 (1978) 839.
"""

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
def rosenbrock(x: Array) -> float:
    """The chained Rosenbrock function of x (n) float64."""
    total = 0.0
    for i in range(x.shape[0] - 1):
        a = x[i + 1] - x[i] * x[i]
        b = 1.0 - x[i]
        total += 100.0 * a * a + b * b
    return total


@njit
def _adjoint(x: Array, seed: float) -> Array:
    n = x.shape[0]
    x_bar = np.empty_like(x)
    from_left = 0.0
    for i in range(n - 1):
        a = x[i + 1] - x[i] * x[i]
        x_bar[i] = seed * (from_left - 400.0 * a * x[i] - 2.0 * (1.0 - x[i]))
        from_left = 200.0 * a
    x_bar[n - 1] = seed * from_left
    return x_bar


def derivative(args: tuple[Array], seeds: tuple[float] | None = None) -> tuple[Array]:
    """Closed form, gathered in one pass; x must not be empty."""
    (seed,) = seeds or (1.0,)
    return (_adjoint(*args, seed),)
