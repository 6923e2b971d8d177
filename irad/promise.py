"""What the promise that arrays do not overlap saves (design D11): the tape with it, held against the tape without."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from irad.analysis.diagonals import loops_of
from irad.ir.lines import Lines
from irad.ir.model import Argument, Instruction
from irad.ir.types import size_of
from irad.plan import Plan


@dataclass(frozen=True)
class Taped:
    """A value on a tape: its label, the loop of which every iteration saves `bytes`, and why it is saved."""

    label: str
    loop: str
    bytes: int
    because: str


Tape = Mapping[tuple[str, str], Taped]
"""What is on the tapes of a program, by the names of function and value: the same with and without the promise."""


def taped(function: str, plan: Plan, lines: Lines) -> Tape:
    """What the plan of `function` saves on a tape; what is saved once, in a frame, costs next to nothing."""
    found: dict[tuple[str, str], Taped] = {}
    for value, label in lines.in_order(plan.place):
        place = plan.place[value]
        if place.buffer is not None and isinstance(value, (Argument, Instruction)):
            loop = loops_of(place.axes[-1])[-1]
            told = lines.loop(loop.latch, str(loop))
            found[function, value.name] = Taped(label, told, size_of(place.type), plan.because[value].told(lines))
    return found


def saved(arrays: Sequence[str], promised: Tape, careful: Tape) -> str:
    """What the promise about `arrays` saves, in lines of text."""
    gone = [careful[key] for key in careful if key not in promised]
    more = [promised[key] for key in promised if key not in careful]
    what = f"the promise that {_listed(arrays)} do not overlap"
    if not gone and not more:
        return f"{what} saves nothing: the tape is the same without it"
    said = [f"{what} saves {_amount(gone)}", *_by_loop(gone)]
    if more:
        said += [f"and costs {_amount(more)}", *_by_loop(more)]
    return "\n".join(said)


def _by_loop(values: Iterable[Taped]) -> list[str]:
    groups: dict[str, list[Taped]] = defaultdict(list)
    for value in values:
        groups[value.loop].append(value)
    said: list[str] = []
    for loop, members in groups.items():
        said.append(f"  in each iteration of {loop}, {sum(m.bytes for m in members)} bytes:")
        said += [f"    {m.label}: {m.because}" for m in members]
    return said


def _amount(values: Sequence[Taped]) -> str:
    return f"{len(values)} value{'s' * (len(values) != 1)} on the tape{':' * bool(values)}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
