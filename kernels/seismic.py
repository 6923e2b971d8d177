"""Full-waveform inversion in one dimension: acoustic waves from a source, compared with recorded data.

u_tt = c^2 u_xx + s(t) delta(x - x_source), second-order leapfrog, u = 0 at both ends; the result is the misfit
sum_t sum_r (u(t, x_r) - data)^2 dt / 2. Its gradient by the velocity is what an inversion descends along.
Source: A. Tarantola, Geophysics 49 (1984) 1259; R.-E. Plessix, Geophysical Journal International 167 (2006) 495.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Args = tuple[Array, Array, Indices, Array, int, float, float]

SIZES = {"tiny": (12, 15), "demo": (200, 300), "n100": (100, 1000), "n1000": (1000, 1000), "n10000": (10000, 1000)}
WRT = (0, 1)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """velocity (n), wavelet (t), receivers (4), data (t, 4), the source's cell, dt and dx; SIZES holds (n, t).

    The wavelet is Ricker's; the time step is half of the stability limit.
    """
    n, steps = SIZES[size]
    rng = np.random.default_rng(seed)
    dx = 10.0
    velocity = 2000.0 + 500.0 * np.linspace(0.0, 1.0, n) + 50.0 * rng.normal(size=n)
    dt = 0.5 * dx / velocity.max()
    phase = np.pi * 25.0 * (dt * np.arange(steps) - (0.0 if size == "tiny" else 0.04))
    wavelet = 1e5 * (1.0 - 2.0 * phase**2) * np.exp(-(phase**2))
    receivers = np.linspace(1, n - 2, 4).astype(np.int64)
    return velocity, wavelet, receivers, 0.1 * rng.normal(size=(steps, 4)), n // 3, float(dt), dx


@njit
def seismic(
    velocity: Array, wavelet: Array, receivers: Indices, data: Array, source: int, dt: float, dx: float
) -> float:
    """Misfit of the simulated to the recorded pressure.

    velocity (n) and wavelet (t) float64, receivers (r) int64 cells, data (t, r) float64, source the cell of the source;
    source and receivers lie between 1 and n - 2.
    """
    n = velocity.shape[0]
    courant2 = np.empty(n)
    for i in range(n):
        courant2[i] = (velocity[i] * dt / dx) ** 2
    old = np.zeros(n)
    u = np.zeros(n)
    new = np.zeros(n)
    misfit = 0.0
    for t in range(wavelet.shape[0]):
        for i in range(1, n - 1):
            new[i] = 2.0 * u[i] - old[i] + courant2[i] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        new[source] += dt * dt * wavelet[t]
        for r in range(receivers.shape[0]):
            miss = new[receivers[r]] - data[t, r]
            misfit += 0.5 * miss * miss * dt
        old, u, new = u, new, old
    return misfit


@njit
def _history(courant2: Array, wavelet: Array, source: int, dt: float) -> Array:
    """The pressure (t + 2, n): row t + 1 is what step t starts from, row t its predecessor."""
    n = courant2.shape[0]
    steps = wavelet.shape[0]
    u = np.zeros((steps + 2, n))
    for t in range(steps):
        for i in range(1, n - 1):
            laplacian = u[t + 1, i - 1] - 2.0 * u[t + 1, i] + u[t + 1, i + 1]
            u[t + 2, i] = 2.0 * u[t + 1, i] - u[t, i] + courant2[i] * laplacian
        u[t + 2, source] += dt * dt * wavelet[t]
    return u


@njit
def _adjoint(u: Array, courant2: Array, receivers: Indices, data: Array, source: int, dt: float) -> tuple[Array, Array]:
    """The adjoint wave, run backwards from the residuals: cotangents of courant2 (n) and of the wavelet (t)."""
    steps, n = u.shape[0] - 2, u.shape[1]
    courant2_bar = np.zeros(n)
    wavelet_bar = np.empty(steps)
    new_bar = np.zeros(n)
    u_bar = np.zeros(n)
    old_bar = np.zeros(n)
    flux = np.zeros(n)
    for t in range(steps - 1, -1, -1):
        for r in range(receivers.shape[0]):
            new_bar[receivers[r]] += dt * (u[t + 2, receivers[r]] - data[t, r])
        wavelet_bar[t] = dt * dt * new_bar[source]
        for i in range(1, n - 1):
            courant2_bar[i] += new_bar[i] * (u[t + 1, i - 1] - 2.0 * u[t + 1, i] + u[t + 1, i + 1])
            flux[i] = courant2[i] * new_bar[i]
        for i in range(1, n - 1):
            u_bar[i] += 2.0 * new_bar[i] + flux[i - 1] - 2.0 * flux[i] + flux[i + 1]
            old_bar[i] = -new_bar[i]
        new_bar, u_bar, old_bar = u_bar, old_bar, new_bar
    return courant2_bar, wavelet_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array]:
    """Hand-written discrete adjoint (the adjoint-state method of Plessix) over the stored wave field."""
    (seed,) = seeds or (1.0,)
    velocity, wavelet, receivers, data, source, dt, dx = args
    courant2 = (velocity * dt / dx) ** 2
    u = _history(courant2, wavelet, source, dt)
    courant2_bar, wavelet_bar = _adjoint(u, courant2, receivers, data, source, dt)
    return seed * 2.0 * velocity * (dt / dx) ** 2 * courant2_bar, seed * wavelet_bar
