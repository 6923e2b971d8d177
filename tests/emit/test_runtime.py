"""The heap and the tape of a derivative call: what is given, kept, and given up, and in which order."""

from __future__ import annotations

import ctypes
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from irad.emit import runtime
from irad.emit.runtime import ADOPT, ALLOCATE, CACHE, CHUNK, FREE, RELEASE, SIZE, TAPE
from tests.emit.native import Native

NRT = """
@made = global i64 0
@ended = global i64 0
@refuse = global i64 0
@order = global [64 x ptr] zeroinitializer
declare ptr @aligned_alloc(i64, i64)
define ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %no = load i64, ptr @refuse
  %refused = icmp ne i64 %no, 0
  br i1 %refused, label %none, label %some
none:
  ret ptr null
some:
  %more = add i64 %size, 191
  %whole = and i64 %more, -64
  %p = call ptr @aligned_alloc(i64 64, i64 %whole)
  store i64 1, ptr %p
  %data = getelementptr i8, ptr %p, i64 64
  %slot = getelementptr i8, ptr %p, i64 24
  store ptr %data, ptr %slot
  %n = load i64, ptr @made
  %m = add i64 %n, 1
  store i64 %m, ptr @made
  ret ptr %p
}
define void @NRT_MemInfo_call_dtor(ptr %p) {
  %n = load i64, ptr @ended
  %slot = getelementptr ptr, ptr @order, i64 %n
  store ptr %p, ptr %slot
  %m = add i64 %n, 1
  store i64 %m, ptr @ended
  call void @free(ptr %p)
  ret void
}
"""
Words = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def native() -> Native:
    functions = [runtime.allocate(), runtime.free(), runtime.release(), runtime.adopt(), runtime.tape(), runtime.more()]
    return Native(functions, NRT, f"@{CACHE} = global ptr null\n")


@pytest.fixture
def heap(native: Native) -> Words:
    """A fresh heap; all counts are zero."""
    for name in ("made", "ended", "refuse"):
        native.words(name, 1)[0] = 0
    return np.zeros(5, np.int64)


def take(native: Native, heap: Words, size: int, name: str = ALLOCATE) -> int:
    return native.call(name, size, ctypes.c_int32(32), heap, result=ctypes.c_void_p) or 0


def ended(native: Native) -> list[int]:
    return native.words("order", 64)[: native.words("ended", 1)[0]].tolist()


def meta(data: int) -> int:
    return ctypes.c_int64.from_address(data - 8).value


def test_release_ends_every_block_once_newest_first(native: Native, heap: Words) -> None:
    blocks = [take(native, heap, size) for size in (0, 8, 100, 4096)]
    assert all(b % 64 == 0 for b in blocks) and len(set(blocks)) == 4
    for b, size in zip(blocks, (0, 8, 100, 4096), strict=True):
        ctypes.memset(b, 0xFF, size)
    metas = [meta(b) for b in blocks]
    native.call(RELEASE, heap)
    assert ended(native) == metas[::-1]
    assert not heap.any()
    native.call(RELEASE, heap)
    assert len(ended(native)) == 4


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 2, 0, 3), (2, 0, 3, 1), (1,), ()])
def test_free_takes_a_block_out_of_the_list(native: Native, heap: Words, order: tuple[int, ...]) -> None:
    blocks = [take(native, heap, 16) for _ in range(4)]
    metas = [meta(b) for b in blocks]
    for i in order:
        native.call(FREE, ctypes.c_void_p(blocks[i]), heap)
    assert ended(native) == [metas[i] for i in order]
    native.call(RELEASE, heap)
    rest = [metas[i] for i in (3, 2, 1, 0) if i not in order]
    assert ended(native) == [metas[i] for i in order] + rest


def test_freeing_null_does_nothing(native: Native, heap: Words) -> None:
    native.call(FREE, ctypes.c_void_p(None), heap)
    assert not ended(native)


def test_no_memory(native: Native, heap: Words) -> None:
    assert take(native, heap, 1 << 62) == 0
    assert take(native, heap, -1) == 0
    assert native.words("made", 1)[0] == 0
    native.words("refuse", 1)[0] = 1
    assert take(native, heap, 8) == 0
    native.call(RELEASE, heap)
    assert not ended(native)


def test_an_adopted_array_outlives_the_call(native: Native, heap: Words) -> None:
    kept, dropped = take(native, heap, 24), take(native, heap, 24)
    kept_meta, dropped_meta = meta(kept), meta(dropped)
    slot = np.array([kept])
    native.call(ADOPT, slot, ctypes.c_bool(False))
    assert slot[0] == kept_meta
    native.call(RELEASE, heap)
    assert ended(native) == [dropped_meta]
    assert ctypes.c_int64.from_address(kept_meta).value == 1


def test_adopting_what_is_not_ours(native: Native, heap: Words) -> None:
    theirs = np.ones(8, np.int64)
    slot = np.array([theirs.ctypes.data])
    native.call(ADOPT, slot, ctypes.c_bool(True))
    assert slot[0] == theirs.ctypes.data and theirs[0] == 2
    nothing = np.zeros(1, np.int64)
    native.call(ADOPT, nothing, ctypes.c_bool(False))
    assert nothing[0] == 0


# --- the tape ---


def test_tape_memory_is_apart_and_aligned(native: Native, heap: Words) -> None:
    sizes = [0, 1, 64, 65, 1 << 15, 1 << 15, 1 << 20, 0, 7, 3 << 20]
    pieces = [(take(native, heap, size, TAPE), size) for size in sizes]
    assert all(at and at % 64 == 0 for at, _ in pieces)
    for n, (at, size) in enumerate(pieces):
        ctypes.memset(at, n, size)
    for n, (at, size) in enumerate(pieces):
        assert ctypes.string_at(at, size) == bytes([n]) * size
    ordered = sorted(pieces)
    assert all(a + s <= b for (a, s), (b, _) in pairwise(ordered))
    native.call(RELEASE, heap)
    assert not heap.any()


def test_the_largest_chunk_waits_for_the_next_call(native: Native, heap: Words) -> None:
    take(native, heap, 1 << 20, TAPE)
    chunk = heap[CHUNK // 8]
    native.call(RELEASE, heap)
    assert native.words(CACHE, 1)[0] == chunk
    take(native, heap, 1 << 10, TAPE)
    assert heap[CHUNK // 8] == chunk and heap[SIZE // 8] >= 1 << 20
    assert native.words(CACHE, 1)[0] == 0
    other = np.zeros(5, np.int64)
    take(native, other, 64, TAPE)  # another call at the same time
    assert other[CHUNK // 8] != chunk
    native.call(RELEASE, other)
    native.call(RELEASE, heap)


@pytest.mark.parametrize("size", [1 << 61, 1 << 62, (1 << 63) - 1, -1, -8, -64])
def test_tape_that_cannot_be(native: Native, heap: Words, size: int) -> None:
    assert take(native, heap, 64, TAPE)
    assert take(native, heap, size, TAPE) == 0
    native.call(RELEASE, heap)
