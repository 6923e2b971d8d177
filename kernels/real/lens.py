"""Skew rays through a row of spherical surfaces: where they meet the image plane.

Transfer to the next surface by W. T. Welford's formulae, refraction by Snell's law in vectors. The ray is an instance
of a jitclass that the surfaces change.
Source: W. T. Welford, Aberrations of Optical Systems (1986), chapter 4.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import float64, njit
from numba.experimental import jitclass

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, Array, Array]

SIZES = {"tiny": 4, "demo": 20_000}
WRT = (0, 1, 2, 3)
OUTPUTS = (4,)


def make_args(size: str, seed: int = 0) -> Args:
    """rays (m, 4), curvatures (s), distances (s + 1), indices (s + 1), and the image (m, 2); SIZES holds m.

    The surfaces are a cemented doublet's and a singlet's.
    """
    count = SIZES[size]
    rng = np.random.default_rng(seed)
    rays = np.column_stack([rng.uniform(-8.0, 8.0, (count, 2)), rng.uniform(-0.05, 0.05, (count, 2))])
    curvatures = np.array([0.0165, -0.0225, -0.0078, 0.012, -0.004])
    distances = np.array([5.0, 6.0, 2.5, 10.0, 3.0, 55.0])
    return rays, curvatures, distances, np.array([1.0, 1.517, 1.649, 1.0, 1.517, 1.0]), np.zeros((count, 2))


@jitclass([("x", float64), ("y", float64), ("z", float64), ("l", float64), ("m", float64), ("n", float64)])
class Ray:
    """A point, relative to the vertex of the last surface, and the cosines of a direction."""

    def __init__(self, x: float, y: float, l: float, m: float) -> None:  # noqa: E741
        self.x = x
        self.y = y
        self.z = 0.0
        self.l = l
        self.m = m
        self.n = math.sqrt(1.0 - l * l - m * m)


@njit
def _transfer(ray: Ray, distance: float, curvature: float) -> float:
    """Move the ray to the next surface; the cosine of incidence there, NaN when it passes by."""
    to_vertex = (distance - ray.z) / ray.n
    x, y = ray.x + ray.l * to_vertex, ray.y + ray.m * to_vertex
    f = curvature * (x * x + y * y)
    g = ray.n - curvature * (ray.l * x + ray.m * y)
    under = g * g - curvature * f
    if under < 0.0:
        return math.nan
    cosine = math.sqrt(under)
    along = f / (g + cosine)
    ray.x = x + ray.l * along
    ray.y = y + ray.m * along
    ray.z = ray.n * along
    return cosine


@njit
def _refract(ray: Ray, cosine: float, curvature: float, before: float, after: float) -> None:
    """Turn the ray; raises ValueError when it is totally reflected."""
    under = after * after - before * before * (1.0 - cosine * cosine)
    if under < 0.0:
        raise ValueError("a ray is totally reflected")
    power = curvature * (math.sqrt(under) - before * cosine)
    ray.l = (before * ray.l - power * ray.x) / after
    ray.m = (before * ray.m - power * ray.y) / after
    ray.n = (before * ray.n - power * ray.z + power / curvature) / after


@njit
def lens(rays: Array, curvatures: Array, distances: Array, indices: Array, image: Array) -> None:
    """Write where rays (m, 4) meet the image plane (m, 2), NaN for those that miss a surface; all arrays are float64.

    A ray is a point (x, y) and two cosines (l, m) in a plane before the first surface. curvatures (s) are not zero;
    distances (s + 1) go from that plane to the first surface, between surfaces, and to the image; indices (s + 1) of
    refraction, that of the space of the object first.

    Raises
    ------
    ValueError: a ray is totally reflected.
    """
    surfaces = curvatures.shape[0]
    for k in range(rays.shape[0]):
        ray = Ray(rays[k, 0], rays[k, 1], rays[k, 2], rays[k, 3])
        s = 0
        while s < surfaces:
            cosine = _transfer(ray, distances[s], curvatures[s])
            if math.isnan(cosine):
                break
            _refract(ray, cosine, curvatures[s], indices[s], indices[s + 1])
            s += 1
        if s < surfaces:
            image[k, :] = math.nan
            continue
        to_image = (distances[surfaces] - ray.z) / ray.n
        image[k, 0] = ray.x + ray.l * to_image
        image[k, 1] = ray.y + ray.m * to_image


def _image(rays: Array, curvatures: Array, distances: Array, indices: Array) -> Array:
    """The image (m, 2), by crossing whole spheres and by splitting a direction along the normal; takes complex numbers.

    Positions count from the vertex of the last surface.
    """
    point = np.column_stack([rays[:, :2], np.zeros(len(rays))])
    direction = np.column_stack([rays[:, 2:], np.sqrt(1.0 - np.sum(rays[:, 2:] ** 2, axis=1))])
    for curvature, distance, before, after in zip(curvatures, distances, indices, indices[1:], strict=False):
        point = point - np.array([0.0, 0.0, 1.0]) * distance
        from_centre = point - np.array([0.0, 0.0, 1.0]) / curvature
        along = np.sum(from_centre * direction, axis=1)
        half = np.sqrt(along**2 - np.sum(from_centre**2, axis=1) + 1.0 / curvature**2)
        # of the two crossings of the sphere the one on the side of the vertex
        reach = (-along - np.sign(curvature.real) * half)[:, None]
        point = point + reach * direction
        normal = -(from_centre + reach * direction) * curvature
        across = before / after * (direction - np.sum(direction * normal, axis=1)[:, None] * normal)
        direction = across + np.sqrt(1.0 - np.sum(across**2, axis=1))[:, None] * normal
    reach = ((distances[-1] - point[:, 2]) / direction[:, 2])[:, None]
    return (point + reach * direction)[:, :2]


def derivative(args: Args, seeds: tuple[Array] | None = None) -> tuple[Array, Array, Array, Array]:
    """Complex steps (W. Squire and G. Trapp, SIAM Review 40 (1998) 110) of rays traced by whole spheres."""
    *inputs, image = args
    (seed,) = seeds or (np.ones_like(image),)
    step = 1e-30
    bars = [np.zeros_like(a) for a in inputs]
    for place, bar in enumerate(bars):
        # rays do not see each other: all of them are moved at once
        for at in range(bar.shape[-1]):
            moved = [a.astype(complex) for a in inputs]
            moved[place][..., at] += 1j * step
            slopes = np.sum(seed * _image(*moved).imag, axis=1) / step
            bar[..., at] = slopes if bar.ndim == 2 else np.sum(slopes)
    return bars[0], bars[1], bars[2], bars[3]
