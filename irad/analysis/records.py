"""Arrays of records: which field of an element a pointer points to.

A record mixes floats with integers and booleans, so that what memory holds depends on the place in it. Elements lie at
multiples of the record's size, or of the array's strides, from its data pointer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from irad.analysis.objects import Object, Objects
from irad.ir.model import Argument, Binary, Call, Constant, Function, Gep, Phi, Select, Unary, Value
from irad.ir.types import I8, Array, Float, Type, size_of
from irad.rules import calls

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Element:
    """An element of an array: its size in bytes, and the floats in it by offset."""

    size: int
    floats: tuple[tuple[int, Float], ...]

    @classmethod
    def of(cls, type: Float) -> Element:
        return cls(size_of(type), ((0, type),))

    def alignment(self, at: int, type: Float) -> int:
        """What the float at `at` may be assumed to be aligned to, in an array that is aligned."""
        size = size_of(type)
        return size if self.size % size == 0 and at % size == 0 else 1

    @property
    def type(self) -> Type:
        """An LLVM type of this size."""
        match self.floats:
            case ((0, only),) if size_of(only) == self.size:
                return only
            case _:
                return Array(self.size, I8)

    @property
    def is_packed(self) -> bool:
        return any(self.alignment(at, type) == 1 for at, type in self.floats)

    def __str__(self) -> str:
        if isinstance(self.type, Float):
            return str(self.type)
        return ".".join([str(self.size), *(f"{at}{type}" for at, type in self.floats)])


@dataclass(frozen=True)
class Layout:
    """The elements of an array of records, and the arguments that are its strides or the size of an element."""

    element: Element
    steps: frozenset[Argument]

    @property
    def size(self) -> int:
        return self.element.size

    def field(self, pointer: Value, width: int) -> Float | str | None:
        """What lies in the `width` bytes at `pointer`: a float, no float (None), or UNKNOWN."""
        at = self.place(pointer)
        if at is None:
            return UNKNOWN
        for offset, type in self.element.floats:
            if (offset, size_of(type)) == (at, width):
                return type
            if offset < at + width and at < offset + size_of(type):
                return UNKNOWN
        return None if at + width <= self.size else UNKNOWN

    def place(self, pointer: Value) -> int | None:
        """The offset of `pointer` in the element that it points into; None where that is not known."""
        found = self._places(pointer, set())
        return found.pop() if len(found) == 1 and None not in found else None

    def is_whole(self, length: Value) -> bool:
        """Whether a number of bytes is one of whole elements."""
        return self._multiple(length, set())

    def _places(self, pointer: Value, seen: set[Value]) -> set[int | None]:
        if pointer in seen:
            return set()
        match pointer:
            case Argument():
                return {0}
            case Call() if pointer.callee_name in calls.ALLOCATORS:
                return {0}
            case Gep(operands=[base, *indices]):
                step = self._step(pointer.source, indices)
                return {
                    None if step is None or at is None else (at + step) % self.size for at in self._places(base, seen)
                }
            case Phi() | Select() | Unary(op="freeze"):
                seen.add(pointer)
                inside = pointer.operands[1:] if isinstance(pointer, Select) else pointer.operands
                return {at for v in inside for at in self._places(v, seen)}
            case _:
                return {None}

    def _step(self, source: Type, indices: list[Value]) -> int | None:
        """How far a GEP moves within an element."""
        total = 0
        for index in indices:
            match index:
                case Constant(literal=int(count)):
                    total += count * size_of(source)
                case _ if size_of(source) % self.size == 0 or self._multiple(index, set()):
                    pass
                case _:
                    return None
            if index is not indices[-1]:
                if not isinstance(source, Array):
                    return None
                source = source.element
        return total

    def _multiple(self, value: Value, seen: set[Value]) -> bool:
        """Whether moving by `value`, or by a multiple of it, leads from an element to the same place in another."""
        if value in seen:
            return True
        seen.add(value)
        match value:
            case Constant(literal=int(number)):
                return number % self.size == 0
            case Argument():
                return value in self.steps
            case Binary(op="mul", operands=[left, right]):
                return self._multiple(left, set(seen)) or self._multiple(right, set(seen))
            case Binary(op="shl", operands=[left, _]) | Unary(op="freeze", operands=[left]):
                return self._multiple(left, seen)
            case Binary(op="add" | "sub", operands=inside) | Phi(operands=inside) | Select(operands=[_, *inside]):
                return all(self._multiple(v, seen) for v in inside)
            case _:
                return False


def record_memory(function: Function, objects: Objects, layouts: Mapping[Argument, Layout]) -> dict[Object, Layout]:
    """The memory that holds records: that of arguments, and allocations into which whole elements are copied."""
    found = {o: layout for argument, layout in layouts.items() for o in objects.pointed(argument)}
    if not found:
        return {}
    changed = True
    while changed:
        before = len(found)
        for to, source in _copies(function, objects):
            known = found.get(source)
            if known is not None and to.kind == "heap":
                found.setdefault(to, known)
        changed = len(found) > before
    return {o: layout for o, layout in found.items() if _agrees(function, objects, found, o)}


def _copies(function: Function, objects: Objects) -> Iterable[tuple[Object, Object]]:
    for call in function.instructions:
        if isinstance(call, Call) and call.callee_name in calls.COPIES:
            for to in objects.pointed(call.operands[0]):
                for source in objects.pointed(call.operands[1]):
                    yield to, source


def _agrees(function: Function, objects: Objects, found: Mapping[Object, Layout], o: Object) -> bool:
    """Whether all that is copied into memory `o` has its layout, and comes to the same place in an element."""
    mine = found[o]
    for call in function.instructions:
        if isinstance(call, Call) and call.callee_name in calls.COPIES and o in objects.pointed(call.operands[0]):
            to, source = call.operands[:2]
            for other in objects.pointed(source):
                layout = found.get(other)
                if layout is None or layout.element != mine.element:
                    return False
                if mine.place(to) is None or mine.place(to) != layout.place(source):
                    return False
    return True
