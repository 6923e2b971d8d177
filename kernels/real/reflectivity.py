"""Reflectivity of neutrons or X-rays from a stack of thin layers by Abelès' matrices, in complex arithmetic.

k_j = sqrt(q^2 / 4 - 4 pi (rho_j - rho_0)); Fresnel's coefficients are damped by the roughness of the interfaces.
Source: F. Abelès, Annales de Physique, 12th series, 5 (1950) 596; for the damping L. Névot and P. Croce, Revue de
Physique Appliquée 15 (1980) 761.
"""

from __future__ import annotations

import cmath
import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, Array, Array, Array]

SIZES = {"tiny": (6, 2), "demo": (2000, 10)}
WRT = (0, 1, 2, 3, 4)
OUTPUTS = (5,)


def make_args(size: str, seed: int = 0) -> Args:
    """q (m), thickness (n), density (n + 2), absorption (n + 2), roughness (n + 1) and an array (m) for the result.

    SIZES holds (m, n); lengths are in Å, densities in 1e-6 / Å^2. The smallest q lie where all is reflected.
    """
    count, layers = SIZES[size]
    rng = np.random.default_rng(seed)
    return (
        np.linspace(0.005, 0.2, count),
        rng.uniform(30.0, 80.0, layers),
        np.concatenate([[0.0], rng.uniform(1.0, 8.0, layers + 1)]),
        np.concatenate([[0.0], rng.uniform(1e-3, 1e-2, layers + 1)]),
        rng.uniform(2.0, 6.0, layers + 1),
        np.zeros(count),
    )


@njit
def reflectivity(
    q: Array, thickness: Array, density: Array, absorption: Array, roughness: Array, reflected: Array
) -> None:
    """Write the reflected fractions (m) at momentum transfers q (m), which are positive; all arrays are float64.

    thickness (n) of the layers; density (n + 2) and absorption (n + 2): the scattering-length density, real and (minus
    the) imaginary part in millionths, that of the medium above first and of the substrate last; roughness (n + 1) of
    the interfaces. The medium above does not absorb.
    """
    layers = thickness.shape[0]
    for i in range(q.shape[0]):
        wave = complex(0.5 * q[i], 0.0)
        m00, m01, m10, m11 = 1.0 + 0.0j, 0.0j, 0.0j, 1.0 + 0.0j
        phase = 0.0j
        for j in range(layers + 1):
            contrast = density[j + 1] - density[0] - 1j * absorption[j + 1]
            below = cmath.sqrt(0.25 * q[i] ** 2 - 4e-6 * math.pi * contrast)
            fresnel = (wave - below) / (wave + below) * cmath.exp(-2.0 * wave * below * roughness[j] ** 2)
            # from below an interface to the top of the layer above it
            down, up = cmath.exp(-phase), cmath.exp(phase)
            c00, c01, c10, c11 = down, fresnel * down, fresnel * up, up
            m00, m01, m10, m11 = (
                m00 * c00 + m01 * c10,
                m00 * c01 + m01 * c11,
                m10 * c00 + m11 * c10,
                m10 * c01 + m11 * c11,
            )
            if j < layers:
                phase = 1j * below * thickness[j]
            wave = below
        reflected[i] = abs(m10 / m00) ** 2


def derivative(args: Args, seeds: tuple[Array] | None = None) -> tuple[Array, Array, Array, Array, Array]:
    """Hand-written adjoint of Parratt's recursion, which starts from the substrate and needs no matrices.

    X_j = (r_j + X_{j+1} e_j) / (1 + r_j X_{j+1} e_j) with e_j = exp(2 i k_{j+1} d_{j+1})
    (L. G. Parratt, Physical Review 95 (1954) 359, equation 9). All steps are holomorphic: cotangents below are plain
    complex derivatives of R = X conj X by the first factor, and the real part is taken twice at the end.
    """
    q, thickness, density, absorption, roughness, reflected = args
    (seed,) = seeds or (np.ones_like(reflected),)
    layers = thickness.size
    scatter = density - 1j * absorption
    scatter[0] = density[0]
    k = [np.sqrt(0.25 * q**2 - 4e-6 * np.pi * (s - scatter[0]) + 0j) for s in scatter]
    r = [(a - b) / (a + b) * np.exp(-2.0 * a * b * s**2) for a, b, s in zip(k, k[1:], roughness, strict=False)]
    x = [np.zeros(q.size, complex)] * (layers + 2)
    e = [np.exp(2j * k[j + 1] * thickness[j]) for j in range(layers)] + [np.zeros(q.size, complex)]
    for j in range(layers, -1, -1):
        x[j] = (r[j] + x[j + 1] * e[j]) / (1.0 + r[j] * x[j + 1] * e[j])
    x_bar = seed * np.conj(x[0])
    k_bar = [np.zeros(q.size, complex) for _ in k]
    thickness_bar, roughness_bar = np.zeros(layers), np.zeros(layers + 1)
    for j in range(layers + 1):
        within = 1.0 + r[j] * x[j + 1] * e[j]
        r_bar = x_bar * (1.0 - (x[j + 1] * e[j]) ** 2) / within**2
        carried = x_bar * (1.0 - r[j] ** 2) / within**2
        if j < layers:
            e_bar = carried * x[j + 1] * e[j]
            k_bar[j + 1] += 2j * thickness[j] * e_bar
            thickness_bar[j] = 2.0 * np.sum((2j * k[j + 1] * e_bar).real)
        x_bar = carried * e[j]
        a, b, s = k[j], k[j + 1], roughness[j]
        damping = np.exp(-2.0 * a * b * s**2)
        k_bar[j] += r_bar * (2.0 * b / (a + b) ** 2 * damping - 2.0 * b * s**2 * r[j])
        k_bar[j + 1] += r_bar * (-2.0 * a / (a + b) ** 2 * damping - 2.0 * a * s**2 * r[j])
        roughness_bar[j] = 2.0 * np.sum((-4.0 * a * b * s * r[j] * r_bar).real)
    q_bar = 2.0 * sum((bar * 0.25 * q / wave).real for bar, wave in zip(k_bar, k, strict=True))
    scatter_bar = np.array([np.sum(-2e-6 * np.pi / wave * bar) for bar, wave in zip(k_bar, k, strict=True)])
    density_bar, absorption_bar = 2.0 * scatter_bar.real, 2.0 * scatter_bar.imag
    density_bar[0], absorption_bar[0] = -np.sum(density_bar[1:]), 0.0
    return q_bar, thickness_bar, density_bar, absorption_bar, roughness_bar
