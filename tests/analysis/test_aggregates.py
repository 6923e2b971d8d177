"""Stores of structures, field by field."""

from __future__ import annotations

import pytest

from irad.analysis.aggregates import split_stores
from irad.ir.check import check
from irad.ir.read import read
from irad.ir.write import write

PAIR = "{ float, { ptr, [2 x i64] } }"


def body(text: str) -> list[str]:
    """The instructions of a function after its stores were split."""
    module = read(f"define void @f(ptr %to, float %x, ptr %p, i64 %n, {PAIR} %whole) {{\n{text}\n  ret void\n}}\n")
    split_stores(module.functions["f"])
    check(module)
    return [line.strip() for line in write(module).split("\n") if line.startswith("  ") and "ret void" not in line]


def test_a_structure_put_together_field_by_field_is_stored_so() -> None:
    said = body(f"""
  %a = insertvalue {PAIR} undef, float %x, 0
  %b = insertvalue {PAIR} %a, ptr %p, 1, 0
  %c = insertvalue {PAIR} %b, i64 %n, 1, 1, 1
  store {PAIR} %c, ptr %to, align 8""")
    assert [line for line in said if not line.startswith("%")] == [
        "store float %x, ptr %to, align 8",
        "store ptr %p, ptr %1, align 8",
        "store i64 undef, ptr %2, align 8",
        "store i64 %n, ptr %3, align 8",
    ]
    assert [line for line in said if line.startswith("%")] == [
        f"%{n} = getelementptr i8, ptr %to, i64 {8 * n}" for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("value", "first"),
    [
        ("%whole", "%1 = extractvalue { float, { ptr, [2 x i64] } } %whole, 0"),
        ("{ float 1.0, { ptr, [2 x i64] } zeroinitializer }", "store float 1.0, ptr %to, align 4"),
        ("poison", "store float poison, ptr %to, align 4"),
    ],
)
def test_other_structures_are_taken_apart(value: str, first: str) -> None:
    said = body(f"  store {PAIR} {value}, ptr %to, align 4")
    assert said[0] == first
    assert sum(line.startswith("store") for line in said) == 4


def test_a_structure_that_is_used_elsewhere_stays() -> None:
    said = body(f"""
  %a = insertvalue {PAIR} undef, float %x, 0
  store {PAIR} %a, ptr %to, align 8
  %y = extractvalue {PAIR} %a, 0
  store float %y, ptr %p, align 4""")
    assert sum(line.startswith("%a = insertvalue") for line in said) == 1
