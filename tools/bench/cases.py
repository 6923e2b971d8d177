"""What is measured: kernels at sizes, the figures that others reach there, and ours to reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba

import kernels

ENZYME = (
    "Enzyme of May 2025 on LLVM 19, kernels in C compiled by clang -O3, ratio to the C primal; arrays `restrict`, "
    "in brackets without it where that makes a difference. Its gradients leave out the value where it is not asked "
    "for, and its adjoints carry fast-math flags."
)
"""Where the figures of Enzyme come from."""


@dataclass(frozen=True)
class Case:
    """One row of the table.

    kernel, size: as in `kernels`. target: the ratio to the primal's time that irad is to reach. enzyme: Enzyme's
    ratio, see `ENZYME`. fastmath: the derivative is that of the kernel compiled with `fastmath=True`; the primal that
    it is compared with stays as it is.
    """

    kernel: str
    size: str
    target: float | None = None
    enzyme: str = ""
    fastmath: bool = False

    @property
    def label(self) -> str:
        return f"{self.kernel} {self.size}{' fastmath' if self.fastmath else ''}"

    @property
    def module(self) -> kernels.KernelModule:
        return kernels.load(self.kernel)

    @property
    def function(self) -> Callable[..., Any]:
        """The kernel that is differentiated."""
        function: Any = kernels.function(self.kernel)
        return numba.njit(fastmath=True)(function.py_func) if self.fastmath else function


CASES = (
    Case("gmm", "d10", 2.1, "2.4 (7.6)"),
    Case("gmm", "d20", 2.0, "2.5 (17)"),
    Case("gmm", "d64", 2.2, "6.8 (21)"),
    Case("ba", "ba1"),
    Case("ba_blocks", "ba1", 3.0, "6.9 (7.6)"),
    Case("lstm", "c1024", 1.25, "1.26 (1.6)"),
    Case("fft", "n16", 2.0, "5.4"),
    Case("ode_euler", "n1e5", 2.0),
    Case("rk4_lorenz", "n1e5", 2.1, "2.2"),
    Case("brusselator", "n32", 1.4, "1.9-2.6"),
    Case("sumsq", "n1e6", 1.0, "0.9-2.0"),
    Case("rosenbrock", "n1e6", 1.2, "0.9-2.0"),
    Case("logsumexp", "n1e6", 1.1, "1.7-2.3"),
    Case("logsumexp", "n1e6", 0.5, fastmath=True),
    Case("matmul", "n256", 2.6, "2.5-3.0"),
    Case("heat", "n1000", 5.0, "7-12"),
    Case("nbody", "n64", 2.5),
    Case("black_scholes", "n1e6", 2.0),
    Case("black_scholes", "n1e6", 0.9, fastmath=True),
    Case("hand", "v544"),
    Case("hmm", "t1e4"),
    Case("cholesky", "n256"),
    Case("seismic", "n1000"),
)


@dataclass(frozen=True)
class Growth:
    """Three sizes of a kernel, and the work at each in units of its own: about a decade apart."""

    kernel: str
    sizes: tuple[str, str, str]
    work: tuple[float, float, float]
    unit: str


_DECADES = (1e4, 1e5, 1e6)
GROWTH = (
    Growth("gmm", ("d10n1e2", "d10", "d10n1e4"), (1e2, 1e3, 1e4), "points"),
    Growth("ba", ("ba001", "ba01", "ba1"), (318, 3184, 31843), "observations"),
    Growth("lstm", ("c100", "c1024", "c10000"), (100, 1024, 10000), "characters"),
    Growth("hand", ("v54", "v544", "v5440"), (54, 544, 5440), "vertices"),
    Growth("fft", ("n10", "n13", "n16"), (10 * 2**10, 13 * 2**13, 16 * 2**16), "n log n"),
    Growth("brusselator", ("n32", "n100", "n320"), (32**2, 100**2, 320**2), "cells"),
    Growth("heat", ("n100", "n1000", "n10000"), (100, 1000, 10000), "cells"),
    Growth("rk4_lorenz", ("n1e3", "n1e4", "n1e5"), (1e3, 1e4, 1e5), "steps"),
    Growth("ode_euler", ("n1e3", "n1e4", "n1e5"), (1e3, 1e4, 1e5), "steps"),
    Growth("nbody", ("n20", "n64", "n200"), (20**2, 64**2, 200**2), "pairs"),
    Growth("matmul", ("n56", "n120", "n256"), (56**3, 120**3, 256**3), "products"),
    Growth("logsumexp", ("n1e4", "n1e5", "n1e6"), _DECADES, "elements"),
    Growth("rosenbrock", ("n1e4", "n1e5", "n1e6"), _DECADES, "elements"),
    Growth("sumsq", ("n1e4", "n1e5", "n1e6"), _DECADES, "elements"),
    Growth("black_scholes", ("n1e4", "n1e5", "n1e6"), _DECADES, "draws"),
    Growth("hmm", ("t1e3", "t1e4", "t1e5"), (1e3, 1e4, 1e5), "symbols"),
    Growth("cholesky", ("n56", "n120", "n256"), (56**3, 120**3, 256**3), "products"),
    Growth("seismic", ("n100", "n1000", "n10000"), (100, 1000, 10000), "cells"),
)


def chosen(names: tuple[str, ...]) -> tuple[Case, ...]:
    """The cases of these kernels; all of them for no names.

    Raises
    ------
    KeyError: no case has such a kernel.
    """
    known = {case.kernel for case in CASES}
    for name in names:
        if name not in known:
            raise KeyError(f"no case for a kernel named {name!r}: choose from {', '.join(sorted(known))}")
    return tuple(case for case in CASES if not names or case.kernel in names)
