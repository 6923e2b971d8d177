"""Particles and a grid in single precision: charge is spread on a periodic grid, smoothed, and felt back.

Both ways the weights are those of a cloud as wide as a cell (bilinear), so that the result, the energy
sum_p q_p phi(x_p) / 2, belongs to one symmetric form.
Source: R. W. Hockney and J. W. Eastwood, Computer Simulation Using Particles (1988), chapter 5; C. K. Birdsall and
A. B. Langdon, Plasma Physics via Computer Simulation (1985), chapter 14.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Single = npt.NDArray[np.float32]
Args = tuple[Single, Single, int]

SIZES = {"tiny": (12, 4), "demo": (200_000, 256)}
WRT = (0, 1)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """positions (n, 2) and charges (n), float32, and the cells of a side; SIZES holds (n, side)."""
    n, side = SIZES[size]
    rng = np.random.default_rng(seed)
    # far enough from the borders of cells, where the energy has kinks
    cells, within = rng.integers(-side, 2 * side, (n, 2)), rng.uniform(0.1, 0.9, (n, 2))
    return (cells + within).astype(np.float32), rng.normal(size=n).astype(np.float32), side


@njit
def cloud_in_cell(positions: Single, charges: Single, side: int) -> float:
    """Energy of charges (n) at positions (n, 2), in cells, on a periodic grid of side * side points.

    All floats are of the type of positions.
    """
    one = positions.dtype.type(1)
    half = one / positions.dtype.type(2)
    density = np.zeros((side, side), positions.dtype)
    for p in range(positions.shape[0]):
        i, j = int(np.floor(positions[p, 0])), int(np.floor(positions[p, 1]))
        a, b = positions[p, 0] - positions.dtype.type(i), positions[p, 1] - positions.dtype.type(j)
        # particles of one cell write to the same points, and Python's % wraps negative cells
        density[i % side, j % side] += charges[p] * (one - a) * (one - b)
        density[(i + 1) % side, j % side] += charges[p] * a * (one - b)
        density[i % side, (j + 1) % side] += charges[p] * (one - a) * b
        density[(i + 1) % side, (j + 1) % side] += charges[p] * a * b
    potential = np.empty_like(density)
    for i in range(side):
        for j in range(side):
            around = density[i - 1, j] + density[(i + 1) % side, j] + density[i, j - 1] + density[i, (j + 1) % side]
            potential[i, j] = half * density[i, j] + half * half * half * around
    energy = positions.dtype.type(0)
    for p in range(positions.shape[0]):
        i, j = int(np.floor(positions[p, 0])), int(np.floor(positions[p, 1]))
        a, b = positions[p, 0] - positions.dtype.type(i), positions[p, 1] - positions.dtype.type(j)
        low = (one - a) * potential[i % side, j % side] + a * potential[(i + 1) % side, j % side]
        high = (one - a) * potential[i % side, (j + 1) % side] + a * potential[(i + 1) % side, (j + 1) % side]
        energy += half * charges[p] * ((one - b) * low + b * high)
    return energy


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Single, Single]:
    """Closed form in double precision: the energy is q^T W^T S W q / 2 with S symmetric, W (points, n) the weights.

    Its gradient by the charges is the potential at the particles, by the weights potential times charge.
    """
    (seed,) = seeds or (1.0,)
    positions, charges, side = args
    charge = charges.astype(float)
    cell = np.floor(positions).astype(int)
    within = positions.astype(float) - cell
    corners = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    node = (cell[:, None, :] + corners) % side
    factor = np.where(corners == 1, within[:, None, :], 1.0 - within[:, None, :])
    weight = factor[..., 0] * factor[..., 1]
    density = np.zeros((side, side))
    np.add.at(density, (node[..., 0], node[..., 1]), weight * charge[:, None])
    potential = 0.5 * density + 0.125 * sum(np.roll(density, step, axis) for axis in (0, 1) for step in (-1, 1))
    felt = potential[node[..., 0], node[..., 1]]
    slope = np.where(corners == 1, 1.0, -1.0) * factor[..., ::-1]
    by_position = charge[:, None] * np.sum(felt[..., None] * slope, axis=1)
    by_charge = np.sum(felt * weight, axis=1)
    return (seed * by_position).astype(positions.dtype), (seed * by_charge).astype(charges.dtype)
