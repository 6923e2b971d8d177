"""The Lorenz system by the classical Runge-Kutta method; the result is |x(T)|^2.

x' = sigma (y - x), y' = x (rho - z) - y, z' = x y - beta z.
Source: E. N. Lorenz, Journal of the Atmospheric Sciences 20 (1963) 130; Hairer, Norsett and Wanner, Solving Ordinary
Differential Equations I, section II.1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, int, float]

SIZES = {"tiny": 20, "demo": 10_000, "n1e3": 1_000, "n1e4": 10_000, "n1e5": 100_000}
WRT = (0, 1)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """x0 (3), p = (sigma, rho, beta), the number of steps and their length 1e-4 (1e-2 when tiny)."""
    rng = np.random.default_rng(seed)
    x0 = np.array([1.0, 2.0, 20.0]) + 0.1 * rng.normal(size=3)
    return x0, np.array([10.0, 28.0, 8.0 / 3.0]), SIZES[size], 1e-2 if size == "tiny" else 1e-4


@njit
def lorenz(x: Array, p: Array, slope: Array) -> None:
    """Write the right-hand side at x (3) for the parameters p (3) into slope (3)."""
    slope[0] = p[0] * (x[1] - x[0])
    slope[1] = x[0] * (p[1] - x[2]) - x[1]
    slope[2] = x[0] * x[1] - p[2] * x[2]


@njit
def rk4_lorenz(x0: Array, p: Array, steps: int, dt: float) -> float:
    """Squared norm of the state after `steps` steps of length dt from x0 (3), for p (3) = (sigma, rho, beta)."""
    x = x0.copy()
    y = np.empty(3)
    k1 = np.empty(3)
    k2 = np.empty(3)
    k3 = np.empty(3)
    k4 = np.empty(3)
    for _ in range(steps):
        lorenz(x, p, k1)
        for j in range(3):
            y[j] = x[j] + 0.5 * dt * k1[j]
        lorenz(y, p, k2)
        for j in range(3):
            y[j] = x[j] + 0.5 * dt * k2[j]
        lorenz(y, p, k3)
        for j in range(3):
            y[j] = x[j] + dt * k3[j]
        lorenz(y, p, k4)
        for j in range(3):
            x[j] += dt / 6.0 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j])
    return x[0] * x[0] + x[1] * x[1] + x[2] * x[2]


@njit
def _pull(x: Array, p: Array, slope_bar: Array, x_bar: Array, p_bar: Array) -> None:
    """x_bar += J_x^T slope_bar and p_bar += J_p^T slope_bar, with the Jacobians of `lorenz` at x."""
    x_bar[0] += -p[0] * slope_bar[0] + (p[1] - x[2]) * slope_bar[1] + x[1] * slope_bar[2]
    x_bar[1] += p[0] * slope_bar[0] - slope_bar[1] + x[0] * slope_bar[2]
    x_bar[2] += -x[0] * slope_bar[1] - p[2] * slope_bar[2]
    p_bar[0] += (x[1] - x[0]) * slope_bar[0]
    p_bar[1] += x[0] * slope_bar[1]
    p_bar[2] -= x[2] * slope_bar[2]


@njit
def _stages(x: Array, p: Array, dt: float, y: Array, k: Array) -> None:
    """The four points y (4, 3) where a step from x evaluates the slope, and the slopes k (4, 3) there."""
    for s in range(4):
        reach = 0.0 if s == 0 else dt if s == 3 else 0.5 * dt
        for j in range(3):
            y[s, j] = x[j] + (reach * k[s - 1, j] if s > 0 else 0.0)
        lorenz(y[s], p, k[s])


@njit
def _adjoint(x0: Array, p: Array, steps: int, dt: float) -> tuple[Array, Array]:
    x = np.empty((steps + 1, 3))
    y = np.empty((4, 3))
    k = np.empty((4, 3))
    for j in range(3):
        x[0, j] = x0[j]
    for i in range(steps):
        _stages(x[i], p, dt, y, k)
        for j in range(3):
            x[i + 1, j] = x[i, j] + dt / 6.0 * (k[0, j] + 2.0 * k[1, j] + 2.0 * k[2, j] + k[3, j])
    x_bar = 2.0 * x[steps]
    p_bar = np.zeros(3)
    y_bar = np.zeros(3)
    k_bar = np.empty(3)
    old = np.empty(3)
    for i in range(steps - 1, -1, -1):
        _stages(x[i], p, dt, y, k)
        for j in range(3):
            old[j] = x_bar[j]
            y_bar[j] = 0.0
        for s in range(3, -1, -1):
            weight = dt / 6.0 if s == 0 or s == 3 else dt / 3.0
            reach = 0.0 if s == 3 else dt if s == 2 else 0.5 * dt
            for j in range(3):
                k_bar[j] = weight * old[j] + reach * y_bar[j]
                y_bar[j] = 0.0
            _pull(y[s], p, k_bar, y_bar, p_bar)
            for j in range(3):
                x_bar[j] += y_bar[j]
    return x_bar, p_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array]:
    """Hand-written discrete adjoint: the states are stored, the stages recomputed."""
    (seed,) = seeds or (1.0,)
    x_bar, p_bar = _adjoint(*args)
    return seed * x_bar, seed * p_bar
