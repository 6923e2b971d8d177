"""Operations that may run although their result is not used (design D7).

LLVM turns `1/x if x != 0 else 0` into a division and a select. The adjoint of the division then is zero, its partial
infinite, and their product NaN. Operations whose every use is conditional get a guarded partial, where a zero adjoint
(or tangent) contributes exactly zero.
"""

from __future__ import annotations

from collections import defaultdict

from irad.analysis.activity import Activity
from irad.analysis.fixpoint import fixpoint
from irad.analysis.flow import Flow
from irad.ir.model import Block, Instruction, Phi, Select, Value
from irad.rules import scalar


def speculated(flow: Flow, activity: Activity) -> frozenset[Instruction]:
    """Active operations of which every active use lies in an arm of a select, on an edge that need not be taken, in
    another block, or in an operation that is itself speculated."""
    users: dict[Value, list[Instruction]] = defaultdict(list)
    for block in flow.order:
        for instruction in block.instructions:
            for operand in instruction.operands:
                if operand in activity.values:
                    users[operand].append(instruction)
    candidates = [
        v
        for b in flow.order
        for v in b.body
        if v in activity.values and scalar.rule_of(v) is not None and not isinstance(v, Select)
    ]
    found: set[Instruction] = set()

    def step(value: Instruction) -> list[Instruction]:
        if value in found or not users[value] or not _all_conditional(value, users[value], flow, found):
            return []
        found.add(value)
        return [v for v in value.operands if isinstance(v, Instruction) and v in activity.values]

    fixpoint(candidates, lambda v: step(v) if scalar.rule_of(v) is not None else [])
    return frozenset(found)


def _all_conditional(value: Instruction, users: list[Instruction], flow: Flow, found: set[Instruction]) -> bool:
    home = flow.block_of[value]
    edges: set[Block] = set()
    for user in users:
        match user:
            case Select(operands=[condition, *_]) if condition is not value:
                continue
            case Phi():
                edges |= {flow.block_of[user] for v, source in user.incoming() if v is value and source is home}
                continue
            case _ if user in found or flow.block_of[user] is not home:
                continue
            case _:
                return False
    taken = set(flow.graph.successors[home])
    return not (edges and taken <= edges)
