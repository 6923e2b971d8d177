"""What one generated kernel is: its source, its arguments, and the patterns of memory that it is run with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GUARD = 4
"""Elements before and after each buffer that nothing may touch."""


@dataclass(frozen=True)
class Argument:
    """A parameter of the kernel: an array when it has `dims` (symbols of its lengths, "N" or "M"), else a scalar."""

    name: str
    dtype: str
    active: bool = False
    dims: tuple[str, ...] = ()
    layout: str = "A"


@dataclass(frozen=True)
class View:
    """Where an array argument lies: a buffer, and offset and strides in elements."""

    buffer: int
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Pattern:
    """Memory and values for one call: lengths, views of buffers (None for scalars), scalars, the seed of the data."""

    n: int
    m: int
    views: tuple[View | None, ...]
    scalars: tuple[float, ...]
    seed: int

    def shape(self, argument: Argument) -> tuple[int, ...]:
        return tuple({"N": self.n, "M": self.m}[d] for d in argument.dims)


@dataclass(frozen=True)
class Case:
    """A kernel (the function `kernel` of `source`), the calls to make, and what they are held against.

    aliased: whether the derivative is the version for arrays that share memory. level: of LLVM's optimiser.
    modes: those that are checked; "forward" is one of them. primal: who compiles the kernel itself, Numba from
    beginning to end ("numba"), or LLVM as Numba lowered it for irad ("lowered"), which takes half the time.
    """

    source: str
    arguments: tuple[Argument, ...]
    patterns: tuple[Pattern, ...]
    aliased: bool
    level: int = 1
    modes: tuple[str, ...] = ("forward", "reverse", "split")
    primal: str = "numba"

    @property
    def smooth(self) -> bool:
        """Whether everything is float64."""
        return "float32" not in self.source and all(a.dtype != "float32" for a in self.arguments)


@dataclass
class Memory:
    """Buffers with guards, and the arguments that lie in them."""

    buffers: list[NDArray[np.generic]]
    values: list[NDArray[np.generic] | float | int]

    def bytes(self) -> list[bytes]:
        return [b.tobytes() for b in self.buffers]


def extent(shape: tuple[int, ...], view: View) -> tuple[int, int]:
    """First and last element, from the start of the buffer."""
    reach = [(length - 1) * stride for length, stride in zip(shape, view.strides, strict=True)]
    return view.offset + sum(min(r, 0) for r in reach), view.offset + sum(max(r, 0) for r in reach)


def buffer_sizes(case: Case, pattern: Pattern) -> dict[int, tuple[str, int]]:
    """Of each buffer its dtype and the elements that its views need."""
    sizes: dict[int, tuple[str, int]] = {}
    for argument, view in zip(case.arguments, pattern.views, strict=True):
        if view is not None:
            last = extent(pattern.shape(argument), view)[1]
            sizes[view.buffer] = argument.dtype, max(last + 1, sizes.get(view.buffer, ("", 0))[1])
    return dict(sorted(sizes.items()))


def materialize(case: Case, pattern: Pattern, fill: list[NDArray[np.generic]] | None = None) -> Memory:
    """Fresh memory for a call; `fill` gives the buffers' contents, zeros where it is absent."""
    sizes = buffer_sizes(case, pattern)
    buffers: list[NDArray[np.generic]] = []
    for i, (dtype, size) in enumerate(sizes.values()):
        buffer: NDArray[np.generic] = np.full(size + 2 * GUARD, 77, dtype)
        buffer[GUARD:-GUARD] = 0 if fill is None else fill[i]
        buffers.append(buffer)
    at = {key: buffers[i] for i, key in enumerate(sizes)}
    values: list[NDArray[np.generic] | float | int] = []
    scalars = iter(pattern.scalars)
    for argument, view in zip(case.arguments, pattern.views, strict=True):
        if view is None:
            values.append(next(scalars))
            continue
        buffer = at[view.buffer]
        strides = tuple(s * buffer.itemsize for s in view.strides)
        shape = pattern.shape(argument)
        start = (view.offset + GUARD) * buffer.itemsize
        values.append(np.ndarray(shape, buffer.dtype, buffer.data, start, strides))
    return Memory(buffers, values)


def contents(case: Case, pattern: Pattern, rng: np.random.Generator, spread: float = 1.2) -> list[NDArray[np.generic]]:
    """Random data for every buffer: floats of size 1, indices below n."""
    found: list[NDArray[np.generic]] = []
    for dtype, size in buffer_sizes(case, pattern).values():
        if dtype == "int64":
            found.append(rng.integers(0, pattern.n, size))
        else:
            found.append(rng.uniform(-spread, spread, size).astype(dtype))
    return found


def overlapping(case: Case, pattern: Pattern) -> bool:
    """Whether the extents of two array arguments cross."""
    spans: list[tuple[int, int, int]] = []
    for argument, view in zip(case.arguments, pattern.views, strict=True):
        if view is not None:
            low, high = extent(pattern.shape(argument), view)
            if any(b == view.buffer and low <= last and first <= high for b, first, last in spans):
                return True
            spans.append((view.buffer, low, high))
    return False
