"""Shadows that the reverse of a loop only adds to.

Additions may be done in any order. So as long as a loop's reverse never reads or clears a shadow, what it adds to one
place of it can be summed apart and added once, whatever else is added to the same memory meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from irad.analysis.activity import Activity
from irad.analysis.flow import Flow, Loop
from irad.analysis.kinds import Kinds
from irad.analysis.needs import clears
from irad.analysis.objects import Object, Objects
from irad.analysis.scratch import Scratch
from irad.ir.model import Call, Instruction, Store, Value
from irad.rules import calls


@dataclass
class Accumulation:
    """Tells whether a loop's reverse only adds to the shadow of some memory."""

    flow: Flow
    objects: Objects
    kinds: Kinds
    activity: Activity
    scratch: Scratch
    _disturbed: dict[Loop, frozenset[Object] | None] = field(default_factory=dict[Loop, frozenset[Object] | None])

    def only_adds(self, loop: Loop, pointer: Value) -> bool:
        """Whether the reverse of `loop` does nothing but add to the shadow of what `pointer` may point to."""
        if loop not in self._disturbed:
            self._disturbed[loop] = self._disturbed_in(loop)
        disturbed = self._disturbed[loop]
        if disturbed is None:
            return False
        mine = self.objects.pointed(pointer)
        return not any(self.objects.may_overlap(o, other) for o in mine for other in disturbed)

    def _disturbed_in(self, loop: Loop) -> frozenset[Object] | None:
        """The objects whose shadows the reverse of `loop` reads or clears; None where that can be any."""
        found: set[Object] = set()
        for block in self.flow.order:
            if block in loop.blocks:
                for instruction in block.body:
                    if instruction in self.activity.calls:
                        return None
                    found.update(self._disturbed_by(instruction))
        return frozenset(found)

    def _disturbed_by(self, instruction: Instruction) -> Iterator[Object]:
        match instruction:
            case Store():
                if clears(instruction, self.objects, self.kinds, self.activity):
                    yield from self.objects.pointed(instruction.pointer)
            case Call() if instruction in self.scratch.reused:
                yield Object("heap", instruction)
            case Call() if instruction.callee_name in calls.COPIES | calls.FILLS:
                yield from self.objects.pointed(instruction.operands[0])
            case _:
                pass
