"""Stack slots that adjoints share."""

from __future__ import annotations

import pytest

from irad.emit.slots import turns, users
from irad.ir.model import Value
from irad.ir.types import DOUBLE
from tests.analysis.facts import Facts, body

ACROSS = """entry:
  %a = fmul double %x, %x
  br label %header
header:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %next = add i64 %i, 1
  %go = icmp slt i64 %i, %n
  br i1 %go, label %THEN, label %OTHER
body:
  %t = fadd double %x, 1.0
  br label %latch
latch:
  %u = fmul double %t, %t
  store double %u, ptr %p
  br label %header
after:
  %r = fmul double %a, %a
  store double %r, ptr %p
  ret void"""


def slots(text: str) -> dict[str, tuple[object, int]]:
    """The slot of each float, by name."""
    flow = Facts(body(text, "double %x, i64 %n, ptr %p")).flow
    values: list[Value] = [i for b in flow.order for i in b.instructions if i.type == DOUBLE]
    found = turns([(v, DOUBLE) for v in values], users(flow), flow)
    return {value.name: slot for value, slot in found.items()}


@pytest.mark.parametrize(("then", "other"), [("body", "after"), ("after", "body")])
def test_what_is_needed_across_a_loop_is_apart_from_what_is_in_it(then: str, other: str) -> None:
    found = slots(ACROSS.replace("THEN", then).replace("OTHER", other))
    assert found["a"] not in (found["t"], found["u"])


def test_one_after_the_other_they_share() -> None:
    steps = [f"b{k}:\n  %v{k} = fmul double %v{k - 1}, %x\n  br label %b{k + 1}" for k in range(1, 50)]
    last = "b50:\n  store double %v49, ptr %p\n  ret void"
    found = slots("\n".join(["entry:\n  %v0 = fmul double %x, %x\n  br label %b1", *steps, last]))
    assert len(found) == 50
    assert len(set(found.values())) == 2
    assert all(found[f"v{k}"] != found[f"v{k + 1}"] for k in range(49))
