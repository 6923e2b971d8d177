"""Compile a kernel with Numba and with irad, and run both at the level of their calling convention."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import config
from numba.core.codegen import JITCPUCodegen
from numpy.typing import NDArray

from irad import llvm, pipeline
from irad.frontend import abi, layout, target
from irad.frontend.abi import ALIASED, Leaf
from irad.frontend.lower import lower
from irad.ir.types import size_of
from tools.fuzzing.case import Case, Memory

POISON = 0x5A
NUMPY = {"float64": np.float64, "float32": np.float32, "int64": np.int64}
SCALARS: dict[str, Any] = {"float64": ctypes.c_double, "float32": ctypes.c_float, "int64": ctypes.c_int64}
GOOD = (0, -2)


@dataclass
class Outcome:
    """What a call left: status, the exception (class and arguments) or the results, flat; and the memory."""

    status: int
    error: Any
    results: list[NDArray[np.generic]]

    def bytes(self) -> list[bytes]:
        return [r.tobytes() for r in self.results]


def numba_types(case: Case) -> tuple[Any, ...]:
    found: list[Any] = []
    for argument in case.arguments:
        scalar = getattr(types, argument.dtype)
        found.append(types.Array(scalar, len(argument.dims), argument.layout) if argument.dims else scalar)
    return tuple(found)


def load(source: str) -> Any:
    """The function `kernel` of generated source, jitted without wrappers."""
    namespace: dict[str, Any] = {"np": np, "math": importlib.import_module("math"), "njit": njit}
    exec(compile(source, "<generated>", "exec"), namespace)
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(namespace["kernel"])


# --- flat arguments -------------------------------------------------------------------------------------------------


def flat_array(value: NDArray[np.generic]) -> list[Any]:
    head = [ctypes.c_void_p(0), ctypes.c_void_p(0), ctypes.c_int64(value.size), ctypes.c_int64(value.itemsize)]
    words = [ctypes.c_int64(w) for w in (*value.shape, *value.strides)]
    return [*head, ctypes.c_void_p(value.ctypes.data), *words]


def flat(case: Case, memory: Memory) -> list[Any]:
    words: list[Any] = []
    for argument, value in zip(case.arguments, memory.values, strict=True):
        words += flat_array(value) if isinstance(value, np.ndarray) else [SCALARS[argument.dtype](value)]
    return words


def pointers(case: Case, memory: Memory) -> list[Any]:
    """Data pointers of the active arrays."""
    pairs = zip(case.arguments, memory.values, strict=True)
    return [ctypes.c_void_p(v.ctypes.data) for a, v in pairs if a.active and isinstance(v, np.ndarray)]


@functools.lru_cache(1000)
def _prototype(kinds: tuple[Any, ...]) -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)


def call(address: int, words: Sequence[Any]) -> int:
    return _prototype(tuple(type(w) for w in words))(address)(*words)


# --- results --------------------------------------------------------------------------------------------------------


@dataclass
class Slot:
    """Memory of the return type, poisoned."""

    leaves: tuple[Leaf, ...]
    data: Any

    @staticmethod
    def of(kind: Any) -> Slot:
        size = max(size_of(layout.struct_type(kind)), 8)
        data = (ctypes.c_uint8 * (size + 64))()
        ctypes.memset(data, POISON, size + 64)
        return Slot(abi.leaves(kind, "return"), data)

    @property
    def pointer(self) -> Any:
        return ctypes.c_void_p(ctypes.addressof(self.data))

    def _at(self, leaf: Leaf, dtype: Any) -> Any:
        return np.frombuffer(self.data, dtype, 1, leaf.offset)[0]

    def values(self) -> list[NDArray[np.generic]]:
        """Floats, integers and copies of the arrays, in order."""
        found: list[NDArray[np.generic]] = []
        for leaf in self.leaves:
            if leaf.role == "float":
                found.append(np.array(self._at(leaf, np.float64 if size_of(leaf.type) == 8 else np.float32)))
            elif leaf.role == "data":
                found.append(self._array(leaf))
        return found

    def _array(self, leaf: Leaf) -> NDArray[np.generic]:
        dtype = np.dtype({("float", 8): "f8", ("float", 4): "f4", ("integer", 8): "i8"}[leaf.dtype_kind, leaf.itemsize])
        shape = tuple(int(self._at(self.leaves[i], np.int64)) for i in leaf.shape)
        strides = tuple(int(self._at(self.leaves[i], np.int64)) for i in leaf.strides)
        reach = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach) + dtype.itemsize
        base = int(self._at(leaf, np.int64))
        raw = (ctypes.c_uint8 * (high - low)).from_address(base + low)
        return np.ndarray(shape, dtype, raw, -low, strides).copy()


def seed_words(kind: Any, seeds: Sequence[NDArray[np.generic]]) -> list[Any]:
    words: list[Any] = []
    rest = iter(seeds)
    for leaf in abi.leaves(kind, "return"):
        nothing = np.zeros((1,) * leaf.ndim)  # where the kernel raises
        if leaf.role == "float":
            words.append((ctypes.c_double if size_of(leaf.type) == 8 else ctypes.c_float)(float(next(rest, nothing))))
        elif leaf.role == "data" and leaf.dtype_kind == "float":
            words += flat_array(next(rest, nothing))
    return words


def _exception(slot: Any, status: int) -> Any:
    """Class and arguments of what was raised."""
    if status in GOOD or status == ALIASED or not slot.value:
        return None
    record = slot.value
    data = ctypes.cast(record, ctypes.POINTER(ctypes.c_void_p))[0]
    size = ctypes.c_int32.from_address(record + 8).value
    kind, arguments, *_ = pickle.loads(ctypes.string_at(data, size))
    return kind.__name__, arguments


# --- compiled -------------------------------------------------------------------------------------------------------


class Primal:
    """The kernel itself, compiled by whom the case says."""

    def __init__(self, case: Case) -> None:
        self.case, self.function = case, load(case.source)
        made = self.by_numba if case.primal == "numba" else self.as_lowered
        self.result, self.address = made(numba_types(case))

    def by_numba(self, signature: tuple[Any, ...]) -> tuple[Any, int]:
        with optimizing(self.case.level):
            self.function.compile(signature)
        self.kept = self.function.overloads[signature]
        symbol = self.kept.fndesc.llvm_func_name
        return self.kept.signature.return_type, self.kept.library.get_pointer_to_function(symbol)

    def as_lowered(self, signature: tuple[Any, ...]) -> tuple[Any, int]:
        lowered = lower(self.function, signature)
        text = llvm.optimize(lowered.text, [lowered.name], self.case.level)
        self.kept = compiled([text], self.case.level)
        return lowered.signature.return_type, self.kept.get_pointer_to_function(lowered.name)

    def __call__(self, memory: Memory) -> Outcome:
        slot, raised = Slot.of(self.result), ctypes.c_void_p(0)
        words = [slot.pointer, ctypes.c_void_p(ctypes.addressof(raised)), *flat(self.case, memory)]
        status = call(self.address, words)
        return Outcome(status, _exception(raised, status), slot.values() if status in GOOD else [])


class Derivatives:
    """What irad makes of the kernel, a mode at a time."""

    def __init__(self, case: Case, function: Any) -> None:
        self.case, self.function = case, function
        signature, entries = numba_types(case), dict[str, str]()
        texts: list[str] = []
        for mode in case.modes:
            made = pipeline.derive(pipeline.Request(function, signature, mode, self.activity(mode), case.aliased))
            texts.append(llvm.optimize(made.emitted, list(made.entries.values()), case.level))
            entries |= made.entries
            self.result = made.signature.return_type
        self.library = compiled(texts, case.level)
        self.addresses = {role: self.library.get_pointer_to_function(symbol) for role, symbol in entries.items()}

    def activity(self, mode: str) -> tuple[str, ...]:
        scalar = "duplicated" if mode == "forward" else "active"
        return tuple("const" if not a.active else "duplicated" if a.dims else scalar for a in self.case.arguments)

    def forward(self, memory: Memory, tangent: Memory) -> tuple[Outcome, list[NDArray[np.generic]]]:
        """The primal's outcome and the tangents of the results."""
        slot, dot, raised = Slot.of(self.result), Slot.of(self.result), ctypes.c_void_p(0)
        words: list[Any] = []
        for argument, value in zip(self.case.arguments, tangent.values, strict=True):
            if argument.active:
                array = isinstance(value, np.ndarray)
                words.append(ctypes.c_void_p(value.ctypes.data) if array else SCALARS[argument.dtype](value))
        head = [slot.pointer, dot.pointer, ctypes.c_void_p(ctypes.addressof(raised))]
        status = call(self.addresses["forward"], [*head, *flat(self.case, memory), *words])
        good = status in GOOD
        outcome = Outcome(status, _exception(raised, status), slot.values() if good else [])
        return outcome, dot.values() if good else []

    def reverse(
        self, memory: Memory, shadow: Memory, seeds: Sequence[NDArray[np.generic]]
    ) -> tuple[Outcome, list[float]]:
        """The primal's outcome and the adjoints of the active scalars."""
        slot, raised, bars = Slot.of(self.result), ctypes.c_void_p(0), Bars(self.case)
        words = [slot.pointer, ctypes.c_void_p(ctypes.addressof(raised)), *flat(self.case, memory)]
        words += [*pointers(self.case, shadow), *seed_words(self.result, seeds), bars.pointer]
        status = call(self.addresses["reverse"], words)
        good = status in GOOD
        return Outcome(status, _exception(raised, status), slot.values() if good else []), bars.values()

    def split(
        self, memory: Memory, shadow: Memory, seeds: Sequence[NDArray[np.generic]], spoil: Callable[[], None]
    ) -> tuple[Outcome, list[list[float]], list[list[bytes]]]:
        """As `reverse`, the pullback called twice from the same shadows; `spoil` runs between."""
        slot, raised, tape = Slot.of(self.result), ctypes.c_void_p(0), ctypes.c_void_p(0)
        primal, shadows = flat(self.case, memory), pointers(self.case, shadow)
        start = [b.copy() for b in shadow.buffers]
        for buffer in shadow.buffers:
            buffer[...] = 0
        head = [slot.pointer, ctypes.c_void_p(ctypes.addressof(raised)), ctypes.c_void_p(ctypes.addressof(tape))]
        status = call(self.addresses["augmented"], [*head, *primal, *shadows])
        if status not in GOOD:
            return Outcome(status, _exception(raised, status), []), [], []
        outcome, adjoints, left = Outcome(status, None, slot.values()), list[list[float]](), list[list[bytes]]()
        spoil()
        for _ in range(2):
            bars = Bars(self.case)
            for buffer, first in zip(shadow.buffers, start, strict=True):
                buffer[...] = first
            words = [ctypes.c_void_p(ctypes.addressof(raised)), tape, *primal, *shadows]
            call(self.addresses["pullback"], [*words, *seed_words(self.result, seeds), bars.pointer])
            adjoints.append(bars.values())
            left.append([b.tobytes() for b in shadow.buffers])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.addresses["release"])(tape)
        return outcome, adjoints, left


class Bars:
    """Memory for the adjoints of the active scalars."""

    def __init__(self, case: Case) -> None:
        self.dtypes = [np.dtype(a.dtype) for a in case.arguments if a.active and not a.dims]
        self.data = (ctypes.c_uint8 * (8 * len(self.dtypes) + 16))()

    @property
    def pointer(self) -> Any:
        return ctypes.c_void_p(ctypes.addressof(self.data))

    def values(self) -> list[float]:
        found: list[float] = []
        at = 0
        for dtype in self.dtypes:
            at = (at + dtype.itemsize - 1) // dtype.itemsize * dtype.itemsize
            found.append(float(np.frombuffer(self.data, dtype, 1, at)[0]))
            at += dtype.itemsize
        return found


@contextlib.contextmanager
def optimizing(level: int) -> Iterator[None]:
    """Numba compiles at a level of LLVM's optimiser."""
    before, config.OPT = config.OPT, type(config.OPT)(level)
    try:
        yield
    finally:
        config.OPT = before


@functools.cache
def codegen(level: int) -> Any:
    """Numba's generation of machine code at a level."""
    with optimizing(level):
        return JITCPUCodegen(f"fuzzed.{level}")


def compiled(texts: Sequence[str], level: int) -> Any:
    """A library with the machine code of some modules."""
    with target.lock:
        library = target.CompiledLibrary(codegen(level), "fuzzed")
        for text in texts:
            library.add_llvm_module(llvm.parse(text))
        library.finalize()
    return library
