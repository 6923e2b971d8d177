"""Dominators and the loop nest of the success graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from irad.analysis.errors import Success
from irad.errors import InvalidIR, Unsupported
from irad.ir.lines import blame
from irad.ir.model import Block, Branch, Function, Instruction, Switch, Value


@dataclass(eq=False)
class Loop:
    """A natural loop in simplified form: one preheader, one latch.

    `exits` are the edges (inside, outside) that leave it.
    """

    header: Block
    latch: Block
    preheader: Block
    blocks: set[Block]
    exits: list[tuple[Block, Block]] = field(default_factory=list[tuple[Block, Block]])
    parent: Loop | None = None

    @property
    def depth(self) -> int:
        return 1 if self.parent is None else 1 + self.parent.depth

    @property
    def chain(self) -> list[Loop]:
        """The loops around, outermost first, itself last."""
        return [*(self.parent.chain if self.parent else []), self]

    def __str__(self) -> str:
        return f"loop {self.header.name}"


@dataclass(frozen=True)
class Flow:
    """Facts about the success graph. Blocks off it (error paths) have no entry anywhere."""

    graph: Success
    order: list[Block]  # reverse postorder
    idom: dict[Block, Block]
    loops: list[Loop]  # outer loops before inner ones
    loop_of: dict[Block, Loop | None]
    block_of: dict[Instruction, Block]

    def chain(self, block: Block) -> list[Loop]:
        """The loops around `block`, outermost first."""
        loop = self.loop_of[block]
        return loop.chain if loop else []

    def dominates(self, above: Block, below: Block) -> bool:
        """Whether every way to `below` passes through `above` (a block dominates itself)."""
        first, last = self._span[above]
        return first <= self._span[below][0] and self._span[below][1] <= last

    def inside(self, value: Value, loop: Loop) -> bool:
        """Whether `value` is computed inside `loop`."""
        return isinstance(value, Instruction) and self.block_of.get(value) in loop.blocks

    def reaches(self, block: Block, other: Block) -> bool:
        """Whether `other` can run after `block` has ended; a block reaches itself only when it lies on a cycle."""
        return bool(self._after[block] >> self._index[other] & 1)

    @cached_property
    def _span(self) -> dict[Block, tuple[int, int]]:
        """Entry and exit times of a walk over the dominator tree: containment is dominance."""
        children: dict[Block, list[Block]] = {b: [] for b in self.order}
        for block in self.order[1:]:
            children[self.idom[block]].append(block)
        span: dict[Block, tuple[int, int]] = {}
        enter: dict[Block, int] = {}
        clock = 0
        stack: list[tuple[Block, Iterator[Block]]] = [(self.order[0], iter(children[self.order[0]]))]
        enter[self.order[0]] = 0
        while stack:
            block, rest = stack[-1]
            clock += 1
            child = next(rest, None)
            if child is None:
                span[block] = enter[block], clock
                stack.pop()
            else:
                enter[child] = clock
                stack.append((child, iter(children[child])))
        return span

    @cached_property
    def _after(self) -> dict[Block, int]:
        """The blocks that each block reaches, as the bits of an integer: sets of blocks would be slow and large."""
        bit = {block: 1 << n for block, n in self._index.items()}
        after = dict.fromkeys(self.order, 0)
        changed = True
        while changed:  # backwards, so that only loops make another round necessary
            changed = False
            for block in reversed(self.order):
                reached = after[block]
                for following in self.graph.successors[block]:
                    reached |= bit[following] | after[following]
                changed |= reached != after[block]
                after[block] = reached
        return after

    @cached_property
    def _index(self) -> dict[Block, int]:
        return {block: n for n, block in enumerate(self.order)}

    def __str__(self) -> str:
        lines = [f"{len(self.order)} blocks, {len(self.loops)} loops"]
        for loop in self.loops:
            exits = ", ".join(f"{a.name} -> {b.name}" for a, b in loop.exits)
            lines.append(f"{'  ' * loop.depth}{loop}: latch {loop.latch.name}, exits {exits}")
        return "\n".join(lines)


def flow(function: Function, graph: Success) -> Flow:
    """Dominators and loops of the success graph.

    Raises
    ------
    Unsupported: a cycle that is entered at two places (irreducible flow).
    InvalidIR: loops are not closed.
    """
    order = _reverse_postorder(function.entry, graph)
    idom = _dominators(order, graph)
    loops = _loops(order, idom, graph)
    loop_of: dict[Block, Loop | None] = dict.fromkeys(order)
    for loop in loops:  # inner loops come later and overwrite
        for block in loop.blocks:
            loop_of[block] = loop
    block_of = {i: b for b in function.blocks for i in b.instructions}
    found = Flow(graph, order, idom, loops, loop_of, block_of)
    _require_closed(found)
    return found


def _require_closed(flow: Flow) -> None:
    """Values of a loop leave it through phis only (LCSSA): the reverse reads them where their iteration is known."""
    for block in flow.order:
        for instruction in (*block.body, block.end):
            for value in instruction.operands:
                home = flow.loop_of.get(flow.block_of[value]) if isinstance(value, Instruction) else None
                if home is not None and block not in home.blocks:
                    error = InvalidIR("a value of a loop is used after it without a phi")
                    raise blame(error, instruction)


def _reverse_postorder(entry: Block, graph: Success) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(graph.successors[entry]))]
    while stack:
        block, rest = stack[-1]
        other = next((s for s in rest if s not in seen), None)
        if other is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(other)
            stack.append((other, iter(graph.successors[other])))
    return order[::-1]


def _dominators(order: list[Block], graph: Success) -> dict[Block, Block]:
    """Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm (2001)."""
    index = {b: i for i, b in enumerate(order)}
    idom = {order[0]: order[0]}

    def meet(a: Block, b: Block) -> Block:
        while a is not b:
            while index[a] > index[b]:
                a = idom[a]
            while index[b] > index[a]:
                b = idom[b]
        return a

    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in graph.predecessors[block] if p in idom]
            new = known[0]
            for other in known[1:]:
                new = meet(new, other)
            if idom.get(block) is not new:
                idom[block] = new
                changed = True
    return idom


def _loops(order: list[Block], idom: dict[Block, Block], graph: Success) -> list[Loop]:
    index = {b: i for i, b in enumerate(order)}

    def dominates(above: Block, below: Block) -> bool:
        while index[below] > index[above]:
            below = idom[below]
        return above is below

    latches: dict[Block, list[Block]] = {}
    for block in order:
        for target in graph.successors[block]:
            if index[target] > index[block]:
                continue
            if not dominates(target, block):
                error = Unsupported(
                    "a loop of this kernel is entered at two places (irreducible control flow)",
                    hint="write for or while loops; instead of a generator that yields in nested loops, its loops",
                )
                raise blame(error, block.end)
            latches.setdefault(target, []).append(block)
    loops = [_loop(header, ends, graph) for header, ends in latches.items()]
    loops.sort(key=lambda loop: -len(loop.blocks))
    for i, loop in enumerate(loops):
        around = [other for other in loops[:i] if loop.header in other.blocks and other is not loop]
        loop.parent = around[-1] if around else None
    return loops


def _loop(header: Block, latches: list[Block], graph: Success) -> Loop:
    assert len(latches) == 1, f"loop {header.name} is not in simplified form"
    blocks, stack = {header}, list(latches)
    while stack:
        block = stack.pop()
        if block not in blocks:
            blocks.add(block)
            stack.extend(graph.predecessors[block])
    outside = [p for p in graph.predecessors[header] if p not in blocks]
    assert len(outside) == 1, f"loop {header.name} has no preheader"
    exits = [(b, s) for b in graph.successors if b in blocks for s in graph.successors[b] if s not in blocks]
    return Loop(header, latches[0], outside[0], blocks, exits)


def guards(loop: Loop, owner: Loop, flow: Flow) -> list[tuple[Value, bool]] | None:
    """The conditions inside `owner` under which `loop` is entered, with the outcome each must have; None where they
    cannot be told. Without them a trip count computed early could be garbage."""
    found: list[tuple[Value, bool]] = []
    block = loop.preheader
    while block is not owner.preheader:
        above = flow.idom[block]
        if not flow.dominates(block, _latch_around(block, owner, flow)):
            match above.end:
                case Branch(operands=[condition], targets=[if_true, if_false]) if if_true is not if_false:
                    if flow.graph.predecessors[block] != [above]:
                        return None
                    found.append((condition, if_true is block))
                case Switch():
                    return None
                case _:
                    pass
        block = above
    return found


def _latch_around(block: Block, owner: Loop, flow: Flow) -> Block:
    """The latch of the innermost loop around `block`, at most `owner`."""
    loop = flow.loop_of[block]
    return loop.latch if loop is not None else owner.latch
