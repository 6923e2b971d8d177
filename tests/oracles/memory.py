"""Copies of arguments that keep how the arrays among them overlap, at the same distances and strides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


def arrays(args: Any) -> Iterator[np.ndarray]:
    """The float arrays of arguments, those inside tuples too, in order."""
    for arg in args:
        if isinstance(arg, tuple):
            yield from arrays(arg)
        elif isinstance(arg, np.ndarray) and arg.dtype.kind == "f":
            yield arg


def rebuilt(args: Sequence[Any], take: Callable[[Any], Any]) -> list[Any]:
    """Arguments of the same structure with `take(leaf)` in the place of each leaf."""
    return [tuple(rebuilt(arg, take)) if isinstance(arg, tuple) else take(arg) for arg in args]


def span(array: np.ndarray) -> tuple[int, int]:
    """The addresses of the first byte, and behind the last one."""
    first = array.__array_interface__["data"][0]
    if array.size == 0:
        return first, first
    reaches = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return first + sum(r for r in reaches if r < 0), first + sum(r for r in reaches if r > 0) + array.itemsize


@dataclass(frozen=True)
class Mirror:
    """Arguments whose float arrays are fresh views of fresh buffers, overlapping as the originals do."""

    args: list[Any]
    buffers: list[np.ndarray]

    def inner(self, other: Mirror) -> float:
        """The inner product over all memory, each element once."""
        pairs = zip(self.buffers, other.buffers, strict=True)
        return float(sum(np.dot(a.astype(float), b.astype(float)) for a, b in pairs))


def mirrored(args: Sequence[Any], dtype: Any = None, *, copied: bool = True) -> Mirror:
    """Fresh arrays in the place of the float arrays in `args`.

    dtype: of the fresh arrays, else that of each original. copied: with the originals' elements, else zeros.
    """
    found = [array for array in arrays(args) if array.size]
    bounds = sorted(span(array) for array in found)
    clusters: list[tuple[int, int]] = []
    for low, high in bounds:
        if clusters and low < clusters[-1][1]:
            clusters[-1] = clusters[-1][0], max(high, clusters[-1][1])
        else:
            clusters.append((low, high))
    buffers: dict[tuple[int, int], np.ndarray] = {}  # in the order of the arguments, which addresses are not

    def take(leaf: Any) -> Any:
        if isinstance(leaf, np.ndarray) and leaf.dtype.kind != "f":
            return leaf.copy()
        if not isinstance(leaf, np.ndarray):
            return leaf
        if not leaf.size:
            return np.empty(leaf.shape, dtype or leaf.dtype)
        low = span(leaf)[0]
        cluster = next(c for c in clusters if c[0] <= low < c[1])
        if cluster not in buffers:
            buffers[cluster] = np.zeros((cluster[1] - cluster[0]) // leaf.itemsize, dtype or leaf.dtype)
        return _like(leaf, buffers[cluster], cluster[0], copied=copied)

    made = rebuilt(args, take)
    return Mirror(made, list(buffers.values()))


def _like(leaf: np.ndarray, buffer: np.ndarray, low: int, *, copied: bool) -> np.ndarray:
    start = (leaf.__array_interface__["data"][0] - low) // leaf.itemsize
    strides = [stride // leaf.itemsize * buffer.itemsize for stride in leaf.strides]
    view = np.lib.stride_tricks.as_strided(buffer[start:], leaf.shape, strides)
    if copied:
        view[...] = leaf
    return view
