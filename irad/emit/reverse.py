"""The reverse function: blocks in opposite order, adjoints of values in registers, those of memory in the shadows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from irad.analysis.diagonals import Axis
from irad.analysis.flow import Loop
from irad.analysis.joint import Joint
from irad.analysis.needs import shadow_of
from irad.analysis.records import Element
from irad.analysis.searches import Search
from irad.emit import calls as call_rules
from irad.emit import memory as memory_rules
from irad.emit import scalar as scalar_rules
from irad.emit.aggregate import add
from irad.emit.augment import Child, Stack, member_offsets, position, record_address, row_major
from irad.emit.body import Subject, make_function
from irad.emit.slots import Users, turns, users
from irad.emit.stripes import Part, Splitter
from irad.ir.build import Builder
from irad.ir.model import (
    Alloca,
    Argument,
    Binary,
    Block,
    Call,
    Cast,
    Function,
    Instruction,
    Load,
    Phi,
    Store,
    Value,
    integer,
    zero,
)
from irad.ir.types import I32, I64, PTR, Int, Type, field_offset
from irad.plan import Buffer, How, Place


@dataclass(frozen=True)
class Together:
    """Where the reverse of a loop that runs forwards at the same time meets the augmented function.

    guard, preheader, latch: where that goes on. enter: where the way back to the loop begins; rest: from before it.
    """

    joint: Joint
    guard: Block
    preheader: Block
    latch: Block
    enter: Block
    rest: Block


class Reverse:
    """Builds `i32 f(ptr frame, ptr bars, ptr excinfo)`, which returns a status: a rule may fail on the way back.

    An active value whose uses all lie in its own block has its adjoint in `near`, as a value being summed; any other
    has a stack slot, zero between uses, that LLVM turns into registers (see irad.emit.slots).
    """

    def __init__(
        self,
        subject: Subject,
        name: str,
        children: dict[Call, Child],
        flags: tuple[str, ...],
        together: Together | None = None,
    ) -> None:
        self.subject, self.children, self.flags, self.together = subject, children, flags, together
        self.plan, self.canonical = subject.planned(), subject.canonical
        self.flow = self.canonical.flow
        self.frame, self.bars, self.excinfo = Argument(PTR, "frame"), Argument(PTR, "bars"), Argument(PTR, "excinfo")
        self.function = make_function(name, [self.frame, self.bars, self.excinfo], I32)
        self.entry, self.done = Block("entry"), Block("done")
        self.function.blocks.append(self.entry)
        self.setup = Builder(self.entry)
        self.start = {b: Block(f"reverse.{b.name}") for b in self.canonical.reversal.back}
        self.out = Builder(self.entry, flags)
        self.here: Block = self.flow.graph.exit  # the source block whose reverse is being written
        self.memo: dict[Value | Place | Loop, Value] = {}
        self.homes: dict[Loop | None, Home] = {}
        self.thresholds: dict[Loop, Home] = {}  # just before the reverse of a loop
        self.doors: dict[Loop, Block] = {}  # where these are put
        self.levels: dict[Value, int] = {}
        self.near: dict[Value, Value | None] = {}
        self.slots: dict[tuple[Type, int], Value] = {}
        self.given: set[Value] = set()  # values to whose slot something was added
        self.slot_types: dict[Value, Type] = {}
        self.counters = {loop: self.setup.alloca(I64) for loop in self.canonical.reversal.loops}
        self.heights: dict[Buffer, Value] = {}  # how many records of a stack lie below those of the entry at hand
        self.stacks: dict[Buffer, Stack] = {}  # of the augmented function, where this one is a part of it
        self.status: Value = integer(0, I32)  # what to return
        self.is_loose = "reassoc" in flags  # whether adjoints may be summed in any order
        self.stripes = self.plan.stripes if self.is_loose else {}
        self.entrances = {loop: Block(f"stripes.{loop.header.name}") for loop in self.stripes}
        self.part: Part | None = None
        self.sums: dict[Loop, dict[tuple[Value, Type], Sum]] = defaultdict(dict)
        self.uses_copy_adjoint: set[Element] = set()
        self.bypassed: list[tuple[Phi, Value]] = []  # what the merge passes on where its loop was bypassed
        self.headers = {loop.header: loop for loop in self.canonical.reversal.loops}
        self.ways_in = self.single_ways_in()
        readers = users(self.flow)
        self.local = self.local_values(readers)
        values: list[Value] = [*subject.function.arguments, *(i for b in self.flow.order for i in b.instructions)]
        far = filter(self.has_slot, values)
        self.turns = turns([(v, self.tangent_type(v)) for v in far], readers, self.flow)

    def build(self) -> Function:
        """The finished function."""
        self.open_stacks()
        for block in reversed(self.flow.order):
            if block in self.start:
                self.block(block)
        if self.together is not None:
            self.go_on(self.together)
        self.function.blocks.append(self.done)
        self.out.block = self.done
        self.finish()
        self.place_homes()
        self.entry.body.sort(key=lambda i: not isinstance(i, Alloca))
        self.setup.branch(self.start[self.flow.graph.exit])
        return self.function

    def open_stacks(self) -> None:
        for buffers in self.plan.buffers.values():
            for buffer in buffers:
                if buffer in self.stacks:
                    self.heights[buffer] = self.stacks[buffer].height
                elif buffer.height is not None:
                    self.heights[buffer] = slot = self.setup.alloca(I64)
                    where = self.setup.offset(self.frame, buffer.height.offset)
                    self.setup.store(self.mark_tape(self.setup.load(I64, where)), slot)

    def place_homes(self) -> None:
        """Put what was computed once for many iterations where it belongs."""
        for loop, home in self.homes.items():
            start = self.entry if loop is None else self.start[loop.latch]
            start.body = [*start.body, *home.block.body] if loop is None else [*home.block.body, *start.body]
        for loop in sorted(self.thresholds, key=lambda loop: loop.depth):
            self.doors[loop].body += self.thresholds[loop].block.body

    def finish(self) -> None:
        """Leave the adjoints of the active arguments in `bars`."""
        active = self.subject.active_arguments
        layout = call_rules.bars_type([self.tangent_type(a) for a in active])
        for i, argument in enumerate(active):
            self.out.store(
                self.take(argument) or zero(layout.fields[i]), self.out.offset(self.bars, field_offset(layout, i))
            )
        self.out.ret(self.status)

    # --- blocks ---

    def block(self, block: Block) -> None:
        self.here = block
        self.enter(self.start[block])
        loop = self.headers.get(block)
        if loop in self.plan.searches:
            self.search(self.plan.searches[loop])
            return
        self.go_back(block, self.body(block))
        if loop in self.stripes:
            Splitter(loop, self.stripes[loop], self).emit(self.entrances[loop])

    def body(self, block: Block) -> list[tuple[Phi, Value]]:
        """The adjoints of the instructions of `block`; those of its phis are left to pass on."""
        for instruction in reversed(block.body):
            self.instruction(instruction)
        bars = [(phi, self.take(phi)) for phi in block.phis if phi in self.subject.activity]
        return [(phi, bar) for phi, bar in bars if bar is not None]

    def enter(self, block: Block) -> None:
        self.function.blocks.append(block)
        self.out.block = block
        self.memo = {}

    def instruction(self, instruction: Instruction) -> None:
        match instruction:
            case Store():
                memory_rules.store_adjoint(instruction, self)
            case Call() if instruction in self.canonical.scratch.simple:
                memory_rules.scratch_adjoint(instruction, self)
            case Call() if instruction in self.subject.activity.calls:
                call_rules.adjoint(instruction, self)
            case Call() if memory_rules.moves(instruction):
                memory_rules.move_adjoint(instruction, self)
            case _ if instruction in self.subject.activity:
                bar = self.take(instruction)
                if bar is None and instruction in self.plan.covers:
                    bar = zero(self.tangent_type(instruction))
                if bar is None:
                    return
                if isinstance(instruction, Load):
                    memory_rules.load_adjoint(instruction, bar, self)
                else:
                    scalar_rules.adjoint(instruction, bar, self)
            case _:
                pass

    def go_back(self, block: Block, bars: list[tuple[Phi, Value]]) -> None:
        """End the reverse of `block`: on to the reverse of where the primal came from."""
        ways = self.canonical.reversal.back[block]
        if not ways:
            self.out.branch(self.done)
            return
        if self.together is not None and self.meet(block, bars, self.together):
            return
        if len(ways) == 1:
            self.edge(block, ways[0], bars)
            return
        edges = [Block(f"{self.out.block.name}.to.{way.name}") for way in ways]
        loop = self.headers.get(block)
        if loop is not None:
            self.loop_back(block, loop, edges, bars)
            return
        if len(ways) == 2:
            arrival = self.look(self.canonical.arrival[block])
            self.out.branch_if(self.out.compare("eq", arrival, zero(arrival.type)), edges[0], edges[1])
        else:
            self.out.switch(self.look(self.canonical.arrival[block]), edges[0], list(enumerate(edges))[1:])
        for way, edge in zip(ways, edges, strict=True):
            self.enter(edge)
            self.edge(block, way, bars)

    def loop_back(self, header: Block, loop: Loop, edges: list[Block], bars: list[tuple[Phi, Value]]) -> None:
        """From a header: to before the loop when this was its first iteration, else to the end of the one before."""
        count = self.counter(loop)
        self.out.branch_if(self.out.compare("eq", count, integer(0, I64)), edges[0], edges[1])
        self.enter(edges[0])
        self.leave_loop(loop, bars)
        self.enter(edges[1])
        self.set_counter(loop, self.out.binary("sub", count, integer(1, I64)))
        self.hand_over(loop.latch, bars)
        self.out.branch(self.start[loop.latch])

    def search(self, search: Search) -> None:
        """The reverse of a loop, from its last iteration: back to the one that chose, and that alone."""
        loop, block = search.loop, search.loop.latch
        found, other, first, further = (
            Block(f"{self.out.block.name}.{name}") for name in ("found", "other", "first", "further")
        )
        ways = (found, other) if search.outcome else (other, found)
        self.out.branch_if(self.look(search.condition), *ways)
        self.enter(other)
        self.out.branch_if(self.out.compare("eq", self.counter(loop), integer(0, I64)), first, further)
        self.enter(further)
        self.set_counter(loop, self.out.binary("sub", self.counter(loop), integer(1, I64)))
        self.out.branch(self.start[block])
        self.enter(first)
        bar = self.take(search.choice)
        self.leave_loop(loop, [] if bar is None else [(search.carried, bar)])
        self.enter(found)
        self.body(block)
        self.leave_loop(loop, [])

    def meet(self, block: Block, bars: list[tuple[Phi, Value]], together: Together) -> bool:
        """Go over to the augmented function, where the way back from `block` does."""
        joint = together.joint
        if block is joint.merge:
            if joint.past is not None:
                self.bypassed = bars
                self.out.branch(together.guard)
                self.enter(together.enter)
            self.edge(block, self.way_in(joint), bars)
            return True
        if block is joint.loop.header:
            self.hand_over(joint.loop.latch, bars)
            self.out.branch(together.latch)
            return True
        return False

    def way_in(self, joint: Joint) -> Block:
        """Where the way back goes from the merge, if not past the loop."""
        return next(way for way in self.canonical.reversal.back[joint.merge] if way is not joint.past)

    def go_on(self, together: Together) -> None:
        """All iterations have been reversed: leave the loop, or pass by where it was bypassed."""
        joint, ways = together.joint, self.canonical.reversal.back[together.joint.merge]
        self.here = joint.merge
        self.enter(together.rest)
        if joint.past is not None:
            arrival = self.look(self.canonical.arrival[joint.merge])
            through, past = Block("joint.through"), Block("joint.past")
            index = integer(ways.index(joint.past), arrival.type)
            self.out.branch_if(self.out.compare("eq", arrival, index), past, through)
            self.enter(past)
            self.edge(joint.merge, joint.past, self.bypassed)
            self.enter(through)
        self.here = joint.loop.header
        ends = [(phi, phi.value_from(joint.loop.latch)) for phi in joint.loop.header.phis]
        bars = [(phi, self.take(end)) for phi, end in ends if phi in self.subject.activity]
        self.leave_loop(joint.loop, [(phi, bar) for phi, bar in bars if bar is not None])

    def leave_loop(self, loop: Loop, bars: list[tuple[Phi, Value]]) -> None:
        """On from the reverse of the first iteration of `loop` to what was before it."""
        self.end_sums(loop)
        self.edge(loop.header, loop.preheader, bars)

    def edge(self, block: Block, way: Block, bars: list[tuple[Phi, Value]]) -> None:
        """From the reverse of `block` to that of `way`: phis pass on their adjoints, loops are entered at their end."""
        self.hand_over(way, bars)
        around, start = self.flow.chain(block), self.start[way]
        for loop in self.flow.chain(way):
            if loop not in around:
                self.doors[loop] = self.out.block
                if self.together is not None and loop is self.together.joint.loop:
                    self.out.branch(self.together.preheader)
                    return
                last = self.look(self.canonical.last(loop, block))
                self.set_counter(loop, last)
                self.take_off(loop, last)
                start = self.entrances.get(loop, start)
        self.out.branch(start)

    def take_off(self, loop: Loop, last: Value) -> None:
        """Take the records of one entry off the stacks of `loop`: they are read above what is left."""
        for buffer in self.plan.buffers.get(loop, []):
            if buffer.growing:
                count, slot = self.out.binary("add", last, integer(1, I64)), self.heights[buffer]
                self.out.store(self.out.binary("sub", self.out.load(I64, slot), count), slot)

    def hand_over(self, way: Block, bars: list[tuple[Phi, Value]]) -> None:
        for phi, bar in bars:
            self.add(phi.value_from(way), bar)

    # --- adjoints ---

    def tangent_type(self, value: Value) -> Type:
        type = self.subject.kinds.tangent_type(value)
        assert type is not None
        return type

    def local_values(self, readers: Users) -> set[Value]:
        """Active instructions whose every active use lies in their own block, and is no phi."""
        home = self.flow.block_of
        return {
            value
            for value in self.subject.activity.values
            if isinstance(value, Instruction)
            and not isinstance(value, Phi)
            and all(not isinstance(u, Phi) and home[u] is home[value] for u in readers.get(value, ()))
        }

    def add(self, value: Value, bar: Value) -> None:
        """Add `bar` to the adjoint of `value`, where it is active."""
        self.give(value, lambda: bar)

    def give(self, value: Value, bar: Callable[[], Value]) -> None:
        """Like `add`, computing `bar` only where it is wanted."""
        if value not in self.subject.activity or (self.part and not self.part.sums(value, self.block_of(value))):
            return
        if value in self.local:
            before = self.near.get(value)
            self.near[value] = bar() if before is None else add(self.out, before, bar())
            return
        slot = self.slot(value)
        self.given.add(value)
        self.out.store(add(self.out, self.out.load(self.tangent_type(value), slot), bar()), slot)

    def take(self, value: Value) -> Value | None:
        """The adjoint of `value`, which is complete now; its slot is zero again. None where nothing was added."""
        if value in self.local:
            return self.near.pop(value, None)
        if value not in self.given and isinstance(value, Argument):
            return None
        slot = self.slot(value)
        bar = self.out.load(self.tangent_type(value), slot)
        self.out.store(zero(bar.type), slot)
        return bar

    def slot(self, value: Value) -> Value:
        """Where the adjoint of `value` gathers."""
        key = self.turns[value]
        if key not in self.slots:
            self.slots[key] = slot = self.setup.alloca(key[0])
            self.slot_types[slot] = key[0]
            self.setup.store(zero(key[0]), slot)
        return self.slots[key]

    def has_slot(self, value: Value) -> bool:
        """Whether the adjoint of `value` is kept from one block to another."""
        return value in self.subject.activity and value not in self.local

    def block_of(self, value: Value) -> Block | None:
        return self.flow.block_of.get(value) if isinstance(value, Instruction) else None

    def return_failure(self, status: Value) -> None:
        """Go on where a call on the way back succeeded; else return its status."""
        here = self.out.block
        failed, fine = Block(f"{here.name}.failed"), Block(f"{here.name}.fine")
        self.function.blocks += [failed, fine]
        self.out.branch_if(self.out.succeeded(status), fine, failed)
        self.out.block = failed
        self.out.ret(status)
        self.out.block = fine

    def stack_slot(self, type: Type) -> Value:
        return self.setup.alloca(type)

    # --- sums over a loop ---

    def add_to_shadow(self, load: Load, bar: Value) -> None:
        """Add `bar` to the shadow of what `load` read: at once, or to a sum that joins it when a loop is over. What
        comes first to a fresh shadow is stored."""
        if self.part and self.part.skips(load):
            return
        loop = self.summing_loop(load)
        if load in self.plan.covers:
            self.mark_shadow(self.out.store(bar, self.look_shadow(load.pointer), load.align), load.pointer)
            return
        if loop is None:
            self.add_to_memory(load, bar)
            return
        key = self.canonical.shadow.get(load.pointer, load.pointer), bar.type
        if key not in self.sums[loop]:
            slot = self.setup.alloca(bar.type)
            self.setup.store(zero(bar.type), slot)
            self.sums[loop][key] = Sum(load, slot)
        slot = self.sums[loop][key].slot
        self.out.store(add(self.out, self.out.load(bar.type, slot), bar), slot)

    def add_to_memory(self, load: Load, bar: Value) -> None:
        where = self.look_shadow(load.pointer)
        before = self.mark_shadow(self.out.load(bar.type, where, load.align), load.pointer)
        self.mark_shadow(self.out.store(add(self.out, before, bar), where, load.align), load.pointer)

    def summing_loop(self, load: Load) -> Loop | None:
        """The outermost loop around here all through which `load` reads one place whose shadow is only added to.

        Where the load does not run in every iteration, the last one included, its place need not be memory at all.
        """
        if not self.is_loose:
            return None
        pointer = self.canonical.shadow.get(load.pointer, load.pointer)
        home = self.home(self.level(pointer), lambda loop: self.is_sure(pointer, loop))
        if home is None:
            return None
        block = self.flow.block_of[load]
        for loop in self.flow.chain(block)[home.depth :]:
            every = all(self.flow.dominates(block, inside) for inside in (loop.latch, *(i for i, _ in loop.exits)))
            if every and self.plan.accumulation.only_adds(loop, load.pointer):
                return loop
        return None

    def end_sums(self, loop: Loop) -> None:
        """The reverse of `loop` is over: what it summed goes to the shadows."""
        for (_, type), sum in self.sums[loop].items():
            total = self.out.load(type, sum.slot)
            self.out.store(zero(type), sum.slot)
            self.add_to_memory(sum.load, total)

    # --- primal values, as the plan provides them ---

    def look(self, value: Value) -> Value:
        """`value` of the primal, in the iteration being reversed."""
        if not isinstance(value, (Argument, Instruction)):
            return value
        home = self.home(self.level(value), lambda loop: self.is_sure(value, loop))
        if home is not None:
            return home.value(value, self, lambda: self.find(value))
        if value not in self.memo:
            self.memo[value] = self.find(value)
        return self.memo[value]

    def look_shadow(self, pointer: Value) -> Value:
        """The shadow of a primal pointer."""
        return self.look(shadow_of(pointer, self.canonical.shadow))

    def find(self, value: Value) -> Value:
        match self.plan.how[value]:
            case How.COUNTER:
                assert isinstance(value, Phi)
                loop = self.headers[self.flow.block_of[value]]
                return self.counter(loop)
            case How.FRAME:
                return self.out.offset(self.frame, self.plan.place[value].offset)
            case How.SCRATCH:
                where = self.out.offset(self.frame, self.plan.place[value].offset)
                return self.mark_tape(self.out.load(PTR, where))
            case How.SAVE:
                return self.saved(value)
            case How.INDUCTION:
                assert isinstance(value, Phi)
                return self.induction(value)
            case How.RECOMPUTE:
                assert isinstance(value, Instruction)
                return self.recompute(value)

    def counter(self, loop: Loop) -> Value:
        """The number of the iteration being reversed."""
        if loop not in self.memo:
            self.memo[loop] = self.out.load(I64, self.counters[loop])
        return self.memo[loop]

    def set_counter(self, loop: Loop, value: Value) -> None:
        self.out.store(value, self.counters[loop])
        self.memo[loop] = value

    def saved(self, value: Value) -> Value:
        place = self.plan.place[value]
        loaded = self.mark_tape(self.out.load(place.type, self.address(place), place.align))
        type = value.type
        if isinstance(type, Int) and type != place.type:
            return self.out.append(Cast(op="trunc", type=type, operands=[loaded]))
        return loaded

    def recompute(self, value: Instruction) -> Value:
        """Compute `value` again. Its flags go, since the reverse may do so under another condition; fast-math flags
        stay, so that the same float comes out."""
        new = value.clone(self.look)
        new.metadata = {}
        new.flags = tuple(f for f in new.flags if f not in POISON_FLAGS)
        if isinstance(new, Call):
            new.attributes = tuple(a for a in new.attributes if not a.startswith("#"))
        if isinstance(value, Load) and self.subject.scopes is not None:
            self.subject.scopes.primal(new, value.pointer)
        return self.out.append(new)

    def mark_shadow(self, access: Value, *pointers: Value) -> Value:
        """Say that `access` touches the shadows of `pointers`."""
        if self.subject.scopes is not None:
            self.subject.scopes.shadow(access, *pointers)
        return access

    def mark_tape(self, access: Value) -> Value:
        """Say that `access` touches the tape."""
        if self.subject.scopes is not None:
            self.subject.scopes.tape(access)
        return access

    def induction(self, phi: Phi) -> Value:
        induction = self.canonical.inductions[phi]
        loop = self.headers[self.flow.block_of[phi]]
        start, step, count = self.look(induction.start), self.look(induction.step), self.counter(loop)
        if phi.type == PTR:
            moved = induction.advance.clone()
            distance = self.out.binary("mul", count, self.out.cast("sext", step, I64))
            moved.operands, moved.flags, moved.metadata = [start, distance], (), {}
            return self.out.append(moved)
        if isinstance(phi.type, Int) and phi.type.bits < 64:
            count = self.out.cast("trunc", count, phi.type)
        distance = self.out.binary("mul", count, step)
        return self.out.binary("sub" if induction.negative else "add", start, distance)

    # --- the tape ---

    def address(self, place: Place) -> Value:
        """Where this iteration's entry of `place` lies."""
        buffer = place.buffer
        if buffer is None:
            return self.out.offset(self.frame, place.offset)
        base = self.base(place, buffer)
        if buffer.growing:
            first = self.out.load(I64, self.heights[buffer])
            count = self.out.binary("add", first, self.counter(buffer.loop))
            return record_address(self.out, base, count, buffer, place)
        index = row_major(
            self.out, [(position(self.out, axis, self.counter), self.count(buffer, axis)) for axis in place.axes]
        )
        return self.out.offset(base, index, place.type)

    def base(self, place: Place, buffer: Buffer) -> Value:
        """The start of a growing buffer, or of the array of a member of a sized one."""
        key = buffer.members[0] if buffer.growing else place
        return self.outside(buffer, key, lambda: self.find_base(key, buffer))

    def find_base(self, place: Place, buffer: Buffer) -> Value:
        if buffer in self.stacks:
            return self.out.load(PTR, self.stacks[buffer].pointer)  # it may move from one iteration to the next
        assert buffer.pointer is not None
        pointer = self.mark_tape(self.out.load(PTR, self.address(buffer.pointer)))
        if place is buffer.members[0]:
            return pointer
        before = buffer.members.index(place)
        axes = list(dict.fromkeys(axis for member in buffer.members[:before] for axis in member.axes))
        counts = {axis: self.count(buffer, axis) for axis in axes}
        return self.out.offset(pointer, member_offsets(self.out, buffer, counts, before=before))

    def count(self, buffer: Buffer, axis: Axis) -> Value:
        """How many places there are along `axis` in the entry of `buffer` at hand."""
        place = buffer.counts[axis]
        return self.outside(buffer, place, lambda: self.mark_tape(self.out.load(I64, self.address(place))))

    def outside(self, buffer: Buffer, key: Place, find: Callable[[], Value]) -> Value:
        """Something that is the same all through one entry of the buffer's loop."""
        loop = buffer.loop
        if buffer in self.stacks:
            return find()
        if buffer.growing:
            home = self.home(0, lambda _: True)
        else:
            home = self.home(loop.depth - 1, lambda outer: self.runs_always(loop.preheader, outer))
        if home is None and loop in self.ways_in and self.here in loop.blocks:
            home = self.thresholds.setdefault(loop, Home(self.ways_in[loop], loop.depth - 1))
        if home is not None:
            return home.value(key, self, find)
        if key not in self.memo:
            self.memo[key] = find()
        return self.memo[key]

    # --- where a value is computed: once for all iterations that share it ---

    def home(self, level: int, is_sure: Callable[[Loop | None], bool]) -> Home | None:
        """The outermost place for something that varies with the `level` outermost loops around here.

        None is here itself. A loop has such a place when its reverse iterations all begin at its latch; what is
        computed there must not depend on the path that the iteration took, which `is_sure` tells.
        """
        chain = self.flow.chain(self.here)
        for loop in [None, *chain[:-1]] if chain else []:
            depth = 0 if loop is None else loop.depth
            if depth >= level and (loop is None or begins_at_latch(loop)) and is_sure(loop):
                here = self.flow.graph.exit if loop is None else loop.latch
                return self.homes.setdefault(loop, Home(here, depth))
        return None

    def single_ways_in(self) -> dict[Loop, Block]:
        """The loops whose reverse is entered from one block only, with that block."""
        found: dict[Loop, list[Block]] = defaultdict(list)
        for block, ways in self.canonical.reversal.back.items():
            loop = self.headers.get(block)
            times = 2 if loop in self.stripes or loop in self.plan.searches else 1  # they have two ends
            for way in ways:
                for loop in self.flow.chain(way):
                    if block not in loop.blocks:
                        found[loop] += [block] * times
        return {loop: blocks[0] for loop, blocks in found.items() if len(blocks) == 1}

    def level(self, value: Value) -> int:
        """How many of the loops around it `value` varies with."""
        if not isinstance(value, Instruction):
            return 0
        if value not in self.levels:
            match self.plan.how[value]:
                case How.RECOMPUTE:
                    self.levels[value] = max((self.level(v) for v in value.operands), default=0)
                case How.FRAME | How.SCRATCH:
                    # its memory may be made in a loop that is reversed while it runs, after the way back has begun
                    is_early = self.together is not None and self.flow.loop_of[self.flow.block_of[value]] is not None
                    self.levels[value] = int(is_early)
                case _:
                    self.levels[value] = len(self.flow.chain(self.flow.block_of[value]))
        return self.levels[value]

    def is_sure(self, value: Value, loop: Loop | None) -> bool:
        """Whether `value` can be had at the latch of `loop` (None: at the start), whichever way the iteration took."""
        if not isinstance(value, Instruction):
            return True
        match self.plan.how[value]:
            case How.SAVE:
                block = self.flow.block_of[value]
                return self.is_saved_at_start(block) if loop is None else self.runs_always(block, loop)
            case How.RECOMPUTE:
                risky = isinstance(value, Load) or (isinstance(value, Binary) and value.op in TRAPPING)
                if risky and not self.runs_always(self.flow.block_of[value], loop):
                    return False
                return all(self.is_sure(v, loop) for v in value.operands)
            case How.INDUCTION:
                assert isinstance(value, Phi)
                induction = self.canonical.inductions[value]
                return self.is_sure(induction.start, loop) and self.is_sure(induction.step, loop)
            case _:
                return True

    def is_saved_at_start(self, block: Block) -> bool:
        """Whether what `block` saves is there when the way back begins, if `block` has run at all."""
        return self.together is None or self.flow.dominates(block, self.together.joint.guard)

    def runs_always(self, block: Block, loop: Loop | None) -> bool:
        """Whether `block` has run whenever an iteration of `loop` (None: the function) has."""
        return self.flow.dominates(block, self.flow.graph.exit if loop is None else loop.latch)


@dataclass(frozen=True)
class Sum:
    """A stack slot for what a loop adds to the shadow of one place, which `load` reads."""

    load: Load
    slot: Value


@dataclass(eq=False)
class Home:
    """Code for what many iterations share, `depth` loops deep, and the values it has computed.

    It sees primal values as the reverse of the block `here` does.
    """

    here: Block
    depth: int
    block: Block = field(default_factory=lambda: Block("home"))
    values: dict[Value | Place | Loop, Value] = field(default_factory=dict["Value | Place | Loop", Value])

    def value(self, key: Value | Place, reverse: Reverse, find: Callable[[], Value]) -> Value:
        """What is known under `key`, computed here when it is not."""
        if key not in self.values:
            here, block, memo = reverse.here, reverse.out.block, reverse.memo
            reverse.here, reverse.out.block, reverse.memo = self.here, self.block, self.values
            self.values[key] = find()
            reverse.here, reverse.out.block, reverse.memo = here, block, memo
        return self.values[key]


def begins_at_latch(loop: Loop) -> bool:
    """Whether the reverse of every iteration begins at the reverse of the latch."""
    return all(inside is loop.latch for inside, _ in loop.exits)


TRAPPING = {"udiv", "sdiv", "urem", "srem"}
POISON_FLAGS = {"nuw", "nsw", "exact", "disjoint", "nneg", "samesign", "inbounds", "nusw"}


def reverse(
    subject: Subject, name: str, children: dict[Call, Child], flags: tuple[str, ...] = ()
) -> tuple[Function, set[Element]]:
    """The reverse function of `subject`, called `name`, and the elements of which it uses `memory.copy_adjoint`.

    Parameters: the frame that the augmented function filled; `bars`, a structure for the adjoints of
    `subject.active_arguments` (see `calls.bars_type`); `excinfo`, for an exception. Shadows are found through the
    frame. It returns a status.
    """
    builder = Reverse(subject, name, children, flags)
    return builder.build(), builder.uses_copy_adjoint
