"""Arguments taken apart and copied: what shares memory in the original shares memory in the copy."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


def leaves(value: Any) -> list[Any]:
    """What a value holds, tuples inside tuples opened."""
    if isinstance(value, tuple):
        return [leaf for part in cast(tuple[Any, ...], value) for leaf in leaves(part)]
    return [value]


def rebuilt(value: Any, new: Iterator[Any]) -> Any:
    """A value of the structure of `value` with other leaves."""
    if not isinstance(value, tuple):
        return next(new)
    kind: Any = type(cast(object, value))
    parts = [rebuilt(part, new) for part in cast(tuple[Any, ...], value)]
    return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)


def is_float(leaf: Any) -> bool:
    return isinstance(leaf, float | np.floating)


def is_array(leaf: Any) -> bool:
    """Whether it is an array of floats that irad differentiates."""
    return isinstance(leaf, np.ndarray) and str(cast(Floats, leaf).dtype) in ("float32", "float64")


def floats(value: Any) -> Floats:
    """Every float in it, in order."""
    found = [np.ravel(leaf).astype(np.float64) for leaf in leaves(value) if is_float(leaf) or is_array(leaf)]
    return np.concatenate(found) if found else np.zeros(0)


def numbers(value: Any) -> list[npt.NDArray[Any]]:
    """Every number and array in it."""
    return [
        np.asarray(leaf) for leaf in leaves(value) if isinstance(leaf, int | float | complex | np.generic | np.ndarray)
    ]


def bits(value: Any) -> list[tuple[str, bytes]]:
    """The dtype and the bytes of every number and array in it."""
    return [(leaf.dtype.str, leaf.tobytes()) for leaf in numbers(value)]


def is_single(values: Iterable[Any]) -> bool:
    """Whether there is a float32 among them."""
    return any(getattr(leaf, "dtype", None) == np.float32 for value in values for leaf in leaves(value))


def copies(values: Iterable[Any]) -> list[Any]:
    """Copies that the caller may write or draw from, with the shapes, strides and overlaps of the originals."""
    values = list(values)
    arrays: list[Any] = [leaf for value in values for leaf in leaves(value) if isinstance(leaf, np.ndarray)]
    new = iter(_twins(arrays))

    def copied(leaf: Any) -> Any:
        return next(new) if isinstance(leaf, np.ndarray) else _own(leaf)

    return [rebuilt(value, map(copied, leaves(value))) for value in values]


def _own(leaf: Any) -> Any:
    """A generator of random numbers in the same state, so that every run draws the same; other leaves as they are."""
    return copy.deepcopy(leaf) if isinstance(leaf, np.random.Generator) else leaf


def protect(values: Iterable[Any], like: Iterable[Any]) -> None:
    """Make the arrays in `values` read-only where those in `like` are: they have another Numba type."""
    for value, original in zip(values, like, strict=True):
        for leaf, other in zip(leaves(value), leaves(original), strict=True):
            if isinstance(other, np.ndarray) and not other.flags.writeable:
                leaf.flags.writeable = False


def _twins(arrays: list[Any]) -> list[Any]:
    spans = [_span(array) for array in arrays]
    made: dict[int, Any] = {}
    for group in _touching(spans):
        low, high = min(spans[i][0] for i in group), max(spans[i][1] for i in group)
        buffer: Bytes = np.zeros(high - low + 64, np.uint8)
        start = (low - buffer.ctypes.data) % 64  # the same alignment
        for i in group:
            array = arrays[i]
            at = start + array.ctypes.data - low
            made[i] = np.ndarray(array.shape, array.dtype, buffer, at, array.strides)  # type: ignore[call-overload]
        for i in group:
            made[i][...] = arrays[i]
    return [made[i] for i in range(len(arrays))]


def _span(array: Any) -> tuple[int, int]:
    """Addresses of an array's first byte and of the byte after its last."""
    at = array.ctypes.data
    if not array.size:
        return at, at
    reach = [stride * (size - 1) for stride, size in zip(array.strides, array.shape, strict=True)]
    return at + sum(r for r in reach if r < 0), at + sum(r for r in reach if r > 0) + array.itemsize


def _touching(spans: list[tuple[int, int]]) -> list[list[int]]:
    """Indices of spans in groups that share no byte with each other."""
    groups: list[list[int]] = []
    end = -1
    for i in sorted(range(len(spans)), key=lambda i: spans[i]):
        low, high = spans[i]
        if groups and low < end:
            groups[-1].append(i)
        else:
            groups.append([i])
        end = max(end, high)
    return groups
