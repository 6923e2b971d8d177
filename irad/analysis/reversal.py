"""Which blocks the reverse function has, and which way it goes back from each.

Regions without adjoint work are not reversed (design D16): where everything between a block and a dominator on the same
loop level is inert, the reverse goes straight to that dominator, and inner loops that hold nothing active vanish.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irad.analysis.activity import Activity
from irad.analysis.flow import Flow, Loop
from irad.analysis.memory import written
from irad.analysis.objects import Objects
from irad.ir.model import Block, Call, Instruction
from irad.rules import calls


@dataclass(frozen=True)
class Reversal:
    """`back[b]`: where the reverse goes from block `b` (its predecessors, or one dominator). Blocks that the reverse
    does not visit are not in it. `loops` are the loops that run backwards, outer first."""

    back: dict[Block, list[Block]]
    loops: list[Loop]

    def __contains__(self, block: Block) -> bool:
        return block in self.back

    def merges(self, flow: Flow) -> list[Block]:
        """Blocks where the reverse must know which way the primal came (loop headers know by their counter)."""
        headers = {loop.header for loop in self.loops}
        return [b for b in flow.order if b in self.back and b not in headers and len(self.back[b]) > 1]

    def __str__(self) -> str:
        return "\n".join(
            f"{b.name}: back to {', '.join(p.name for p in ps) or 'the start'}" for b, ps in self.back.items()
        )


def has_work(instruction: Instruction, activity: Activity, objects: Objects) -> bool:
    """Whether the reverse function has anything to do for `instruction`."""
    if instruction in activity.values or instruction in activity.calls:
        return True
    if isinstance(instruction, Call) and instruction.callee_name in calls.ALLOCATORS:
        return False
    return any(o in activity.shadowed for o in written(instruction, objects))


def reversal(flow: Flow, activity: Activity, objects: Objects) -> Reversal:
    """The reverse graph of a function."""
    busy = {b for b in flow.order if any(has_work(i, activity, objects) for i in b.instructions)}
    headers = {loop.header: loop for loop in flow.loops}
    back: dict[Block, list[Block]] = {}
    stack = [flow.graph.exit]
    while stack:
        block = stack.pop()
        if block in back:
            continue
        loop = headers.get(block)
        if loop is not None:
            back[block] = [loop.preheader, loop.latch]
        else:
            back[block] = _ways_back(block, flow, busy, activity)
        stack.extend(back[block])
    loops = [loop for loop in flow.loops if loop.header in back]
    return Reversal({b: back[b] for b in flow.order if b in back}, loops)


def _ways_back(block: Block, flow: Flow, busy: set[Block], activity: Activity) -> list[Block]:
    ways = flow.graph.predecessors[block]
    if not ways or any(phi in activity.values for phi in block.phis):
        return ways
    level = flow.loop_of[block]
    target = flow.idom[block]
    while flow.loop_of[target] is not level:
        if flow.idom[target] is target:
            return ways
        target = flow.idom[target]
    if ways == [target] or not _inert_between(block, target, flow, lambda b: b in busy):
        return ways
    return [target]


def _inert_between(block: Block, target: Block, flow: Flow, busy: Callable[[Block], bool]) -> bool:
    seen: set[Block] = {target, block}
    stack = list(flow.graph.predecessors[block])
    while stack:
        other = stack.pop()
        if other in seen:
            continue
        if busy(other):
            return False
        seen.add(other)
        stack.extend(flow.graph.predecessors[other])
    return True
