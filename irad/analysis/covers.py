"""Shadows that a loop's reverse fills: where the first thing added to each place can be written instead.

A fresh shadow begins as zeros. If the way back first meets it in a loop that adds to one place after the other, each
once before anything else is added there, then what is added can be stored, and only the places that the loop does not
visit have to be zeroed: one pass over memory less, and stores that need not wait for loads.

The loop runs backwards, so that its addresses fall. Of several loads in it, at fixed distances from each other, the one
at the lowest address reaches each place first; the others then find what it stored, or zeros above the range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from irad.analysis.accumulation import Accumulation
from irad.analysis.affine import Sum, as_sum
from irad.analysis.canonical import Canonical
from irad.analysis.flow import Loop
from irad.analysis.needs import clears
from irad.analysis.objects import Object
from irad.ir.model import Argument, Call, Instruction, Load, Store
from irad.ir.types import I64, Float, size_of
from irad.rules import calls


@dataclass(frozen=True)
class Cover:
    """The reverse of `loop` stores in the shadow of `argument` what `load` contributes.

    start: how many bytes after the shadow's beginning the first iteration's place lies; the others follow it.
    """

    loop: Loop
    argument: Argument
    load: Load
    start: Sum


def covers(canonical: Canonical, accumulation: Accumulation, fresh: Iterable[Argument]) -> list[Cover]:
    """The loops that fill shadows of arguments in `fresh`, whose memory begins undefined."""
    found = (_Finder(canonical, accumulation, argument).find() for argument in fresh)
    return [cover for cover in found if cover is not None]


class _Finder:
    def __init__(self, canonical: Canonical, accumulation: Accumulation, argument: Argument) -> None:
        self.canonical, self.flow = canonical, canonical.flow
        self.accumulation, self.objects, self.activity = accumulation, accumulation.objects, accumulation.activity
        self.argument, self.memory = argument, Object("argument", argument)

    def find(self) -> Cover | None:
        """The loop that the way back meets first, where it fills the shadow."""
        touching = list(self.touching())
        for loop in self.canonical.reversal.loops:
            inside = [i for i in touching if self.flow.block_of[i] in loop.blocks]
            if loop.parent is None and inside:
                later = [i for i in touching if i not in inside and self.is_after(i, loop)]
                if not later and self.is_regular(loop):
                    return self.cover(loop, inside)
        return None

    def touching(self) -> Iterator[Instruction]:
        """Everything whose adjoint may read or write the shadow."""
        for block in self.flow.order:
            yield from filter(self.touches, block.body)

    def touches(self, instruction: Instruction) -> bool:
        match instruction:
            case Load():
                pointers = [instruction.pointer] if instruction in self.activity.values else []
            case Store() if clears(instruction, self.objects, self.accumulation.kinds, self.activity):
                pointers = [instruction.pointer]
            case Call() if instruction in self.activity.calls:
                return any(self.meets(o) for o in self.objects.reachable(instruction.operands))
            case Call() if instruction.callee_name in calls.COPIES | calls.FILLS:
                pointers = instruction.operands[:2]
            case _:
                pointers = []
        return any(self.meets(o) for pointer in pointers for o in self.objects.pointed(pointer))

    def meets(self, other: Object) -> bool:
        return self.objects.may_overlap(self.memory, other)

    def is_after(self, instruction: Instruction, loop: Loop) -> bool:
        return self.flow.reaches(loop.latch, self.flow.block_of[instruction])

    def is_regular(self, loop: Loop) -> bool:
        """Whether every iteration runs to the loop's end, as often as is known before."""
        counted = self.canonical.counted.get(loop)
        return (
            counted is not None
            and counted.last is not None
            and not self.flow.inside(counted.last, loop)
            and all(inside is loop.latch for inside, _ in loop.exits)
        )

    def cover(self, loop: Loop, inside: list[Instruction]) -> Cover | None:
        loads = [i for i in inside if isinstance(i, Load) and isinstance(i.type, Float)]
        if len(loads) < len(inside) or len({load.type for load in loads}) > 1:
            return None
        unit = size_of(loads[0].type)
        places = [self.place(load, loop, unit) for load in loads]
        first = min((p.constant for p in places if p is not None), default=0)
        for place in places:
            same = place is not None and places[0] is not None and place.terms == places[0].terms
            if place is None or not same or (place.constant - first) % unit:
                return None
        lowest = [load for load, place in zip(loads, places, strict=True) if place and place.constant == first]
        last = lowest[-1]  # blocks are in reverse postorder: the way back comes to it before it comes to the others
        home = self.flow.block_of[last]
        if not all(self.flow.dominates(self.flow.block_of[load], home) for load in lowest):
            return None
        if self.flow.loop_of[home] is not loop or not self.flow.dominates(home, loop.latch):
            return None
        start = next(p for p in places if p is not None and p.constant == first)
        return Cover(loop, self.argument, last, start)

    def place(self, load: Load, loop: Loop, unit: int) -> Sum | None:
        """Where `load` reads in the first iteration, after the array's beginning; None unless the place moves by its
        own size and is known before the loop."""
        shadow, counter = self.canonical.shadow_arguments[self.argument], self.canonical.counted[loop].counter
        pointer = self.canonical.shadow.get(load.pointer)
        if pointer is None:
            return None
        address = as_sum(pointer, loop, self.canonical)
        if address.terms.get(shadow) != 1 or address.terms.get(counter) != unit:
            return None
        terms = {v: c for v, c in address.terms.items() if v is not shadow and v is not counter}
        if any(v.type != I64 or self.flow.inside(v, loop) for v in terms):
            return None
        return Sum(terms, address.constant)
