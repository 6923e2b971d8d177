"""The augmented function: the primal, which on its way leaves on the tape what the plan saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from irad.analysis.canonical import FRAME
from irad.analysis.covers import Cover
from irad.analysis.diagonals import Axis, Diagonal, loops_of
from irad.analysis.flow import Loop, guards
from irad.emit import calls as call_rules
from irad.emit.body import Body, Subject, make_function
from irad.ir.build import Builder
from irad.ir.model import Alloca, Argument, Block, Call, Function, Instruction, Phi, Return, Value, integer, zero
from irad.ir.types import I1, I32, I64, PTR, VOID, Int, Struct, size_of
from irad.plan import Buffer, How, Place

LARGEST = 1 << 62  # bytes; sizes saturate here, and such an allocation fails


@dataclass(frozen=True)
class Child:
    """Names of the derivative functions of a callee, and the bytes that its frame takes."""

    augmented: str
    reverse: str
    frame_size: int


@dataclass
class Stack:
    """The stack slots that hold a growing buffer's address, its capacity in records, and the number of these."""

    pointer: Value
    capacity: Value
    height: Value


@dataclass(frozen=True)
class Detour:
    """Before a block ends, other code runs, from `entry` on; it comes back to `resume`, where the block ends."""

    entry: Block
    resume: Block


class Augmented(Body):
    """The primal's arguments, the shadows, the frame; returns the primal's status, or 0 where there is none."""

    def __init__(self, subject: Subject, name: str, children: dict[Call, Child]) -> None:
        self.frame = Argument(PTR, "frame")
        super().__init__(subject, name, [self.frame], I32, ())
        self.children = children
        self.plan = subject.planned()
        self.flow = subject.canonical.flow
        self.bases: dict[Place, Value] = {}
        self.counts: dict[tuple[Buffer, Axis], Value] = {}
        self.growing: dict[Buffer, Stack] = {}
        self.firsts: dict[Buffer, Value] = {}  # the number of the first record of an entry
        self.used: dict[Buffer, Stack] = {}  # memory that serves all entries of a buffer
        self.detours: dict[Block, Detour] = {}
        self.counters: dict[Loop, Value] = {}  # slots where the number of each iteration is left
        self.headers = {loop.header: loop for loop in subject.canonical.reversal.loops}
        self.preheaders: dict[Block, list[Loop]] = {}
        for loop in subject.canonical.reversal.loops:
            self.preheaders.setdefault(loop.preheader, []).append(loop)

    def build(self) -> Function:
        """The finished function."""
        for block in self.order():
            self.enter(block)
            if block is self.subject.function.entry:
                self.begin()
            for phi in block.phis:
                self.map[phi] = self.begin_phi(phi, phi.type, phi.name, self.map)
            if block in self.headers:
                self.grow(self.headers[block])
            for phi in block.phis:
                self.save(phi)
            for instruction in block.body:
                self.instruction(instruction)
                self.save(instruction)
            for loop in self.preheaders.get(block, []):
                self.open(loop)
            if isinstance(block.end, Return):
                self.close()
                self.last[block] = self.out.block
                self.status_return(block.end)
            else:
                self.leave(block)
        self.finish_phis()
        return self.function

    def leave(self, block: Block) -> None:
        detour = self.detours.get(block)
        if detour is not None:
            for loop, slot in self.counters.items():
                if loop.latch is block:
                    self.out.store(self.counter(loop), slot)
            self.out.branch(detour.entry)
            self.function.blocks.append(detour.resume)
            self.out.block = detour.resume
        super().leave(block)

    def begin(self) -> None:
        self.begin_scratch()
        joint = self.plan.joint
        for buffers in self.plan.buffers.values():
            for buffer in buffers:
                if joint is not None and buffer.loop.parent is joint.loop and not buffer.growing:
                    cells = Stack(self.out.alloca(PTR), self.out.alloca(I64), self.out.alloca(I64))
                    self.used[buffer] = cells
                    self.out.store(zero(PTR), cells.pointer)
                    self.out.store(integer(0, I64), cells.capacity)
                if buffer.growing:
                    cells = Stack(self.out.alloca(PTR), self.out.alloca(I64), self.out.alloca(I64))
                    self.growing[buffer] = cells
                    self.out.store(zero(PTR), cells.pointer)
                    self.out.store(integer(0, I64), cells.capacity)
                    self.out.store(integer(0, I64), cells.height)
        for argument in [*self.subject.function.arguments, *self.subject.canonical.shadow_arguments.values()]:
            self.save(argument)

    def instruction(self, instruction: Instruction) -> None:
        subject = self.subject
        match instruction:
            case Call() if instruction in subject.activity.calls:
                call_rules.augment(instruction, self)
            case Call() if instruction.callee_name == FRAME:
                self.map[instruction] = self.allocate(integer(max(self.child_of(instruction).frame_size, 1), I64))
            case Call() if instruction in subject.canonical.scratch.reused:
                canonical = subject.canonical
                simple = instruction in canonical.scratch.simple and instruction in canonical.shadow
                self.reuse(instruction, shadowed=simple)
            case Call() if instruction in self.map:
                pass  # the shadow of a scratch array, cleared by the reverse
            case Call() if call_rules.is_shadow(instruction):
                self.shadow_allocation(instruction)
            case Alloca() if instruction in self.plan.place:
                self.map[instruction] = address = self.out.offset(self.frame, self.plan.place[instruction].offset)
                self.zero_memory(address, integer(size_of(instruction.allocated), I64))
            case Alloca():
                self.copy(instruction)
                if instruction in subject.canonical.shadow.values():
                    self.zero_memory(self.value(instruction), integer(size_of(instruction.allocated), I64))
            case _:
                self.copy(instruction)

    def new_scratch_shadow(self, call: Call, shadow: Value) -> None:
        place = self.plan.place.get(self.subject.canonical.shadow[call])
        if place is not None:
            self.mark_tape(self.out.store(shadow, self.address(place)))

    def child_of(self, frame: Call) -> Child:
        call = next(c for c, f in self.subject.canonical.frames.items() if f is frame)
        return self.children[call]

    # --- saving ---

    def save(self, value: Value) -> None:
        """Write `value` to its place, where the plan gives it one."""
        place = self.plan.place.get(value)
        if place is None or self.plan.how[value] is not How.SAVE:
            return
        new = self.value(value)
        if isinstance(new.type, Int) and new.type != place.type:
            new = self.out.cast("zext", new, place.type)
        self.mark_tape(self.out.store(new, self.address(place), place.align))

    def address(self, place: Place) -> Value:
        """Where this iteration's entry of `place` lies."""
        buffer = place.buffer
        if buffer is None:
            return self.out.offset(self.frame, place.offset)
        if buffer.growing:
            base = self.out.load(PTR, self.growing[buffer].pointer)
            return record_address(self.out, base, self.record(buffer), buffer, place)
        index = row_major(
            self.out, [(position(self.out, axis, self.counter), self.counts[buffer, axis]) for axis in place.axes]
        )
        return self.out.offset(self.bases[place], index, place.type)

    def record(self, buffer: Buffer) -> Value:
        """The number of this iteration's record of a growing buffer."""
        return self.out.binary("add", self.firsts[buffer], self.counter(buffer.loop))

    def counter(self, loop: Loop) -> Value:
        return self.value(self.subject.canonical.counted[loop].counter)

    # --- buffers ---

    def open(self, loop: Loop) -> None:
        """At the preheader of `loop`: take memory for its buffers, and note what its reverse will store."""
        for cover in self.plan.covers.values():
            if cover.loop is loop:
                self.note_range(cover)
        for buffer in self.plan.buffers.get(loop, []):
            if buffer.growing:
                self.firsts[buffer] = self.out.load(I64, self.growing[buffer].height)
            else:
                self.open_sized(buffer)

    def note_range(self, cover: Cover) -> None:
        out, range = self.out, self.plan.ranges[cover.argument]
        low: Value = integer(cover.start.constant, I64)
        for value, factor in cover.start.terms.items():
            low = out.binary("add", low, out.binary("mul", self.value(value), integer(factor, I64)))
        length = out.binary("mul", self.places_before(cover.loop, cover.loop), integer(size_of(cover.load.type), I64))
        for place, end in ((range.low, low), (range.high, out.binary("add", low, length))):
            self.mark_tape(out.store(end, self.address(place)))

    def open_sized(self, buffer: Buffer) -> None:
        out = self.out
        for axis, place in buffer.counts.items():
            count = self.places_before(axis, buffer.loop)
            self.counts[buffer, axis] = count
            self.mark_tape(out.store(count, self.address(place)))
        counts = {axis: self.counts[buffer, axis] for axis in buffer.counts}
        offsets, total = member_sizes(out, buffer, counts)
        pointer = self.again(buffer, total) if buffer in self.used else self.allocate(total)
        assert buffer.pointer is not None
        self.mark_tape(self.out.store(pointer, self.address(buffer.pointer)))
        for place, offset in zip(buffer.members, offsets, strict=True):
            self.bases[place] = self.out.offset(pointer, offset)

    def places_before(self, axis: Axis, owner: Loop) -> Value:
        """How many places there are along `axis`, computed before `owner` is entered: zero when its guards fail."""
        loop = loops_of(axis)[0]
        last = self.last_sum(axis, owner) if isinstance(axis, Diagonal) else self.last_before(loop, owner)
        count = self.out.binary("add", last, integer(1, I64))
        return count if loop is owner else self.if_entered(count, loop, owner, owner)

    def again(self, buffer: Buffer, size: Value) -> Value:
        """The memory of the last entry of a buffer, or more where it is too small."""
        out, cells = self.out, self.used[buffer]
        small, fine = self.split("small"), self.split("sufficient")
        out.branch_if(out.compare("ugt", size, out.load(I64, cells.capacity)), small, fine)
        out.block = small
        twice = out.call(
            "llvm.umax.i64", I64, [size, out.binary("shl", out.load(I64, cells.capacity), integer(1, I64))]
        )
        out.store(self.allocate(twice), cells.pointer)
        out.store(twice, cells.capacity)
        out.branch(fine)
        out.block = fine
        return out.load(PTR, cells.pointer)

    def last_before(self, loop: Loop, owner: Loop, numbered: tuple[Loop, Value] | None = None) -> Value:
        """The last iteration's number of `loop`, computed before `owner` is entered (see `hoist`)."""
        last = self.subject.canonical.counted[loop].last
        assert last is not None
        return self.hoist(last, owner, {}, numbered)

    def if_entered(
        self, value: Value, loop: Loop, around: Loop, owner: Loop, numbered: tuple[Loop, Value] | None = None
    ) -> Value:
        """`value`, or zero where an iteration of `around` does not enter `loop`; computed before `owner` is entered."""
        for condition, outcome in guards(loop, around, self.flow) or []:
            test = self.hoist(condition, owner, {}, numbered)
            yes, no = (value, integer(0, I64)) if outcome else (integer(0, I64), value)
            value = self.out.select(test, yes, no)
        return value

    def last_sum(self, pair: Diagonal, owner: Loop) -> Value:
        """The largest sum of iteration numbers, computed before `owner` is entered.

        It is that at the end of the inner loop, the same in all outer iterations whose inner loop ends by its bound;
        where it ends at once, the outer one's number alone is left.
        """

        def sum_at(number: Value) -> Value:
            numbered = pair.outer, number
            last = self.last_before(pair.inner, owner, numbered)
            return self.if_entered(self.out.binary("add", last, number), pair.inner, pair.outer, owner, numbered)

        last = self.last_before(pair.outer, owner)
        largest = last
        for number in (integer(0, I64), last):
            largest = self.out.call("llvm.umax.i64", I64, [largest, sum_at(number)])
        return largest

    def hoist(
        self, value: Value, owner: Loop, memo: dict[Value, Value], numbered: tuple[Loop, Value] | None = None
    ) -> Value:
        """`value`, computed here though it belongs inside `owner`, in the iteration of another loop that `numbered`
        gives. Flags go: they held under other conditions."""
        if not self.flow.inside(value, owner):
            return self.value(value)
        if value not in memo:
            assert isinstance(value, Instruction)
            if isinstance(value, Phi):
                assert numbered is not None, "the plan hoists counters of a numbered iteration alone"
                memo[value] = self.hoist_counter(value, owner, numbered[1])
            else:
                new = value.clone(lambda v: self.hoist(v, owner, memo, numbered))
                new.flags, new.metadata = (), {}
                memo[value] = self.out.append(new)
        return memo[value]

    def hoist_counter(self, phi: Phi, owner: Loop, number: Value) -> Value:
        """What `phi` is in iteration `number` of its loop."""
        induction = self.subject.canonical.inductions[phi]
        start, step = (self.hoist(v, owner, {}) for v in (induction.start, induction.step))
        distance = self.out.binary("mul", number, step)
        return self.out.binary("sub" if induction.negative else "add", start, distance)

    def close(self) -> None:
        """At the end: leave in the frame where the stacks are, and how high."""
        for buffer, cells in self.growing.items():
            assert buffer.pointer is not None
            assert buffer.height is not None
            for place, type, cell in ((buffer.pointer, PTR, cells.pointer), (buffer.height, I64, cells.height)):
                self.mark_tape(self.out.store(self.out.load(type, cell), self.address(place)))

    def grow(self, loop: Loop) -> None:
        """At the header: make room for this iteration's record."""
        for buffer in self.plan.buffers.get(loop, []):
            if buffer.growing:
                self.grow_buffer(buffer, self.record(buffer))

    def grow_buffer(self, buffer: Buffer, count: Value) -> None:
        out, cells = self.out, self.growing[buffer]
        capacity = out.load(I64, cells.capacity)
        out.store(out.binary("add", count, integer(1, I64)), cells.height)
        full, enough = self.split("full"), self.split("room")
        out.branch_if(out.compare("uge", count, capacity), full, enough)
        out.block = full
        doubled = out.call("llvm.umax.i64", I64, [out.binary("shl", capacity, integer(1, I64)), integer(16, I64)])
        record = integer(buffer.record, I64)
        old = out.load(PTR, cells.pointer)  # given up with the whole tape: the buffers together take twice the last one
        new = self.allocate(saturating_product(out, doubled, record))
        out.call("llvm.memcpy.p0.p0.i64", VOID, [new, old, out.binary("mul", capacity, record), integer(0, I1)])
        out.store(new, cells.pointer)
        out.store(doubled, cells.capacity)
        out.branch(enough)
        out.block = enough


# --- addresses, shared with the reverse -----------------------------------------------------------------------------


def record_address(out: Builder, base: Value, count: Value, buffer: Buffer, place: Place) -> Value:
    """A member's address in record number `count` of a growing buffer."""
    at = out.binary("mul", count, integer(buffer.record, I64))
    return out.offset(base, out.binary("add", at, integer(place.offset, I64)))


def position(out: Builder, axis: Axis, counter: Callable[[Loop], Value]) -> Value:
    """The number of this iteration's place along `axis`."""
    first, *others = map(counter, loops_of(axis))
    for other in others:
        first = out.binary("add", first, other, ("nuw", "nsw"))
    return first


def row_major(out: Builder, indices: list[tuple[Value, Value]]) -> Value:
    """The position of (index, count) pairs, outermost first, in a row-major array."""
    position, _ = indices[0]
    for index, count in indices[1:]:
        position = out.binary("add", out.binary("mul", position, count), index)
    return position


def member_sizes(out: Builder, buffer: Buffer, counts: dict[Axis, Value]) -> tuple[list[Value], Value]:
    """Byte offset of every member's array in a sized buffer, and the bytes of all, at most `LARGEST`."""
    offset: Value = integer(0, I64)
    offsets: list[Value] = []
    for place in buffer.members:
        offsets.append(offset)
        size: Value = integer(size_of(place.type), I64)
        for axis in place.axes:
            size = saturating_product(out, size, counts[axis])
        padded = out.binary("and", out.binary("add", size, integer(63, I64)), integer(-64, I64))
        offset = out.call("llvm.uadd.sat.i64", I64, [offset, padded])
        offset = out.call("llvm.umin.i64", I64, [offset, integer(LARGEST, I64)])
    return offsets, offset


def member_offsets(out: Builder, buffer: Buffer, counts: dict[Axis, Value], *, before: int) -> Value:
    """Byte offset of member number `before`, of a buffer that was allocated: nothing can overflow.

    Arrays of the same shape take the same room, so that code for an offset is short however many lie before it.
    """
    offset: Value = integer(0, I64)
    alike = Counter((tuple(place.axes), size_of(place.type)) for place in buffer.members[:before])
    for (axes, unit), times in alike.items():
        size: Value = integer(unit, I64)
        for axis in axes:
            size = out.binary("mul", size, counts[axis])
        padded = out.binary("and", out.binary("add", size, integer(63, I64)), integer(-64, I64))
        offset = out.binary("add", offset, out.binary("mul", padded, integer(times, I64)))
    return offset


def saturating_product(out: Builder, left: Value, right: Value) -> Value:
    """left * right, at most `LARGEST`: a size that no allocation grants."""
    return out.call("irad.size.product", I64, [left, right])


def size_product() -> Function:
    """`i64 irad.size.product(i64, i64)`: an unsigned product that saturates at `LARGEST`."""
    left, right = Argument(I64, "left"), Argument(I64, "right")
    function = make_function("irad.size.product", [left, right], I64)
    function.attributes = ("alwaysinline",)
    out = Builder(Block("entry"))
    function.blocks.append(out.block)
    pair = out.call("llvm.umul.with.overflow.i64", Struct((I64, I1)), [left, right])
    product = out.call("llvm.umin.i64", I64, [out.extract(pair, 0, I64), integer(LARGEST, I64)])
    out.ret(out.select(out.extract(pair, 1, I1), integer(LARGEST, I64), product))
    return function


def augmented(subject: Subject, name: str, children: dict[Call, Child]) -> Function:
    """The augmented function of `subject`, called `name`.

    Parameters: the primal's arguments; a shadow for each of `subject.shadow_arguments`; the frame, `plan.frame_size`
    bytes. It returns a status.
    """
    return Augmented(subject, name, children).build()
