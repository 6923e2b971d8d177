"""Loops each of whose iterations may be reversed at once, right after it has run.

A loop that computes a sum over independent terms needs no tape: the adjoint of the sum is the same before and after
each addition, so that each term can be reversed as soon as it is computed, while its values are in registers or the
nearest cache. What is saved within an iteration then takes the room of one iteration, and nothing is read again.

The way back from the end of the function to the loop is gone before the loop runs, so it must need nothing that is
computed later. The iterations are reversed in the order in which they run, which is right if

- nothing that an iteration reads of others carries a derivative, but for sums that it is added to;
- adjoints that the loop's reverse reads from memory are complete when the iteration ends: the memory belongs to the
  iteration, or each iteration writes another place that nothing else reads or writes;
- adjoints in memory are added to in any order (which rounds differently).

Where the kernel may raise an exception after the reverse has begun, shadows that the caller gave would be left half
filled; such loops run as usual, unless the shadows are the derivative's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from irad.analysis.accumulation import Accumulation
from irad.analysis.affine import as_sum, stride
from irad.analysis.canonical import Canonical
from irad.analysis.errors import SUCCESS
from irad.analysis.flow import Loop
from irad.analysis.needs import Needs, clears
from irad.analysis.objects import Object
from irad.ir.model import (
    Binary,
    Block,
    Call,
    Cast,
    Compare,
    Constant,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Value,
)
from irad.ir.types import size_of
from irad.rules import calls

MOVABLE = (Binary, Cast, Compare, Select, Unary)
TRAPPING = {"udiv", "sdiv", "urem", "srem"}


@dataclass(frozen=True)
class Joint:
    """`loop` runs forwards and backwards at once.

    guard: the block at whose end the way back begins; the loop's preheader where nothing bypasses the loop. merge: the
    block from which the way back goes to the loop, or, where that was bypassed, to `past`.
    """

    loop: Loop
    guard: Block
    merge: Block
    past: Block | None


def joint(canonical: Canonical, needs: Needs, accumulation: Accumulation, *, ours: bool) -> Joint | None:
    """The loop of a function that runs forwards and backwards at once, if there is one. What the way back to it needs
    and can be computed before is moved there.

    ours: whether all shadows are the derivative's own, and nobody sees them where the kernel raises.
    """
    if accumulation.activity.calls:
        return None
    for loop in canonical.reversal.loops:
        candidate = _Candidate(canonical, needs, accumulation, loop)
        if candidate.joint is not None and candidate.is_right(candidate.joint, ours=ours):
            candidate.compute_early(candidate.joint.guard)
            return candidate.joint
    return None


class _Candidate:
    """One loop; the last of a function is the only one to which the way back from the end can lead."""

    def __init__(self, canonical: Canonical, needs: Needs, accumulation: Accumulation, loop: Loop) -> None:
        self.canonical, self.flow, self.back = canonical, canonical.flow, canonical.reversal.back
        self.needs, self.accumulation, self.loop = needs, accumulation, loop
        self.objects, self.activity = accumulation.objects, accumulation.activity
        self.before: list[Block] = []  # blocks on the way back before the loop, in its order
        self.early: list[Instruction] = []  # what has to be computed before
        self.joint = self.shape()

    def shape(self) -> Joint | None:
        """The way back, where it leads straight to the loop, or to a place from where it is entered or bypassed."""
        loop = self.loop
        if loop.parent is not None or len(loop.exits) != 1 or loop.exits[0][0] is not loop.latch:
            return None
        after = self.straight(self.flow.graph.exit)
        ways = self.back[after[-1]]
        if ways == [loop.latch]:
            self.before = after
            return Joint(loop, loop.preheader, after[-1], None)
        if len(ways) != 2:
            return None
        guard = self.flow.idom[after[-1]]
        if self.flow.loop_of[guard] is not None or not self.flow.dominates(guard, loop.preheader):
            return None
        for inside, outside in (ways, ways[::-1]):
            between = self.straight(inside) if self.flow.loop_of[inside] is None else []
            if between and self.back[between[-1]] == [loop.latch] and not self.flow.reaches(loop.latch, outside):
                self.before = [*after, *between]
                return Joint(loop, guard, after[-1], outside)
        return None

    def straight(self, block: Block) -> list[Block]:
        """The blocks on the way back from `block`, itself first, up to where it branches, or comes to a loop."""
        found = [block]
        while len(self.back[block]) == 1 and self.flow.loop_of[self.back[block][0]] is None:
            block = self.back[block][0]
            found.append(block)
        return found

    def is_right(self, joint: Joint, *, ours: bool) -> bool:
        return (
            (ours or not self.may_raise(joint.guard))
            and all(self.is_sum(phi) for phi in self.loop.header.phis if phi in self.activity)
            and self.leaves_sums_only()
            and self.is_known_before(joint)
            and self.has_no_moves()
            and self.is_independent()
        )

    def may_raise(self, guard: Block) -> bool:
        """Whether an exception may leave after `guard` has ended."""
        graph = self.flow.graph
        late = [guard, *(b for b in self.flow.order if self.flow.reaches(guard, b))]
        leaves = any(target not in graph.successors[b] for b in late for target in b.successors)
        return leaves or not self.always_succeeds()

    def always_succeeds(self) -> bool:
        """Whether the status is that of a success wherever the function has not left for an error before."""
        end = self.flow.graph.exit.end
        assert isinstance(end, Return)
        statuses: list[Value] = [end.operands[0]]
        for status in statuses:
            if isinstance(status, Phi):
                good = self.flow.graph.predecessors.get(self.flow.block_of[status], [])
                statuses += [v for v, b in status.incoming() if b in good and v not in statuses]
        plain = [status for status in statuses if not isinstance(status, Phi)]
        return all(isinstance(status, Constant) and status.literal in SUCCESS for status in plain)

    # --- values that pass from one iteration to the next ---

    def is_sum(self, phi: Phi) -> bool:
        """Whether iterations do nothing with `phi` but add to it: its adjoint is the same before and after each.

        Two of the values that it becomes on the way may be chosen from, but not added to each other.
        """
        partial: set[Value] = {phi}
        todo: list[Value] = [phi]
        while todo:
            value = todo.pop()
            for user in self.users.get(value, ()):
                if user in partial or not self.flow.inside(user, self.loop) or not self.has_adjoint(user):
                    continue
                if not self.passes_on(user, value):
                    return False
                partial.add(user)
                todo.append(user)
        reached = [user for user in partial if user is not phi]
        chosen = [v for user in reached for v in _chosen_by(user)]
        added = [sum(v in partial for v in user.operands) for user in reached if isinstance(user, Binary)]
        complete = all(v in partial for v in chosen) and all(times == 1 for times in added)
        return phi.value_from(self.loop.latch) in partial and complete

    def has_adjoint(self, user: Instruction) -> bool:
        if isinstance(user, Store):
            return clears(user, self.objects, self.accumulation.kinds, self.activity)
        return user in self.activity

    def passes_on(self, user: Instruction, value: Value) -> bool:
        """Whether the adjoint of `value` is what that of `user` is."""
        match user:
            case Binary(op="fadd", operands=[left, right]):
                return (left is value) != (right is value)
            case Binary(op="fsub", operands=[left, right]):
                return left is value and right is not value
            case Phi():
                return self.flow.block_of[user] is not self.loop.header
            case Select(operands=[condition, *_]):
                return condition is not value
            case _:
                return False

    @cached_property
    def users(self) -> dict[Value, list[Instruction]]:
        found: dict[Value, list[Instruction]] = {}
        for block in self.flow.order:
            for instruction in block.instructions:
                for operand in instruction.operands:
                    found.setdefault(operand, []).append(instruction)
        return found

    def leaves_sums_only(self) -> bool:
        """Whether all that is active after the loop, of its values, are its sums as they are at the end."""
        _, outside = self.loop.exits[0]
        sums = {phi.value_from(self.loop.latch) for phi in self.loop.header.phis if phi in self.activity}
        left = [phi.value_from(self.loop.latch) for phi in outside.phis if phi in self.activity]
        return all(value in sums for value in left if isinstance(value, Instruction) and value in self.activity)

    # --- what the way back needs before the loop has run ---

    def is_known_before(self, joint: Joint) -> bool:
        for value, places in self.needs.of.items():
            for block, reader in places:
                if block in self.before and reader is not None and not self.is_before(value, joint.guard):
                    return False
        return all(self.is_plain(i) for block in self.before for i in block.body)

    def is_before(self, value: Value, guard: Block) -> bool:
        """Whether `value` is known before the loop, or can be."""
        if not isinstance(value, Instruction) or self.flow.dominates(self.flow.block_of[value], guard):
            return True
        if value in self.early:
            return True
        if not isinstance(value, MOVABLE) or (isinstance(value, Binary) and value.op in TRAPPING):
            return False
        known = all(self.is_before(v, guard) for v in value.operands)
        self.early += [value] if known else []
        return known

    def compute_early(self, guard: Block) -> None:
        for instruction in self.early:
            self.flow.block_of[instruction].body.remove(instruction)
            self.flow.block_of[instruction] = guard
            guard.body.append(instruction)

    def is_plain(self, instruction: Instruction) -> bool:
        return not (isinstance(instruction, Call) and instruction.callee_name in calls.ALLOCATORS)

    def has_no_moves(self) -> bool:
        """Whether no block of memory with derivatives is copied or filled in the loop, or after it."""
        blocks = [*self.loop.blocks, *self.before]
        return not any(self.moves(i) for block in blocks for i in block.body)

    def moves(self, instruction: Instruction) -> bool:
        if not isinstance(instruction, Call) or instruction.callee_name not in calls.COPIES | calls.FILLS:
            return False
        return any(self.objects.pointed(v) & self.activity.shadowed for v in instruction.operands[:2])

    # --- memory ---

    def is_independent(self) -> bool:
        """Whether no iteration's reverse, nor what comes before it, reads a shadow that another one still adds to."""
        inside, after = list(self.accesses(self.loop.blocks)), list(self.accesses(self.before))
        stores = [i for i in inside if isinstance(i, Store)]
        for store in stores:
            if self.is_private(store):
                continue
            others = [i for i in (*inside, *after) if i is not store and self.may_meet(store, i)]
            if not self.moves_on(store) or not all(self.never_meet(store, other) for other in others):
                return False
        late = [i for i in after if isinstance(i, Store)]
        return not any(self.may_meet(store, other) for store in late for other in inside)

    def accesses(self, blocks: set[Block] | list[Block]) -> Iterator[Load | Store]:
        """Loads and stores whose reverse touches shadows."""
        kinds = self.accumulation.kinds
        for block in blocks:
            for instruction in block.body:
                match instruction:
                    case Load() if instruction in self.activity:
                        yield instruction
                    case Store() if clears(instruction, self.objects, kinds, self.activity):
                        yield instruction
                    case _:
                        pass

    def is_private(self, store: Store) -> bool:
        """Whether what `store` writes belongs to the iteration."""
        where = self.objects.pointed(store.pointer)
        reused = self.canonical.scratch.reused
        return bool(where) and all(self.ends_with_iteration(o, reused) for o in where)

    def ends_with_iteration(self, memory: Object, reused: dict[Call, Loop]) -> bool:
        source = memory.source
        return isinstance(source, Call) and source in reused and self.flow.block_of[source] in self.loop.blocks

    def moves_on(self, store: Store) -> bool:
        """Whether each iteration writes another place."""
        if self.flow.loop_of[self.flow.block_of[store]] is not self.loop:
            return False
        pointer = self.canonical.shadow.get(store.pointer, store.pointer)
        step = stride(pointer, self.loop, self.canonical)
        return step is not None and abs(step) >= size_of(store.value.type)

    def never_meet(self, a: Store, b: Load | Store) -> bool:
        """Whether two stores of the loop write to other places, in all iterations, by their distance in each."""
        if not isinstance(b, Store) or not self.moves_on(b):
            return False
        places = [as_sum(self.canonical.shadow.get(i.pointer, i.pointer), self.loop, self.canonical) for i in (a, b)]
        if places[0].terms != places[1].terms:
            return False
        step = abs(places[0].terms.get(self.canonical.counted[self.loop].counter, 0))
        ahead = (places[1].constant - places[0].constant) % step if step else 0
        return size_of(a.value.type) <= ahead <= step - size_of(b.value.type)

    def may_meet(self, a: Load | Store, b: Load | Store) -> bool:
        mine, others = self.objects.pointed(a.pointer), self.objects.pointed(b.pointer)
        return not mine or not others or any(self.objects.may_overlap(o, p) for o in mine for p in others)


def _chosen_by(value: Value) -> list[Value]:
    """The values of which a merge or a selection is one."""
    match value:
        case Phi():
            return value.operands
        case Select():
            return value.operands[1:]
        case _:
            return []
