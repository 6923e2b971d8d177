"""With which of the loops around it a value varies.

What is the same in every iteration of an outer loop needs one place on the tape for all of them: each iteration writes
there what the one before did. So what an inner loop reads of an array of n elements takes n places, however often an
outer loop runs it; also where the outer loop says at which element it begins (see irad.analysis.diagonals).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from irad.analysis.canonical import Canonical
from irad.analysis.diagonals import Axis, diagonals, loops_of
from irad.analysis.fixpoint import fixpoint
from irad.analysis.flow import Loop
from irad.analysis.memory import Memory
from irad.analysis.objects import Objects
from irad.ir.model import (
    Argument,
    Binary,
    Block,
    Call,
    Cast,
    Compare,
    ExtractValue,
    Gep,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Select,
    Unary,
    Value,
)
from irad.rules import calls

PURE = (Binary, Cast, Compare, ExtractValue, Gep, InsertValue, Select)


class Variation:
    """`of(value)`: the loops around `value` that it varies with; it is the same in all iterations of the others.

    `axes(value)` is more exact: of two of these loops it may be the sum of their iterations' numbers that counts.
    """

    def __init__(self, canonical: Canonical, memory: Memory, objects: Objects) -> None:
        self.canonical, self.flow, self.memory, self.objects = canonical, canonical.flow, memory, objects
        self.known: dict[Value, frozenset[Axis]] = {}
        self.diagonals = diagonals(canonical)
        self.headers = {loop.header for loop in self.flow.loops}
        self.left: dict[tuple[Block, Block], list[Loop]] = defaultdict(list)
        for loop in self.flow.loops:
            for edge in loop.exits:
                self.left[edge].append(loop)
        users: dict[Value, list[Instruction]] = defaultdict(list)
        everything = [i for block in self.flow.order for i in block.instructions]
        for instruction in everything:
            for operand in self._reads(instruction):
                users[operand].append(instruction)

        def step(instruction: Instruction) -> list[Instruction]:
            found, before = self._computed(instruction), self._known(instruction)
            if found <= before:
                return []
            self.known[instruction] = before | found
            return users[instruction]

        fixpoint(everything, step)

    def of(self, value: Value) -> frozenset[Loop]:
        return frozenset(loop for axis in self._known(value) for loop in loops_of(axis))

    def axes(self, value: Value) -> list[Axis]:
        """What `value` varies with, outermost first; no loop is in two of them."""
        known = self._known(value)
        times = Counter(loop for axis in known for loop in loops_of(axis))
        apart = [axis for axis in known if all(times[loop] == 1 for loop in loops_of(axis))]
        single: list[Axis] = [loop for loop, n in times.items() if n > 1 or not any(loop in loops_of(a) for a in apart)]
        return sorted([*apart, *single], key=lambda axis: loops_of(axis)[0].depth)

    def _known(self, value: Value) -> frozenset[Axis]:
        return self.known.get(value, frozenset())

    def _all(self, block: Block) -> frozenset[Axis]:
        return frozenset(self.flow.chain(block))

    def _reads(self, instruction: Instruction) -> Sequence[Value]:
        """What the variation of `instruction` follows from."""
        read = [v for v in instruction.operands if isinstance(v, (Argument, Instruction))]
        deciders = self._deciders(instruction) if isinstance(instruction, Phi) else None
        return [*read, *(deciders or ())]

    def _deciders(self, phi: Phi) -> list[Value] | None:
        """What decides which operand `phi` takes, or how often the loop ran that it leaves; None where that is not
        known."""
        block = self.flow.block_of[phi]
        if block in self.headers:
            return []
        found: list[Value | None] = []
        if len(phi.operands) > 1:
            arrival = self.canonical.arrival.get(block)
            found.append(None if arrival is phi else arrival)
        for way in phi.blocks:
            for loop in self.left.get((way, block), ()):
                counted = self.canonical.counted.get(loop)
                found.append(counted.last if counted else None)
        known = [v for v in found if v is not None]
        return known if len(known) == len(found) else None

    def _computed(self, instruction: Instruction) -> frozenset[Axis]:
        block = self.flow.block_of[instruction]
        around = self._all(block)
        operands = frozenset(
            a for v in self._reads(instruction) for axis in self._known(v) for a in _seen(axis, around)
        )
        match instruction:
            case Phi() if instruction in self.diagonals:
                # what the start varies with besides the outer loop, of which it leaves the sum
                pair = self.diagonals[instruction]
                others = (a for axis in operands for a in (loops_of(axis) if pair.outer in loops_of(axis) else (axis,)))
                return frozenset([pair, *(a for a in others if a not in loops_of(pair))])
            case Phi():
                if self._deciders(instruction) is None:
                    return around
                own = self.flow.loop_of[block]
                return operands | {own} if own is not None and block is own.header else operands
            case Load():
                if instruction.atomic or "volatile" in instruction.flags:
                    return around
                return operands | self._written_in(instruction, around)
            case Call():
                return operands if calls.is_pure(instruction.callee_name) else around
            case Unary(op="fneg"):
                return operands
            case _:
                return operands if isinstance(instruction, PURE) else around

    def _written_in(self, load: Load, around: frozenset[Axis]) -> frozenset[Axis]:
        """The loops in which what `load` reads may be written."""
        source = self.objects.pointed(load.pointer)
        writes = {self.flow.block_of.get(w) for o in source for w in self.memory.writes.get(o, ())}
        loops = [loop for axis in around for loop in loops_of(axis)]
        return frozenset(loop for loop in loops if not source or not writes.isdisjoint(loop.blocks))


def _seen(axis: Axis, around: frozenset[Axis]) -> tuple[Axis, ...]:
    """What is left of `axis` for a value inside the loops `around`."""
    inside = tuple(loop for loop in loops_of(axis) if loop in around)
    return (axis,) if len(inside) == len(loops_of(axis)) else inside
