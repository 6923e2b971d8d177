"""What lies behind a pointer is known to a function's callers, or to what it calls."""

from __future__ import annotations

import pytest

from irad.analysis.parameters import parameters
from irad.ir.read import read
from irad.ir.types import DOUBLE, SINGLE, Float
from tests.analysis.facts import DECLARE

BETWEEN = """
define void @between(ptr %x, i64 %n) {
  %t = call ptr @irad_alloc(i64 %n, i32 8)
  call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %x, i64 %n, i1 false)
  call void @ends(ptr %t)
  ret void
}
"""
TOP = """
define void @top(ptr %x, i64 %n) {
  call void @between(ptr %x, i64 %n)
  ret void
}
"""


def ends(code: str) -> str:
    return f"define void @ends(ptr %x) {{\n  {code}\n  ret void\n}}\n"


@pytest.mark.parametrize(
    ("code", "given", "floats"),
    [
        ("", {DOUBLE}, {DOUBLE}),  # the caller knows
        ("%v = load double, ptr %x", set(), {DOUBLE}),  # what is called knows
        ("store float 1.0, ptr %x", set(), {SINGLE}),
        ("%v = load i64, ptr %x", set(), set()),
        ("", set(), set()),
    ],
)
def test_between(code: str, given: set[Float], floats: set[Float]) -> None:
    module = read(TOP + BETWEEN + ends(code) + DECLARE)
    defined = [f for f in module.functions.values() if not f.is_declaration]
    found = parameters(defined, {"top": {0: frozenset(given)}}, {}, {})
    assert {name: found[name].get(0, frozenset()) for name in ("top", "between", "ends")} == dict.fromkeys(
        ("top", "between", "ends"), frozenset(floats)
    )


def test_places_in_a_structure_stay_apart() -> None:
    module = read(
        TOP
        + BETWEEN
        + ends("%p = load ptr, ptr %x\n%q = getelementptr i8, ptr %x, i64 8\nstore double 1.0, ptr %q")
        + DECLARE
    )
    found = parameters([f for f in module.functions.values() if not f.is_declaration], {}, {}, {})
    assert not found["ends"].get(0)
    assert not found["top"].get(0)
