"""Right-hand side of the two-species Brusselator with diffusion on a periodic grid.

u' = A + u^2 v - (B + 1) u + alpha lap(u) + f(x, y, t),  v' = B u - u^2 v + alpha lap(v), with f = 5 inside a disc of
radius 0.1 once t >= 1.1.
Source: Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.10 (problem BRUSS-2D).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, float, float, float, float, Array]

SIZES = {"tiny": 5, "demo": 64, "n32": 32, "n100": 100, "n256": 256, "n320": 320}
WRT = (0, 1, 2, 3)
OUTPUTS = (5,)


def make_args(size: str, seed: int = 0) -> Args:
    """u (n, n, 2) in [0, 2), A, B, alpha, the time, and du (n, n, 2) to be filled."""
    n = SIZES[size]
    return 2.0 * np.random.default_rng(seed).random((n, n, 2)), 1.0, 3.4, 10.0, 1.3, np.zeros((n, n, 2))


@njit
def brusselator(u: Array, a: float, b: float, alpha: float, t: float, du: Array) -> None:
    """Write the time derivative of u (n, n, 2) float64, n > 1, into du (n, n, 2); the last axis is the species."""
    n = u.shape[0]
    h = 1.0 / (n - 1)
    diffusion = alpha / (h * h)
    for i in range(n):
        below = i + 1 if i < n - 1 else 0
        above = i - 1 if i > 0 else n - 1
        x = i * h
        for j in range(n):
            right = j + 1 if j < n - 1 else 0
            left = j - 1 if j > 0 else n - 1
            y = j * h
            source = 0.0
            if (x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.01 and t >= 1.1:
                source = 5.0
            p = u[i, j, 0]
            q = u[i, j, 1]
            r = p * p * q
            lap_p = u[above, j, 0] + u[below, j, 0] + u[i, right, 0] + u[i, left, 0] - 4.0 * p
            lap_q = u[above, j, 1] + u[below, j, 1] + u[i, right, 1] + u[i, left, 1] - 4.0 * q
            du[i, j, 0] = diffusion * lap_p + a + r - (b + 1.0) * p + source
            du[i, j, 1] = diffusion * lap_q + b * p - r


@njit
def _adjoint(u: Array, b: float, alpha: float, w: Array) -> tuple[Array, float, float, float]:
    n = u.shape[0]
    scale = (n - 1.0) * (n - 1.0)
    diffusion = alpha * scale
    u_bar = np.empty_like(u)
    a_bar = 0.0
    b_bar = 0.0
    alpha_bar = 0.0
    for i in range(n):
        below = i + 1 if i < n - 1 else 0
        above = i - 1 if i > 0 else n - 1
        for j in range(n):
            right = j + 1 if j < n - 1 else 0
            left = j - 1 if j > 0 else n - 1
            p = u[i, j, 0]
            q = u[i, j, 1]
            w0 = w[i, j, 0]
            w1 = w[i, j, 1]
            # the periodic Laplacian is symmetric, so one stencil of w serves u_bar and alpha_bar
            lap0 = w[above, j, 0] + w[below, j, 0] + w[i, right, 0] + w[i, left, 0] - 4.0 * w0
            lap1 = w[above, j, 1] + w[below, j, 1] + w[i, right, 1] + w[i, left, 1] - 4.0 * w1
            a_bar += w0
            b_bar += (w1 - w0) * p
            alpha_bar += lap0 * p + lap1 * q
            u_bar[i, j, 0] = diffusion * lap0 + 2.0 * p * q * (w0 - w1) - (b + 1.0) * w0 + b * w1
            u_bar[i, j, 1] = diffusion * lap1 + p * p * (w0 - w1)
    return u_bar, a_bar, b_bar, alpha_bar * scale


def derivative(args: Args, seeds: tuple[Array] | None = None) -> tuple[Array, float, float, float]:
    """Hand-written adjoint in gather form, for the seed (n, n, 2) of du."""
    u, _, b, alpha, _, du = args
    (w,) = seeds or (np.ones_like(du),)
    return _adjoint(u, b, alpha, w)
