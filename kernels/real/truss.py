"""Displacements of a plane truss under loads, by finite elements: assembly of the stiffness and np.linalg.solve.

A bar from node i to node j has the stiffness E A / L g g^T with g = (-c, -s, c, s), c and s the cosines of its
direction; rows and columns of fixed directions are replaced by those of the unit matrix.
Source: O. C. Zienkiewicz, R. L. Taylor and J. Z. Zhu, The Finite Element Method (2005), chapter 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, float, npt.NDArray[np.int64], npt.NDArray[np.bool_], Array]

SIZES = {"tiny": 2, "demo": 40}
WRT = (0, 1, 2, 3)
OUTPUTS = (6,)


def make_args(size: str, seed: int = 0) -> Args:
    """nodes (n, 2), areas (b), loads (n, 2), modulus, bars (b, 2), fixed (n, 2), and the displacements (n, 2).

    A braced girder on two supports; SIZES holds its panels.
    """
    panels = SIZES[size]
    rng = np.random.default_rng(seed)
    nodes = np.array([(float(i), float(j)) for i in range(panels + 1) for j in range(2)])
    bars = [(2 * i, 2 * i + 1) for i in range(panels + 1)]
    for i in range(panels):
        bars += [(2 * i, 2 * i + 2), (2 * i + 1, 2 * i + 3), (2 * i, 2 * i + 3), (2 * i + 1, 2 * i + 2)]
    fixed = np.zeros(nodes.shape, dtype=np.bool_)
    fixed[0] = True
    fixed[-2, 1] = True
    loads = rng.normal(size=nodes.shape)
    nodes += rng.uniform(-0.1, 0.1, nodes.shape)
    return nodes, rng.uniform(0.5, 1.5, len(bars)), loads, 20.0, np.array(bars), fixed, np.zeros(nodes.shape)


@njit
def truss(
    nodes: Array,
    areas: Array,
    loads: Array,
    modulus: float,
    bars: npt.NDArray[np.int64],
    fixed: npt.NDArray[np.bool_],
    displacements: Array,
) -> None:
    """Write the displacements (n, 2) of nodes (n, 2) under loads (n, 2).

    bars (b, 2) are pairs of nodes, of cross-sections areas (b); fixed (n, 2) tells which directions are held.

    Raises
    ------
    ValueError: a bar has no length.
    numpy.linalg.LinAlgError: the truss is a mechanism.
    """
    unknowns = nodes.size
    stiffness = np.zeros((unknowns, unknowns))
    cosines = np.empty(4)
    for b in range(bars.shape[0]):
        i, j = bars[b]
        dx, dy = nodes[j, 0] - nodes[i, 0], nodes[j, 1] - nodes[i, 1]
        length = math.hypot(dx, dy)
        if length == 0.0:
            raise ValueError("a bar has no length", b)
        cosines[:] = -dx / length, -dy / length, dx / length, dy / length
        places = (2 * i, 2 * i + 1, 2 * j, 2 * j + 1)
        for row in range(4):
            for column in range(4):
                stiffness[places[row], places[column]] += modulus * areas[b] / length * cosines[row] * cosines[column]
    force = loads.copy().ravel()
    held = fixed.ravel()
    for k in range(unknowns):
        if held[k]:
            stiffness[k, :] = 0.0
            stiffness[:, k] = 0.0
            stiffness[k, k] = 1.0
            force[k] = 0.0
    displacements[:, :] = np.linalg.solve(stiffness, force).reshape(nodes.shape)


def derivative(args: Args, seeds: tuple[Array] | None = None) -> tuple[Array, Array, Array, float]:
    """The adjoint method, bar by bar: -l^T dK u, where K l = seed holds the free directions alone.

    With d the bar's vector and du, dl the differences of its ends, l^T K u is a sum of E A (d.dl) (d.du) / L^3
    (K. K. Choi and N.-H. Kim, Structural Sensitivity Analysis and Optimization 1 (2005), chapter 4).
    """
    nodes, areas, loads, modulus, bars, fixed, displacements = args
    (seed,) = seeds or (np.ones_like(displacements),)
    along = nodes[bars[:, 1]] - nodes[bars[:, 0]]
    length = np.sqrt(np.sum(along**2, axis=1))
    incidence = np.zeros((len(bars), nodes.size))
    for b, (i, j) in enumerate(bars):
        incidence[b, 2 * i : 2 * i + 2], incidence[b, 2 * j : 2 * j + 2] = -along[b], along[b]
    free = np.flatnonzero(~fixed.ravel())
    reduced = incidence[:, free]
    stiffness = reduced.T @ ((modulus * areas / length**3)[:, None] * reduced)
    u, adjoint = np.zeros(nodes.size), np.zeros(nodes.size)
    u[free] = np.linalg.solve(stiffness, loads.ravel()[free])
    adjoint[free] = np.linalg.solve(stiffness, seed.ravel()[free])
    stretch, adjoint_stretch = incidence @ u, incidence @ adjoint
    u, adjoint = u.reshape(nodes.shape), adjoint.reshape(nodes.shape)
    du, dl = u[bars[:, 1]] - u[bars[:, 0]], adjoint[bars[:, 1]] - adjoint[bars[:, 0]]
    work = stretch * adjoint_stretch / length**3
    by_vector = (du * adjoint_stretch[:, None] + dl * stretch[:, None]) / length[:, None] ** 3
    by_vector -= 3.0 * along * (work / length**2)[:, None]
    by_vector *= -(modulus * areas)[:, None]
    nodes_bar = np.zeros_like(nodes)
    np.add.at(nodes_bar, bars[:, 1], by_vector)
    np.add.at(nodes_bar, bars[:, 0], -by_vector)
    return nodes_bar, -modulus * work, adjoint, -float(areas @ work)
