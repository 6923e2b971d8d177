"""The heat equation on a rod with fixed ends, explicit in time with two buffers; the result is half the squared norm.

u_i <- u_i + kappa (u_{i-1} - 2 u_i + u_{i+1}), with kappa = diffusivity dt / dx^2.
Source: K. W. Morton and D. F. Mayers, Numerical Solution of Partial Differential Equations (2005), section 2.4.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, float, int]

SIZES = {"tiny": (9, 6), "demo": (200, 200), "n100": (100, 1000), "n1000": (1000, 1000), "n10000": (10000, 1000)}
WRT = (0, 1)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """u0 (n), standard normal, kappa and the number of steps; SIZES holds (n, steps)."""
    n, steps = SIZES[size]
    return np.random.default_rng(seed).normal(size=n), 0.3, steps


@njit
def heat(u0: Array, kappa: float, steps: int) -> float:
    """Half the squared norm of the temperature after `steps` steps from u0 (n) float64."""
    n = u0.shape[0]
    u = u0.copy()
    v = u0.copy()
    for _ in range(steps):
        for i in range(1, n - 1):
            v[i] = u[i] + kappa * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, v = v, u
    total = 0.0
    for i in range(n):
        total += u[i] * u[i]
    return 0.5 * total


@njit
def _history(u0: Array, kappa: float, steps: int) -> Array:
    n = u0.shape[0]
    u = np.empty((steps + 1, n))
    for i in range(n):
        u[0, i] = u0[i]
    for t in range(steps):
        u[t + 1, 0] = u0[0]
        u[t + 1, n - 1] = u0[n - 1]
        for i in range(1, n - 1):
            u[t + 1, i] = u[t, i] + kappa * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
    return u


@njit
def _adjoint(u: Array, kappa: float) -> tuple[Array, float]:
    steps, n = u.shape[0] - 1, u.shape[1]
    bar = u[steps].copy()
    new = np.empty(n)
    kappa_bar = 0.0
    for t in range(steps - 1, -1, -1):
        for i in range(1, n - 1):
            kappa_bar += bar[i] * (u[t, i - 1] - 2.0 * u[t, i] + u[t, i + 1])
        left, right = bar[0], bar[n - 1]
        # the ends are kept, not updated: they send nothing inwards
        bar[0] = 0.0
        bar[n - 1] = 0.0
        for i in range(1, n - 1):
            new[i] = bar[i] + kappa * (bar[i - 1] - 2.0 * bar[i] + bar[i + 1])
        new[0] = left + kappa * bar[1]
        new[n - 1] = right + kappa * bar[n - 2]
        bar, new = new, bar
    return bar, kappa_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, float]:
    """Hand-written adjoint: the transposed stencil, run backwards over the stored history; n must be at least 3."""
    (seed,) = seeds or (1.0,)
    u_bar, kappa_bar = _adjoint(_history(*args), args[1])
    return seed * u_bar, seed * kappa_bar
