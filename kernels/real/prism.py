"""Gravity of rectangular prisms of constant density: the vertical attraction at points outside of them.

g_z = G rho sum over the corners of +-[z atan(x y / (z r)) - x log(r + y) - y log(r + x)], z downwards.
Source: D. Nagy, Geophysics 31 (1966) 362; R. J. Blakely, Potential Theory in Gravity and Magnetic Applications
(1995), chapter 9.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, Array]

GRAVITY = 6.674e-11
SIZES = {"tiny": (3, 2), "demo": (20, 10)}
WRT = (0, 1, 2)
OUTPUTS = (3,)


def make_args(size: str, seed: int = 0) -> Args:
    """points (m, 3), prisms (p, 6), densities (p) and an array (m) for the attraction; SIZES holds (m, p)."""
    count, prisms = SIZES[size]
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.uniform(-2.0, 2.0, (count, 2)), rng.uniform(-1.5, -1.0, count)])
    low = rng.uniform(-2.0, 1.0, (prisms, 3)) * [1.0, 1.0, 0.0] + [0.0, 0.0, 0.5]
    sides = np.stack([low, low + rng.uniform(0.5, 1.5, (prisms, 3))], axis=2).reshape(prisms, 6)
    return points, sides, rng.uniform(1.0, 3.0, prisms) / GRAVITY, np.zeros(count)


@njit
def _corner(x: float, y: float, z: float) -> float:
    r = math.sqrt(x * x + y * y + z * z)
    return z * math.atan2(x * y, z * r) - x * math.log(r + y) - y * math.log(r + x)


@njit
def prism(points: Array, prisms: Array, densities: Array, attraction: Array) -> None:
    """Write the vertical attraction (m) at points (m, 3), which lie above all prisms; all arrays are float64.

    prisms (p, 6): west, east, south, north, top and bottom; z points downwards. densities (p).
    """
    for i in range(points.shape[0]):
        total = 0.0
        for p in range(prisms.shape[0]):
            x, y, z = prisms[p, 0:2] - points[i, 0], prisms[p, 2:4] - points[i, 1], prisms[p, 4:6] - points[i, 2]
            effect = 0.0
            for a in range(2):
                for b in range(2):
                    for c in range(2):
                        sign = -1.0 if (a + b + c) % 2 == 0 else 1.0
                        effect += sign * _corner(x[a], y[b], z[c])
            total += GRAVITY * densities[p] * effect
        attraction[i] = total


def _integral(sides: list[tuple[float, float]]) -> float:
    """The integral of z / r^3 over a box by Gauss's rule; a side of no length is not integrated over."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    axes, scales = [], []
    for low, high in sides:
        if low == high:
            axes.append(np.array([low]))
            scales.append(np.ones(1))
        else:
            axes.append(0.5 * (high + low) + 0.5 * (high - low) * nodes)
            scales.append(0.5 * (high - low) * weights)
    x, y, z = np.meshgrid(*axes, indexing="ij")
    return float(np.einsum("ijk,i,j,k", z / (x * x + y * y + z * z) ** 1.5, *scales))


def derivative(args: Args, seeds: tuple[Array] | None = None) -> tuple[Array, Array, Array]:
    """By Leibniz's rule: moving a face adds the integral of z / r^3 over that face, found by Gauss's quadrature.

    The density has the integral over the prism; a point has minus what all faces have, since only distances count.
    """
    points, prisms, densities, attraction = args
    (seed,) = seeds or (np.ones_like(attraction),)
    points_bar, prisms_bar, densities_bar = np.zeros_like(points), np.zeros_like(prisms), np.zeros_like(densities)
    for i, point in enumerate(points):
        for p, bounds in enumerate(prisms):
            sides = [(bounds[2 * k] - point[k], bounds[2 * k + 1] - point[k]) for k in range(3)]
            densities_bar[p] += seed[i] * GRAVITY * _integral(sides)
            for face in range(6):
                axis, end = divmod(face, 2)
                flat = [*sides[:axis], (sides[axis][end],) * 2, *sides[axis + 1 :]]
                slope = (-1.0 if end == 0 else 1.0) * seed[i] * GRAVITY * densities[p] * _integral(flat)
                prisms_bar[p, face] += slope
                points_bar[i, axis] -= slope
    return points_bar, prisms_bar, densities_bar
