"""Which loads may be repeated by the reverse function: memory that nothing writes after the load.

Between a load and the reverse that wants it again lie all instructions that can follow the load in the primal. When one
of them may write one of the load's objects, the loaded value must be saved or recomputed; that instruction is the
witness. In split mode the caller runs between augmented and reverse function, so whatever the caller can reach counts
as written as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from irad.analysis.flow import Flow
from irad.analysis.objects import Object, Objects
from irad.ir.lines import Lines, Reason
from irad.ir.model import (
    AtomicReadWrite,
    Call,
    CompareExchange,
    Function,
    Instruction,
    Load,
    Store,
)
from irad.rules import calls


@dataclass(frozen=True)
class Memory:
    """`overwritten[load]` is the witness: the instruction that may write the memory, or None for the caller.
    Loads that are not in it can be repeated. `writes[o]` are the instructions that may write object `o`.
    `passing[call]`: of a whole operation, positions of operands whose memory may be written after the call; 0 stands
    for the arrays of its result."""

    overwritten: dict[Load, Instruction | None]
    writes: dict[Object, list[Instruction]]
    passing: dict[Call, tuple[int, ...]] = field(default_factory=dict[Call, tuple[int, ...]])

    def is_stable(self, load: Load) -> bool:
        return load not in self.overwritten

    def because(self, load: Load) -> Reason:
        """Why `load` can, or cannot, be repeated."""
        if load not in self.overwritten:
            return Reason("nothing writes this memory afterwards")
        witness = self.overwritten[load]
        return Reason("the caller may write this memory") if witness is None else Reason("overwritten by", witness)

    def __str__(self) -> str:
        return "\n".join(f"%{load.name}: {self.because(load)}" for load in self.overwritten)

    def describe(self, lines: Lines) -> str:
        """Like `str`, with lines of Python."""
        loads = [v for v in lines.order(self.overwritten) if isinstance(v, Load)]
        return "\n".join(f"{lines.label(v)}: {self.because(v).told(lines)}" for v in loads)


def memory(function: Function, flow: Flow, objects: Objects, *, split: bool, freed: Iterable[Object] = ()) -> Memory:
    """Which loads of `function` are overwritten; `freed` objects end before the reverse begins."""
    universe = objects.all | {o for i in function.instructions for v in i.operands for o in objects.pointed(v)}
    overlap = {o: objects.overlapping([o], universe) for o in universe}
    writes: dict[Object, list[Instruction]] = defaultdict(list)
    for block in flow.order:
        for instruction in block.instructions:
            for o in written(instruction, objects):
                for other in overlap.get(o, {o}):
                    writes[other].append(instruction)
    position = {i: n for b in flow.order for n, i in enumerate(b.instructions)}
    gone = set(freed)

    def witnesses(reader: Instruction, source: Collection[Object]) -> Iterator[Instruction | None]:
        """Who may write `source` after `reader` has read it."""
        if not source or any(o in gone or (split and _callers(o, objects)) for o in source):
            yield None
            return
        block = flow.block_of[reader]
        for write in (write for o in source for write in reversed(writes.get(o, []))):
            at = flow.block_of[write]
            if flow.reaches(block, at) or (at is block and position[write] > position[reader]):
                yield write

    overwritten: dict[Load, Instruction | None] = {}
    passing: dict[Call, tuple[int, ...]] = {}
    for instruction in (i for block in flow.order for i in block.body):
        if isinstance(instruction, Load):
            for witness in witnesses(instruction, objects.pointed(instruction.pointer)):
                overwritten[instruction] = witness
                break
        elif isinstance(instruction, Call) and objects.whole(instruction) is not None:
            read = _read_by(instruction, objects)
            passing[instruction] = tuple(i for i, source in read if any(True for _ in witnesses(instruction, source)))
    return Memory(overwritten, dict(writes), passing)


def _read_by(call: Call, objects: Objects) -> Iterator[tuple[int, Collection[Object]]]:
    """Memory that the derivative of a whole operation may look at again: its result's arrays (0), its arguments'."""
    yield 0, {Object("heap", call)}
    for i, operand in enumerate(call.operands[2:], 2):
        if objects.pointed(operand):
            yield i, objects.pointed(operand)


def _callers(o: Object, objects: Objects) -> bool:
    """Memory that the caller, or whatever runs before the reverse, may write."""
    if o.kind == "global":
        return False
    return o.kind in ("argument", "external", "address") or _escapes(o, objects)


def _escapes(o: Object, objects: Objects) -> bool:
    return any(
        o in held for holder, held in objects.contents.items() if holder.kind in ("argument", "external", "global")
    )


def written(instruction: Instruction, objects: Objects) -> set[Object]:
    """Objects that an instruction may write."""
    match instruction:
        case Store(operands=[_, pointer]):
            return set(objects.pointed(pointer))
        case AtomicReadWrite(operands=[pointer, _]):
            return set(objects.pointed(pointer))
        case CompareExchange(operands=[pointer, *_]):
            return set(objects.pointed(pointer))
        case Call():
            name = instruction.callee_name
            if name in calls.COPIES or name in calls.FILLS:
                return set(objects.pointed(instruction.operands[0]))
            if name in calls.SHAPERS:
                return {o for v in instruction.operands for o in objects.pointed(v)}
            if name in calls.RELEASES:
                return objects.reachable(instruction.operands)
            if name in calls.ALLOCATORS or calls.is_inactive(name) or calls.is_pure(name):
                return set()
            if objects.whole(instruction) is not None:
                return {o for v in instruction.operands[:2] for o in objects.pointed(v)}
            return {o for o in objects.reachable(instruction.operands) if o.kind != "address"}
        case _:
            return set()
