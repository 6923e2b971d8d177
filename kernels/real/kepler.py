"""Positions of a planet at given times from its orbital elements, Kepler's equation solved by Newton's method.

E - e sin E = M; then (a (cos E - e), a sqrt(1 - e^2) sin E) in the orbit's plane, turned by its three angles.
Source: C. D. Murray and S. F. Dermott, Solar System Dynamics (1999), sections 2.4 and 2.8; the first guess is J. M. A.
Danby's, Celestial Mechanics 40 (1987) 303.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, float, Array, Array]

SIZES = {"tiny": 5, "demo": 100_000}
WRT = (0, 1, 2)
OUTPUTS = (3,)


class Ellipse(NamedTuple):
    """An orbit in its plane: half-axis, eccentricity, mean anomaly at time zero, mean motion."""

    half_axis: float
    eccentricity: float
    anomaly: float
    motion: float


def make_args(size: str, seed: int = 0) -> Args:
    """The elements (6), the gravitational parameter, times (n) and an array (n, 3) for the positions; SIZES holds n."""
    n = SIZES[size]
    elements = np.array([1.3, 0.35, 0.4, 1.1, 0.7, 0.9])
    return elements, 1.7, np.random.default_rng(seed).uniform(0.5, 20.0, n), np.zeros((n, 3))


@njit
def _eccentric_anomaly(mean: float, eccentricity: float) -> float:
    guess = mean + math.copysign(0.85 * eccentricity, math.sin(mean))
    for _ in range(50):
        step = (guess - eccentricity * math.sin(guess) - mean) / (1.0 - eccentricity * math.cos(guess))
        guess -= step
        if abs(step) < 1e-9:
            # Newton's steps shrink quadratically: this one was the last that counts
            return guess
    raise ValueError("Kepler's equation: Newton's method did not converge")


@njit
def kepler(elements: Array, mu: float, times: Array, positions: Array) -> None:
    """Write the positions (n, 3) at times (n); all arrays are float64.

    elements (6): half-axis, eccentricity, inclination, longitude of the node, argument of the periapsis, mean anomaly
    at time zero; angles in radians. mu is the gravitational parameter.

    Raises
    ------
    ValueError: the eccentricity is not that of an ellipse, or Newton's method does not converge.
    """
    if not 0.0 <= elements[1] < 1.0:
        raise ValueError("the orbit is no ellipse")
    orbit = Ellipse(elements[0], elements[1], elements[5], math.sqrt(mu / elements[0] ** 3))
    cos_i, sin_i = math.cos(elements[2]), math.sin(elements[2])
    cos_node, sin_node = math.cos(elements[3]), math.sin(elements[3])
    cos_peri, sin_peri = math.cos(elements[4]), math.sin(elements[4])
    for k in range(times.shape[0]):
        mean = (orbit.anomaly + orbit.motion * times[k]) % (2.0 * math.pi)
        angle = _eccentric_anomaly(mean, orbit.eccentricity)
        x = orbit.half_axis * (math.cos(angle) - orbit.eccentricity)
        y = orbit.half_axis * math.sqrt(1.0 - orbit.eccentricity**2) * math.sin(angle)
        along = cos_peri * x - sin_peri * y
        across = sin_peri * x + cos_peri * y
        positions[k, 0] = cos_node * along - sin_node * cos_i * across
        positions[k, 1] = sin_node * along + cos_node * cos_i * across
        positions[k, 2] = sin_i * across


def _turn(axis: int, angle: float) -> Array:
    """The matrix that turns by `angle` about an axis."""
    matrix = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    matrix[i, i] = matrix[j, j] = np.cos(angle)
    matrix[j, i], matrix[i, j] = np.sin(angle), -np.sin(angle)
    return matrix


def _turned(axis: int, angle: float) -> Array:
    """The derivative of `_turn` by the angle."""
    fixed = np.zeros((3, 3))
    fixed[axis, axis] = 1.0
    return _turn(axis, angle + 0.5 * np.pi) - fixed


def derivative(args: Args, seeds: tuple[Array] | None = None) -> tuple[Array, float, Array]:
    """By the implicit-function theorem, and by the angles as products of three rotations.

    dE/dM = a / r and dE/de = a sin E / r with r = a (1 - e cos E) (Murray and Dermott, from equation 2.52); the
    eccentric anomaly comes from bisection, not from Newton's method.
    """
    elements, mu, times, positions = args
    (seed,) = seeds or (np.ones_like(positions),)
    a, e, tilt, node, peri, anomaly = elements
    motion = np.sqrt(mu / a**3)
    mean = anomaly + motion * times
    low, high = mean - 1.0, mean + 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = middle - e * np.sin(middle) < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    angle = 0.5 * (low + high)
    slope = 1.0 / (1.0 - e * np.cos(angle))
    root = np.sqrt(1.0 - e**2)
    zero = np.zeros_like(times)
    plane = np.stack([a * (np.cos(angle) - e), a * root * np.sin(angle), zero], axis=1)
    by_angle = np.stack([-a * np.sin(angle), a * root * np.cos(angle), zero], axis=1)
    by_e = np.stack([zero - a, -a * e / root * np.sin(angle), zero], axis=1)
    by_e = by_e + by_angle * (slope * np.sin(angle))[:, None]
    by_mean = by_angle * slope[:, None]
    turns = [_turn(2, node), _turn(0, tilt), _turn(2, peri)]
    whole = turns[0] @ turns[1] @ turns[2]
    mean_bar = np.sum(seed * (by_mean @ whole.T), axis=1)
    elements_bar = np.array([
        np.sum(seed * (plane @ whole.T)) / a - 1.5 * motion / a * np.sum(mean_bar * times),
        np.sum(seed * (by_e @ whole.T)),
        np.sum(seed * (plane @ (turns[0] @ _turned(0, tilt) @ turns[2]).T)),
        np.sum(seed * (plane @ (_turned(2, node) @ turns[1] @ turns[2]).T)),
        np.sum(seed * (plane @ (turns[0] @ turns[1] @ _turned(2, peri)).T)),
        np.sum(mean_bar),
    ])  # fmt: skip
    return elements_bar, 0.5 * motion / mu * float(np.sum(mean_bar * times)), motion * mean_bar
