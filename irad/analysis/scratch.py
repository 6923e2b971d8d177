"""Arrays that live within one iteration of a loop.

Numba frees such an array when the iteration ends. With reference counts gone nothing says so, and a million iterations
would pile up a million arrays. But where no pointer to an array outlives its iteration, one buffer serves all
iterations: it is allocated anew only when a larger one is wanted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from irad.analysis.flow import Flow, Loop
from irad.ir.model import Call, Cast, Compare, Function, Gep, Instruction, Load, Phi, Select, Store, Unary, Value
from irad.rules import calls


@dataclass(frozen=True)
class Scratch:
    """`reused`: allocations of which one buffer serves all iterations of a loop. `simple`: those among them whose
    pointers are all computed by offsets, so that their shadow can be one buffer as well, at a fixed place."""

    reused: dict[Call, Loop]
    simple: frozenset[Call]

    def __str__(self) -> str:
        return "\n".join(f"%{call.name}: one buffer for all iterations of {loop}" for call, loop in self.reused.items())


def scratch(function: Function, flow: Flow) -> Scratch:
    """The allocations of `function` that end with their iteration."""
    users: dict[Value, list[Instruction]] = defaultdict(list)
    for instruction in function.instructions:
        for operand in instruction.operands:
            users[operand].append(instruction)
    reused: dict[Call, Loop] = {}
    simple: set[Call] = set()
    for block in flow.order:
        loop = flow.loop_of[block]
        for call in block.body:
            if loop is not None and isinstance(call, Call) and call.callee_name in calls.ALLOCATORS:
                pointers = _confined(call, loop, flow, users)
                if pointers is not None:
                    reused[call] = loop
                    if all(isinstance(p, Gep) for p in pointers[1:]):
                        simple.add(call)
    return Scratch(reused, frozenset(simple))


def _confined(call: Call, loop: Loop, flow: Flow, users: dict[Value, list[Instruction]]) -> list[Instruction] | None:
    """The pointers into the allocation, itself first; None where one of them may outlive an iteration of `loop`."""
    pointers: list[Instruction] = [call]
    seen: set[Instruction] = {call}
    for pointer in pointers:
        for user in users[pointer]:
            if not _stays(pointer, user, loop, flow):
                return None
            moves = isinstance(user, (Gep, Phi, Select, Unary)) or (isinstance(user, Cast) and user.op == "bitcast")
            if moves and user not in seen:
                seen.add(user)
                pointers.append(user)
    return pointers


def _stays(pointer: Instruction, user: Instruction, loop: Loop, flow: Flow) -> bool:
    home = flow.block_of[user]
    if home in flow.graph and home not in loop.blocks:
        return False
    match user:
        case Phi():
            return home is not loop.header
        case Store(operands=[value, _]):
            return value is not pointer
        case Call():
            name = user.callee_name
            return name in calls.COPIES or name in calls.FILLS or calls.is_inactive(name)
        case Load() | Gep() | Select() | Unary(op="freeze") | Compare() | Cast(op="bitcast"):
            return True
        case _:
            return False
