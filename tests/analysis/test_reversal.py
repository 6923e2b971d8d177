"""Which way the reverse goes back."""

from __future__ import annotations

from tests.analysis.facts import Facts, body, names

INERT_LOOP = """before:
  br label %loop
loop:
  %i = phi i64 [ 0, %before ], [ %j, %loop ]
  %j = add i64 %i, 1
  %go = icmp ne i64 %j, %n
  br i1 %go, label %loop, label %after
after:
  br label %out
"""


def back(facts: Facts) -> dict[str, set[str]]:
    return {b.name: names(ways) for b, ways in facts.reversal.back.items()}


def test_an_inert_branch_and_an_inert_loop_are_skipped() -> None:
    text = f"""entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %before, label %out
{INERT_LOOP}out:
  store double %a, ptr %x
  ret void"""
    facts = Facts(body(text), active=["a"], shadowed=["x"])
    assert back(facts) == {"entry": set(), "out": {"entry"}}
    assert not facts.reversal.loops and not facts.reversal.merges(facts.flow)


def test_a_merge_of_active_values_is_not_skipped() -> None:
    text = f"""entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %before, label %out
{INERT_LOOP}out:
  %p = phi double [ %a, %entry ], [ 1.0, %after ]
  store double %p, ptr %x
  ret void"""
    facts = Facts(body(text), active=["a"], shadowed=["x"])
    assert back(facts)["out"] == {"entry", "after"}
    assert names(facts.reversal.merges(facts.flow)) == {"out"}


def test_an_inner_loop_without_work_vanishes_from_an_active_one() -> None:
    text = """entry:
  br label %outer
outer:
  %k = phi i64 [ 0, %entry ], [ %l, %latch ]
  store double %a, ptr %x
  br label %loop
loop:
  %i = phi i64 [ 0, %outer ], [ %j, %loop ]
  %j = add i64 %i, 1
  %go = icmp ne i64 %j, %n
  br i1 %go, label %loop, label %latch
latch:
  %l = add i64 %k, 1
  %more = icmp ne i64 %l, %n
  br i1 %more, label %outer, label %out
out:
  ret void"""
    facts = Facts(body(text), active=["a"], shadowed=["x"])
    assert [loop.header.name for loop in facts.reversal.loops] == ["outer"]
    assert back(facts) == {"entry": set(), "outer": {"entry", "latch"}, "latch": {"outer"}, "out": {"latch"}}


def test_stores_of_constants_into_shadowed_memory_are_work() -> None:
    text = """entry:
  br i1 %c, label %side, label %out
side:
  store double 1.0, ptr %x
  br label %out
out:
  ret void"""
    facts = Facts(body(text, "ptr %x, i1 %c"), shadowed=["x"])
    assert back(facts)["out"] == {"entry", "side"}


def test_errors_are_not_reversed() -> None:
    text = """entry:
  store double %a, ptr %x
  %bad = icmp eq i64 %n, 0
  br i1 %bad, label %error, label %out
error:
  br label %out
out:
  %s = phi i32 [ 0, %entry ], [ 1, %error ]
  ret i32 %s"""
    facts = Facts(body(text, result="i32"), active=["a"], shadowed=["x"])
    assert back(facts) == {"entry": set(), "out": {"entry"}}


def test_exits_of_an_active_loop() -> None:
    text = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  store double %a, ptr %x
  %leave = icmp eq i64 %i, 7
  br i1 %leave, label %out, label %next
next:
  %j = add i64 %i, 1
  %go = icmp ne i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void"""
    facts = Facts(body(text), active=["a"], shadowed=["x"])
    assert back(facts)["out"] == {"loop", "next"}
    assert back(facts)["loop"] == {"entry", "next"}
