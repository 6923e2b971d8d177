"""The reverse of a loop as several loops, each adding to the shadows of one group of loads (see analysis.stripes).

    entrance:  are there enough iterations, and does memory lie apart? else the plain loop
    chunk:     the iterations from `top` down to `bottom`
      pass 1:    reads adjoints, adds to the shadows of group 1
      ...
      pass n:    from the same adjoints again: adds to those of group n, clears, and sums what belongs to other values
    chunk ...

A chunk's memory stays in the first cache for all its passes. Adjoints that pass from one iteration to the next are
noted before the first pass, and put back for each other one. All passes run backwards, as the tape is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from irad.analysis.affine import stride
from irad.ir.model import Block, Load, Phi, Store, Value, integer
from irad.ir.types import I1, I64, size_of

if TYPE_CHECKING:
    from irad.analysis.flow import Loop
    from irad.analysis.stripes import Stripes
    from irad.emit.reverse import Reverse

FEWEST = 16  # iterations, below which several loops cost more than they save
CHUNK = 1024  # iterations


@dataclass(frozen=True)
class Part:
    """What of a loop's reverse is being written: what it adds for `loads`, and, if `is_last`, all that is done once.

    Adjoints of values outside `home` are summed in the last part only.
    """

    loads: frozenset[Load]
    is_last: bool
    home: Block

    def skips(self, load: Load) -> bool:
        """Whether another part adds to the shadow of what `load` read."""
        return load not in self.loads

    def sums(self, value: Value, block: Block | None) -> bool:
        """Whether this part adds to the adjoint of `value`, which is computed in `block`."""
        return self.is_last or block is self.home


class Splitter:
    """Writes the several loops of one striped loop into `out`."""

    def __init__(self, loop: Loop, stripes: Stripes, out: Reverse) -> None:
        self.loop, self.stripes, self.out = loop, stripes, out
        self.block = loop.latch
        self.slots = list(dict.fromkeys(out.slot(v) for v in self.block.instructions if out.has_slot(v)))

    def emit(self, entrance: Block) -> None:
        """Write the loops, which begin at `entrance` with the loop's counter at its last iteration."""
        out = self.out
        chunk = Block(f"{entrance.name}.chunk")
        out.enter(entrance)
        last = out.counter(self.loop)
        enough = out.out.compare("uge", last, integer(FEWEST - 1, I64))
        out.out.branch_if(out.out.binary("and", enough, self.apart(last)), chunk, out.start[self.block])
        out.enter(chunk)
        top = out.counter(self.loop)
        above = out.out.compare("ugt", top, integer(CHUNK - 1, I64))
        bottom = out.out.select(above, out.out.binary("sub", top, integer(CHUNK - 1, I64)), integer(0, I64))
        noted = [out.out.load(out.slot_types[slot], slot) for slot in self.slots]
        bars = self.passes(top, bottom, noted)
        done, further = Block(f"{entrance.name}.done"), Block(f"{entrance.name}.further")
        out.out.branch_if(out.out.compare("eq", bottom, integer(0, I64)), done, further)
        out.enter(further)
        out.set_counter(self.loop, out.out.binary("sub", bottom, integer(1, I64)))
        out.hand_over(self.block, bars)
        out.out.branch(chunk)
        out.enter(done)
        out.leave_loop(self.loop, bars)

    def passes(self, top: Value, bottom: Value, noted: list[Value]) -> list[tuple[Phi, Value]]:
        """The loops over one chunk; the adjoints of the header's phis after its first iteration."""
        bars: list[tuple[Phi, Value]] = []
        groups, varying = self.stripes.groups, {load for group in self.stripes.groups for load in group}
        others = [i for i in self.block.body if isinstance(i, Load) and i not in varying]
        for n, group in enumerate(groups):
            is_last = n == len(groups) - 1
            part = Part(frozenset([*group, *others] if is_last else group), is_last, self.block)
            bars = self.one_pass(part, f"stripes.{self.block.name}.{n}", top, bottom, noted if n > 0 else [])
        return bars

    def one_pass(self, part: Part, name: str, top: Value, bottom: Value, noted: list[Value]) -> list[tuple[Phi, Value]]:
        out = self.out
        for slot, value in zip(self.slots, noted, strict=bool(noted)):
            out.out.store(value, slot)
        out.set_counter(self.loop, top)
        body, back, after = Block(name), Block(f"{name}.back"), Block(f"{name}.after")
        out.out.branch(body)
        out.enter(body)
        out.part = part
        bars = out.body(self.block)
        count = out.counter(self.loop)
        out.out.branch_if(out.out.compare("eq", count, bottom), after, back)
        out.enter(back)
        out.set_counter(self.loop, out.out.binary("sub", count, integer(1, I64), ("nuw", "nsw")))
        out.hand_over(self.block, bars)
        out.out.branch(body)
        out.enter(after)
        out.part = None
        return bars

    # --- whether memory lies apart ---

    def apart(self, last: Value) -> Value:
        """Whether what is read and what is added to lie apart, wherever only the run can tell."""
        build, result = self.out.out, None
        self.out.set_counter(self.loop, integer(0, I64))
        for store, load in self.stripes.meetings:
            (low, high), (bottom, top) = self.extent(store, last), self.extent(load, last)
            separate = build.binary("or", build.compare("ule", high, bottom), build.compare("ule", top, low))
            result = separate if result is None else build.binary("and", result, separate)
        self.out.set_counter(self.loop, last)
        return integer(1, I1) if result is None else result

    def extent(self, access: Load | Store, last: Value) -> tuple[Value, Value]:
        """Where the shadow begins and ends that all iterations of the loop access; the counter is at zero."""
        build, canonical = self.out.out, self.out.canonical
        pointer = canonical.shadow.get(access.pointer, access.pointer)
        type = access.value.type if isinstance(access, Store) else access.type
        step = stride(pointer, self.loop, canonical)
        assert step, "only such accesses are split"
        first = self.out.look(pointer)
        final = build.offset(first, build.binary("mul", last, integer(step, I64)))
        low, high = (first, final) if step > 0 else (final, first)
        return low, build.offset(high, size_of(type))
