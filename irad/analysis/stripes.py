"""Innermost loops whose reverse is split into several, each of which adds to a place of its own.

The reverse of a stencil, `y[i] = x[i-1] + x[i] + x[i+1]`, adds to three neighbouring shadows in each iteration, and
each addition waits for the one before. Of three loops that each add to one of them, all iterations are independent,
and run as vectors. That is right where the order of additions is free and the adjoints that the loop reads are in
memory that it does not add to: then every one of the loops may read them again, and the last one clears them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from irad.analysis.accumulation import Accumulation
from irad.analysis.affine import stride
from irad.analysis.canonical import Canonical
from irad.analysis.flow import Loop
from irad.analysis.needs import clears
from irad.ir.model import Block, Call, Gep, Instruction, Load, Store, Value
from irad.ir.types import size_of
from irad.rules import calls, scalar

DEAREST = 40  # what may be computed again for the sake of vectors, in the plan's unit


@dataclass(frozen=True)
class Stripes:
    """`groups`: loads of which one loop adds to the shadows; the last loop does everything else as well.

    `meetings`: a store of which the loop reads the shadow and a load to whose shadow it adds, which are known only when
    the loop runs to lie apart.
    """

    groups: list[list[Load]]
    meetings: list[tuple[Store, Load]]

    def __str__(self) -> str:
        return f"{len(self.groups)} loops" + (", where memory lies apart" if self.meetings else "")


def stripes(canonical: Canonical, accumulation: Accumulation, first: Collection[Load]) -> dict[Loop, Stripes]:
    """The loops whose reverse is worth splitting, and how; loads of `first` belong to a first loop where they can."""
    found: dict[Loop, Stripes] = {}
    for loop in canonical.reversal.loops:
        split = _Splitter(canonical, accumulation, loop, first).split() if loop.blocks == {loop.latch} else None
        if split is not None:
            found[loop] = split
    return found


class _Splitter:
    def __init__(self, canonical: Canonical, accumulation: Accumulation, loop: Loop, first: Collection[Load]) -> None:
        self.canonical, self.accumulation, self.loop, self.first = canonical, accumulation, loop, first
        self.objects, self.activity = accumulation.objects, accumulation.activity
        self.block: Block = loop.latch

    def split(self) -> Stripes | None:
        stores, loads = self.read(), self.added()
        if stores is None or loads is None:
            return None
        groups = self.groups(loads)
        if len(groups) < 2 or self.price() * (len(groups) - 1) > DEAREST:
            return None
        moved = [load for load in self.block.body if isinstance(load, Load) and load in self.activity.values]
        meetings = [(s, load) for s in stores for load in moved if self.may_meet(s, load)]
        if any(load not in loads or _array(store.pointer) is _array(load.pointer) for store, load in meetings):
            return None
        return Stripes(groups, meetings)

    def read(self) -> list[Store] | None:
        """Stores whose shadows the reverse reads and clears, each elsewhere in each iteration; None if any other
        instruction does something to shadows that cannot be done again."""
        found: list[Store] = []
        for instruction in self.block.body:
            match instruction:
                case Store() if self.clears(instruction):
                    step = self.stride(instruction)
                    if step is None or abs(step) < size_of(instruction.value.type):
                        return None
                    found.append(instruction)
                case Call() if not _is_plain(instruction, self.accumulation):
                    return None
                case _:
                    pass
        apart = all(not self.may_meet(a, b) for n, a in enumerate(found) for b in found[:n])
        return found if apart else None

    def added(self) -> list[Load] | None:
        """Active loads that read another place in each iteration; None where one does so with gaps or irregularly."""
        found: list[Load] = []
        for load in self.block.body:
            if isinstance(load, Load) and load in self.activity.values:
                step = self.stride(load)
                if step == 0:
                    continue
                if step is None or abs(step) != size_of(load.type):
                    return None
                found.append(load)
        return found

    def groups(self, loads: list[Load]) -> list[list[Load]]:
        """The loads, such that in a group no two may add to the same shadow from different places."""
        found: list[list[Load]] = []
        for load in sorted(loads, key=lambda load: load not in self.first):
            for group in found:
                if all(load.pointer is other.pointer or not self.may_meet(load, other) for other in group):
                    group.append(load)
                    break
            else:
                found.append([load])
        return found

    def clears(self, store: Store) -> bool:
        return clears(store, self.objects, self.accumulation.kinds, self.activity)

    def stride(self, access: Load | Store) -> int | None:
        pointer = self.canonical.shadow.get(access.pointer, access.pointer)
        return stride(pointer, self.loop, self.canonical)

    def may_meet(self, a: Load | Store, b: Load | Store) -> bool:
        mine, others = self.objects.pointed(a.pointer), self.objects.pointed(b.pointer)
        return any(self.objects.may_overlap(o, other) for o in mine for other in others)

    def price(self) -> int:
        """What one more pass over the loop computes."""
        return sum(map(_price, self.block.body))


def _array(pointer: Value) -> Value:
    """What `pointer` is an offset of."""
    while isinstance(pointer, Gep):
        pointer = pointer.pointer
    return pointer


def _price(instruction: Instruction) -> int:
    rule = scalar.rule_of(instruction)
    return rule.price if rule is not None else 0


def _is_plain(call: Call, accumulation: Accumulation) -> bool:
    """Whether nothing but values passes through `call`."""
    name = call.callee_name
    return not (
        call in accumulation.activity.calls
        or call in accumulation.scratch.reused
        or name in calls.COPIES | calls.FILLS | calls.ALLOCATORS
    )
