"""Negative log-likelihood of returns under a GARCH(1, 1) model with normal innovations.

h_t = omega + alpha e_{t-1}^2 + beta h_{t-1} with e_t = r_t - mu and h_0 = mean e^2; the result is
sum_t (log 2 pi + log h_t + e_t^2 / h_t) / 2.
Source: T. Bollerslev, Journal of Econometrics 31 (1986) 307, section 5.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[float, float, float, float, Array]

SIZES = {"tiny": 12, "demo": 100_000}
WRT = (0, 1, 2, 3, 4)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """mu, omega, alpha, beta and the returns (n); SIZES holds n."""
    return 0.05, 0.1, 0.15, 0.7, np.random.default_rng(seed).normal(0.1, 0.8, SIZES[size])


@njit
def garch(mu: float, omega: float, alpha: float, beta: float, returns: Array) -> float:
    """Negative log-likelihood of the returns (n) float64, n > 0.

    Raises
    ------
    ValueError: the parameters give a variance that is not positive, or one that is not stationary.
    """
    if alpha + beta >= 1.0:
        raise ValueError("the variance is not stationary")
    n = returns.shape[0]
    squares = (returns - mu) ** 2
    variance = squares.mean()
    total = 0.5 * n * math.log(2.0 * math.pi)
    t = 0
    while True:
        if variance <= 0.0:
            raise ValueError("a variance is not positive, at", t)
        total += 0.5 * (math.log(variance) + squares[t] / variance)
        if t == n - 1:
            break
        variance = omega + alpha * squares[t] + beta * variance
        t += 1
    return total


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[float, float, float, float, Array]:
    """Hand-written adjoint of the recursion of the variance (Bollerslev, section 5), transposed."""
    (seed,) = seeds or (1.0,)
    mu, omega, alpha, beta, returns = args
    deviation = returns - mu
    squares = deviation**2
    h = [squares.mean()]
    for square in squares[:-1]:
        h.append(omega + alpha * square + beta * h[-1])
    h = np.array(h)
    h_bar = 0.5 * (1.0 / h - squares / h**2)
    for t in range(h.size - 2, -1, -1):
        h_bar[t] += beta * h_bar[t + 1]
    squares_bar = 0.5 / h + h_bar[0] / h.size
    squares_bar[:-1] += alpha * h_bar[1:]
    returns_bar = 2.0 * seed * deviation * squares_bar
    return (
        -float(returns_bar.sum()),
        seed * float(h_bar[1:].sum()),
        seed * float(h_bar[1:] @ squares[:-1]),
        seed * float(h_bar[1:] @ h[:-1]),
        returns_bar,
    )
