"""What the reverse reads, per instruction."""

from __future__ import annotations

import pytest

from irad.analysis.needs import read_by
from irad.ir.model import Instruction
from tests.analysis.facts import DECLARE, Facts, body, names

PARAMETERS = "ptr %x, ptr %y, i64 %n, double %a, double %b, i1 %c"


@pytest.mark.parametrize(
    ("code", "active", "read"),
    [
        ("%v = fmul double %a, %b", "a b", "a b"),
        ("%v = fmul double %a, %b", "a", "b"),
        ("%v = fadd double %a, %b", "a b", ""),
        ("%v = fdiv double %a, %b", "a", "b"),
        ("%v = fdiv double %a, %b", "a b", "v b"),
        ("%v = call double @llvm.exp.f64(double %a)", "a", "v"),
        ("%v = call double @llvm.sin.f64(double %a)", "a", "a"),
        ("%v = call double @llvm.sin.f64(double %a)\n%w = call double @llvm.cos.f64(double %a)", "a", "w"),
        ("%v = call double @llvm.sin.f64(double %a)\n%w = call double @llvm.cos.f64(double %b)", "a", "a"),
        ("%v = select i1 %c, double %a, double %b", "a", "c"),
        ("%v = fmul double %a, 3.0", "a", ""),
        (
            "%w = insertelement <2 x double> zeroinitializer, double %a, i64 %n\n"
            "%v = extractelement <2 x double> %w, i64 %n",
            "a",
            "n",
        ),
        ("%p = getelementptr double, ptr %x, i64 %n\n%v = load double, ptr %p", "", "p.shadow"),
    ],
)
def test_read(code: str, active: str, read: str) -> None:
    text = body(f"entry:\n{code}\nstore double %v, ptr %x\nret void", PARAMETERS) + DECLARE
    facts = Facts(text, active=active.split(), shadowed=["x"])
    value = facts["v"]
    assert isinstance(value, Instruction)
    found = read_by(value, facts.canonical, facts.objects, facts.kinds, facts.activity, facts.needs.twins)
    assert names(found) == set(read.split())


def test_stores_and_copies_read_shadows_and_lengths() -> None:
    code = "store double %a, ptr %x\ncall void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 %n, i1 false)\nret void"
    facts = Facts(body(f"entry:\n{code}", PARAMETERS) + DECLARE, active=["a"], shadowed=["x", "y"])
    assert names(facts.needs.of) == {"x.shadow", "y.shadow", "n"}


def test_inactive_code_reads_nothing() -> None:
    code = "%v = fmul double %b, %b\nstore double %v, ptr %y\nstore double %a, ptr %x\nret void"
    facts = Facts(body(f"entry:\n{code}", PARAMETERS), active=["a"], shadowed=["x"])
    assert names(facts.needs.of) == {"x.shadow"}


def test_ways_back_and_last_iterations_are_read() -> None:
    text = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  br i1 %c, label %side, label %latch
side:
  store double %a, ptr %x
  br label %latch
latch:
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void"""
    facts = Facts(body(text, PARAMETERS), active=["a"], shadowed=["x"])
    needs = facts.needs
    last = facts.canonical.last(facts.loop("loop"), facts.block("out"))
    assert [b.name for b, reader in needs.of[last] if reader is None] == ["out"]
    assert [b.name for b, _ in needs.of[facts.canonical.arrival[facts.block("latch")]]] == ["latch"]
