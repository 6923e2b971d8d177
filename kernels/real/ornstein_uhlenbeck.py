"""Mean payoff of paths of the Ornstein-Uhlenbeck process, simulated exactly with draws made in the kernel.

X_{k+1} = X_k a + mean (1 - a) + s N_k with a = exp(-rate dt) and s = sigma sqrt((1 - a^2) / (2 rate)); the result is
the mean over the paths of the time average of X^2. Its gradient holds the draws fixed.
Source: D. T. Gillespie, Physical Review E 54 (1996) 2084, for the exact update; P. Glasserman, Monte Carlo Methods in
Financial Engineering (2003), sections 3.3.1 and 7.2.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, float, float, float, float, int, int]

SIZES = {"tiny": (2, 5), "demo": (1000, 500)}
WRT = (0, 1, 2, 3, 4)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """start (paths), rate, mean, sigma, dt, the number of steps and the seed; SIZES holds (paths, steps)."""
    paths, steps = SIZES[size]
    return np.random.default_rng(seed).normal(size=paths), 0.8, 0.5, 0.6, 0.1, steps, 11 + seed


@njit
def ornstein_uhlenbeck(start: Array, rate: float, mean: float, sigma: float, dt: float, steps: int, seed: int) -> float:
    """Mean of the time averages of X^2 over paths from start (paths) float64; the draws follow from the seed.

    Seeds Numba's generator, as np.random.seed does in compiled code.
    """
    np.random.seed(seed)
    decay = math.exp(-rate * dt)
    spread = sigma * math.sqrt((1.0 - decay * decay) / (2.0 * rate))
    total = 0.0
    for p in range(start.shape[0]):
        x = start[p]
        for _ in range(steps):
            x = x * decay + mean * (1.0 - decay) + spread * np.random.normal()
            total += x * x
    return total / (start.shape[0] * steps)


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, float, float, float, float]:
    """Closed form: X_k = mean + (x - mean) a^k + s sum_j a^(k - 1 - j) N_j, differentiated by x, mean, a and s.

    Numba's generator draws what NumPy's RandomState draws from the same seed.
    """
    (seed,) = seeds or (1.0,)
    start, rate, mean, sigma, dt, steps, random_seed = args
    draws = np.random.RandomState(random_seed).normal(size=(start.size, steps))
    decay = np.exp(-rate * dt)
    spread = sigma * np.sqrt((1.0 - decay**2) / (2.0 * rate))
    k = np.arange(1, steps + 1)
    lag = k[:, None] - k[None, :]
    weight = np.where(lag >= 0, decay ** np.maximum(lag, 0), 0.0)
    weight_slope = np.where(lag >= 1, lag * decay ** np.maximum(lag - 1, 0), 0.0)
    noise = draws @ weight.T
    away = (start - mean)[:, None]
    x_bar = 2.0 * seed * (mean + away * decay**k + spread * noise) / (start.size * steps)
    decay_bar = np.sum(x_bar * (away * k * decay ** (k - 1) + spread * draws @ weight_slope.T))
    spread_bar = np.sum(x_bar * noise)
    # log s = log sigma + log(1 - a^2) / 2 - log(2 rate) / 2
    decay_bar -= spread_bar * spread * decay / (1.0 - decay**2)
    return (
        x_bar @ decay**k,
        float(-dt * decay * decay_bar - 0.5 * spread / rate * spread_bar),
        float(np.sum(x_bar * (1.0 - decay**k))),
        float(spread_bar * spread / sigma),
        float(-rate * decay * decay_bar),
    )
