"""Loops whose reverse only adds to a shadow."""

from __future__ import annotations

import pytest

from irad.ir.model import Load
from tests.analysis.facts import Facts, body

LOOP = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %v = load double, ptr %x
  {code}
  %w = fmul double %v, %a
  store double %w, ptr %z
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void"""


@pytest.mark.parametrize(
    ("code", "apart", "sums"),
    [
        ("", None, True),
        ("store double 1.0, ptr %x", None, False),
        ("store double 1.0, ptr %y", None, True),
        ("store double 1.0, ptr %y", ["z"], False),  # x and y may overlap
        ("store i64 %i, ptr %k", None, True),
        ("%u = load double, ptr %y\nstore double %u, ptr %z", ["z"], True),
        ("call void @llvm.memset.p0.i64(ptr %x, i8 0, i64 8, i1 false)", None, False),
        ("call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 8, i1 false)", None, False),
        ("call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 8, i1 false)", None, True),
    ],
)
def test_only_adds(code: str, apart: list[str] | None, sums: bool) -> None:
    text = body(LOOP.format(code=code), "ptr %x, ptr %y, ptr %z, ptr %k, i64 %n, double %a")
    facts = Facts(text, active=["a"], shadowed=["x", "y", "z"], apart=apart)
    load = facts["v"]
    assert isinstance(load, Load)
    assert facts.accumulation.only_adds(facts.flow.loops[0], load.pointer) is sums
