"""Structures in memory: which stores a load of a pointer from one of their fields may see, and which fields hold none.

Numba keeps an array (its meminfo, its data, its strides) in one stack slot when a function takes the address of a part,
and the attributes of a jitclass instance in one allocation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from irad.ir.model import (
    Alloca,
    Argument,
    Call,
    Cast,
    Compare,
    Constant,
    Function,
    Gep,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Unary,
    Value,
)
from irad.ir.types import Float, Int, Ptr, Type, size_of
from irad.rules import calls

Span = tuple[int, int]
Spans = Mapping[str, Mapping[int, Collection[Span]]]
"""By function and position of a pointer parameter: from where to where floats are read or written in the structure that
it points to. A parameter that is not there is used in ways that are not followed."""

_MOST_SPANS = 64


@dataclass
class _Slot:
    """The accesses to one structure by byte offset; not `apart` when its address may be used in another way."""

    loads: list[tuple[int, Load]] = field(default_factory=list[tuple[int, Load]])
    stores: list[tuple[int, Store]] = field(default_factory=list[tuple[int, Store]])
    called: set[Span] = field(default_factory=set[Span])
    apart: bool = True

    def floats(self, fields: Collection[Value]) -> set[Span]:
        """Where floats lie, or bits of floats; `fields` are loads of integers that are none."""
        found = {_span(at, s.value.type) for at, s in self.stores if not _is_number(s.value.type)}
        found |= {_span(at, load.type) for at, load in self.loads if not _is_number(load.type)}
        found |= {_span(at, s.value.type) for at, s in self.stores if _may_carry(s.value, fields, set())}
        return found | self.called

    def crossing(self, fields: Collection[Load]) -> Iterator[Load]:
        """Those of `fields`, read from this structure, in whose place a float may lie."""
        floats = self.floats(fields)
        for at, load in self.loads:
            low, high = _span(at, load.type)
            if load in fields and any(low < end and start < high for start, end in floats):
                yield load


def stored_fields(function: Function) -> dict[Load, list[Store]]:
    """For loads of a pointer from a field that is only ever accessed as such: the stores to this field."""
    users = _users(function)
    found: dict[Load, list[Store]] = {}
    for made in function.instructions:
        if is_structure(made):
            slot = _slot(made, users, {})
            pointers = [(at, load) for at, load in slot.loads if isinstance(load.type, Ptr)]
            if slot.apart:
                found |= {load: [s for other, s in slot.stores if other == at] for at, load in pointers}
    return found


def integer_fields(function: Function, spans: Spans) -> set[Load]:
    """Loads of integers from fields of structures in which no float ever lies.

    Nothing but loads and stores of parts, at constant offsets, fills, and calls of functions of which as much is known
    touches these structures.
    """
    users = _users(function)
    slots = [_slot(made, users, spans) for made in function.instructions if is_structure(made)]
    slots = [slot for slot in slots if slot.apart]
    found = {load for slot in slots for _, load in slot.loads if isinstance(load.type, Int)}
    # an integer that was loaded may be the bits of a float on its way, unless it is from such a field itself
    while wrong := {load for slot in slots for load in slot.crossing(found)}:
        found -= wrong
    return found


def float_spans(function: Function, spans: Spans) -> dict[int, frozenset[Span]]:
    """Where a function reads or writes floats in the structures that its parameters point to; see `Spans`."""
    users, fields = _users(function), integer_fields(function, spans)
    found: dict[int, frozenset[Span]] = {}
    for i, argument in enumerate(function.arguments):
        if isinstance(argument.type, Ptr) and (slot := _slot(argument, users, spans)).apart:
            floats = frozenset(slot.floats(fields))
            if len(floats) <= _MOST_SPANS:  # a recursive function may move on in an array with every call
                found[i] = floats
    return found


def _may_carry(value: Value, fields: Collection[Value], seen: set[Value]) -> bool:
    """Whether an integer may be the bits of a float: it was loaded or made of one, and only moved since."""
    match value:
        case Load():
            return value not in fields
        case Cast(op="bitcast"):
            return True
        case Phi() | Select() | Unary(op="freeze"):
            known = value in seen
            seen.add(value)
            return not known and any(_may_carry(v, fields, seen) for v in value.operands)
        case _:
            return False


def is_structure(value: Value) -> bool:
    return isinstance(value, Alloca) or (isinstance(value, Call) and value.callee_name in calls.ALLOCATORS)


def _users(function: Function) -> dict[Value, list[Instruction]]:
    users: dict[Value, list[Instruction]] = defaultdict(list)
    for instruction in function.instructions:
        for operand in instruction.operands:
            if isinstance(operand, (Argument, Instruction)) and isinstance(operand.type, Ptr):
                users[operand].append(instruction)
    return users


def _span(at: int, type: Type) -> tuple[int, int]:
    return at, at + size_of(type)


def _is_number(type: Type) -> bool:
    return isinstance(type, (Ptr, Int))


def _slot(made: Value, users: dict[Value, list[Instruction]], spans: Spans) -> _Slot:
    slot = _Slot()
    todo: list[tuple[int, Value]] = [(0, made)]
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
                case Compare():
                    pass
                case Call() if _leaves_pointers(user.callee_name):
                    pass
                case Call() if user.callee_name in spans and not isinstance(user.type, Ptr):
                    known = spans[user.callee_name]
                    positions = [i for i, operand in enumerate(user.operands) if operand is pointer]
                    slot.apart &= all(i in known for i in positions)
                    slot.called |= {(at + low, at + high) for i in positions for low, high in known.get(i, ())}
                case _:
                    slot.apart = False
    return slot


def _is_simple(value: Value) -> bool:
    """Neither an aggregate nor a vector: a pointer is stored as a pointer, aligned, and on its own."""
    return isinstance(value.type, (Ptr, Int, Float))


def _leaves_pointers(name: str) -> bool:
    return name in calls.SHAPERS | calls.FILLS or calls.is_inactive(name)
