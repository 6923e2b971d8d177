"""What arrays and numbers hold, and how arrays lie in memory."""

from __future__ import annotations

import numpy as np

from tools.support.case import Group, row
from tools.support.cases.values import MASK, A, B, M, X, Y

_SINGLE = X.astype(np.float32)
_STRIDED = np.repeat(X, 2)[::2]


def _complex_arithmetic(x, y):
    z = complex(x, y)
    w = z * z / (1.0 + z) - z.conjugate()
    return w.real * w.imag


def _complex_array(x, y):
    z = x + 1j * y
    return (z * z).real + np.abs(z)


def _complex_functions(x, y):
    z = np.exp(complex(x, y)) + np.sqrt(complex(y, x)) + np.log(complex(x, y))
    return abs(z) * z.real


def _complex_single(x, y):
    z = np.complex64(complex(x, y))
    return (z * z).real


def _datetime(x, when):
    return x * (when[1] > when[0]) * ((when[1] - when[0]) / np.timedelta64(2, "D"))


def _text(x, name):
    return x * len(name) if name == "cubic" else x


def _read_only(x):
    return x * x


_FROZEN = X.copy()
_FROZEN.flags.writeable = False


def _half(x):
    return (x.astype(np.float16)).astype(np.float64)


GROUP = Group(
    "dtypes",
    "Dtypes and layouts",
    (
        row("float64", "np.sum(np.exp(x) * x)", x=X),
        row("float32 arrays", "np.sum(np.exp(x) * x)", x=_SINGLE),
        row("float32 scalars", "np.float32(math.sin(x)) * x", x=np.float32(A)),
        row("float32 and float64 mixed", "np.sum(x * y)", x=_SINGLE, y=Y),
        row("float16", _half, x=X),
        row(
            "integers of every width",
            "x * n[0] * k[1] * np.uint16(3)",
            x=X,
            n=np.array([2], np.int8),
            k=np.array([1, 5], np.uint32),
        ),
        row("booleans", "x * mask", x=X, mask=MASK),
        row("complex128 arithmetic", _complex_arithmetic, x=A, y=B),
        row("complex128 arrays", _complex_array, x=X, y=Y),
        row("complex128 functions", _complex_functions, x=A, y=B),
        row("complex64", _complex_single, x=np.float32(A), y=np.float32(B)),
        row("datetime64, inactive", _datetime, x=A, when=np.array(["2026-01-01", "2026-01-05"], "M8[D]")),
        row("strings, inactive", _text, x=A, name="cubic"),
        row("Fortran order", "m * 2.0 + m[0, 1]", m=np.asfortranarray(M)),
        row("strided arrays", "np.sum(x * x) * x", x=_STRIDED),
        row("negative strides", "x * x[0]", x=X[::-1]),
        row("read-only arrays", _read_only, x=_FROZEN),
        row("empty arrays", "np.sum(x * x) + a", x=np.zeros(0), a=A),
        row("arrays of no dimension", "x[()] * a", x=np.array(0.6), a=A),
    ),
)
