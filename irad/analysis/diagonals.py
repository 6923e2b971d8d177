"""Pairs of loops that walk the same memory: `for i in ...: for j in range(i + 1, n)`.

The start of the inner counter moves by its own step from one outer iteration to the next. So j is the same wherever the
sum of both iterations' numbers is, and what follows from j alone takes one place for each sum: n of them, not n^2 / 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from irad.analysis.affine import stride
from irad.analysis.canonical import Canonical
from irad.analysis.flow import Loop, guards
from irad.ir.model import Compare, Phi, Value
from irad.ir.types import Int

LARGEST_STEP = 1 << 16  # with such a step it would take years until a counter of 64 bits runs over


@dataclass(frozen=True)
class Diagonal:
    """The iterations of `inner`, in any of `outer` around it, told apart by the sum of their numbers."""

    outer: Loop
    inner: Loop

    def __str__(self) -> str:
        return f"{self.outer} plus {self.inner}"


Axis = Loop | Diagonal
"""What tells apart the values of which each has a place of its own."""


def loops_of(axis: Axis) -> tuple[Loop, ...]:
    """The loops whose counters number the places along `axis`."""
    return (axis.outer, axis.inner) if isinstance(axis, Diagonal) else (axis,)


def diagonals(canonical: Canonical) -> dict[Phi, Diagonal]:
    """The counters, and pointers, that depend on the sum of two iterations' numbers."""
    found: dict[Phi, Diagonal] = {}
    for loop in canonical.reversal.loops:
        if loop.parent in canonical.counted and _is_bounded(loop, loop.parent, canonical):
            pair = Diagonal(loop.parent, loop)
            found |= {phi: pair for phi in loop.header.phis if _moves_along(phi, pair, canonical)}
    return found


def _moves_along(phi: Phi, pair: Diagonal, canonical: Canonical) -> bool:
    """Whether `phi` takes, from one outer iteration to the next, the step that it takes in an inner one."""
    if phi not in canonical.inductions:
        return False
    step = stride(phi, pair.inner, canonical)
    start = stride(canonical.inductions[phi].start, pair.outer, canonical)
    return step == start and step is not None and 0 < abs(step) < LARGEST_STEP


def _is_bounded(inner: Loop, outer: Loop, canonical: Canonical) -> bool:
    """Whether the sums end where those of the first or the last outer iteration do, if these run `inner` at all.

    The bound of the inner loop is the same in all outer iterations, so that all that run it end at one sum. Nothing
    but one test of something that moves along may keep it from running: the first or the last one passes it, too.
    """
    counted = canonical.counted[inner]
    if counted.ends is None or canonical.counted[outer].last is None:
        return False
    phi, bound = counted.ends
    flow = canonical.flow
    tests = guards(inner, outer, flow)
    wide = isinstance(phi.type, Int) and phi.type.bits == 64
    return (
        wide
        and not flow.inside(bound, outer)
        and _moves_along(phi, Diagonal(outer, inner), canonical)
        and tests is not None
        and len(tests) < 2
        and all(_is_ordered(test, outcome, outer, canonical) for test, outcome in tests)
    )


def _is_ordered(test: Value, outcome: bool, outer: Loop, canonical: Canonical) -> bool:
    """Whether the iterations of `outer` in which `test` has this outcome include the first or the last, if there are
    any. Where numbers are compared as if they had no sign, they may be some in the middle: `5 <= i < 9` is one test."""
    if not isinstance(test, Compare) or test.op != "icmp" or test.predicate == ("eq" if outcome else "ne"):
        return False
    if test.predicate.startswith("u") and "samesign" not in test.flags:
        return False
    return all(stride(v, outer, canonical) is not None for v in test.operands)
