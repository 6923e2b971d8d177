"""How far from the start of its memory a pointer points, where that is a constant on every way to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from irad.analysis.fixpoint import fixpoint
from irad.analysis.objects import Object, Objects
from irad.ir.model import (
    Alloca,
    Argument,
    Call,
    Constant,
    Function,
    Gep,
    Global,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Unary,
    Value,
)
from irad.ir.types import PTR, Int
from irad.rules import calls


class Offsets:
    """`of(p)`: bytes between the start of the object that `p` points to and `p`; None where that varies.

    An argument points to the start of what is its own, whatever it is a part of.
    """

    def __init__(self, function: Function, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[Value, int | None] = {}
        self._users: dict[Value, list[Instruction]] = defaultdict(list)
        self._stored: dict[Object, list[Value]] = defaultdict(list)
        self._readers: dict[Object, list[Instruction]] = defaultdict(list)
        self._blurred: set[Object] = set()  # pointers come into them in ways that are not followed
        for instruction in function.instructions:
            for operand in instruction.operands:
                self._users[operand].append(instruction)
            self._memory(instruction)
        fixpoint(function.instructions, self._step)

    def of(self, pointer: Value) -> int | None:
        if isinstance(pointer, Argument | Global):
            return 0
        return self._known.get(pointer)

    def is_field(self, pointer: Value) -> bool:
        """Whether `pointer` points into the head of a list or a set, where its sizes stand and no element does."""
        where, at = self._objects.pointed(pointer), self.of(pointer)
        return bool(where) and at is not None and 0 <= at < calls.LIST_HEAD and all(map(_is_list, where))

    def _memory(self, instruction: Instruction) -> None:
        match instruction:
            case Store(operands=[value, pointer]) if value.type == PTR:
                for o in self._objects.pointed(pointer):
                    self._stored[o].append(value)
                    if isinstance(value, Instruction):
                        self._users[value] += self._readers[o]
            case Load() if instruction.type == PTR:
                for o in self._objects.pointed(instruction.pointer):
                    self._readers[o].append(instruction)
                    for value in self._stored[o]:
                        self._users[value].append(instruction)
            case Store() | Load():
                pass
            case Call() if instruction.callee_name in calls.ALLOCATORS | calls.FILLS:
                pass
            case Call():
                self._blurred |= self._objects.reachable(instruction.operands)
            case _:
                pass

    def _step(self, instruction: Instruction) -> Iterable[Instruction]:
        match instruction:
            case Alloca():
                return self._set(instruction, {0})
            case Call() if instruction.callee_name in calls.ALLOCATORS:
                return self._set(instruction, {0})
            case Gep(source=Int(8), operands=[base, Constant(literal=int(distance))]):
                return self._set(instruction, {None if at is None else at + distance for at in self._all([base])})
            case Phi() | Unary(op="freeze") if instruction.type == PTR:
                return self._set(instruction, self._all(instruction.operands))
            case Select() if instruction.type == PTR:
                return self._set(instruction, self._all(instruction.operands[1:]))
            case Load() if instruction.type == PTR:
                return self._set(instruction, self._loaded(instruction))
            case _:
                return self._set(instruction, {None}) if instruction.type == PTR else ()

    def _loaded(self, load: Load) -> set[int | None]:
        where = self._objects.pointed(load.pointer)
        if not where or any(o.kind not in ("heap", "stack") or o in self._blurred for o in where):
            return {None}
        return self._all(value for o in where for value in self._stored[o])

    def _all(self, pointers: Iterable[Value]) -> set[int | None]:
        """What is known of them so far; null and pointers not reached yet say nothing."""
        found: set[int | None] = set()
        for pointer in pointers:
            if isinstance(pointer, Argument | Global):
                found.add(0)
            elif isinstance(pointer, Instruction):
                found |= {self._known[pointer]} if pointer in self._known else set()
            elif not isinstance(pointer, Constant):
                found.add(None)
        return found

    def _set(self, pointer: Instruction, found: set[int | None]) -> Iterable[Instruction]:
        if not found:
            return ()
        known = next(iter(found)) if len(found) == 1 else None
        if pointer in self._known and self._known[pointer] in (known, None):
            return ()
        self._known[pointer] = known
        return self._users[pointer]


def _is_list(o: Object) -> bool:
    return o.allocator == calls.LIST
