"""Hand tracking (ADBench HAND, simple): fit of a skinned hand of 16 bones and 26 pose parameters to points.

theta = (global rotation vector 3, translation 3, then for each of five fingers flexion and abduction of its first
joint and flexion of the other two). Bone 0 is the palm, bone 1 + 3 f + j joint j of finger f. A vertex moves with the
weighted mean of its bones' transforms (linear blend skinning); the result is half the sum of squared distances.
Source: Srajer, Kukelova and Fitzgibbon, Optimization Methods and Software 33 (2018) 889; Taylor et al., User-specific
hand modeling from monocular depth sequences, CVPR 2014.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]
Indices = npt.NDArray[np.int64]
Args = tuple[Array, Array, Array, Array, Array, Indices, Array]

BONES = 16
SIZES = {"tiny": (6, 5), "demo": (100, 50), "v54": (54, 20), "v544": (544, 200), "v5440": (5440, 2000)}
WRT = (0,)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """theta (26), relative and inverse (16, 3, 4), weights (v, 16), vertices (v, 3), matches (n), points (n, 3).

    SIZES holds (v, n). The hand is random, not anatomical.
    """
    count, matches = SIZES[size]
    rng = np.random.default_rng(seed)
    relative = np.zeros((BONES, 3, 4))
    absolute = np.zeros((BONES, 4, 4))
    for b in range(BONES):
        rotation, _ = np.linalg.qr(np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
        relative[b] = np.column_stack([rotation, 0.3 * rng.normal(size=3) + [0.0, 0.5, 0.0]])
        local = np.vstack([relative[b], [0.0, 0.0, 0.0, 1.0]])
        absolute[b] = local if b == 0 else absolute[0 if b % 3 == 1 else b - 1] @ local
    weights = rng.random((count, BONES)) ** 8
    return (
        0.3 * rng.normal(size=26),
        relative,
        np.linalg.inv(absolute)[:, :3].astype(np.float64, order="C"),
        weights / weights.sum(axis=1, keepdims=True),
        rng.normal(size=(count, 3)),
        rng.integers(0, count, matches),
        rng.normal(size=(matches, 3)),
    )


@njit
def compose(left: Array, i: int, right: Array, j: int, out: Array, o: int) -> None:
    """out[o] = left[i] right[j], affine maps as rows of (b, 3, 4)."""
    for r in range(3):
        for c in range(4):
            total = left[i, r, 3] if c == 3 else 0.0
            for k in range(3):
                total += left[i, r, k] * right[j, k, c]
            out[o, r, c] = total


@njit
def bend(flexion: float, abduction: float, joint: Array) -> None:
    """Write the rotation Rz(abduction) Rx(flexion) into joint (1, 3, 4), whose translation is left alone."""
    cx = math.cos(flexion)
    sx = math.sin(flexion)
    cz = math.cos(abduction)
    sz = math.sin(abduction)
    joint[0, 0, 0] = cz
    joint[0, 0, 1] = -sz * cx
    joint[0, 0, 2] = sz * sx
    joint[0, 1, 0] = sz
    joint[0, 1, 1] = cz * cx
    joint[0, 1, 2] = -cz * sx
    joint[0, 2, 0] = 0.0
    joint[0, 2, 1] = sx
    joint[0, 2, 2] = cx


@njit
def rotate(theta: Array, r: Array) -> None:
    """Write into r (3, 3) the rotation by the vector theta[:3], not zero, by Rodrigues' formula."""
    angle = math.sqrt(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    c = math.cos(angle)
    s = math.sin(angle)
    x = theta[0] / angle
    y = theta[1] / angle
    z = theta[2] / angle
    r[0, 0] = c + x * x * (1.0 - c)
    r[0, 1] = x * y * (1.0 - c) - z * s
    r[0, 2] = x * z * (1.0 - c) + y * s
    r[1, 0] = y * x * (1.0 - c) + z * s
    r[1, 1] = c + y * y * (1.0 - c)
    r[1, 2] = y * z * (1.0 - c) - x * s
    r[2, 0] = z * x * (1.0 - c) - y * s
    r[2, 1] = z * y * (1.0 - c) + x * s
    r[2, 2] = c + z * z * (1.0 - c)


@njit
def pose(theta: Array, relative: Array, inverse: Array, moved: Array) -> None:
    """Write the transforms of the bones from the rest pose into moved (16, 3, 4)."""
    bones = relative.shape[0]
    absolute = np.zeros((bones, 3, 4))
    joint = np.zeros((1, 3, 4))
    compose(relative, 0, inverse, 0, moved, 0)
    for r in range(3):
        for c in range(4):
            absolute[0, r, c] = relative[0, r, c]
    for b in range(1, bones):
        finger = (b - 1) // 3
        place = (b - 1) % 3
        if place == 0:
            bend(theta[6 + 4 * finger], theta[7 + 4 * finger], joint)
            parent = 0
        else:
            bend(theta[7 + 4 * finger + place], 0.0, joint)
            parent = b - 1
        # moved[b] serves as scratch until the last product
        compose(absolute, parent, relative, b, moved, b)
        compose(moved, b, joint, 0, absolute, b)
        compose(absolute, b, inverse, b, moved, b)


@njit
def hand(
    theta: Array, relative: Array, inverse: Array, weights: Array, vertices: Array, matches: Indices, points: Array
) -> float:
    """Half the sum of squared distances from points (n, 3) to their matching vertices of the posed hand.

    theta (26); relative (16, 3, 4): rest transforms to the parent bones; inverse (16, 3, 4): inverses of the absolute
    rest transforms; weights (v, 16); vertices (v, 3) at rest; matches (n) int64, vertex of each point; else float64.
    """
    bones = relative.shape[0]
    moved = np.zeros((bones, 3, 4))
    pose(theta, relative, inverse, moved)
    rotation = np.zeros((3, 3))
    rotate(theta, rotation)
    skin = np.zeros(vertices.shape)
    p = np.zeros(3)
    for v in range(vertices.shape[0]):
        for i in range(3):
            p[i] = 0.0
        for b in range(bones):
            for i in range(3):
                along = moved[b, i, 0] * vertices[v, 0] + moved[b, i, 1] * vertices[v, 1]
                p[i] += weights[v, b] * (along + moved[b, i, 2] * vertices[v, 2] + moved[b, i, 3])
        for i in range(3):
            skin[v, i] = rotation[i, 0] * p[0] + rotation[i, 1] * p[1] + rotation[i, 2] * p[2] + theta[3 + i]
    total = 0.0
    for n in range(matches.shape[0]):
        for i in range(3):
            miss = points[n, i] - skin[matches[n], i]
            total += miss * miss
    return 0.5 * total


def _turn(vector: Complex) -> Complex:
    """Rodrigues' formula as I + sin K + (1 - cos) K^2; analytic, so it takes complex vectors (3)."""
    angle = np.sqrt(np.sum(vector**2))
    x, y, z = vector / angle
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)


def _objective(theta: Complex, args: Args) -> complex:
    """The objective at a complex pose, in NumPy, by homogeneous coordinates."""
    _, relative, inverse, weights, vertices, matches, points = args
    last = np.broadcast_to([0.0, 0.0, 0.0, 1.0], (BONES, 1, 4))
    relative, inverse = np.concatenate([relative, last], axis=1), np.concatenate([inverse, last], axis=1)
    angles = theta[6:].reshape(5, 4)
    axis_x, axis_z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    absolute: list[Complex] = [relative[0].astype(np.complex128)]
    for b in range(1, BONES):
        finger, place = divmod(b - 1, 3)
        joint = np.eye(4, dtype=np.complex128)
        joint[:3, :3] = _turn(angles[finger, 0 if place == 0 else place + 1] * axis_x)
        if place == 0:
            joint[:3, :3] = _turn(angles[finger, 1] * axis_z) @ joint[:3, :3]
        absolute.append(absolute[0 if place == 0 else b - 1] @ relative[b] @ joint)
    blended = np.tensordot(weights, np.array(absolute) @ inverse, axes=1)
    homogeneous = np.column_stack([vertices, np.ones(len(vertices))])
    skin = np.einsum("vij,vj->vi", blended, homogeneous)[:, :3] @ _turn(theta[:3]).T + theta[3:6]
    return complex(0.5 * np.sum((points - skin[matches]) ** 2))


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array]:
    """Complex step on a NumPy formulation: Im f(theta + i h e_k) / h, exact to rounding.

    Source: Squire and Trapp, SIAM Review 40 (1998) 110. No angle of theta may be zero.
    """
    (seed,) = seeds or (1.0,)
    step = 1e-30
    directions = 1j * step * np.eye(args[0].shape[0])
    return (seed * np.array([_objective(args[0] + direction, args).imag / step for direction in directions]),)
