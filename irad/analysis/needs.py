"""Which primal values the reverse function reads, and where: read off the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from irad.analysis.activity import Activity
from irad.analysis.canonical import Canonical
from irad.analysis.kinds import Kinds
from irad.analysis.objects import Objects, holds_pointers
from irad.errors import InvalidIR
from irad.ir.lines import Lines, Reason
from irad.ir.model import (
    Argument,
    Block,
    Call,
    ExtractElement,
    InsertElement,
    Instruction,
    Load,
    Phi,
    Select,
    Store,
    Value,
)
from irad.ir.types import Int
from irad.rules import calls, linear, scalar


@dataclass(frozen=True)
class Needs:
    """`of[v]`: where the reverse reads `v`, and for which instruction (None: to find its way).

    twins: for sin x the cos x of the same block, which is read instead of x, and the like.
    """

    of: dict[Value, list[tuple[Block, Instruction | None]]]
    twins: dict[Instruction, Instruction]

    def because(self, value: Value) -> Reason:
        """The first reader of `value`."""
        block, reader = self.of[value][0]
        return Reason("tells the way back, at", block.end) if reader is None else Reason("read for", reader)

    def __str__(self) -> str:
        return "\n".join(f"%{v.name}: {self.because(v)}" for v in self.of if isinstance(v, (Argument, Instruction)))

    def describe(self, lines: Lines) -> str:
        """Like `str`, with lines of Python."""
        return "\n".join(f"{label}: {self.because(v).told(lines)}" for v, label in lines.in_order(self.of))


def needs(canonical: Canonical, objects: Objects, kinds: Kinds, activity: Activity) -> Needs:
    """What the reverse of a canonical function reads of the primal."""
    of: dict[Value, list[tuple[Block, Instruction | None]]] = defaultdict(list)
    flow, reversal = canonical.flow, canonical.reversal
    twins = {call: twin for block in reversal.back for call, twin in scalar.twins(block.instructions).items()}
    for block, ways in reversal.back.items():
        for instruction in block.instructions:
            for value in read_by(instruction, canonical, objects, kinds, activity, twins):
                of[value].append((block, instruction))
        if block in canonical.arrival:
            of[canonical.arrival[block]].append((block, None))
        for way in ways:
            for loop in flow.chain(way):
                if loop not in flow.chain(block):
                    of[canonical.last(loop, block)].append((block, None))
    return Needs({v: places for v, places in of.items() if isinstance(v, (Argument, Instruction))}, twins)


def clears(store: Store, objects: Objects, kinds: Kinds, activity: Activity) -> bool:
    """Whether `store` ends the life of a float in shadowed memory, so that its shadow is zeroed going back."""
    where = objects.pointed(store.pointer)
    if not where & activity.shadowed or holds_pointers(store.value.type):
        return False
    return kinds.tangent_type(store.value) is not None or (
        isinstance(store.value.type, Int) and kinds.holds_float(where)
    )


def read_by(
    instruction: Instruction,
    canonical: Canonical,
    objects: Objects,
    kinds: Kinds,
    activity: Activity,
    twins: dict[Instruction, Instruction],
) -> Iterator[Value]:
    """Primal values, and shadow pointers, that the adjoint of one instruction reads."""
    shadow = canonical.shadow
    match instruction:
        case Load():
            if instruction in activity.values:
                yield shadow_of(instruction.pointer, shadow)
        case Store():
            if clears(instruction, objects, kinds, activity):
                yield shadow_of(instruction.pointer, shadow)
        case Call() if instruction in canonical.scratch.simple:
            if instruction in shadow:
                yield shadow[instruction]
                yield instruction.operands[0]
        case Call() if instruction in activity.calls:
            yield canonical.frames[instruction]
        case Call() if instruction.callee_name in calls.COPIES | calls.FILLS:
            yield from _read_by_move(instruction, shadow, objects, kinds, activity)
        case _ if instruction in activity.values:
            yield from _read_by_value(instruction, activity, twins.get(instruction))
        case _:
            pass


def _read_by_move(
    call: Call, shadow: dict[Value, Value], objects: Objects, kinds: Kinds, activity: Activity
) -> Iterator[Value]:
    """What the adjoint of a memcpy, memmove or memset reads."""
    to, source, length = call.operands[:3]
    if objects.pointed(to) & activity.shadowed and kinds.holds_float(objects.pointed(to)):
        yield shadow_of(to, shadow)
        yield length
        if call.callee_name in calls.COPIES and objects.pointed(source) & activity.shadowed:
            yield shadow_of(source, shadow)


def _read_by_value(value: Instruction, activity: Activity, twin: Instruction | None) -> Iterator[Value]:
    """What the adjoint of an active value reads."""
    match value:
        case Phi():
            pass
        case Select(operands=[condition, *_]):
            yield condition
        case ExtractElement() | InsertElement():
            yield value.operands[-1]
        case _:
            rule = scalar.rule_of(value)
            if rule is not None:
                yield from read_by_rule(value, rule, activity, twin)


def read_by_rule(
    instruction: Instruction, rule: linear.Rule, activity: Activity, twin: Instruction | None
) -> Iterator[Value]:
    """The operands, the result, or the twin that the maps of the active operands read."""
    wanted = frozenset(i for i, v in enumerate(instruction.operands) if v in activity.values)
    for which in linear.reads(rule, wanted, twin is not None):
        match which:
            case int():
                yield instruction.operands[which]
            case "twin":
                assert twin is not None
                yield twin
            case _:
                yield instruction


def shadow_of(pointer: Value, shadow: dict[Value, Value]) -> Value:
    """The shadow of a pointer; null and the like are their own.

    Raises
    ------
    InvalidIR: there is none; derivatives would be written where the primal lies.
    """
    if isinstance(pointer, (Argument, Instruction)) and pointer not in shadow:
        raise InvalidIR(f"%{pointer.name}, a pointer to active memory, has no shadow")
    return shadow.get(pointer, pointer)
