"""Tests for a negative index that are decided before they run."""

from __future__ import annotations

import pytest

from irad.analysis.nonnegative import decided
from irad.ir.model import Compare, Function
from irad.ir.read import read
from tests.analysis.facts import DECLARE, body

MORE = """
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
"""
NEST = """entry:
  br label %outer
outer:
  %c = phi i64 [ {start}, %entry ], [ %c.end, %outer.end ]
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.end ]
  %i.next = add i64 %i, 1
  br i1 %flag, label %inner, label %outer.end
inner:
  %c.in = phi i64 [ %c, %outer ], [ %c.next, %inner ]
  %j = phi i64 [ %i.next, %outer ], [ %j.next, %inner ]
  %j.next = add i64 %j, 1
  %c.next = {step}
  %t = icmp slt i64 {index}, 0
  %u = select i1 %t, i64 %n, i64 0
  %p = getelementptr double, ptr %x, i64 %u
  store double 1.0, ptr %p
  %go = icmp ult i64 %j.next, %n
  br i1 %go, label %inner, label %outer.end
outer.end:
  %c.end = phi i64 [ %c, %outer ], [ %c.next, %inner ]
  %more = icmp ult i64 %i.next, %n
  br i1 %more, label %outer, label %out
out:
  ret void"""


def function(code: str) -> Function:
    return read(body(code, "ptr %x, i64 %n, i64 %k, i32 %s, i1 %flag") + DECLARE + MORE).functions["f"]


def outcomes(code: str) -> dict[str, bool]:
    f = function(code)
    found: dict[Compare, bool] = decided(f, [a for a in f.arguments if a.name == "n"])
    return {compare.name: outcome for compare, outcome in found.items()}


@pytest.mark.parametrize(
    ("start", "step", "index", "known"),
    [
        ("0", "add i64 %c.in, 1", "%c.in", True),
        ("%n", "add i64 %c.in, 1", "%c.in", True),
        ("%n", "add i64 %c.in, 1", "%j", True),
        ("%k", "add i64 %c.in, 1", "%c.in", False),  # %k is no length
        ("0", "add i64 %c.in, -1", "%c.in", False),
        ("0", "sub i64 %c.in, 1", "%c.in", False),
        ("0", "add i64 %c.in, %n", "%c.in", False),  # may overflow after a few rounds
        ("0", "add i64 %c.in, 1000", "%c.in", False),
        ("0", "add nsw i64 %c.in, 1000", "%c.in", True),
        ("0", "add nsw i64 %c.in, %n", "%c.in", True),
        ("1", "add i64 %c.in, %c.in", "%c.in", False),  # doubling overflows
        ("1", "shl nsw i64 %c.in, 1", "%c.in", True),
        ("0", "select i1 %flag, i64 %c.in, i64 %k", "%c.in", False),
    ],
)
def test_counts_in_nests(start: str, step: str, index: str, known: bool) -> None:
    assert outcomes(NEST.format(start=start, step=step, index=index)) == ({"t": False} if known else {})


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("%v = add i64 %n, %n", True),
        ("%a = add i64 %n, %n\n%v = add i64 %a, %n", False),
        ("%v = mul i64 %n, %n", False),
        ("%v = mul nsw i64 %n, %n", True),
        ("%v = call i64 @llvm.smax.i64(i64 %k, i64 0)", True),
        ("%v = call i64 @llvm.smin.i64(i64 %n, i64 %k)", False),
        ("%v = call i64 @llvm.umin.i64(i64 %k, i64 %n)", True),
        ("%v = and i64 %k, 7", True),
        ("%v = or i64 %k, 7", False),
        ("%v = or i64 %n, 8", True),
        ("%v = urem i64 %k, %n", False),
        ("%v = srem i64 %n, %k", True),
        ("%v = zext i32 %s to i64", True),
        ("%v = sext i32 %s to i64", False),
        ("%v = sext i1 true to i64", False),
        ("%v = select i1 %flag, i64 %n, i64 3", True),
        ("%v = load i64, ptr %x", False),
        ("%v = sub nsw i64 %n, %n", False),
    ],
)
def test_values(code: str, known: bool) -> None:
    assert outcomes(f"{code}\n%t = icmp sgt i64 %v, -1\nret void") == ({"t": True} if known else {})
