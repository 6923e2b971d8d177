"""Decide, for every value that the reverse needs: keep, recompute or save (design D6); emit obeys.

The saved set is a minimum cut. The graph has an edge from each value to the values computed from it; needed values are
the sinks; the sources are values that cannot be recomputed. Cutting a value costs the bytes it takes on the tape times
how often it runs; recomputing costs too (its price, in the same unit), or the cut would recompute everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from irad.analysis.accumulation import Accumulation
from irad.analysis.canonical import Canonical
from irad.analysis.covers import Cover, covers
from irad.analysis.diagonals import Axis, Diagonal, loops_of
from irad.analysis.flow import Loop, guards
from irad.analysis.joint import Joint
from irad.analysis.memory import Memory
from irad.analysis.needs import Needs
from irad.analysis.searches import Search, searches
from irad.analysis.stripes import Stripes, stripes
from irad.analysis.variation import Variation
from irad.cut import Network
from irad.ir.lines import Lines, Reason
from irad.ir.model import (
    Alloca,
    Argument,
    Binary,
    Block,
    Call,
    Cast,
    Compare,
    Constant,
    ExtractElement,
    ExtractValue,
    Gep,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Select,
    Shuffle,
    Unary,
    Value,
)
from irad.ir.types import I1, I8, I64, PTR, Int, Type, alignment_of, size_of
from irad.rules import calls, scalar


class How(Enum):
    """The answer to a need."""

    COUNTER = "counter"  # the reverse loop's own counter
    INDUCTION = "induction"  # start and step times the counter
    RECOMPUTE = "recompute"
    SAVE = "save"
    SCRATCH = "scratch"  # the shadow of a scratch array, whose address is in the frame
    FRAME = "frame"  # an address in the frame: the shadow of a stack slot


@dataclass(eq=False)
class Buffer:
    """Tape memory of one entry into `loop`: arrays indexed by iteration, one per member.

    `growing`: the trip count is not known on entry. Then it is a stack, the same for all entries: each iteration adds
    a record, and the buffer moves when it is full. The way back takes the entries off in the opposite order.
    `pointer` and `counts` are where the buffer's address, and how many places it has along each axis, are kept;
    `height` is where the number of records of a stack is.
    """

    loop: Loop
    growing: bool
    members: list[Place] = field(default_factory=list["Place"])
    pointer: Place | None = None
    height: Place | None = None
    counts: dict[Axis, Place] = field(default_factory=dict[Axis, "Place"])

    @property
    def record(self) -> int:
        """Bytes of a record of a growing buffer."""
        return sum(_aligned(size_of(m.type), 8) for m in self.members)


@dataclass(eq=False)
class Place:
    """Where a saved value lies: at `offset` in the frame (`buffer` is None), at `offset` in a growing buffer's record,
    or in its own array of a sized buffer, indexed along `axes` (outermost first)."""

    type: Type
    buffer: Buffer | None
    offset: int = 0
    axes: list[Axis] = field(default_factory=list[Axis])

    @property
    def align(self) -> int:
        """What an access may assume: vectors lie where doubles may."""
        return min(alignment_of(self.type), 8)


@dataclass(frozen=True)
class Range:
    """Where the augmented function notes which bytes of a shadow, `low` to `high` (excluded), the reverse stores."""

    low: Place
    high: Place


@dataclass
class Plan:
    """What is done about every value the reverse reads. `frame_size` is in bytes; `accumulation` tells which sums may
    wait for the end of a loop; `twins` are those of `Needs`. `covers`: loads whose adjoints are stored, not added, into
    fresh shadows; `ranges`: where, for each of these. `searches`: loops of which one iteration at most is reversed.
    `joint`: a loop that is reversed while it runs."""

    accumulation: Accumulation
    twins: dict[Instruction, Instruction]
    how: dict[Value, How] = field(default_factory=dict[Value, How])
    place: dict[Value, Place] = field(default_factory=dict[Value, Place])
    because: dict[Value, Reason] = field(default_factory=dict[Value, Reason])
    reader: dict[Value, Reason] = field(default_factory=dict[Value, Reason])  # who reads it, where it is a need
    buffers: dict[Loop, list[Buffer]] = field(default_factory=dict[Loop, list[Buffer]])
    frame_size: int = 0
    stripes: dict[Loop, Stripes] = field(default_factory=dict[Loop, Stripes])
    joint: Joint | None = None
    covers: dict[Load, Cover] = field(default_factory=dict[Load, Cover])
    ranges: dict[Argument, Range] = field(default_factory=dict[Argument, "Range"])
    searches: dict[Loop, Search] = field(default_factory=dict[Loop, Search])

    def __str__(self) -> str:
        lines = [f"frame of {self.frame_size} bytes"]
        for value, how in self.how.items():
            assert isinstance(value, (Argument, Instruction))
            place = self.place.get(value)
            where = f" in {_where(place)}" if place else ""
            lines.append(f"%{value.name}: {how.value}{where}: {self.because.get(value, '')}")
        for buffers in self.buffers.values():
            for buffer in buffers:
                kind = "growing" if buffer.growing else "sized on entry"
                lines.append(f"buffer of {buffer.loop}, {kind}, {len(buffer.members)} members")
        lines += [f"{loop} is reversed as {split}" for loop, split in self.stripes.items()]
        if self.joint is not None:
            lines.append(f"{self.joint.loop} is reversed while it runs")
        lines += [f"{cover.loop} fills the shadow of %{cover.argument.name}" for cover in self.covers.values()]
        lines += [f"{loop} is reversed as a search" for loop in self.searches]
        return "\n".join(lines)

    def describe(self, lines: Lines) -> str:
        """Like `str`, with lines of Python."""
        said = [f"frame of {self.frame_size} bytes"]
        for value, label in lines.in_order(self.how):
            place = self.place.get(value)
            where = f" in {_where(place, lines)}" if place else ""
            said.append(f"{label}: {self.how[value].value}{where}: {self.because[value].told(lines)}")
            if value in self.reader:
                said[-1] += f"; {self.reader[value].told(lines)}"
        for buffers in self.buffers.values():
            for buffer in buffers:
                kind = "growing" if buffer.growing else "sized on entry"
                loop = lines.loop(buffer.loop.latch, str(buffer.loop))
                said.append(f"buffer of {loop}, {kind}, {len(buffer.members)} members")
        for loop, split in self.stripes.items():
            said.append(f"{lines.loop(loop.latch, str(loop))} is reversed as {split}")
        if self.joint is not None:
            loop = self.joint.loop
            said.append(
                f"{lines.loop(loop.latch, str(loop))} is reversed while it runs: each iteration after it has run"
            )
        for cover in self.covers.values():
            loop = lines.loop(cover.loop.latch, str(cover.loop))
            said.append(f"{loop} fills the shadow of {lines.label(cover.argument)}")
        said += [f"{lines.loop(loop.latch, str(loop))} is reversed as a search" for loop in self.searches]
        return "\n".join(said)


def _where(place: Place, lines: Lines | None = None) -> str:
    if place.buffer is None:
        return f"the frame at {place.offset}"
    loop = place.buffer.loop
    return f"the tape of {lines.loop(loop.latch, str(loop)) if lines else loop}"


def plan(
    canonical: Canonical,
    memory: Memory,
    needs: Needs,
    accumulation: Accumulation,
    fresh: Iterable[Argument] = (),
    together: Joint | None = None,
) -> Plan:
    """Keep, recompute or save for everything in `needs`, and where what is saved lies; which loops are split.

    fresh: arguments whose shadows begin undefined, and are the derivative's to fill. together: a loop that may be
    reversed while it runs.
    """
    variation = Variation(canonical, memory, accumulation.objects)
    decider = _Decider(canonical, memory, needs, variation)
    saved = decider.cut()
    if together is not None and (not _fits(together.loop, canonical) or _makes_vectors(together.loop)):
        together = None
    filling = {cover.load: cover for cover in covers(canonical, accumulation, fresh)} if together is None else {}
    result = Plan(accumulation, needs.twins, stripes=stripes(canonical, accumulation, filling), joint=together)
    if together is not None:
        result.stripes.pop(together.loop, None)
    result.covers = {load: cover for load, cover in filling.items() if _is_first(cover, result.stripes)}
    busy = {*result.stripes, *(cover.loop for cover in result.covers.values())}
    result.searches = {s.loop: s for s in searches(canonical, accumulation) if s.loop not in busy}
    decider.settle(saved, result)
    _Layout(canonical, result, decider.varying).run([v for v, how in result.how.items() if how is How.SAVE])
    return result


def _fits(loop: Loop, canonical: Canonical) -> bool:
    """Whether memory for an iteration of `loop` can serve all of them: what the loops in it save goes to buffers of
    that loop, of those directly in it, or to stacks."""

    def fits(inner: Loop) -> bool:
        owners = loop, inner.chain[1]
        return any(hoistable(inner, owner, canonical) for owner in owners) or not hoistable(inner, inner, canonical)

    return all(fits(i) for i in canonical.reversal.loops if i is not loop and i.header in loop.blocks)


def _makes_vectors(loop: Loop) -> bool:
    """Whether `loop` is better reversed by itself: as vectors of dear functions, which the primal may not have."""
    rules = [scalar.rule_of(i) for i in loop.latch.body] if loop.blocks == {loop.latch} else []
    return any(rule is not None and rule.price >= DEAR for rule in rules)


def _is_first(cover: Cover, split: dict[Loop, Stripes]) -> bool:
    """Whether what `cover` stores comes before all that is added to that shadow, where its loop is split."""
    return cover.loop not in split or cover.load in split[cover.loop].groups[0]


PURE = (Binary, Cast, Compare, Select, Gep, ExtractValue, InsertValue, ExtractElement, InsertElement, Shuffle)
FREE = {"add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor"}
LOOSE = {"fast", "reassoc", "contract", "arcp", "afn"}
DEAR = 40  # the price of a function that is worth a vector
OFTEN = 100  # how many times a loop is taken to run, for weighing


class _Decider:
    def __init__(self, canonical: Canonical, memory: Memory, needs: Needs, variation: Variation) -> None:
        self.canonical, self.memory, self.needs, self.variation = canonical, memory, needs, variation
        self.flow = canonical.flow
        self.counters: dict[Value, Loop] = {c.counter: loop for loop, c in canonical.counted.items()}

        # fast-math arithmetic, computed again beside other code, may differ in its last bit
        self.is_loose = any(LOOSE & set(i.flags) for b in self.flow.order for i in b.body)

    # --- what can be done with a value ---

    def at_top(self, value: Value) -> bool:
        """Values outside all loops: kept in the frame, which becomes registers where both halves are inlined."""
        return isinstance(value, Argument) or self.flow.loop_of.get(self.block(value)) is None

    def block(self, value: Value) -> Block:
        assert isinstance(value, Instruction)
        return self.flow.block_of[value]

    def operands(self, value: Value) -> list[Value]:
        """What recomputing `value` reads."""
        assert isinstance(value, Instruction)
        induction = self.canonical.inductions.get(value) if isinstance(value, Phi) else None
        if induction is not None:
            return [v for v in (induction.start, induction.step) if isinstance(v, (Argument, Instruction))]
        return [v for v in value.operands if isinstance(v, (Argument, Instruction))]

    def is_hard(self, value: Value) -> bool:
        """Whether `value` cannot be computed again."""
        match value:
            case Phi():
                return value not in self.canonical.inductions
            case Load():
                return not self.memory.is_stable(value) or bool(value.atomic) or "volatile" in value.flags
            case Call():
                return not calls.is_pure(value.callee_name)
            case Unary(op=op):
                return op != "fneg"  # freezing twice may give two values
            case Compare(op="fcmp") | Cast(op="fptosi" | "fptoui"):
                return self.is_loose  # the last bit would decide which way the reverse goes
            case _:
                return not isinstance(value, PURE)

    def price(self, value: Value) -> int:
        match value:
            case Phi() | Gep() | Compare() | Cast() | Select():
                return 0
            case Binary(op=op) if op in FREE:
                return 0
            case Load():
                return 2
            case _:
                assert isinstance(value, Instruction)
                rule = scalar.rule_of(value)
                return rule.price if rule else 1

    def varying(self, value: Value) -> list[Axis]:
        """What `value` needs places of its own for: each iteration of these loops around it, outermost first."""
        if self.is_loose:
            return [] if isinstance(value, Argument) else list(self.flow.chain(self.block(value)))
        return self.variation.axes(value)

    def frequency(self, value: Value) -> int:
        """How often `value` is taken to be computed."""
        return OFTEN ** min(len(self.flow.chain(self.block(value))), 4)

    def weight(self, value: Value) -> int:
        """What saving `value` costs. Iterations that share a place write it each time, to the first cache."""
        size = 1 if value.type == I1 else size_of(value.type)
        often, places = self.frequency(value), OFTEN ** min(len(self.varying(value)), 4)
        return size * often if places >= often else max(1, size // 2) * often + size * places

    # --- the cut ---

    def closure(self) -> list[Value]:
        """Needed values and everything they could be recomputed from, up to what is kept or cannot be recomputed."""
        seen = dict.fromkeys(v for v in self.needs.of if not self.is_given(v))
        stack = list(seen)
        while stack:
            value = stack.pop()
            if self.is_hard(value):
                continue
            for operand in self.operands(value):
                if operand not in seen and not self.is_given(operand):
                    seen[operand] = None
                    stack.append(operand)
        return list(seen)

    def is_given(self, value: Value) -> bool:
        return value in self.counters or self.at_top(value) or self.canonical.fixed_shadow(value)

    def cut(self) -> set[Value]:
        values = self.closure()
        index = {v: 2 * n + 2 for n, v in enumerate(values)}
        network = Network(2 * len(values) + 2)
        source, sink = 0, 1
        for value, node in index.items():
            assert isinstance(value, Instruction)
            network.edge(node, node + 1, self.weight(value))
            if self.is_hard(value):
                network.edge(source, node, Network.INFINITE)
            else:
                for operand in self.operands(value):
                    if operand in index:
                        network.edge(index[operand] + 1, node, Network.INFINITE)
                if price := self.price(value):
                    network.edge(source, node, price * self.frequency(value))
            if value in self.needs.of:
                network.edge(node + 1, sink, Network.INFINITE)
        near = network.source_side(source, sink)
        return {v for v, node in index.items() if node in near and node + 1 not in near}

    def settle(self, saved: set[Value], result: Plan) -> None:
        """Walk from the needs to what was saved or kept, and note each value on the way."""
        stack = [*self.needs.of, *self.lent()]
        while stack:
            value = stack.pop()
            if value in result.how:
                continue
            how, why = self.answer(value, saved)
            result.how[value], result.because[value] = how, why if isinstance(why, Reason) else Reason(why)
            if value in self.needs.of:
                result.reader[value] = self.needs.because(value)
            if how in (How.RECOMPUTE, How.INDUCTION):
                stack.extend(self.operands(value))

    def lent(self) -> list[Value]:
        """Shadows of stack slots that differentiated calls may hold on to: they have to outlive this function."""
        return [v for v in self.canonical.shadow.values() if isinstance(v, Alloca)] if self.canonical.frames else []

    def answer(self, value: Value, saved: set[Value]) -> tuple[How, Reason | str]:
        if value in self.counters:
            return How.COUNTER, f"counts {self.counters[value]}"
        if isinstance(value, Alloca):
            return How.FRAME, "shadow of a stack slot"
        if self.canonical.fixed_shadow(value):
            return How.SCRATCH, Reason("one shadow for the scratch arrays of all iterations")
        if self.at_top(value):
            return How.SAVE, "computed once, outside all loops"
        if value in saved:
            if isinstance(value, Load) and not self.memory.is_stable(value):
                return How.SAVE, self.memory.because(value)
            if self.is_hard(value):
                return How.SAVE, "cannot be computed again"
            return How.SAVE, f"cheaper than computing it again (price {self.price(value)})"
        assert not self.is_hard(value), "the cut separates every hard value from the needs"
        if isinstance(value, Phi):
            return How.INDUCTION, "start + counter * step"
        return How.RECOMPUTE, self._recompute_reason(value)

    def _recompute_reason(self, value: Value) -> Reason | str:
        if isinstance(value, Load):
            return self.memory.because(value)
        return f"price {self.price(value)}, less than its bytes on the tape"


# --- layout ---------------------------------------------------------------------------------------------------------


class _Layout:
    """Gives every saved value its place."""

    def __init__(self, canonical: Canonical, result: Plan, varying: Callable[[Value], list[Axis]]) -> None:
        self.canonical, self.flow, self.result, self.varying = canonical, canonical.flow, result, varying
        self.buffers: dict[tuple[Loop, bool], Buffer] = {}

    def run(self, saved: Iterable[Value]) -> None:
        for value, how in self.result.how.items():
            if how is How.FRAME:
                assert isinstance(value, Alloca)
                self.result.place[value] = self.in_frame(value.allocated)
            if how is How.SCRATCH:
                self.result.place[value] = self.in_frame(PTR)
        for value in saved:
            loops = [] if isinstance(value, Argument) else self.flow.chain(self.flow.block_of[_inst(value)])
            self.result.place[value] = self.place(_stored(_type(value)), loops, self.varying(value))
        for cover in self.result.covers.values():
            self.result.ranges[cover.argument] = Range(self.in_frame(I64), self.in_frame(I64))
        self.result.frame_size = _aligned(self.result.frame_size, 16)

    def in_frame(self, type: Type) -> Place:
        size = size_of(type)
        offset = _aligned(self.result.frame_size, 16 if size > 8 else 8)
        self.result.frame_size = offset + size
        return Place(type, None, offset)

    def place(self, type: Type, loops: list[Loop], varying: list[Axis] | None = None) -> Place:
        """Room for one value per iteration of `loops`, or for each along the axes that it varies with."""
        together = self.result.joint
        if together is not None and loops and loops[0] is together.loop:
            return self.place_in_iteration(type, loops, varying)
        if not loops:
            return self.in_frame(type)
        axes = list[Axis](loops) if varying is None else varying or list[Axis](loops[-1:])
        if any(isinstance(axis, Diagonal) for axis in axes):
            owner = self.owner(loops, axes)
            if owner is not None:
                return self.member(
                    self.buffer(owner, growing=False), type, _inside(axes, loops[loops.index(owner) :]) or []
                )
            axes = list[Axis](dict.fromkeys(loop for axis in axes for loop in loops_of(axis)))
        for n, owner in enumerate(loops):
            if all(hoistable(loop, owner, self.canonical) for loop in loops[n:]):
                inside = [loop for loop in loops[n:] if loop in axes]
                return self.member(self.buffer(owner, growing=False), type, inside or loops[-1:])
        return self.member(self.buffer(loops[-1], growing=True), type, loops[-1:])

    def owner(self, loops: list[Loop], axes: list[Axis]) -> Loop | None:
        """The outermost loop on whose entry it is known how many places there are along all of `axes` inside."""
        for n, owner in enumerate(loops):
            inside = _inside(axes, loops[n:])
            if inside is None:
                return None
            if inside and all(hoistable(axis, owner, self.canonical) for axis in inside):
                return owner
        return None

    def place_in_iteration(self, type: Type, loops: list[Loop], varying: list[Axis] | None) -> Place:
        """As `place`, for a value that is read in the iteration of the outermost loop in which it is computed."""
        owner, *inner = loops
        if not inner:
            return self.in_frame(type)
        along = inner if varying is None else [loop for axis in varying for loop in loops_of(axis)]
        for chosen in (owner, inner[0]):
            if all(hoistable(loop, chosen, self.canonical) for loop in inner):
                inside = [loop for loop in inner if loop in along]
                return self.member(self.buffer(chosen, growing=False), type, inside) if inside else self.in_frame(type)
        return self.member(self.buffer(loops[-1], growing=True), type, loops[-1:])

    def buffer(self, loop: Loop, *, growing: bool) -> Buffer:
        key = loop, growing
        if key not in self.buffers:
            around = loop.parent.chain if loop.parent and not growing else []
            buffer = self.buffers[key] = Buffer(loop, growing)
            self.result.buffers.setdefault(loop, []).append(buffer)
            buffer.pointer = self.place(PTR, around)
            buffer.height = self.in_frame(I64) if growing else None
        return self.buffers[key]

    def member(self, buffer: Buffer, type: Type, axes: Sequence[Axis]) -> Place:
        place = Place(type, buffer, buffer.record, list(axes))
        buffer.members.append(place)
        if not buffer.growing:
            around = buffer.loop.parent.chain if buffer.loop.parent else []
            for axis in axes:
                if axis not in buffer.counts:
                    buffer.counts[axis] = self.place(I64, around)
        return place


def _inst(value: Value) -> Instruction:
    assert isinstance(value, Instruction)
    return value


def _type(value: Value) -> Type:
    return value.type


def _stored(type: Type) -> Type:
    """How a value lies on the tape: an i1 takes a byte."""
    return I8 if isinstance(type, Int) and type.bits < 8 else type


def _aligned(size: int, to: int) -> int:
    return (size + to - 1) // to * to


def _inside(axes: Iterable[Axis], loops: list[Loop]) -> list[Axis] | None:
    """Those of `axes` that belong to `loops`; None where one does in part."""
    found = [axis for axis in axes if any(loop in loops for loop in loops_of(axis))]
    return found if all(loop in loops for axis in found for loop in loops_of(axis)) else None


def hoistable(axis: Axis, owner: Loop, canonical: Canonical) -> bool:
    """Whether the number of places along `axis` can be computed in the preheader of `owner`, a loop around it or the
    outermost of it."""
    if isinstance(axis, Diagonal):
        last = canonical.counted[axis.inner].last
        assert last is not None
        parts = [last, *(condition for condition, _ in guards(axis.inner, axis.outer, canonical.flow) or [])]
        return hoistable(axis.outer, owner, canonical) and all(
            computable_before(p, owner, canonical, axis.outer) for p in parts
        )
    counted = canonical.counted.get(axis)
    if counted is None or counted.last is None:
        return False
    if axis is owner:
        return True
    conditions = guards(axis, owner, canonical.flow)
    parts = [counted.last, *(condition for condition, _ in conditions or [])]
    return conditions is not None and all(computable_before(p, owner, canonical) for p in parts)


def computable_before(
    value: Value, owner: Loop, canonical: Canonical, numbered: Loop | None = None, depth: int = 0
) -> bool:
    """Whether `value` depends, by cheap operations that cannot trap, only on what is known before `owner`; and, where
    given, on the number of the iteration of `numbered`."""
    if not canonical.flow.inside(value, owner):
        return True
    if depth > 8:
        return False
    match value:
        case Binary(op=op) if op in FREE:
            pass
        case Binary(op="udiv", operands=[_, Constant(literal=int(divisor))]) if divisor != 0:
            pass
        case Cast() | Compare() | Select():
            pass
        case Call() if value.callee_name.startswith(("llvm.smax.", "llvm.smin.", "llvm.umax.", "llvm.umin.")):
            pass
        case Phi() if numbered is not None and value in numbered.header.phis and value in canonical.inductions:
            induction = canonical.inductions[value]
            parts = induction.start, induction.step
            return value.type == I64 and all(computable_before(v, owner, canonical, None, depth + 1) for v in parts)
        case _:
            return False
    return all(computable_before(v, owner, canonical, numbered, depth + 1) for v in value.operands)
