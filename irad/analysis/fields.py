"""Pointers kept in the fields of a structure on the stack: which stores a load of one of them may see.

Numba keeps an array (its meminfo, its data, its strides) in one stack slot when a function takes the address of a part.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from irad.ir.model import Alloca, Call, Constant, Function, Gep, Instruction, Load, Store, Value
from irad.ir.types import Int, Ptr
from irad.rules import calls


@dataclass
class _Slot:
    """The accesses to one stack slot by byte offset; not `apart` when its address may be used in another way."""

    loads: list[tuple[int, Load]] = field(default_factory=list[tuple[int, Load]])
    stores: list[tuple[int, Store]] = field(default_factory=list[tuple[int, Store]])
    apart: bool = True


def stored_fields(function: Function) -> dict[Load, list[Store]]:
    """For loads of a pointer from a field that is only ever accessed as such: the stores to this field."""
    users: dict[Value, list[Instruction]] = defaultdict(list)
    for instruction in function.instructions:
        for operand in instruction.operands:
            if isinstance(operand, Instruction) and isinstance(operand.type, Ptr):
                users[operand].append(instruction)
    found: dict[Load, list[Store]] = {}
    for alloca in function.instructions:
        if isinstance(alloca, Alloca):
            slot = _slot(alloca, users)
            pointers = [(at, load) for at, load in slot.loads if isinstance(load.type, Ptr)]
            if slot.apart:
                found |= {load: [s for other, s in slot.stores if other == at] for at, load in pointers}
    return found


def _slot(alloca: Alloca, users: dict[Value, list[Instruction]]) -> _Slot:
    slot = _Slot()
    todo: list[tuple[int, Value]] = [(0, alloca)]
    while todo:
        at, pointer = todo.pop()
        for user in users[pointer]:
            match user:
                case Gep(source=Int(8), operands=[_, Constant(literal=int(offset))]):
                    todo.append((at + offset, user))
                case Load() if _is_simple(user):
                    slot.loads.append((at, user))
                case Store(operands=[value, _]) if value is not pointer and _is_simple(value):
                    slot.stores.append((at, user))
                case Call() if _leaves_pointers(user.callee_name):
                    pass
                case _:
                    slot.apart = False
    return slot


def _is_simple(value: Value) -> bool:
    """Neither an aggregate nor a vector: a pointer is stored as a pointer, aligned, and on its own."""
    return isinstance(value.type, (Ptr, Int))


def _leaves_pointers(name: str) -> bool:
    return name in calls.SHAPERS | calls.FILLS or calls.is_inactive(name)
