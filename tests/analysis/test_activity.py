"""Which values and memory carry derivatives."""

from __future__ import annotations

import pytest

from irad.errors import AmbiguousKind, IradError, MissingRule, Unsupported
from irad.ir.types import DOUBLE, SINGLE
from tests.analysis.facts import DECLARE, Facts, body, names

PARAMETERS = "ptr %x, ptr %y, i64 %n, double %a, double %b, i1 %c"


def facts_of(code: str, active: str = "", shadowed: str = "", extra: str = "", **asked: object) -> Facts:
    text = body(f"entry:\n{code}\n  ret void", PARAMETERS) + DECLARE + extra
    return Facts(text, active=active.split(), shadowed=shadowed.split(), **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "active", "shadowed", "wanted"),
    [
        ("%v = fmul double %a, %b\nstore double %v, ptr %x", "a", "x", "a v"),
        ("%v = fmul double %a, %b\nstore double %v, ptr %y", "a", "x", ""),  # the output is constant
        ("%v = fmul double %a, %b", "a b", "x", ""),  # useless
        ("%v = load double, ptr %y\n%w = fmul double %v, %v\nstore double %w, ptr %x", "", "x", ""),  # constant input
        ("%v = load double, ptr %y\n%w = fmul double %v, %v\nstore double %w, ptr %x", "", "x y", "v w"),
        ("%v = select i1 %c, double %a, double %b\nstore double %v, ptr %x", "a", "x", "a v"),
        ("%d = fcmp olt double %a, 1.0\n%v = select i1 %d, double %b, double 1.0\n"
         "store double %v, ptr %x", "a", "x", ""),
        ("%i = fptosi double %a to i64\n%v = sitofp i64 %i to double\nstore double %v, ptr %x", "a", "x", ""),
        ("%s = alloca double\nstore double %a, ptr %s\n%v = load double, ptr %s\n"
         "store double %v, ptr %x", "a", "x", "a v"),
        ("%s = alloca double\nstore double %a, ptr %s\n%v = load double, ptr %y\n"
         "store double %v, ptr %x", "a", "x", ""),
        ("%i = bitcast double %a to i64\nstore i64 %i, ptr %x", "a", "x", "a i"),
        (
            "%p = insertvalue { double, i64 } undef, double %a, 0\n%v = extractvalue { double, i64 } %p, 0\n"
             "store double %v, ptr %x",
            "a", "x", "a p v",
        ),
        ("%v = load double, ptr @table\n%w = fmul double %v, %a\nstore double %w, ptr %x", "a", "x", "a w"),
    ],
)  # fmt: skip
def test_values(code: str, active: str, shadowed: str, wanted: str) -> None:
    facts = facts_of(code, active, shadowed, "@table = constant [2 x double] zeroinitializer\n")
    assert names(facts.activity.values) == set(wanted.split())


@pytest.mark.parametrize(
    "code",
    [
        "store double %a, ptr %y",
        "%v = load double, ptr %y\nstore double %v, ptr %x",
        "call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 8, i1 false)",
        "call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 8, i1 false)",
    ],
)
def test_memory_of_unknown_origin_is_refused(code: str) -> None:
    with pytest.raises(Unsupported, match="origin"):
        _ = facts_of(code, "a", "x", opaque=["y"]).activity


def test_workspaces_become_active() -> None:
    facts = facts_of("store double %a, ptr %y\n%v = load double, ptr %y\nstore double %v, ptr %x", "a", "x")
    assert set(map(str, facts.activity.memory)) == {"argument %x", "argument %y"}


def test_overlap_makes_active() -> None:
    code = "store double %a, ptr %y\n%v = load double, ptr %x\n%w = fmul double %v, %v\nstore double %w, ptr %x"
    assert names(facts_of(code, "a", "x").activity.values) >= {"v", "w"}
    assert "a" not in names(facts_of(code, "a", "x").activity.values)
    assert "a" in names(facts_of(code, "a", "x", apart=[]).activity.values)
    assert names(facts_of(code, "a", "", outputs=["x"], apart=[]).activity.values) == {"a", "v", "w"}


def test_memory_behind_one_pointer_is_shadowed_together() -> None:
    code = "%p = select i1 %c, ptr %x, ptr %y\n%v = load double, ptr %p\nstore double %v, ptr %x"
    facts = facts_of(code, "", "x")
    assert set(map(str, facts.activity.shadowed)) == {"argument %x", "argument %y"}


def test_memory_that_holds_pointers_to_shadowed_memory_is_shadowed() -> None:
    code = "%s = alloca ptr\nstore ptr %x, ptr %s\n%p = load ptr, ptr %s\nstore double %a, ptr %p"
    assert "stack %s" in set(map(str, facts_of(code, "a", "x").activity.shadowed))


def test_useful_runs_backwards_over_memory_and_loops() -> None:
    text = """entry:
  %s = alloca double
  store double %b, ptr %s
  br label %loop
loop:
  %v = load double, ptr %s
  %w = fmul double %v, %a
  store double %w, ptr %s
  br i1 %c, label %loop, label %out
out:
  store double %v, ptr %x
  ret void"""
    text = text.replace("store double %v, ptr %x", "%u = phi double [ %v, %loop ]\n  store double %u, ptr %x")
    facts = Facts(body(text, PARAMETERS) + DECLARE, active=["a"], shadowed=["x"])
    assert names(facts.activity.values) == {"a", "v", "w", "u"}


BITS = "%i = bitcast double %a to i64\n%k = xor i64 %i, 4503599627370496\n"


@pytest.mark.parametrize(
    "code",
    [
        BITS + "%v = bitcast i64 %k to double\nstore double %v, ptr %x",
        BITS + "store i64 %k, ptr %x",
        BITS + "%s = alloca double\nstore i64 %k, ptr %s\n%v = load double, ptr %s\nstore double %v, ptr %x",
        BITS + "%m = select i1 %c, i64 %i, i64 %k\n%v = bitcast i64 %m to double\nstore double %v, ptr %x",
        BITS + "%p = insertvalue { i64, i64 } undef, i64 %k, 1\n%m = extractvalue { i64, i64 } %p, 1\n"
        "%v = bitcast i64 %m to double\nstore double %v, ptr %x",
        BITS + "%v = sitofp i64 %k to double\nstore double %v, ptr %x",
        "%v = load i32, ptr %y\nstore i32 %v, ptr %x",
        "%v = load i8, ptr %y\nstore i8 %v, ptr %x",
        "%v = load <2 x i64>, ptr %y\nstore <2 x i64> %v, ptr %x",
        "%v = load i64, ptr %y\n%w = call i64 @llvm.bswap.i64(i64 %v)\nstore i64 %w, ptr %x",
    ],
)
def test_floats_made_of_bits_are_refused(code: str) -> None:
    with pytest.raises(Unsupported, match="bits of an active float"):
        assert facts_of(code, "a", "x y", "declare i64 @llvm.bswap.i64(i64)\n").activity


FLIP = "%i = load i64, ptr %y\n%k = xor i64 %i, -9223372036854775808\n"


@pytest.mark.parametrize(
    ("code", "active"),
    [
        (FLIP + "store i64 %k, ptr %x", "i k k.float k.minus"),
        (FLIP + "%v = bitcast i64 %k to double\nstore double %v, ptr %x", "i k k.float k.minus v"),
        (FLIP + "%m = select i1 %c, i64 %i, i64 %k\nstore i64 %m, ptr %x", "i k k.float k.minus m"),
        (FLIP + "%m = lshr i64 %k, 63\n%v = sitofp i64 %m to float\nstore float %v, ptr %s", ""),
    ],
)
def test_a_flipped_sign_bit_is_a_negation(code: str, active: str) -> None:
    facts = facts_of("%s = alloca float\n" + code, "a", "x y")
    assert names(facts.activity.values) - {"a"} == set(active.split())


def test_bits_that_make_no_float_are_allowed() -> None:
    facts = facts_of(
        BITS + "%d = icmp slt i64 %k, 0\n%v = select i1 %d, double %a, double 0.0\nstore double %v, ptr %x", "a", "x"
    )
    assert names(facts.activity.values) == {"a", "v"}


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("%v = call double @mystery(double %a)\nstore double %v, ptr %x", MissingRule, "mystery"),
        ("call void @unknown(ptr %x)", MissingRule, "unknown"),
        (
            "%s = alloca ptr\nstore ptr %x, ptr %s\n%t = alloca i64\n%i = load i64, ptr %s\nstore i64 %i, ptr %t\n"
            "%p = load ptr, ptr %t\n%v = load double, ptr %p\nstore double %v, ptr %x",
            Unsupported,
            "cannot be traced",
        ),
        ("%v = atomicrmw fadd ptr %x, double %a seq_cst", Unsupported, "atomic"),
        ("%v = cmpxchg ptr %x, i64 0, i64 %n seq_cst seq_cst", Unsupported, "atomic"),
        ("%q = getelementptr i8, ptr %x, i64 8\n%v = load i64, ptr %q\nstore i64 %v, ptr %x", AmbiguousKind, "float32"),
    ],
)
def test_refusals(code: str, error: type[IradError], words: str) -> None:
    mixed = "%f = load float, ptr %x\n" if error is AmbiguousKind else ""
    with pytest.raises(error, match=words):
        assert facts_of(mixed + code, "a", "x", "declare double @mystery(double)\n").activity


def test_calls_of_the_module_are_differentiated_where_active() -> None:
    callee = "define internal i32 @helper(ptr %p, double %v) {\n  ret i32 0\n}\n"
    code = "%r = call i32 @helper(ptr %x, double %a)\n%s = alloca double\n%t = call i32 @helper(ptr %s, double %b)"
    facts = facts_of(code, "a", "x", callee)
    assert names(facts.activity.calls) == {"r"}


def test_float32_and_float64_side_by_side() -> None:
    code = "%v = load float, ptr %x\n%w = fpext float %v to double\nstore double %w, ptr %y"
    facts = facts_of(code, "", "x y", floats={"x": SINGLE, "y": DOUBLE})
    assert names(facts.activity.values) == {"v", "w"}
