"""Dispersion of Love waves: the slowest phase velocity of horizontal shear waves guided by layers on a half-space.

Displacement and stress are carried from the free surface down through the layers; a wave is guided where they meet the
half-space's decaying solution. A root of that secular function is bracketed, bisected, and polished by Newton's step,
which also makes its derivative right: what a bisection returns does not depend on the model to first order.
Source: N. A. Haskell, Bulletin of the Seismological Society of America 43 (1953) 17, section on Love waves; K. Aki and
P. G. Richards, Quantitative Seismology (2002), section 7.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, Array, Array]

SIZES = {"tiny": (3, 2), "demo": (200, 8)}
WRT = (0, 1, 2, 3)
OUTPUTS = (4,)


def make_args(size: str, seed: int = 0) -> Args:
    """thickness (n), shear velocity (n + 1), density (n + 1), frequencies (m) in radians and an array for velocities.

    SIZES holds (m, n); km, km/s and g/cm^3.
    """
    count, layers = SIZES[size]
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(4.0, 8.0, layers) / layers,
        np.linspace(1.5, 3.0, layers + 1) + rng.uniform(-0.1, 0.1, layers + 1),
        np.linspace(2.2, 3.1, layers + 1),
        np.linspace(0.8, 2.5, count),
        np.zeros(count),
    )


@njit
def _secular(c: float, omega: float, thickness: Array, velocity: Array, density: Array) -> tuple[float, float]:
    """The secular function at phase velocity c, and its slope by c."""
    u, stress = 1.0, 0.0
    u_slope, stress_slope = 0.0, 0.0
    layers = thickness.shape[0]
    for j in range(layers):
        rigidity = density[j] * velocity[j] ** 2
        # the square of the vertical wavenumber; its sign tells waves from exponentials
        square = omega * omega * (1.0 / velocity[j] ** 2 - 1.0 / c**2)
        square_slope = 2.0 * omega * omega / c**3
        wavenumber = math.sqrt(abs(square))
        h = thickness[j]
        if wavenumber * h < 1e-6:
            even, odd = 1.0 - 0.5 * square * h * h, h * (1.0 - square * h * h / 6.0)
            even_slope, odd_slope = -0.5 * h * h, -h * h * h / 6.0
        else:
            if square > 0.0:
                even, odd = math.cos(wavenumber * h), math.sin(wavenumber * h) / wavenumber
            else:
                even, odd = math.cosh(wavenumber * h), math.sinh(wavenumber * h) / wavenumber
            # by the square: of cos(w h) and sin(w h) / w
            even_slope, odd_slope = -0.5 * h * odd, 0.5 * (h * even - odd) / square
        u, stress, u_slope, stress_slope = (
            even * u + odd / rigidity * stress,
            even * stress - square * rigidity * odd * u,
            even * u_slope
            + odd / rigidity * stress_slope
            + square_slope * (even_slope * u + odd_slope / rigidity * stress),
            even * stress_slope
            - square * rigidity * odd * u_slope
            + square_slope * (even_slope * stress - rigidity * (odd + square * odd_slope) * u),
        )
    decay = omega * math.sqrt(1.0 / c**2 - 1.0 / velocity[layers] ** 2)
    rigidity = density[layers] * velocity[layers] ** 2
    decay_slope = -omega * omega / (c**3 * decay)
    return stress + rigidity * decay * u, stress_slope + rigidity * (decay * u_slope + decay_slope * u)


@njit
def love(thickness: Array, velocity: Array, density: Array, omegas: Array, speeds: Array) -> None:
    """Write the phase velocities (m) of the fundamental mode at angular frequencies omegas (m); all arrays are float64.

    thickness (n) of the layers; velocity (n + 1) of shear waves and density (n + 1), those of the half-space last.

    Raises
    ------
    ValueError: no guided wave is found.
    """
    slowest, fastest = velocity[:-1].min(), velocity[-1]
    for k in range(omegas.shape[0]):
        low, step = slowest * (1.0 + 1e-9), (fastest - slowest) / 200.0
        at_low, _ = _secular(low, omegas[k], thickness, velocity, density)
        high = low
        while True:
            high += step
            if high >= fastest:
                raise ValueError("there is no guided wave")
            at_high, _ = _secular(high, omegas[k], thickness, velocity, density)
            if at_low * at_high <= 0.0:
                break
            low, at_low = high, at_high
        while high - low > 1e-9 * high:
            middle = 0.5 * (low + high)
            at_middle, _ = _secular(middle, omegas[k], thickness, velocity, density)
            if at_low * at_middle <= 0.0:
                high = middle
            else:
                low, at_low = middle, at_middle
        c = 0.5 * (low + high)
        # a step to the root, to rounding; and one there, whose derivative is the root's
        for _ in range(2):
            value, slope = _secular(c, omegas[k], thickness, velocity, density)
            c -= value / slope
        speeds[k] = c


def _determinant(c: complex, omega: complex, thickness: Array, velocity: Array, density: Array) -> complex:
    """The determinant of all boundary conditions, whose unknowns are two amplitudes a layer and one below.

    Divided by the layers' wavenumbers it is even in each, so that it has no cut where one of them is imaginary.
    """
    layers = thickness.size
    wave = omega * np.sqrt(1.0 / velocity**2 - 1.0 / c**2 + 0j)
    wave[-1] = 1j * omega * np.sqrt(1.0 / c**2 - 1.0 / velocity[-1] ** 2)
    rigidity = density * velocity**2
    system = np.zeros((2 * layers + 1, 2 * layers + 1), complex)
    system[0, :2] = rigidity[0] * wave[0], -rigidity[0] * wave[0]
    for j in range(layers):
        ends = np.exp(1j * wave[j] * thickness[j]), np.exp(-1j * wave[j] * thickness[j])
        here, below = 2 * j + 1, slice(2 * j + 2, 2 * j + 4)
        stiffness, next_stiffness = rigidity[j] * wave[j], rigidity[j + 1] * wave[j + 1]
        system[here, 2 * j : 2 * j + 2] = ends
        system[here + 1, 2 * j : 2 * j + 2] = stiffness * ends[0], -stiffness * ends[1]
        signs = np.array([1.0, -1.0]) if j + 1 < layers else np.array([1.0])
        system[here, below] = -1.0
        system[here + 1, below] = -next_stiffness * signs
    return complex(np.linalg.det(system) / np.prod(wave[:-1]))


def derivative(args: Args, seeds: tuple[Array] | None = None) -> tuple[Array, Array, Array, Array]:
    """By the implicit-function theorem on the determinant of all boundary conditions: dc/dp = -D_p / D_c.

    (L. Knopoff, Bulletin of the Seismological Society of America 54 (1964) 431, writes the problem as that
    determinant.) It is a holomorphic function of all its arguments: Cauchy's integral gives its slopes to rounding
    (J. N. Lyness and C. B. Moler, SIAM Journal on Numerical Analysis 4 (1967) 202).
    """
    thickness, velocity, density, omegas, speeds = args
    (seed,) = seeds or (np.ones_like(speeds),)
    speeds = speeds.copy()
    love(thickness, velocity, density, omegas, speeds)
    bars = np.zeros_like(thickness), np.zeros_like(velocity), np.zeros_like(density), np.zeros_like(omegas)
    for k, (c, omega) in enumerate(zip(speeds, omegas, strict=True)):
        parts = [np.array([c, omega]), thickness, velocity, density]
        point = np.concatenate(parts).astype(complex)
        ends = np.cumsum([p.size for p in parts])[:-1]

        def at(moved: Array, ends: Array = ends) -> complex:
            (speed, frequency), *model = np.split(moved, ends)
            return _determinant(speed, frequency, *model)

        slopes = np.array([_circle(at, point, i) for i in range(point.size)])
        c_by = -seed[k] * (slopes / slopes[0]).real
        _, *model_bars = np.split(c_by, ends)
        for i, more in enumerate(model_bars):
            bars[i][:] += more
        bars[3][k] = c_by[1]
    return bars


def _circle(function: Callable[[Array], complex], point: Array, i: int) -> complex:
    """The slope of a holomorphic function by one variable: Cauchy's integral by the trapezoidal rule."""
    turns = np.exp(2j * np.pi * np.arange(16) / 16)
    radius = 1e-3 * abs(point[i])
    values = []
    for turn in turns:
        moved = point.copy()
        moved[i] += radius * turn
        values.append(function(moved) / turn)
    return np.mean(values) / radius
