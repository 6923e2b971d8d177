"""A European call priced by Monte Carlo over given normal draws, in the Black-Scholes model.

price = exp(-r T) mean_i max(S_i - K, 0) with S_i = S exp((r - sigma^2 / 2) T + sigma sqrt(T) z_i).
Its gradient is the pathwise estimator of the Greeks.
Source: P. Glasserman, Monte Carlo Methods in Financial Engineering (2003), sections 1.1 and 7.2.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[float, float, float, float, float, Array]

SIZES = {"tiny": 20, "demo": 100_000, "n1e4": 10_000, "n1e5": 100_000, "n1e6": 1_000_000}
WRT = (0, 1, 2, 3, 4)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """spot, strike, rate, volatility, maturity, and z (n), standard normal."""
    return 100.0, 105.0, 0.03, 0.25, 1.5, np.random.default_rng(seed).normal(size=SIZES[size])


@njit
def black_scholes(spot: float, strike: float, rate: float, volatility: float, maturity: float, z: Array) -> float:
    """Price of a call over the draws z (n) float64, n > 0; the rate and the volatility are per unit of maturity."""
    drift = (rate - 0.5 * volatility * volatility) * maturity
    spread = volatility * math.sqrt(maturity)
    total = 0.0
    for i in range(z.shape[0]):
        final = spot * math.exp(drift + spread * z[i])
        if final > strike:
            total += final - strike
    return math.exp(-rate * maturity) * total / z.shape[0]


@njit
def _adjoint(
    spot: float, strike: float, rate: float, volatility: float, maturity: float, z: Array
) -> tuple[float, float, float, float, float]:
    root = math.sqrt(maturity)
    drift = (rate - 0.5 * volatility * volatility) * maturity
    count = 0
    total = 0.0
    weighted = 0.0
    for i in range(z.shape[0]):
        final = spot * math.exp(drift + volatility * root * z[i])
        if final > strike:
            count += 1
            total += final
            weighted += final * z[i]
    discount = math.exp(-rate * maturity) / z.shape[0]
    payoff = total - count * strike
    drift_bar = discount * total
    spread_bar = discount * weighted
    return (
        drift_bar / spot,
        -discount * count,
        maturity * (drift_bar - discount * payoff),
        root * spread_bar - volatility * maturity * drift_bar,
        drift / maturity * drift_bar + 0.5 * volatility / root * spread_bar - rate * discount * payoff,
    )


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[float, float, float, float, float]:
    """Delta, derivative by the strike, rho, vega and theta (by maturity), pathwise, from three sums over the draws."""
    (seed,) = seeds or (1.0,)
    spot, strike, rate, volatility, maturity = _adjoint(*args)
    return seed * spot, seed * strike, seed * rate, seed * volatility, seed * maturity
