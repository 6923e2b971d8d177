"""With which of the loops around it a value varies.

What is the same in every iteration of an outer loop needs one place on the tape for all of them: each iteration writes
there what the one before did. So what an inner loop reads of an array of n elements takes n places, however often an
outer loop runs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from irad.analysis.canonical import Canonical
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
    """`of(value)`: the loops around `value` that it varies with; it is the same in all iterations of the others."""

    def __init__(self, canonical: Canonical, memory: Memory, objects: Objects) -> None:
        self.canonical, self.flow, self.memory, self.objects = canonical, canonical.flow, memory, objects
        self.known: dict[Value, frozenset[Loop]] = {}
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
            found = self._computed(instruction)
            if found <= self.of(instruction):
                return []
            self.known[instruction] = self.of(instruction) | found
            return users[instruction]

        fixpoint(everything, step)

    def of(self, value: Value) -> frozenset[Loop]:
        return self.known.get(value, frozenset())

    def _all(self, block: Block) -> frozenset[Loop]:
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

    def _computed(self, instruction: Instruction) -> frozenset[Loop]:
        block = self.flow.block_of[instruction]
        around = self._all(block)
        operands = frozenset(loop for v in self._reads(instruction) for loop in self.of(v)) & around
        match instruction:
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

    def _written_in(self, load: Load, around: frozenset[Loop]) -> frozenset[Loop]:
        """The loops in which what `load` reads may be written."""
        source = self.objects.pointed(load.pointer)
        writes = {self.flow.block_of.get(w) for o in source for w in self.memory.writes.get(o, ())}
        return frozenset(loop for loop in around if not source or not writes.isdisjoint(loop.blocks))
