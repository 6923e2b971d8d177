"""Dominators and loops of the success graph."""

from __future__ import annotations

import numpy as np
import pytest

from irad.errors import InvalidIR, Unsupported
from tests.analysis.facts import Facts, body, names

NEST = """entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j1, %inner.latch ]
  %leave = icmp eq i64 %j, %n
  br i1 %leave, label %both, label %inner.latch
inner.latch:
  %j1 = add i64 %j, 1
  %more = icmp slt i64 %j1, %n
  br i1 %more, label %inner, label %latch
latch:
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %out
both:
  br label %out
out:
  ret void"""


def test_nest() -> None:
    facts = Facts(body(NEST))
    outer, inner = facts.flow.loops
    assert (outer.header.name, inner.header.name) == ("outer", "inner")
    assert names(outer.blocks) == {"outer", "inner", "inner.latch", "latch"}
    assert names(inner.blocks) == {"inner", "inner.latch"}
    assert inner.parent is outer and outer.parent is None and inner.chain == [outer, inner]
    assert (outer.preheader.name, outer.latch.name) == ("entry", "latch")
    assert (inner.preheader.name, inner.latch.name) == ("outer", "inner.latch")
    assert {(a.name, b.name) for a, b in inner.exits} == {("inner", "both"), ("inner.latch", "latch")}
    assert {(a.name, b.name) for a, b in outer.exits} == {("inner", "both"), ("latch", "out")}
    assert facts.flow.chain(facts.block("both")) == []
    assert facts.flow.inside(facts["j1"], outer) and not facts.flow.inside(facts.argument("n"), outer)


def test_reaches_itself_only_on_a_cycle() -> None:
    facts = Facts(body(NEST))
    assert facts.flow.reaches(facts.block("inner"), facts.block("inner"))
    both = facts.block("both")
    assert [other.name for other in facts.flow.order if facts.flow.reaches(both, other)] == ["out"]


def test_error_exits_are_no_exits() -> None:
    text = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  %bad = icmp eq i64 %i, 7
  br i1 %bad, label %error, label %next
next:
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
error:
  br label %out
out:
  %s = phi i32 [ 0, %next ], [ 1, %error ]
  ret i32 %s"""
    (loop,) = Facts(body(text, result="i32")).flow.loops
    assert [(a.name, b.name) for a, b in loop.exits] == [("next", "out")]


def test_irreducible_flow_is_refused() -> None:
    text = """entry:
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  br i1 %c, label %a, label %out
out:
  ret void"""
    with pytest.raises(Unsupported, match="entered at two places"):
        assert Facts(body(text, "i1 %c")).flow


def test_loops_that_are_not_closed_are_refused() -> None:
    text = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  store i64 %j, ptr %x
  ret void"""
    with pytest.raises(InvalidIR, match="without a phi"):
        assert Facts(body(text)).flow


@pytest.mark.parametrize("seed", range(40))
def test_dominators_of_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 10))
    edges = {n: sorted({n + 1, int(rng.integers(n + 1, count))}) for n in range(count - 1)}
    lines = []
    for n, targets in edges.items():
        end = f"br i1 %c, label %b{targets[0]}, label %b{targets[-1]}"
        lines.append(f"b{n}:\n  {end if len(targets) == 2 else f'br label %b{targets[0]}'}")
    facts = Facts(body("\n".join([*lines, f"b{count - 1}:\n  ret void"]), "i1 %c"))
    flow = facts.flow
    for above in flow.order:
        seen, stack = {above}, [] if above is facts.function.entry else [facts.function.entry]
        while stack:
            block = stack.pop()
            if block not in seen:
                seen.add(block)
                stack += block.successors
        for below in flow.order:
            assert flow.dominates(above, below) is (below is above or below not in seen)
