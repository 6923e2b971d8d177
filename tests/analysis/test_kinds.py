"""What bytes hold: floats, integers, pointers."""

from __future__ import annotations

import pytest

from irad.ir.types import DOUBLE, SINGLE
from tests.analysis.facts import Facts, body

PARAMETERS = "ptr %x, ptr %y, i64 %n, i1 %c"


def facts_of(code: str, **asked: object) -> Facts:
    return Facts(body(f"entry:\n{code}\n  ret void", PARAMETERS), **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "carries"),
    [
        ("%v = load i64, ptr %x\nstore i64 %v, ptr %y", True),
        ("%v = load i32, ptr %x\nstore i32 %v, ptr %y", False),  # half of a double
        ("%v = load i64, ptr %x\n%w = add i64 %v, 1", False),  # read as a number
        ("%v = load i64, ptr %x\n%w = icmp eq i64 %v, 0", False),
        (
            "%q = getelementptr i8, ptr %x, i64 8\nstore i64 %n, ptr %q\n%v = load i64, ptr %q\nstore i64 %v, ptr %y",
            False,
        ),
        (
            "%q = getelementptr i8, ptr %x, i64 8\nstore i64 %n, ptr %q\n%v = load i64, ptr %x\nstore i64 %v, ptr %y",
            True,
        ),
        (
            "%q = getelementptr double, ptr %x, i64 %n\nstore i64 %n, ptr %q\n%v = load i64, ptr %x\n"
            "store i64 %v, ptr %y",
            False,
        ),
        ("store i64 0, ptr %x\n%v = load i64, ptr %x\nstore i64 %v, ptr %y", True),  # zero is either
        ("%d = load double, ptr %x\n%v = bitcast double %d to i64", True),
        ("%a = load i64, ptr %x\n%v = select i1 %c, i64 %a, i64 0\nstore i64 %v, ptr %y", True),
        ("%a = load i64, ptr %x\n%v = freeze i64 %a\nstore i64 %v, ptr %y", True),
        ("%v = load i64, ptr %y\nstore i64 %v, ptr %y", False),  # nothing known of this memory
    ],
)
def test_carriers(code: str, carries: bool) -> None:
    facts = facts_of(code, floats={}, shadowed=["x"]) if "load double" in code else facts_of(code, shadowed=["x"])
    assert (facts.kinds.carriers.get(facts["v"]) == DOUBLE) is carries
    assert facts.kinds.tangent_type(facts["v"]) == (DOUBLE if carries else None)


def test_float32_travels_as_i32() -> None:
    facts = facts_of("%v = load i32, ptr %x\nstore i32 %v, ptr %y", floats={"x": SINGLE})
    assert facts.kinds.carriers == {facts["v"]: SINGLE}
    assert facts.kinds.element([facts.object("argument %y")]) == {SINGLE}


def test_copies_unify_what_memory_holds() -> None:
    code = (
        "%s = alloca [4 x i64]\ncall void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %x, i64 32, i1 false)\n"
        "%v = load i64, ptr %s\nstore i64 %v, ptr %y"
    )
    facts = facts_of(code, shadowed=["x"])
    assert facts["v"] in facts.kinds.carriers
    assert facts.kinds.holds_float([facts.object("stack %s")]) and facts.kinds.holds_float(
        [facts.object("argument %y")]
    )


def test_copies_unify_backwards_too() -> None:
    code = (
        "%s = alloca [4 x i64]\nstore i64 0, ptr %s\ncall void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %s, i64 32, i1 false)"
    )
    facts = facts_of(code, shadowed=["x"])
    assert facts.kinds.element([facts.object("stack %s")]) == {DOUBLE}


def test_structures_hold_the_floats_of_their_fields() -> None:
    facts = facts_of("%v = load { i64, float, [2 x double] }, ptr %x")
    assert facts.kinds.element([facts.object("argument %x")]) == {SINGLE, DOUBLE}
