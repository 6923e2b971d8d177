"""Explicit Euler for forced logistic growth, fitted to observations.

x' = r x (1 - x / K) + a sin(omega t); the result is sum_i (x_i - observed_i)^2 dt over the steps.
Source: P. F. Verhulst (1838) for the model; Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I,
section I.7, for the method.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[float, float, float, float, float, Array, float]
Bars = tuple[float, float, float, float, float]

SIZES = {"tiny": 30, "demo": 10_000, "n1e3": 1_000, "n1e4": 10_000, "n1e5": 100_000}
WRT = (0, 1, 2, 3, 4)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """x0, r, K, a, omega, the observations (n) round 1, and dt for 20 units of time."""
    n = SIZES[size]
    return 0.3, 0.7, 2.0, 0.2, 1.3, 1.0 + 0.3 * np.random.default_rng(seed).normal(size=n), 20.0 / n


@njit
def ode_euler(
    x0: float, growth: float, capacity: float, force: float, omega: float, observed: Array, dt: float
) -> float:
    """Squared distance, integrated over time, between the solution from x0 and observed (n) float64."""
    x = x0
    total = 0.0
    for i in range(observed.shape[0]):
        x += dt * (growth * x * (1.0 - x / capacity) + force * math.sin(omega * (i * dt)))
        miss = x - observed[i]
        total += miss * miss * dt
    return total


@njit
def _history(
    x0: float, growth: float, capacity: float, force: float, omega: float, observed: Array, dt: float
) -> Array:
    n = observed.shape[0]
    x = np.empty(n + 1)
    x[0] = x0
    for i in range(n):
        x[i + 1] = x[i] + dt * (growth * x[i] * (1.0 - x[i] / capacity) + force * math.sin(omega * (i * dt)))
    return x


@njit
def _adjoint(x: Array, growth: float, capacity: float, force: float, omega: float, observed: Array, dt: float) -> Bars:
    x_bar = 0.0
    growth_bar = 0.0
    capacity_bar = 0.0
    force_bar = 0.0
    omega_bar = 0.0
    for i in range(observed.shape[0] - 1, -1, -1):
        x_bar += 2.0 * dt * (x[i + 1] - observed[i])
        slope_bar = dt * x_bar
        full = x[i] / capacity
        phase = omega * (i * dt)
        growth_bar += slope_bar * x[i] * (1.0 - full)
        capacity_bar += slope_bar * growth * full * full
        force_bar += slope_bar * math.sin(phase)
        omega_bar += slope_bar * force * (i * dt) * math.cos(phase)
        x_bar += slope_bar * growth * (1.0 - 2.0 * full)
    return x_bar, growth_bar, capacity_bar, force_bar, omega_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> Bars:
    """Hand-written discrete adjoint of the Euler steps."""
    (seed,) = seeds or (1.0,)
    x, growth, capacity, force, omega = _adjoint(_history(*args), *args[1:])
    return seed * x, seed * growth, seed * capacity, seed * force, seed * omega
