"""The formula for the last iteration, against running the loop: every predicate, step, width, and near every edge."""

from __future__ import annotations

from itertools import product

import pytest

from tests.analysis.evaluate import evaluate, holds
from tests.analysis.facts import Facts

PREDICATES = ("ne", "slt", "sle", "ult", "ule", "sgt", "sge", "ugt", "uge", "eq")
STEPS = (1, -1, 2, -3, 7)
LIMIT = 40  # iterations that are tried

LOOP = """
define void @f(i{bits} %start, i{bits} %bound, ptr %x) {{
entry:
  br label %loop
loop:
  %i = phi i{bits} [ %start, %entry ], [ %next, %loop ]
  %v = load double, ptr %x
  %w = fmul double %v, %v
  store double %w, ptr %x
  %next = {op}{flags} i{bits} %i, {step}
  %go = icmp {predicate} i{bits} {left}, {right}
  br i1 %go, label {targets}
out:
  ret void
}}
"""


def loop(predicate: str, step: int, bits: int, *, advanced: bool, flags: str = "", swap: bool = False, form: int = 0):
    """The facts about a loop; `form` 0 continues where the test holds, 1 where it fails, 2 subtracts its step."""
    sides = ("%next" if advanced else "%i", "%bound")
    text = LOOP.format(
        bits=bits,
        op="sub" if form == 2 else "add",
        flags=flags,
        step=-step if form == 2 else step,
        predicate=predicate,
        left=sides[swap],
        right=sides[not swap],
        targets="%out, label %loop" if form == 1 else "%loop, label %out",
    )
    return Facts(text, shadowed=["x"])


def near_edges(bits: int) -> list[int]:
    top, middle = 1 << bits, 1 << (bits - 1)
    centres = (0, 20, middle)
    return sorted({(c + d) % top for c in centres for d in (-2, -1, 0, 1, 8)})


def run(test, start: int, bound: int, step: int, bits: int, *, advanced: bool) -> int | None:
    """The index of the last iteration, None where it takes too long."""
    mask = (1 << bits) - 1
    for k in range(LIMIT):
        tested = (start + (k + advanced) * step) & mask
        if not test(tested, bound):
            return k
    return None


def overflows(start: int, last: int, step: int, bits: int, flags: str) -> bool:
    """Whether the loop makes poison: the flags promise that it does not."""
    if not flags:
        return False
    from tests.analysis.evaluate import signed

    first = signed(start, bits) if "nsw" in flags else start
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if "nsw" in flags else (0, (1 << bits) - 1)
    return not low <= first + (last + 1) * step <= high


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("advanced", [False, True])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("predicate", PREDICATES)
def test_formula(predicate: str, step: int, advanced: bool, bits: int) -> None:
    for flags in ("", " nsw"):
        facts = loop(predicate, step, bits, advanced=advanced, flags=flags)
        last = facts.canonical.counted[facts.loop("loop")].last
        if last is None:
            continue
        start, bound = facts.argument("start"), facts.argument("bound")
        for a, b in product(near_edges(bits), repeat=2):
            wanted = run(lambda v, w: holds(predicate, v, w, bits), a, b, step, bits, advanced=advanced)
            if wanted is not None and not overflows(a, wanted, step, bits, flags):
                assert evaluate(last, {start: a, bound: b}) == wanted, (a, b, flags)
