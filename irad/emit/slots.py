"""Which adjoints can take turns in one stack slot: LLVM's time to make registers of slots grows with their number times
that of the blocks.

A slot is zero again when the adjoint in it has been taken, at the definition of its value. Going back, blocks come in
the opposite of their order, but for the iterations of loops: so an adjoint lies in its slot between the last block
that adds to it and the block that defines its value, and all through the loops that begin between the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from operator import itemgetter

from irad.analysis.flow import Flow
from irad.ir.model import Block, Instruction, Phi, Value
from irad.ir.types import Type

Users = Mapping[Value, Sequence[Instruction]]


def users(flow: Flow) -> Users:
    """The instructions that read each value, on the way back."""
    found: dict[Value, list[Instruction]] = defaultdict(list)
    for block in flow.order:
        for instruction in block.instructions:
            for operand in instruction.operands:
                found[operand].append(instruction)
    return found


def turns(values: Iterable[tuple[Value, Type]], readers: Users, flow: Flow) -> dict[Value, tuple[Type, int]]:
    """A slot for each of `values`, of which no two are in use at once: its type and number.

    `values` come with the types of their adjoints; `readers` are those of `users`.
    """
    position = {block: at for at, block in enumerate(flow.order)}
    ends = sorted(
        (position[loop.header], max(position[b] for b in loop.blocks if b in position)) for loop in flow.loops
    )
    spans: list[tuple[int, int, Value, Type]] = []
    for value, type in values:
        first = position[flow.block_of[value]] if isinstance(value, Instruction) else -1
        reading = (position[b] for user in readers.get(value, ()) for b in _blocks(value, user, flow))
        spans.append((first, _through(first, max(reading, default=first), ends), value, type))
    spans.sort(key=lambda span: span[:2])
    found: dict[Value, tuple[Type, int]] = {}
    count: dict[Type, int] = defaultdict(int)
    busy: dict[Type, list[tuple[int, int]]] = defaultdict(list)  # until where, and which
    for first, last, value, type in spans:
        if busy[type] and busy[type][0][0] < first:
            _, number = heappop(busy[type])
        else:
            number = count[type]
            count[type] += 1
        found[value] = type, number
        heappush(busy[type], (last, number))
    return found


def _blocks(value: Value, user: Instruction, flow: Flow) -> list[Block]:
    """Where `user` adds to the adjoint of `value`; a phi does on the way to the block from which the value came."""
    if isinstance(user, Phi):
        return [block for v, block in user.incoming() if v is value and block in flow.loop_of]
    return [flow.block_of[user]]


def _through(first: int, last: int, ends: Sequence[tuple[int, int]]) -> int:
    """The end of a span that has in it the loops that begin after `first` and not after the end.

    `ends` are the positions of where each loop begins and ends.
    """
    for begin, end in ends[bisect_right(ends, first, key=itemgetter(0)) :]:
        if begin > last:
            break
        last = max(last, end)
    return last
