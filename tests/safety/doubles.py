"""Test doubles for the allocators that compiled code calls: they count, refuse at a chosen call, and guard the edges.

To be installed in a process of its own before anything is compiled: LLVM looks symbols up here first.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from numba.core.registry import cpu_target
from numba.core.runtime import _nrt_python, rtsys

PAD = 64
PATTERN = bytes(range(64, 64 + PAD))
DATA, SIZE = 24, 32  # in Numba's MemInfo

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

_ALLOCATORS = {"MemInfo_alloc_aligned": 2, "MemInfo_alloc_safe_aligned": 2}


def word(address: int) -> Any:
    return ctypes.c_uint64.from_address(address)


class Doubles:
    """calls: allocations so far. refuse: whether to refuse the call of this number, from 0. guard: pad every block."""

    def __init__(self, *, guard: bool = False) -> None:
        self.guard, self.calls = guard, 0
        self.refuse: Callable[[int], bool] = lambda number: False
        self.refuse_tape: Callable[[int], bool] = lambda number: False
        self.tape_sizes: list[int] = []
        self.tape: dict[int, int] = {}  # chunks that are not freed, with their sizes
        self.padded: dict[int, tuple[int, int]] = {}  # meminfo to data and size
        self.broken: list[str] = []
        self._keep: list[Any] = []
        cpu_target.target_context.refresh()
        rtsys.initialize(cpu_target.target_context)
        for name in _ALLOCATORS:
            self._install(f"NRT_{name}", self._meminfo(_nrt_python.c_helpers[name]), 2)
        self._install("NRT_MemInfo_alloc_dtor", self._instance(_nrt_python.c_helpers["MemInfo_alloc_dtor"]), 2)
        self._end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_nrt_python.c_helpers["MemInfo_call_dtor"])
        if guard:
            self._install("NRT_MemInfo_call_dtor", self._ended, 1, result=None)
        self._install("malloc", self._malloc, 1)
        self._install("free", self._free, 1, result=None)

    def _install(self, name: str, function: Any, count: int, result: Any = ctypes.c_void_p) -> None:
        # sizes come as pointers do: one word
        callback = ctypes.CFUNCTYPE(result, *[ctypes.c_size_t] * count)(function)
        self._keep.append(callback)
        llvm.add_symbol(name, ctypes.cast(callback, ctypes.c_void_p).value)

    def _counted(self) -> bool:
        self.calls += 1
        return self.refuse(self.calls - 1)

    # --- Numba's runtime ---

    def _instance(self, address: int) -> Any:
        real = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)(address)
        return lambda size, destructor: None if self._counted() else real(size, destructor)

    def _meminfo(self, address: int) -> Any:
        real = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)(address)

        def allocate(size: int, align: int) -> int | None:
            if self._counted():
                return None
            if not self.guard:
                return real(size, align & 0xFFFFFFFF)
            meta = real(size + 2 * PAD, max(align & 0xFFFFFFFF, PAD))
            data = word(meta + DATA).value
            ctypes.memmove(data, PATTERN, PAD)
            ctypes.memset(data + PAD, 0xA5, size)
            ctypes.memmove(data + PAD + size, PATTERN, PAD)
            word(meta + DATA).value, word(meta + SIZE).value = data + PAD, size
            self.padded[meta] = data + PAD, size
            return meta

        return allocate

    def _ended(self, meta: int) -> None:
        self._look(meta)
        self._end(meta)

    def _look(self, meta: int) -> None:
        if meta in self.padded:
            data, size = self.padded.pop(meta)
            self._edges(f"array of {size} bytes", data, size)

    def _edges(self, what: str, data: int, size: int) -> None:
        for side, at in (("below", data - PAD), ("above", data + size)):
            if ctypes.string_at(at, PAD) != PATTERN:
                self.broken.append(f"{what}: written {side}")

    # --- the tape ---

    def _malloc(self, size: int) -> int | None:
        self.tape_sizes.append(size)
        if self._counted() or self.refuse_tape(len(self.tape_sizes) - 1):
            return None
        block = libc.malloc(size + 2 * PAD)
        if block is None:
            return None
        ctypes.memmove(block, PATTERN, PAD)
        ctypes.memmove(block + PAD + size, PATTERN, PAD)
        self.tape[block + PAD] = size
        return block + PAD

    def _free(self, chunk: int) -> None:
        if chunk:
            size = self.tape.pop(chunk)
            self._edges(f"tape of {size} bytes", chunk, size)
            libc.free(chunk - PAD)

    def drop_cached(self) -> None:
        """Free the chunk that waits for the next call."""
        slot = word(llvm.address_of_symbol("irad_tape_cache"))
        chunk, slot.value = slot.value, 0
        self._free(chunk)

    def check(self) -> None:
        """Look at the edges of everything that still lives, and forget it; to be called while results are held."""
        for meta in list(self.padded):
            self._look(meta)
        for chunk, size in self.tape.items():
            self._edges(f"tape of {size} bytes", chunk, size)
        assert not self.broken, self.broken
