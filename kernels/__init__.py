"""Kernels to test, measure and show irad with: a Numba function in loop style, and a derivative that owes irad nothing.

A module holds one kernel, an `njit` function named like the module, and the names of `KernelModule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, cast

_NAMES = (
    "gmm",
    "ba",
    "lstm",
    "hand",
    "fft",
    "brusselator",
    "heat",
    "rk4_lorenz",
    "ode_euler",
    "nbody",
    "matmul",
    "logsumexp",
    "rosenbrock",
    "sumsq",
    "black_scholes",
    "hmm",
    "cholesky",
    "seismic",
)


class KernelModule(Protocol):
    """What every kernel module offers beside its kernel.

    SIZES: problem sizes by name; always "tiny" (tests), "demo", and the sizes that are measured.
    WRT: positions of the arguments to differentiate (arrays of float64 or float32, or floats).
    OUTPUTS: positions of the arrays that carry the result of a kernel returning None; empty when it returns a float.
    """

    SIZES: Mapping[str, object]
    WRT: tuple[int, ...]
    OUTPUTS: tuple[int, ...]

    def make_args(self, size: str, seed: int = 0) -> tuple[Any, ...]:
        """Positional arguments of the kernel, in fresh arrays; equal for equal size and seed."""
        ...

    def derivative(self, args: tuple[Any, ...], seeds: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
        """The vector-Jacobian product of the kernel at `args`, which are left as they are.

        seeds: the cotangents of the results: one array per position in OUTPUTS, or one float for the returned value;
        None stands for ones. Returns one cotangent per position in WRT, shaped like that argument.
        """
        ...


@dataclass(frozen=True)
class Collection:
    """The kernels of one package, whose modules are `names`."""

    package: str
    names: tuple[str, ...]

    def load(self, name: str) -> KernelModule:
        """The module of a kernel; KeyError when there is none of that name."""
        if name not in self.names:
            raise KeyError(f"no kernel named {name!r}: choose from {', '.join(self.names)}")
        return cast(KernelModule, import_module(f"{self.package}.{name}"))

    def function(self, name: str) -> Callable[..., Any]:
        """The Numba function of a kernel; KeyError when there is none of that name."""
        return cast("Callable[..., Any]", getattr(self.load(name), name))


COLLECTION = Collection(__name__, _NAMES)

load, function = COLLECTION.load, COLLECTION.function


def names() -> tuple[str, ...]:
    """The names of all kernels."""
    return _NAMES
