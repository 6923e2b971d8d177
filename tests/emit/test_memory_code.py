"""Emitted code over memory, run against NumPy: strided arrays, the adjoint of memmove, sizes that saturate."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from irad.analysis.records import Element
from irad.emit.arrays import Code, View, accumulate, extent, overlap
from irad.emit.augment import LARGEST, size_product
from irad.emit.memory import copy_adjoint
from irad.ir.build import Builder
from irad.ir.model import Function
from irad.ir.types import DOUBLE, I64, SINGLE, Float
from tests.emit.native import Native, begin, constants

TYPES = {np.dtype(np.float64): DOUBLE, np.dtype(np.float32): SINGLE}

VIEWS = [
    np.s_[:],
    np.s_[::2],
    np.s_[::-1],
    np.s_[5:2:-1],
    np.s_[3:3],
    np.s_[7],
    np.s_[2:9:3],
]
VIEWS_2D = [np.s_[:, :], np.s_[::-1, 1::2], np.s_[1:1, :], np.s_[:, 2:2], np.s_[2:, ::-2], np.s_[0, :], np.s_[1, 2]]


def views(dtype: type = np.float64) -> list[np.ndarray]:
    """Arrays with all sorts of strides; some are empty, some have no dimension."""
    line, plane = np.arange(24, dtype=dtype), np.arange(20, dtype=dtype).reshape(4, 5)
    found = [np.asarray(line[v]) if v != 7 else line[7:8].reshape(()) for v in VIEWS]
    found += [
        plane[v] if isinstance(v[0], slice) or isinstance(v[1], slice) else plane[1:2, 2:3].reshape(())
        for v in VIEWS_2D
    ]
    found += [
        plane.T,
        plane.T[::-1],
        np.broadcast_to(line[:3], (2, 3)),
        np.lib.stride_tricks.sliding_window_view(line, 3),
    ]
    return found


def view(array: np.ndarray, pointer: object) -> View:
    return View(pointer, constants(array.shape), constants(array.strides), array.itemsize)  # type: ignore[arg-type]


def extents(arrays: list[np.ndarray]) -> Function:
    function, (result,) = begin("extents", "pr")
    out = Builder(function.entry)
    for n, array in enumerate(arrays):
        for k, value in enumerate(extent(out, view(array, result))):
            out.store(value, out.offset(result, 16 * n + 8 * k))
    out.ret()
    return function


def test_extent() -> None:
    arrays = views()
    found = np.zeros((len(arrays), 2), np.int64)
    Native([extents(arrays)]).call("extents", found)
    for array, (low, high) in zip(arrays, found, strict=True):
        start, end = np.lib.array_utils.byte_bounds(array)
        at = array.ctypes.data
        assert (at + low, at + high) == ((start, end) if array.size else (at, at)), array


def overlaps(pairs: list[tuple[np.ndarray, np.ndarray]]) -> Function:
    function, (result, *_) = begin("overlaps", "pr")
    out = Builder(function.entry)
    for n, (a, b) in enumerate(pairs):
        at = [out.cast("inttoptr", v, result.type) for v in constants([a.ctypes.data, b.ctypes.data])]
        answer = overlap(out, view(a, at[0]), view(b, at[1]))
        out.store(out.cast("zext", answer, I64), out.offset(result, 8 * n))
    out.ret()
    return function


def test_overlap() -> None:
    base = np.zeros(64)
    parts = [
        base[:8],
        base[8:16],
        base[7:9],
        base[15:7:-1],
        base[3:3],
        base[20::4],
        base[21::4],
        base[63:64].reshape(()),
    ]
    pairs = [(a, b) for a in parts for b in parts]
    found = np.zeros(len(pairs), np.int64)
    Native([overlaps(pairs)]).call("overlaps", found)
    wanted = [np.may_share_memory(a, b) if a.size and b.size else False for a, b in pairs]
    assert found.tolist() == wanted


def accumulating(name: str, source: np.ndarray, target: np.ndarray, type: Float) -> Function:
    function, (s, t) = begin(name, "ps", "pt")
    code = Code(function, Builder(function.entry))
    accumulate(code, view(source, s), view(target, t), [(0, type)])
    code.out.ret()
    return function


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_accumulate(dtype: type, rng: np.random.Generator) -> None:
    targets = [v for v in views(dtype) if v.flags.writeable and v.ndim <= 2]
    sources = [
        np.asarray(
            rng.normal(size=(*v.shape[:-1], 2 * v.shape[-1])).astype(dtype)[..., ::2]
            if v.ndim
            else rng.normal(size=()).astype(dtype)
        )
        for v in targets
    ]
    functions = [
        accumulating(f"f{n}", s, t, TYPES[t.dtype]) for n, (s, t) in enumerate(zip(sources, targets, strict=True))
    ]
    native = Native(functions)
    for n, (source, target) in enumerate(zip(sources, targets, strict=True)):
        wanted = target + source
        native.call(f"f{n}", source, target)
        np.testing.assert_array_equal(target, wanted)


# --- memmove ---


@pytest.fixture(scope="module")
def moving() -> Native:
    return Native([copy_adjoint(Element.of(DOUBLE)), copy_adjoint(Element.of(SINGLE))])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 9])
@pytest.mark.parametrize("shift", [-9, -4, -1, 0, 1, 4, 9])
def test_adjoint_of_memmove_is_its_transpose(moving: Native, shift: int, count: int, dtype: type) -> None:
    size, source = 30, 10
    matrix = np.eye(size, dtype=dtype)
    matrix[source + shift : source + shift + count] = np.eye(size, dtype=dtype)[source : source + count]
    bar = np.arange(1, size + 1, dtype=dtype)
    wanted = matrix.T @ bar
    name = f"irad.copy.adjoint.{TYPES[bar.dtype]}"
    moving.call(name, bar[source + shift :], bar[source:], count * bar.itemsize)
    np.testing.assert_array_equal(bar, wanted)


# --- sizes ---

NUMBERS = [
    0,
    1,
    8,
    63,
    1 << 31,
    (1 << 31) + 1,
    1 << 32,
    LARGEST - 1,
    LARGEST,
    LARGEST + 1,
    (1 << 63) - 1,
    (1 << 64) - 1,
]


def test_size_product() -> None:
    native = Native([size_product()])
    for a in NUMBERS:
        for b in NUMBERS:
            arguments = [ctypes.c_uint64(a), ctypes.c_uint64(b)]
            found = native.call("irad.size.product", *arguments, result=ctypes.c_uint64)
            assert found == min(a * b, LARGEST), (a, b)
