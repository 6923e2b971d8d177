"""What bytes hold: floats, integers or pointers.

LLVM copies a double with an i64 load and store when it likes. Such an integer *carries* a float: it has a derivative,
of the float type of its width. An integer carries a float when it is loaded from memory that holds floats, or is the
bits of a float, and only moves (phi, select, freeze, store) or has its sign bit flipped; so it does when it is loaded
and only moves until a float is made of it, whatever else is done with it (LLVM loads once what is read as a float and
tested as an integer). Other arithmetic on a carrier gives a plain integer, from which a float must not be made again:
activity refuses that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from irad.analysis.fields import integer_fields
from irad.analysis.fixpoint import fixpoint
from irad.analysis.objects import Object, Objects, Site, spans_of
from irad.analysis.offsets import Offsets
from irad.analysis.records import Layout, record_memory
from irad.ir.lines import Lines
from irad.ir.model import (
    Argument,
    AtomicReadWrite,
    Binary,
    Call,
    Cast,
    Constant,
    Function,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Unary,
    Value,
)
from irad.ir.types import DOUBLE, SINGLE, Array, Float, Int, Ptr, Struct, Type, Vector, size_of
from irad.rules import calls

Parameters = Mapping[str, Mapping[int | Site, frozenset[Float]]]
"""By function: the float types in what a pointer parameter (by position) points to, and in what it allocates."""

OF_WIDTH: dict[int, Float] = {64: DOUBLE, 32: SINGLE}


@dataclass(frozen=True)
class Kinds:
    """`carriers`: integers that carry a float, with its type. `floats[o]`: the float types that object `o` holds.
    `fields`: loads of integers from fields of structures and records, where no float lies. `integers`: memory where
    integers are computed with. `records`: memory of records that is known to be such. `unaligned`: memory where floats
    lie anywhere."""

    carriers: dict[Value, Float]
    floats: dict[Object, frozenset[Float]]
    fields: frozenset[Value] = frozenset()
    integers: frozenset[Object] = frozenset()
    records: Mapping[Object, Layout] = field(default_factory=dict[Object, Layout])
    unaligned: frozenset[Object] = frozenset()

    def tangent_type(self, value: Value) -> Type | None:
        """The type of `value`'s derivative; None where it cannot have one."""
        carried = self.carriers.get(value)
        if carried is not None:
            return carried
        return value.type if has_float(value.type) else None

    def holds_float(self, objects: Iterable[Object]) -> bool:
        return any(self.floats.get(o) for o in objects)

    def element(self, objects: Iterable[Object]) -> frozenset[Float]:
        """The float types found in any of `objects`."""
        return frozenset(t for o in objects for t in self.floats.get(o, frozenset()))

    def __str__(self) -> str:
        lines = [f"{o}: {', '.join(sorted(map(str, ts)))}" for o, ts in self.floats.items() if ts]
        lines += [f"%{v.name} carries {t}" for v, t in self.carriers.items() if isinstance(v, (Argument, Instruction))]
        return "\n".join(lines)

    def describe(self, lines: Lines) -> str:
        """Like `str`, with lines of Python."""
        held = sorted((o.describe(lines), types) for o, types in self.floats.items() if types)
        said = [f"{o}: {', '.join(sorted(map(str, types)))}" for o, types in held]
        return "\n".join(said + [f"{label} carries {self.carriers[v]}" for v, label in lines.in_order(self.carriers)])


def has_float(type: Type) -> bool:
    """Whether a value of `type` is, or contains, a float."""
    match type:
        case Float():
            return True
        case Vector(_, element) | Array(_, element):
            return has_float(element)
        case Struct(fields):
            return any(has_float(f) for f in fields)
        case _:
            return False


def float_parts(type: Type) -> set[Float]:
    match type:
        case Float():
            return {type}
        case Vector(_, element) | Array(_, element):
            return float_parts(element)
        case Struct(fields):
            return {t for f in fields for t in float_parts(f)}
        case _:
            return set()


def kinds(
    function: Function,
    objects: Objects,
    offsets: Offsets,
    seeds: Mapping[Argument, Iterable[Float]],
    layouts: Mapping[Argument, Layout] | None = None,
    parameters: Parameters | None = None,
) -> Kinds:
    """Kinds of `function`.

    `seeds` are pointer arguments whose memory is known to hold floats of these types, `layouts` those of arrays of
    records; `parameters` are those of functions that it calls.
    """
    return _Solver(function, objects, offsets, seeds, layouts or {}, parameters or {}).solve()


def negations(function: Function, kinds: Kinds) -> bool:
    """Write sign flips of integers that carry floats as what they are; whether there were any (then `kinds` is old)."""
    found: dict[Value, Value] = {}
    for block in function.blocks:
        body: list[Instruction] = []
        for instruction in block.body:
            if instruction in kinds.carriers and flips_sign(instruction):
                pieces = _negation(instruction, kinds.carriers[instruction])
                found[instruction] = pieces[-1]
                body += pieces
            else:
                body.append(instruction)
        block.body = body
    if found:
        for instruction in function.instructions:
            instruction.operands = [found.get(v, v) for v in instruction.operands]
    return bool(found)


def _negation(flip: Instruction, type: Float) -> list[Instruction]:
    told = {k: v for k, v in flip.metadata.items() if k == "!dbg"}
    number = Cast(op="bitcast", type=type, name=f"{flip.name}.float", operands=[flip.operands[0]], metadata=told)
    minus = Unary(op="fneg", type=type, name=f"{flip.name}.minus", operands=[number], metadata=dict(told))
    bits = Cast(op="bitcast", type=flip.type, name=flip.name, operands=[minus], metadata=dict(told))
    return [number, minus, bits]


class _Solver:
    def __init__(
        self,
        function: Function,
        objects: Objects,
        offsets: Offsets,
        seeds: Mapping[Argument, Iterable[Float]],
        layouts: Mapping[Argument, Layout],
        parameters: Parameters,
    ) -> None:
        self.function, self.objects, self.offsets, self.parameters = function, objects, offsets, parameters
        self.floats: dict[Object, set[Float]] = defaultdict(set)
        self.integers = _integer_memory(function, objects, offsets)
        self.read_as_floats = _read_as_floats(function)
        self.carriers: dict[Value, Float] = {}
        self.users: dict[Value, list[Instruction]] = defaultdict(list)
        self.touching: dict[Object, list[Instruction]] = defaultdict(list)
        for instruction in function.instructions:
            for operand in instruction.operands:
                if isinstance(operand, (Argument, Instruction)):
                    self.users[operand].append(instruction)
            for pointer in _pointers(instruction):
                for o in objects.pointed(pointer):
                    self.touching[o].append(instruction)
        for argument, types in seeds.items():
            for o in objects.pointed(argument):
                self.floats[o].update(types)
        self.records = record_memory(function, objects, layouts)
        self.fields: set[Value] = set(integer_fields(function, spans_of(objects.effects)))

    def solve(self) -> Kinds:
        fixpoint(self.function.instructions, self.step)
        floats = {o: frozenset(ts) for o, ts in self.floats.items()}
        numbers = frozenset(o for o, places in self.integers.items() if places)
        return Kinds(self.carriers, floats, frozenset(self.fields), numbers, self.records, self.unaligned())

    def unaligned(self) -> frozenset[Object]:
        found: set[Object] = set()
        for access in self.function.instructions:
            if isinstance(access, Load | Store):
                type = access.type if isinstance(access, Load) else access.value.type
                if isinstance(type, Float) and 0 < access.align < size_of(type):
                    found |= self.objects.pointed(access.pointer)
        return frozenset(found)

    def step(self, instruction: Instruction) -> list[Instruction]:
        match instruction:
            case Load():
                return self.load(instruction)
            case Store():
                return self.hold(self.objects.pointed(instruction.pointer), self.parts(instruction.value))
            case AtomicReadWrite():
                return self.hold(self.objects.pointed(instruction.operands[0]), self.parts(instruction.operands[1]))
            case Cast(op="bitcast", operands=[source]) if isinstance(source.type, Float):
                return self.carry(instruction, source.type)
            case Binary(op="xor", operands=[source, _]) if source in self.carriers and flips_sign(instruction):
                return self.carry(instruction, self.carriers[source])
            case Phi() | Select() | Unary(op="freeze") if isinstance(instruction.type, Int):
                moved = instruction.operands[1:] if isinstance(instruction, Select) else instruction.operands
                carried = [self.carriers[v] for v in moved if v in self.carriers]
                return self.carry(instruction, carried[0]) if carried else []
            case Call() if instruction.callee_name in calls.COPIES:
                to, source = (self.objects.pointed(p) for p in instruction.operands[:2])
                shared = {t for o in [*to, *source] for t in self.floats[o]}
                return [*self.hold(to, shared), *self.hold(source, shared)]
            case Call():
                left = self.objects.left(instruction) if self.objects.whole(instruction) is not None else {}
                taken = self.parameters.get(instruction.callee_name, {})
                given = [(self.behind(instruction, which), types) for which, types in taken.items()]
                held = [*(([o], types) for o, types in left.items()), *given]
                return [again for where, types in held for again in self.hold(where, set(types))]
            case _:
                return []

    def behind(self, call: Call, which: int | Site) -> Iterable[Object]:
        return self.objects.pointed(call.operands[which]) if isinstance(which, int) else [Object("heap", call, which)]

    def parts(self, value: Value) -> set[Float]:
        carried = self.carriers.get(value)
        return {carried} if carried else float_parts(value.type)

    def hold(self, where: Iterable[Object], what: set[Float]) -> list[Instruction]:
        again: list[Instruction] = []
        for o in where:
            if not what <= self.floats[o]:
                self.floats[o] |= what
                again += self.touching[o]
        return again

    def carry(self, value: Instruction, type: Float) -> list[Instruction]:
        if value in self.carriers or not isinstance(value.type, Int):
            return []
        self.carriers[value] = type
        return self.users[value]

    def load(self, load: Load) -> list[Instruction]:
        source = self.objects.pointed(load.pointer)
        again = self.hold(source, float_parts(load.type))
        if load in self.read_as_floats:
            type = OF_WIDTH[8 * size_of(load.type)]
            return [*again, *self.hold(source, {type}), *self.carry(load, type)]
        if load in self.fields:
            return again
        if isinstance(load.type, Int) and source and all(o in self.records for o in source):
            found = {self.records[o].field(load.pointer, load.type.bits // 8) for o in source}
            if found == {None}:
                self.fields.add(load)
                return again
            if len(found) == 1 and isinstance(carried := found.pop(), Float):
                return [*again, *self.carry(load, carried)]
        if isinstance(load.type, Int) and (type := OF_WIDTH.get(load.type.bits)) is not None:
            at = self.offsets.of(load.pointer)
            plain = any(at in self.integers[o] or None in self.integers[o] for o in source)
            if not plain and any(type in self.floats[o] for o in source):
                return [*again, *self.carry(load, type)]
        return again


def _integer_memory(function: Function, objects: Objects, offsets: Offsets) -> dict[Object, set[int | None]]:
    """Where integers that are computed (not merely copied) are stored or read: constant offsets, None for any."""
    places: dict[Object, set[int | None]] = defaultdict(set)
    used_as_number = {
        operand
        for instruction in function.instructions
        for operand in instruction.operands
        if not isinstance(instruction, (Store, Phi, Select)) and not _moves(instruction)
    }
    for instruction in function.instructions:
        match instruction:
            case Store(operands=[value, pointer]) if isinstance(value.type, Int) and not _copied(value):
                for o in objects.pointed(pointer):
                    places[o].add(offsets.of(pointer))
            case Load(operands=[pointer]) if isinstance(instruction.type, Int) and instruction in used_as_number:
                for o in objects.pointed(pointer):
                    places[o].add(offsets.of(pointer))
            case _:
                pass
    return places


def _read_as_floats(function: Function) -> frozenset[Instruction]:
    """Loads of integers that floats are made of after no more than moves."""
    moved: set[Value] = set()
    todo = [i.operands[0] for i in function.instructions if isinstance(i, Cast) and i.op == "bitcast"]
    todo = [v for v in todo if isinstance(v.type, Int) and v.type.bits in OF_WIDTH]
    while todo:
        value = todo.pop()
        if value not in moved:
            moved.add(value)
            todo += _moved_from(value)
    return frozenset(v for v in moved if isinstance(v, Load))


def _moved_from(value: Value) -> list[Value]:
    """The integers of which `value` is one, as it is or with its sign bit flipped."""
    match value:
        case Phi(operands=merged):
            return merged
        case Select(operands=[_, *chosen]):
            return chosen
        case Unary(op="freeze", operands=[source]):
            return [source]
        case Binary(operands=[source, _]) if flips_sign(value):
            return [source]
        case _:
            return []


def _moves(instruction: Instruction) -> bool:
    match instruction:
        case Unary(op="freeze") | Cast(op="bitcast"):
            return True
        case _:
            return flips_sign(instruction)


def flips_sign(value: Value) -> bool:
    """Whether `value` is an integer with its highest bit inverted: if it carries a float, the negation."""
    match value:
        case Binary(op="xor", type=Int(bits), operands=[_, Constant(literal=int(mask))]):
            return bits in OF_WIDTH and mask & ((1 << bits) - 1) == 1 << (bits - 1)
        case _:
            return False


def _copied(value: Value) -> bool:
    """Whether an integer may be a float on its way: loaded, merged, or the bits of a float. Zero is either."""
    match value:
        case Load() | Phi() | Select() | Unary(op="freeze") | Cast(op="bitcast"):
            return True
        case Constant(literal=literal):
            return literal == 0 and not isinstance(literal, bool)
        case _:
            return flips_sign(value)


def _pointers(instruction: Instruction) -> list[Value]:
    return [v for v in instruction.operands if isinstance(v.type, Ptr)]
