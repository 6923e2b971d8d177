"""An American put priced on a binomial lattice: at every node the larger of exercising and holding on.

u = exp(sigma sqrt(T / n)), d = 1 / u, p = (exp(r T / n) - d) / (u - d).
Source: J. C. Cox, S. A. Ross and M. Rubinstein, Journal of Financial Economics 7 (1979) 229, sections 3, 5 and 6.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

Args = tuple[float, float, float, float, float, int]

SIZES = {"tiny": 7, "demo": 1000}
WRT = (0, 1, 2, 3, 4)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """spot, strike, rate, volatility, maturity and the number of steps, which SIZES holds."""
    rng = np.random.default_rng(seed)
    return float(rng.uniform(95.0, 105.0)), 103.0, 0.06, 0.3, 0.8, SIZES[size]


@njit
def american(spot: float, strike: float, rate: float, volatility: float, maturity: float, steps: int) -> float:
    """Price of the put; the rate and the volatility are per unit of maturity.

    Raises
    ------
    ValueError: the steps are too long for the rate, so that the lattice has no risk-neutral probability.
    """
    dt = maturity / steps
    up = math.exp(volatility * math.sqrt(dt))
    down = 1.0 / up
    growth = math.exp(rate * dt)
    probability = (growth - down) / (up - down)
    if probability < 0.0 or probability > 1.0:
        raise ValueError("the lattice needs more steps")
    value = np.empty(steps + 1)
    for j in range(steps + 1):
        value[j] = max(strike - spot * up ** (2 * j - steps), 0.0)
    for step in range(steps - 1, -1, -1):
        price = spot * down**step
        for j in range(step + 1):
            hold = (probability * value[j + 1] + (1.0 - probability) * value[j]) / growth
            value[j] = max(hold, strike - price)
            price *= up * up
    return value[0]


def _stopped(args: tuple[complex, ...], stop: list[np.ndarray]) -> complex:
    """The price of exercising where `stop` says: payoffs weighted with the probabilities of the first visit."""
    spot, strike, rate, volatility, maturity = args
    steps = len(stop) - 1
    dt = maturity / steps
    up = np.exp(volatility * np.sqrt(dt))
    probability = (np.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    reach = np.ones(1, dtype=complex)
    total = 0.0 + 0.0j
    for step, here in enumerate(stop):
        payoff = strike - spot * np.exp((2 * np.arange(step + 1) - step) * np.log(up))
        total += np.exp(-rate * dt * step) * np.sum((reach * payoff)[here])
        left = np.where(here, 0.0, reach)
        reach = np.append((1.0 - probability) * left, 0.0) + np.append(0.0, probability * left)
    return total


def _policy(args: Args) -> list[np.ndarray]:
    """Where exercising pays: for every step the nodes, from the lowest price."""
    spot, strike, rate, volatility, maturity, steps = args
    dt = maturity / steps
    up = np.exp(volatility * np.sqrt(dt))
    probability = (np.exp(rate * dt) - 1.0 / up) / (up - 1.0 / up)
    payoff = strike - spot * up ** (2.0 * np.arange(steps + 1) - steps)
    value, stop = np.maximum(payoff, 0.0), [payoff > 0.0]
    for step in range(steps - 1, -1, -1):
        payoff = strike - spot * up ** (2.0 * np.arange(step + 1) - step)
        hold = np.exp(-rate * dt) * (probability * value[1:] + (1.0 - probability) * value[:-1])
        value = np.maximum(hold, payoff)
        stop.insert(0, payoff > hold)
    return stop


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[float, ...]:
    """Complex steps of the expected payoff under the best policy, which is held fixed.

    The envelope theorem: to first order the best policy does not move. The expectation runs forward through the
    lattice, by the probabilities of first visits.
    """
    (seed,) = seeds or (1.0,)
    stop, step = _policy(args), 1e-30
    slopes: list[float] = []
    for i in WRT:
        moved = [complex(a) for a in args[:5]]
        moved[i] += 1j * step
        slopes.append(seed * _stopped(tuple(moved), stop).imag / step)
    return tuple(slopes)
