"""Gravitating bodies by the leapfrog method (kick, drift, kick) with softened forces, G = 1.

a_i = sum_j m_j (x_j - x_i) / (|x_j - x_i|^2 + eps^2)^(3/2); the result is sum_i m_i |v_i|^2 / 2 + |x_i|^2 at the end.
Source: S. J. Aarseth, Gravitational N-Body Simulations (2003), section 2.2 (softening); Hairer, Lubich and Wanner,
Geometric Numerical Integration, section I.1.4 (leapfrog).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, int, float, float]

SIZES = {"tiny": (4, 3), "demo": (32, 50), "n20": (20, 100), "n64": (64, 100), "n200": (200, 100)}
WRT = (0, 1, 2)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """Positions and velocities (n, 3), masses (n) of total 1, steps, their length, eps^2; SIZES holds (n, steps)."""
    n, steps = SIZES[size]
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), 0.3 * rng.normal(size=(n, 3)), (0.5 + rng.random(n)) / n, steps, 0.01, 0.01


@njit
def accelerate(x: Array, mass: Array, eps2: float, a: Array) -> None:
    """Write the accelerations of the bodies at x (n, 3) into a (n, 3), each pair once."""
    n = x.shape[0]
    for i in range(n):
        for k in range(3):
            a[i, k] = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            d0 = x[j, 0] - x[i, 0]
            d1 = x[j, 1] - x[i, 1]
            d2 = x[j, 2] - x[i, 2]
            q = d0 * d0 + d1 * d1 + d2 * d2 + eps2
            f = 1.0 / (q * math.sqrt(q))
            fi = f * mass[j]
            fj = f * mass[i]
            a[i, 0] += fi * d0
            a[i, 1] += fi * d1
            a[i, 2] += fi * d2
            a[j, 0] -= fj * d0
            a[j, 1] -= fj * d1
            a[j, 2] -= fj * d2


@njit
def nbody(position: Array, velocity: Array, mass: Array, steps: int, dt: float, eps2: float) -> float:
    """Kinetic energy plus moment of inertia after `steps` steps of length dt.

    position, velocity (n, 3) and mass (n) float64; eps2 is the square of the softening length.
    """
    n = position.shape[0]
    x = position.copy()
    v = velocity.copy()
    a = np.empty((n, 3))
    accelerate(x, mass, eps2, a)
    for _ in range(steps):
        for i in range(n):
            for k in range(3):
                v[i, k] += 0.5 * dt * a[i, k]
                x[i, k] += dt * v[i, k]
        accelerate(x, mass, eps2, a)
        for i in range(n):
            for k in range(3):
                v[i, k] += 0.5 * dt * a[i, k]
    total = 0.0
    for i in range(n):
        for k in range(3):
            total += 0.5 * mass[i] * v[i, k] * v[i, k] + x[i, k] * x[i, k]
    return total


@njit
def _pull(x: Array, mass: Array, eps2: float, a_bar: Array, x_bar: Array, mass_bar: Array) -> None:
    """Transposed Jacobian of `accelerate` at x: accumulates into x_bar and mass_bar."""
    n = x.shape[0]
    for i in range(n):
        for j in range(i + 1, n):
            d0 = x[j, 0] - x[i, 0]
            d1 = x[j, 1] - x[i, 1]
            d2 = x[j, 2] - x[i, 2]
            q = d0 * d0 + d1 * d1 + d2 * d2 + eps2
            f = 1.0 / (q * math.sqrt(q))
            e0 = mass[j] * a_bar[i, 0] - mass[i] * a_bar[j, 0]
            e1 = mass[j] * a_bar[i, 1] - mass[i] * a_bar[j, 1]
            e2 = mass[j] * a_bar[i, 2] - mass[i] * a_bar[j, 2]
            q_bar = -3.0 * (e0 * d0 + e1 * d1 + e2 * d2) * f / q
            t0 = f * e0 + q_bar * d0
            t1 = f * e1 + q_bar * d1
            t2 = f * e2 + q_bar * d2
            x_bar[j, 0] += t0
            x_bar[j, 1] += t1
            x_bar[j, 2] += t2
            x_bar[i, 0] -= t0
            x_bar[i, 1] -= t1
            x_bar[i, 2] -= t2
            mass_bar[j] += f * (a_bar[i, 0] * d0 + a_bar[i, 1] * d1 + a_bar[i, 2] * d2)
            mass_bar[i] -= f * (a_bar[j, 0] * d0 + a_bar[j, 1] * d1 + a_bar[j, 2] * d2)


@njit
def _history(position: Array, velocity: Array, mass: Array, steps: int, dt: float, eps2: float) -> tuple[Array, Array]:
    """The positions (steps + 1, n, 3) and the last velocities (n, 3)."""
    n = position.shape[0]
    x = np.empty((steps + 1, n, 3))
    v = velocity.copy()
    a = np.empty((n, 3))
    for i in range(n):
        for k in range(3):
            x[0, i, k] = position[i, k]
    accelerate(x[0], mass, eps2, a)
    for t in range(steps):
        for i in range(n):
            for k in range(3):
                v[i, k] += 0.5 * dt * a[i, k]
                x[t + 1, i, k] = x[t, i, k] + dt * v[i, k]
        accelerate(x[t + 1], mass, eps2, a)
        for i in range(n):
            for k in range(3):
                v[i, k] += 0.5 * dt * a[i, k]
    return x, v


@njit
def _adjoint(x: Array, v: Array, mass: Array, steps: int, dt: float, eps2: float) -> tuple[Array, Array, Array]:
    n = v.shape[0]
    x_bar = np.empty((n, 3))
    v_bar = np.empty((n, 3))
    a_bar = np.zeros((n, 3))
    mass_bar = np.zeros(n)
    for i in range(n):
        for k in range(3):
            mass_bar[i] += 0.5 * v[i, k] * v[i, k]
            v_bar[i, k] = mass[i] * v[i, k]
            x_bar[i, k] = 2.0 * x[steps, i, k]
    for t in range(steps, 0, -1):
        for i in range(n):
            for k in range(3):
                a_bar[i, k] += 0.5 * dt * v_bar[i, k]
        _pull(x[t], mass, eps2, a_bar, x_bar, mass_bar)
        for i in range(n):
            for k in range(3):
                v_bar[i, k] += dt * x_bar[i, k]
                a_bar[i, k] = 0.5 * dt * v_bar[i, k]
    _pull(x[0], mass, eps2, a_bar, x_bar, mass_bar)
    return x_bar, v_bar, mass_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array, Array]:
    """Hand-written discrete adjoint: the positions are stored, the forces recomputed."""
    (seed,) = seeds or (1.0,)
    x, v = _history(*args)
    x_bar, v_bar, mass_bar = _adjoint(x, v, *args[2:])
    return seed * x_bar, seed * v_bar, seed * mass_bar
