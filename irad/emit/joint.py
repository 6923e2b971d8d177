"""The augmented and the reverse function in one, for a function with a loop that is reversed while it runs.

    guard:      ... -> the way back begins: from the end of the function to where the loop is entered or bypassed
    preheader:  ... -> the adjoints of the loop's sums begin
    latch:      ... -> the reverse of this iteration -> on to the next, or out
    end:        ... -> the way back goes on from before the loop

The blocks of both functions are made by those who always make them; here they are connected.
"""

from __future__ import annotations

from irad.analysis.records import Element
from irad.emit.augment import Augmented, Child, Detour
from irad.emit.body import Subject
from irad.emit.reverse import Reverse, Together
from irad.ir.build import Builder
from irad.ir.model import Alloca, Argument, Block, Call, Function, Phi, Return, Value
from irad.ir.types import FunctionType


def together(
    subject: Subject, name: str, children: dict[Call, Child], flags: tuple[str, ...]
) -> tuple[Function, set[Element]]:
    """A function that does what `augment.augmented` and `reverse.reverse` do one after the other.

    Parameters: those of the augmented function, then `bars`. It returns a status.
    """
    joint = subject.planned().joint
    assert joint is not None
    ahead = Augmented(subject, name, children)
    blocks = Together(joint, *(Block(f"joint.{word}") for word in ("guard", "preheader", "latch", "enter", "rest")))
    back = Reverse(subject, name, children, flags, blocks)
    back.frame = ahead.frame
    excinfo = ahead.excinfo()
    if isinstance(excinfo, Argument):
        back.excinfo = excinfo
    if joint.past is not None:
        ahead.detours[joint.guard] = Detour(back.entry, blocks.guard)
        ahead.detours[joint.loop.preheader] = Detour(blocks.enter, blocks.preheader)
    else:
        ahead.detours[joint.guard] = Detour(back.entry, blocks.preheader)
    ahead.detours[joint.loop.latch] = Detour(back.start[joint.loop.latch], blocks.latch)
    ahead.counters = {joint.loop: back.counters[joint.loop]}
    function = ahead.build()
    back.stacks = ahead.growing
    back.status = _go_on(ahead, blocks.rest)
    rest = back.build()
    slots = [i for i in back.entry.body if isinstance(i, Alloca)]
    back.entry.body = [i for i in back.entry.body if not isinstance(i, Alloca)]
    function.entry.body[:0] = slots
    function.blocks += rest.blocks
    function.arguments = [*function.arguments, back.bars]
    function.type = FunctionType(function.type.result, tuple(a.type for a in function.arguments))
    return function, back.uses_copy_adjoint


def _go_on(ahead: Augmented, rest: Block) -> Value:
    """Go to `rest` instead of returning a success; the status that is to be returned then.

    Errors return at the same place, and have not all been where the way back began: successes get a copy of it.
    """
    graph = ahead.flow.graph
    end = ahead.last[graph.exit]
    assert end is ahead.first[graph.exit], "only loops and allocations take several blocks"
    good = {ahead.last[p] for p in graph.predecessors[graph.exit]}
    copies: dict[Value, Value] = {}
    success = Block("joint.end")
    for phi in end.phis:
        ways = list(phi.incoming())
        copies[phi] = new = Phi(type=phi.type, name=phi.name)
        success.phis.append(new)
        for into, wanted in ((new, True), (phi, False)):
            kept = [(v, b) for v, b in ways if (b in good) == wanted]
            into.operands, into.blocks = [v for v, _ in kept], [b for _, b in kept]
    for instruction in end.body:
        copies[instruction] = new = instruction.clone(lambda v: copies.get(v, v))
        success.body.append(new)
    assert isinstance(end.end, Return)
    assert end.end.value is not None
    status = copies.get(end.end.value, end.end.value)
    failed, out = Block("joint.failed"), Builder(success)
    out.branch_if(out.succeeded(status), rest, failed)
    out.block = failed
    out.ret(status)
    for block in good:
        block.end.targets = [success if t is end else t for t in block.end.targets]
    blocks = ahead.function.blocks
    blocks += [success, failed]
    if not any(end in b.end.targets for b in blocks):
        blocks.remove(end)
    return status
