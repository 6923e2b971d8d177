"""Loops that choose one value, as the largest of many: the way back looks for the iteration that chose last.

    for i in range(n):
        best = x[i] if x[i] > best else best

All of the adjoint of `best` belongs to the last iteration whose test held, or to what was there before the loop. No
other iteration has anything to add, so none of them is reversed. What decides is the test, not an adjoint that is zero:
its own derivative may be none.
"""

from __future__ import annotations

from collections import defaultdict
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
    users: dict[Value, list[Instruction]] = defaultdict(list)
    for block in canonical.flow.order:
        for instruction in block.instructions:
            for operand in instruction.operands:
                users[operand].append(instruction)
    found = (_search(loop, canonical, accumulation, users) for loop in canonical.reversal.loops)
    return [search for search in found if search is not None]


def _search(
    loop: Loop, canonical: Canonical, accumulation: Accumulation, users: dict[Value, list[Instruction]]
) -> Search | None:
    if loop.blocks != {loop.latch} or not all(map(_is_plain, loop.latch.body)):
        return None
    active, home = accumulation.activity.values, canonical.flow.block_of
    carried = [phi for phi in loop.latch.phis if phi in active]
    if len(carried) != 1:
        return None
    phi, choice = carried[0], carried[0].value_from(loop.latch)
    mine = [i for i in loop.latch.instructions if i in active and i is not choice]
    if any(home[user] is not loop.latch for i in mine for user in users[i]):
        return None
    if not isinstance(choice, Select) or [u for u in users[phi] if u in active] != [choice]:
        return None
    match choice.operands:
        case [condition, new, old] if old is phi and new is not phi:
            return Search(loop, phi, choice, condition, outcome=True)
        case [condition, old, new] if old is phi and new is not phi:
            return Search(loop, phi, choice, condition, outcome=False)
        case _:
            return None


def _is_plain(instruction: Instruction) -> bool:
    """Whether nothing but a value comes of `instruction`."""
    return not isinstance(instruction, Store) and (
        not isinstance(instruction, Call) or calls.is_pure(instruction.callee_name)
    )
