"""Arrays that end with their iteration share one buffer."""

from __future__ import annotations

import pytest

from tests.analysis.facts import DECLARE, Facts, body, names

LOOP = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  {phi}
  %t = call ptr @irad_alloc(i64 64, i32 32)
  {code}
  br label %latch
latch:
  {late}
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  {after}
  ret void"""
PARAMETERS = "ptr %x, ptr %y, i64 %n, i1 %c"


@pytest.mark.parametrize(
    ("phi", "code", "late", "after", "reused", "simple"),
    [
        ("", "store double 1.0, ptr %t", "%v = load double, ptr %t", "", True, True),
        ("", "%p = getelementptr double, ptr %t, i64 %i\nstore double 1.0, ptr %p", "", "", True, True),
        ("", "%p = select i1 %c, ptr %t, ptr %x\nstore double 1.0, ptr %p", "", "", True, False),
        ("", "call void @llvm.memset.p0.i64(ptr %t, i8 0, i64 64, i1 false)", "", "", True, True),
        ("", "store ptr %t, ptr %x", "", "", False, False),
        ("", "call void @unknown(ptr %t)", "", "", False, False),
        ("", "%k = ptrtoint ptr %t to i64", "", "", False, False),
        ("%p = phi ptr [ %x, %entry ], [ %t, %latch ]", "%v = load double, ptr %p", "", "", False, False),
        ("", "", "", "%u = phi ptr [ %t, %latch ]\nstore double 1.0, ptr %u", False, False),
        ("", "%p = insertvalue { ptr, i64 } undef, ptr %t, 0", "", "", False, False),
    ],
)
def test_loops(phi: str, code: str, late: str, after: str, reused: bool, simple: bool) -> None:
    facts = Facts(body(LOOP.format(phi=phi, code=code, late=late, after=after), PARAMETERS) + DECLARE)
    assert (names(facts.scratch.reused) == {"t"}) is reused
    assert (names(facts.scratch.simple) == {"t"}) is simple


def test_arrays_outside_loops_are_not_reused() -> None:
    facts = Facts(body("entry:\n%t = call ptr @irad_alloc(i64 64, i32 32)\nret void") + DECLARE)
    assert not facts.scratch.reused


def test_what_a_reused_buffer_held_is_gone() -> None:
    code = LOOP.format(phi="", code="store double 1.0, ptr %t", late="%v = load double, ptr %t", after="")
    facts = Facts(body(code, PARAMETERS) + DECLARE)
    assert facts["v"] in facts.memory.overwritten
