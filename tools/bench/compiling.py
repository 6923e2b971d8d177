"""Where the time of a first gradient goes: Numba, LLVM, and each of irad's own passes.

The stages are timed from outside, by replacing the functions that `irad.pipeline` and `irad.llvm` call. Time inside
another stage counts there only.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

import kernels
from irad import llvm, pipeline, rewrite
from irad.emit import augment, entry, reverse
from irad.ir.read import read

LARGEST = ("hand", "gmm", "lstm", "ba")
GENERATED = (2_500, 5_000, 10_000, 20_000)  # instructions
OURS_AT_MOST = 0.30

FOREIGN = {"lower": "Numba lowers", "normalize": "LLVM normalises", "optimize": "LLVM optimises"}
_STAGES: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (pipeline, ("lower", "read", "success", "flow", "objects", "kinds", "activity", "scratch", "memory", "reversal")),
    (pipeline, ("speculated", "canonical", "needs", "plan", "Lines", "Scopes", "assemble", "concretize")),
    (pipeline, ("check", "write")),
    (augment, ("augmented",)),
    (reverse, ("reverse",)),
    (entry, ("reverse",)),
    (llvm, ("normalize", "optimize")),
    (rewrite, ("lines_only", "strip_runtime", "with_data_pointers", "mark_inline", "tag_short_loops")),
    (rewrite, ("without_unused_environments",)),
)
_NAMES = {"success": "errors", "speculated": "speculation", "augmented": "emit", "concretize": "emit", "Scopes": "emit"}
_NAMES |= {"assemble": "emit"}


@dataclass
class Clock:
    """Seconds of processor time by stage, each without what other stages inside it took."""

    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _inside: list[float] = field(default_factory=list[float])

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, with its time counted."""

        def run(*args: Any, **kwargs: Any) -> Any:
            self._inside.append(0.0)
            began = time.thread_time()
            try:
                return function(*args, **kwargs)
            finally:
                took = time.thread_time() - began
                self.seconds[stage] = self.seconds.get(stage, 0.0) + took - self._inside.pop()
                if self._inside:
                    self._inside[-1] += took

        return run


@contextmanager
def stages() -> Iterator[Clock]:
    """Count the time of every stage until the end of the block."""
    clock = Clock()
    with ExitStack() as stack:
        for module, names in _STAGES:
            for name in names:
                where = {augment: "emit", reverse: "emit", entry: "emit", rewrite: "rewrite"}.get(module)
                stage = where or _NAMES.get(name, name)
                stack.enter_context(patch.object(module, name, clock.timed(stage, getattr(module, name))))
        yield clock


@dataclass(frozen=True)
class Compilation:
    """One first gradient. instructions: of the normalised kernel; seconds: by stage; total: of everything."""

    name: str
    instructions: int
    seconds: dict[str, float]
    total: float

    @property
    def ours(self) -> float:
        """Seconds in irad's own passes."""
        return sum(seconds for stage, seconds in self.seconds.items() if stage not in FOREIGN)


def compilation(name: str, function: Any, argtypes: tuple[Any, ...], wrt: tuple[int, ...]) -> Compilation:
    """The derivative of a function that returns a float or fills arrays, made once more from nothing."""
    fresh = numba.njit(function.py_func)
    floats = [isinstance(kind, numba.types.Array) for kind in argtypes]
    activity = tuple("const" if i not in wrt else "duplicated" if floats[i] else "active" for i in range(len(argtypes)))
    with stages() as clock:
        began = time.thread_time()
        derivative = pipeline.derive(pipeline.Request(fresh, argtypes, "reverse", activity))
        optimised = derivative.concrete
        machine_code = time.thread_time()
        llvm.assembly(optimised)
        ended = time.thread_time()
    module = read(derivative.derivation.text)
    clock.seconds["optimize"] += ended - machine_code
    instructions = sum(len(list(f.instructions)) for f in module.functions.values())
    return Compilation(name, instructions, clock.seconds, ended - began)


def generated(instructions: int) -> Any:
    """A kernel whose normalised form has about that many instructions: loops, each with a long body and branches."""
    lines = ["def generated(x, out, a):", "    total = a"]
    for at in range(round(instructions / _PER_LOOP)):
        lines += ["    for i in range(1, x.shape[0]):", f"        s = x[i] * {1.0 + at / 1000} + total * 0.001"]
        lines += [f"        s = step(s, a, x[i - 1], {0.1 + k / 100})" for k in range(_CALLS)]
        lines += [f"        out[i] = s * out[i - 1] + {at}.0", "        total += s * out[i]"]
    names: dict[str, Any] = {"step": _step}
    exec("\n".join([*lines, "    return total", ""]), names)
    return numba.njit(names["generated"])


@numba.njit
def _step(s: float, a: float, x: float, scale: float) -> float:
    s = s * (a + scale) / (1.0 + s * s) + x * scale
    t = math.sin(s) if s > scale else s * a
    return s + t * math.exp(-s * scale)


_CALLS, _PER_LOOP = 25, 560


def report(out: Console, names: Sequence[str]) -> None:
    """Print the stages of the largest kernels, or of those named, and how they grow with a generated kernel's size.

    Ends with the exponents of growth: 1 where time is proportional to the number of instructions.
    """
    _of_kernel("sumsq")  # Numba's own first use is not what is asked about
    found = [_of_kernel(name) for name in names or LARGEST]
    _print(out, "Seconds of processor time to make a derivative", found)
    if not names:
        array = numba.types.Array(numba.types.float64, 1, "C")
        grown = []
        for size in GENERATED:
            kinds = (array, array, numba.types.float64)
            grown.append(compilation(f"{size:,}", generated(size), kinds, (0, 1, 2)))
        _print(out, "Generated kernels by size", grown)
        out.print(f"exponents of growth: irad's own {_exponents(grown, 'ours')}; all {_exponents(grown, 'total')}")


def _exponents(grown: Sequence[Compilation], name: str) -> str:
    """The power of the number of instructions with which seconds grow, from one size to the next and over all."""
    pairs = [*itertools.pairwise(grown), (grown[0], grown[-1])]
    powers = [
        math.log(getattr(large, name) / getattr(small, name)) / math.log(large.instructions / small.instructions)
        for small, large in pairs
    ]
    return f"{', '.join(f'{p:.2f}' for p in powers[:-1])}, over all {powers[-1]:.2f}"


def _of_kernel(name: str) -> Compilation:
    module = kernels.load(name)
    args = module.make_args("tiny")
    differentiated = {*module.WRT, *(i for i in module.OUTPUTS if isinstance(args[i], np.ndarray))}
    kinds = tuple(numba.typeof(arg) for arg in args)
    return compilation(name, kernels.function(name), kinds, tuple(differentiated))


def _print(out: Console, title: str, found: Sequence[Compilation]) -> None:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    table.add_column("stage")
    for one in found:
        table.add_column(one.name, justify="right")
    table.add_row("instructions", *(f"{one.instructions:,}" for one in found))
    order = dict.fromkeys(stage for one in found for stage in one.seconds)
    for stage in sorted(order, key=lambda s: (s in FOREIGN, list(order).index(s))):
        table.add_row(FOREIGN.get(stage, stage), *(f"{one.seconds.get(stage, 0.0):.3f}" for one in found))
    table.add_row("irad's own", *(f"{one.ours:.3f}" for one in found))
    table.add_row("all", *(f"{one.total:.3f}" for one in found))
    table.add_row("irad's share", *(f"{one.ours / one.total:.0%}" for one in found))
    out.print(table)
