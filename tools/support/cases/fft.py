"""NumPy: Fourier transforms, which need a package beside Numba (rocket-fft)."""

from __future__ import annotations

from tools.support.case import Group, row
from tools.support.cases.values import X

GROUP = Group(
    "fft",
    "NumPy: Fourier transforms",
    (
        row("np.fft.fft", "np.fft.fft(x).real", x=X),
        row("np.fft.rfft", "np.fft.rfft(x).real", x=X),
        row("np.fft.fftfreq", "np.fft.fftfreq(5) * x", x=X),
    ),
)
