"""Real modules to read and write: kernels from Numba as lowered, normalised, and optimised with vectors.

To add more, put an entry into CASES: a name, and a function that gives texts by stage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import types

import kernels
from irad.frontend.lower import lower
from irad.llvm import normalize, optimize

F64, F32, I32, C128, BOOL = types.float64, types.float32, types.int32, types.complex128, types.boolean


def waves(z, x):
    total = 0j
    for i in range(x.size):
        total += (z[i] * x[i] - 1j).conjugate() * z[i]
    return total, total.real


def several(x):
    return x[0], x.size, (x[1:], True)


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1) if n % 2 else power(x * x, n // 2)


def choose(x, k):
    total = 0.0
    for i in range(k.size):
        if k[i] == 0:
            total += x[i]
        elif k[i] == 1:
            total -= math.sin(x[i])
        elif k[i] == 2:
            total *= x[i]
        elif k[i] == 7:
            continue
        else:
            break
    return total


def saxpy(a, x, y):
    total = np.float32(0.0)
    for i in range(x.size):
        y[i] += a * x[i]
        total += y[i] * y[i]
    return total


def kinks(x):
    best = x[0]
    for i in range(x.size):
        best = max(best, min(abs(x[i]), 3.0)) + math.copysign(0.5, x[i])
    return best


def raises(x, n):
    try:
        if x[n] < 0.0:
            raise ValueError("negative", n)
    except Exception:
        return -1.0
    if n > 3:
        raise IndexError("too far")
    return x[n]


def strided(a, b):
    for i in range(a.shape[0]):
        row = a[i, ::2]
        for j in range(row.size):
            row[j] = b[i, 2 * j + 1] - row[j]


def bits(n, k):
    return (n >> 3 ^ k << 2) // 7 % 5 + np.int8(n) * np.uint16(k) | (n & ~k)


def masks(x, m):
    total = 0.0
    for i in range(x.size):
        m[i] = not (m[i] and x[i] > 0.0)
        total += x[i] if m[i] else 1.0 / x[i]
    return total


def container(x):
    parts = [0.0]
    for i in range(x.size):
        parts.append(parts[-1] + x[i])
    return parts[-1]


SMALL: dict[str, tuple[Callable[..., Any], tuple[Any, ...], bool]] = {  # kernel, argument types, fastmath
    "waves": (waves, (C128[::1], F64[::1]), False),
    "several": (several, (F64[::1],), False),
    "power": (power, (F64, types.int64), False),
    "choose": (choose, (F64[::1], I32[:]), False),
    "saxpy": (saxpy, (F32, F32[::1], F32[::1]), True),
    "kinks": (kinks, (F64[::1],), True),
    "raises": (raises, (F64[::1], types.int64), False),
    "strided": (strided, (F64[:, :], F64[:, :]), False),
    "bits": (bits, (types.int64, types.uint32), False),
    "masks": (masks, (F64[:], BOOL[::1]), False),
    "container": (container, (F64[::1],), False),
}


# thousands of instructions, of the same sort as everywhere
LARGE = ("hand", "gmm", "nbody", "seismic", "cholesky", "lstm", "matmul", "rk4_lorenz")


def _stages(kernel: Any, argtypes: tuple[Any, ...]) -> dict[str, str]:
    lowered = lower(kernel, argtypes)
    normal = normalize(lowered.text, lowered.name)
    return {"raw": lowered.text, "normalized": normal, "optimized": optimize(normal, (lowered.name,))}


def _small(name: str) -> dict[str, str]:
    kernel, argtypes, fastmath = SMALL[name]
    dispatcher = numba.njit(kernel, fastmath=fastmath)
    globals()[name] = dispatcher  # a recursive kernel calls itself by this name
    dispatcher.compile(argtypes)
    (numbas,) = dispatcher.inspect_llvm().values()
    return {**_stages(dispatcher, argtypes), "numba": numbas}


def _kernel(name: str) -> dict[str, str]:
    args = kernels.load(name).make_args("tiny")
    return _stages(kernels.function(name), tuple(map(numba.typeof, args)))


CASES: dict[str, Callable[[], dict[str, str]]] = {
    **{name: partial(_small, name) for name in SMALL},
    **{name: partial(_kernel, name) for name in kernels.names() if name not in LARGE},
}


@cache
def texts(name: str) -> dict[str, str]:
    """A case's modules by stage, as LLVM prints them, without the debug records, which the reader drops."""
    return {stage: clean(text) for stage, text in CASES[name]().items()}


def clean(text: str) -> str:
    """The text as LLVM prints it, without debug records."""
    return printed("\n".join(line for line in text.split("\n") if not line.lstrip().startswith("#dbg_")))


def printed(text: str) -> str:
    """The text as LLVM prints it; in a context of its own, or named types would be renamed."""
    return str(llvm.parse_assembly(text, context=llvm.create_context()))
