"""The fast Fourier transform in place, radix 2, X_k = sum_j x_j exp(-2 pi i j k / n), on real and imaginary arrays.

Source: J. W. Cooley and J. W. Tukey, Mathematics of Computation 19 (1965) 297; bit reversal and the recurrence of the
twiddle factors as in Press et al., Numerical Recipes, section 12.2.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]

SIZES = {"tiny": 4, "demo": 12, "n10": 10, "n13": 13, "n16": 16}
WRT = (0, 1)
OUTPUTS = (0, 1)


def make_args(size: str, seed: int = 0) -> tuple[Array, Array]:
    """Real and imaginary parts (n), standard normal; SIZES holds log2 n."""
    rng = np.random.default_rng(seed)
    n = 1 << SIZES[size]
    return rng.normal(size=n), rng.normal(size=n)


@njit
def bit_reverse(re: Array, im: Array) -> None:
    """Permute re and im (n), n a power of two, by reversing the bits of the index."""
    n = re.shape[0]
    j = 0
    for i in range(n - 1):
        if i < j:
            re[i], re[j] = re[j], re[i]
            im[i], im[j] = im[j], im[i]
        m = n >> 1
        while m >= 1 and j & m:
            j ^= m
            m >>= 1
        j |= m


@njit
def fft(re: Array, im: Array) -> None:
    """Replace re + i im, both (n) float64 with n a power of two, by its discrete Fourier transform."""
    n = re.shape[0]
    bit_reverse(re, im)
    half = 1
    while half < n:
        angle = -math.pi / half
        sine = math.sin(0.5 * angle)
        step_re = -2.0 * sine * sine
        step_im = math.sin(angle)
        w_re = 1.0
        w_im = 0.0
        for m in range(half):
            for i in range(m, n, 2 * half):
                k = i + half
                t_re = w_re * re[k] - w_im * im[k]
                t_im = w_re * im[k] + w_im * re[k]
                re[k] = re[i] - t_re
                im[k] = im[i] - t_im
                re[i] += t_re
                im[i] += t_im
            old = w_re
            w_re += w_re * step_re - w_im * step_im
            w_im += w_im * step_re + old * step_im
        half *= 2


def derivative(args: tuple[Array, Array], seeds: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Closed form: the transform F is linear, its adjoint is F^H = n F^-1, by NumPy's own inverse FFT.

    The seeds are the cotangents of re and im after the call.
    """
    re_bar, im_bar = seeds or (np.ones_like(args[0]), np.ones_like(args[1]))
    x_bar = np.fft.ifft(re_bar + 1j * im_bar, norm="forward")
    return x_bar.real.copy(), x_bar.imag.copy()
