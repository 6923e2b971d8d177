"""Bundle adjustment (ADBench BA): weighted reprojection errors of observed points, and 1 - w^2 for each weight.

A camera is (rotation vector 3, centre 3, focal length, principal point 2, radial distortion 2). A point X is rotated
by Rodrigues' formula, z = R (X - C); with u = z_12 / z_3 and s = |u|^2 its image is f (1 + k1 s + k2 s^2) u + p.
Source: Srajer, Kukelova and Fitzgibbon, Optimization Methods and Software 33 (2018) 889; ADBench.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Args = tuple[Array, Array, Array, Indices, Array, Array, Array]

SIZES = {
    "tiny": (2, 4, 7),
    "demo": (10, 300, 2000),
    "ba001": (49, 7776, 318),
    "ba01": (49, 7776, 3184),
    "ba1": (49, 7776, 31843),
}
WRT = (0, 1, 2)
OUTPUTS = (5, 6)


def make_args(size: str, seed: int = 0) -> Args:
    """cameras (c, 11), points (p, 3), weights (o), observations (o, 2), features (o, 2), and two arrays to be filled.

    SIZES holds (c, p, o); a row of `observations` is (camera, point). No rotation is zero.
    """
    cameras, points, count = SIZES[size]
    rng = np.random.default_rng(seed)
    camera = np.concatenate(
        [
            0.3 * rng.normal(size=(cameras, 3)),
            0.2 * rng.normal(size=(cameras, 3)),
            500.0 + 50.0 * rng.random((cameras, 1)),
            rng.normal(size=(cameras, 2)),
            0.01 * rng.normal(size=(cameras, 2)),
        ],
        axis=1,
    )
    point = np.concatenate([rng.normal(size=(points, 2)), 4.0 + rng.random((points, 1))], axis=1)
    observations = np.stack([rng.integers(0, cameras, count), rng.integers(0, points, count)], axis=1)
    weights = 0.5 + rng.random(count)
    features = 100.0 * rng.normal(size=(count, 2))
    return camera, point, weights, observations, features, np.zeros((count, 2)), np.zeros(count)


@njit
def rotate(r0: float, r1: float, r2: float, y0: float, y1: float, y2: float) -> tuple[float, float, float]:
    """The vector y rotated by the rotation vector r; to first order in r at r = 0."""
    angle2 = r0 * r0 + r1 * r1 + r2 * r2
    if angle2 == 0.0:
        return y0 + r1 * y2 - r2 * y1, y1 + r2 * y0 - r0 * y2, y2 + r0 * y1 - r1 * y0
    angle = math.sqrt(angle2)
    cosine = math.cos(angle)
    sine = math.sin(angle)
    inverse = 1.0 / angle
    a0 = r0 * inverse
    a1 = r1 * inverse
    a2 = r2 * inverse
    along = (a0 * y0 + a1 * y1 + a2 * y2) * (1.0 - cosine)
    return (
        y0 * cosine + (a1 * y2 - a2 * y1) * sine + a0 * along,
        y1 * cosine + (a2 * y0 - a0 * y2) * sine + a1 * along,
        y2 * cosine + (a0 * y1 - a1 * y0) * sine + a2 * along,
    )


@njit
def ba(
    cameras: Array,
    points: Array,
    weights: Array,
    observations: Indices,
    features: Array,
    errors: Array,
    weight_errors: Array,
) -> None:
    """Fill errors (o, 2) and weight_errors (o).

    cameras (c, 11), points (p, 3), weights (o), features (o, 2) float64; observations (o, 2) int64, (camera, point).
    """
    for o in range(observations.shape[0]):
        c = observations[o, 0]
        p = observations[o, 1]
        y0 = points[p, 0] - cameras[c, 3]
        y1 = points[p, 1] - cameras[c, 4]
        y2 = points[p, 2] - cameras[c, 5]
        z0, z1, z2 = rotate(cameras[c, 0], cameras[c, 1], cameras[c, 2], y0, y1, y2)
        u = z0 / z2
        v = z1 / z2
        s = u * u + v * v
        scale = cameras[c, 6] * (1.0 + cameras[c, 9] * s + cameras[c, 10] * s * s)
        errors[o, 0] = weights[o] * (u * scale + cameras[c, 7] - features[o, 0])
        errors[o, 1] = weights[o] * (v * scale + cameras[c, 8] - features[o, 1])
        weight_errors[o] = 1.0 - weights[o] * weights[o]


@njit
def _fill_blocks(
    cameras: Array, points: Array, weights: Array, observations: Indices, features: Array, blocks: Array
) -> None:
    """Write blocks (o, 2, 15): one primal and two reverse sweeps per observation."""
    for o in range(observations.shape[0]):
        c = cameras[observations[o, 0]]
        x = points[observations[o, 1]]
        y0, y1, y2 = x[0] - c[3], x[1] - c[4], x[2] - c[5]
        angle = math.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
        cosine, sine = math.cos(angle), math.sin(angle)
        inverse, rest = 1.0 / angle, 1.0 - cosine
        a0, a1, a2 = c[0] * inverse, c[1] * inverse, c[2] * inverse
        dot = a0 * y0 + a1 * y1 + a2 * y2
        x0, x1, x2 = a1 * y2 - a2 * y1, a2 * y0 - a0 * y2, a0 * y1 - a1 * y0
        depth = 1.0 / (y2 * cosine + x2 * sine + a2 * dot * rest)
        u = (y0 * cosine + x0 * sine + a0 * dot * rest) * depth
        v = (y1 * cosine + x1 * sine + a1 * dot * rest) * depth
        s = u * u + v * v
        distortion = 1.0 + c[9] * s + c[10] * s * s
        for row in range(2):
            b = blocks[o, row]
            seed0, seed1 = (weights[o], 0.0) if row == 0 else (0.0, weights[o])
            radial = seed0 * u + seed1 * v
            # intrinsic parameters and the weight
            b[6], b[7], b[8] = radial * distortion, seed0, seed1
            b[9], b[10] = c[6] * radial * s, c[6] * radial * s * s
            image = u if row == 0 else v
            b[14] = image * distortion * c[6] + c[7 + row] - features[o, row]
            # the rotated point
            s_bar = 2.0 * c[6] * radial * (c[9] + 2.0 * c[10] * s)
            z0 = (c[6] * distortion * seed0 + u * s_bar) * depth
            z1 = (c[6] * distortion * seed1 + v * s_bar) * depth
            z2 = -(z0 * u + z1 * v)
            # its transposed rotation: point and centre
            along = a0 * z0 + a1 * z1 + a2 * z2
            b[11] = cosine * z0 + sine * (z1 * a2 - z2 * a1) + a0 * along * rest
            b[12] = cosine * z1 + sine * (z2 * a0 - z0 * a2) + a1 * along * rest
            b[13] = cosine * z2 + sine * (z0 * a1 - z1 * a0) + a2 * along * rest
            b[3], b[4], b[5] = -b[11], -b[12], -b[13]
            # axis and angle
            d0 = sine * (y1 * z2 - y2 * z1) + rest * (z0 * dot + y0 * along)
            d1 = sine * (y2 * z0 - y0 * z2) + rest * (z1 * dot + y1 * along)
            d2 = sine * (y0 * z1 - y1 * z0) + rest * (z2 * dot + y2 * along)
            turn = cosine * (z0 * x0 + z1 * x1 + z2 * x2) - sine * (z0 * y0 + z1 * y1 + z2 * y2 - along * dot)
            turn -= (d0 * a0 + d1 * a1 + d2 * a2) * inverse
            b[0], b[1], b[2] = d0 * inverse + turn * a0, d1 * inverse + turn * a1, d2 * inverse + turn * a2


@njit
def _contract(
    errors_bar: Array,
    blocks: Array,
    observations: Indices,
    cameras_bar: Array,
    points_bar: Array,
    weights_bar: Array,
) -> None:
    for o in range(observations.shape[0]):
        for row in range(2):
            seed = errors_bar[o, row]
            for j in range(11):
                cameras_bar[observations[o, 0], j] += seed * blocks[o, row, j]
            for j in range(3):
                points_bar[observations[o, 1], j] += seed * blocks[o, row, 11 + j]
            weights_bar[o] += seed * blocks[o, row, 14]


def jacobian(args: Args) -> tuple[Array, Array]:
    """The nonzero blocks of the Jacobian: (o, 2, 15) of the errors and (o) of the weight errors.

    The columns of a block are its camera (11), its point (3) and its weight. Hand-written; rotations must not be zero.
    """
    cameras, points, weights, observations, features, _, _ = args
    blocks = np.empty((observations.shape[0], 2, 15))
    _fill_blocks(cameras, points, weights, observations, features, blocks)
    return blocks, -2.0 * weights


def derivative(args: Args, seeds: tuple[Array, Array] | None = None) -> tuple[Array, Array, Array]:
    """The seeds (o, 2) and (o) times the hand-written blocks of `jacobian`, summed over each camera and point."""
    cameras, points, _, observations, _, errors, weight_errors = args
    errors_bar, weight_errors_bar = seeds or (np.ones_like(errors), np.ones_like(weight_errors))
    blocks, diagonal = jacobian(args)
    cameras_bar = np.zeros_like(cameras)
    points_bar = np.zeros_like(points)
    weights_bar = diagonal * weight_errors_bar
    _contract(errors_bar, blocks, observations, cameras_bar, points_bar, weights_bar)
    return cameras_bar, points_bar, weights_bar
