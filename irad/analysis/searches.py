"""Loops that choose one value, as the largest of many: the way back looks for the iteration that chose last.

    for i in range(n):
        best = x[i] if x[i] > best else best

All of the adjoint of `best` belongs to the last iteration whose test held, or to what was there before the loop. No
other iteration has anything to add, so none of them is reversed. What decides is the test, not an adjoint that is zero:
its own derivative may be none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass

from irad.analysis.accumulation import Accumulation
from irad.analysis.canonical import Canonical
from irad.analysis.flow import Loop
from irad.ir.model import Call, Instruction, Phi, Select, Store, Value
from irad.rules import calls


@dataclass(frozen=True)
class Search:
    """`carried` becomes another value in iterations where `condition` is `outcome`: `choice` does that, at the end."""

    loop: Loop
    carried: Phi
    choice: Select
    condition: Value
    outcome: bool


def searches(canonical: Canonical, accumulation: Accumulation) -> list[Search]:
    """The loops of which one iteration takes all of the adjoint that comes in, and nothing else happens."""
    active = accumulation.activity.values
    shaped = [search for loop in canonical.reversal.loops if (search := _choosing(loop, active)) is not None]
    if not shaped:
        return []
    users: dict[Value, list[Instruction]] = defaultdict(list)
    for block in canonical.flow.order:
        for instruction in block.instructions:
            for operand in instruction.operands:
                users[operand].append(instruction)
    return [search for search in shaped if _is_all(search, active, users)]


def _choosing(loop: Loop, active: Container[Value]) -> Search | None:
    """What `loop` chooses, if that is the one active value that it carries along."""
    if loop.blocks != {loop.latch} or not all(map(_is_plain, loop.latch.body)):
        return None
    match [phi for phi in loop.latch.phis if phi in active]:
        case [phi]:
            choice = phi.value_from(loop.latch)
        case _:
            return None
    match choice:
        case Select(operands=[condition, new, old]) if old is phi and new is not phi:
            return Search(loop, phi, choice, condition, outcome=True)
        case Select(operands=[condition, old, new]) if old is phi and new is not phi:
            return Search(loop, phi, choice, condition, outcome=False)
        case _:
            return None


def _is_all(search: Search, active: Container[Value], users: dict[Value, list[Instruction]]) -> bool:
    """Whether all adjoints of the loop's values come through the choice."""
    inside = list(search.loop.latch.instructions)
    others = [i for i in inside if i in active and i is not search.choice]
    return [u for u in users[search.carried] if u in active] == [search.choice] and all(
        user in inside for i in others for user in users[i]
    )


def _is_plain(instruction: Instruction) -> bool:
    """Whether nothing but a value comes of `instruction`."""
    return not isinstance(instruction, Store) and (
        not isinstance(instruction, Call) or calls.is_pure(instruction.callee_name)
    )
