"""Refusals of what Python code cannot be relied on to produce, on LLVM text: the same three things must be named."""

from __future__ import annotations

import pytest

from irad.emit import augment, forward, reverse
from irad.emit.body import Subject
from irad.errors import AmbiguousKind, IradError, MissingRule, Place, Unsupported
from irad.ir.lines import Lines
from irad.ir.types import DOUBLE, SINGLE, Float
from tests.analysis.facts import Facts

LINES = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare noalias ptr @irad_alloc(i64, i32 allocalign)
define internal ptr @same(ptr %p) {
  ret ptr %p
}
define internal double @first(ptr %p) {
  %v = load double, ptr %p
  ret double %v
}
@table = internal constant [3 x double] zeroinitializer
@other = alias double, ptr @table

!1 = !DIFile(filename: "heat.py", directory: "/home/me")
!2 = distinct !DISubprogram(name: "heat", scope: !1, file: !1, line: 1)
!41 = !DILocation(line: 41, scope: !2)
!42 = !DILocation(line: 42, scope: !2)
"""

IRREDUCIBLE = """
  br i1 %c, label %a, label %b, !dbg !41
a:
  br label %b, !dbg !41
b:
  br i1 %c, label %a, label %out, !dbg !42
out:
  ret void
"""
ATOMIC = """
  %g = getelementptr double, ptr %x, i64 %n, !dbg !41
  %old = atomicrmw fadd ptr %g, double %s monotonic, !dbg !42
  ret void
"""
BITS = """
  %i = bitcast double %s to i64, !dbg !41
  %j = add i64 %i, 4503599627370496, !dbg !41
  %d = bitcast i64 %j to double, !dbg !42
  store double %d, ptr %x
  ret void
"""
FUNCTION_POINTER = """
  %v = load double, ptr %x, !dbg !41
  %w = call double %y(double %v), !dbg !42
  store double %w, ptr %x
  ret void
"""
STORED_TOGETHER = """
  %slot = alloca { ptr, double }, !dbg !41
  %half = insertvalue { ptr, double } poison, ptr %x, 0, !dbg !41
  %both = insertvalue { ptr, double } %half, double %s, 1, !dbg !41
  store { ptr, double } %both, ptr %slot, !dbg !42
  %p = load ptr, ptr %slot
  store double 1.0, ptr %p
  ret void
"""
LOADED_TOGETHER = """
  %slot = alloca { ptr, double }, !dbg !41
  store ptr %x, ptr %slot, !dbg !41
  %both = load { ptr, double }, ptr %slot, !dbg !42
  %p = extractvalue { ptr, double } %both, 0
  store double %s, ptr %p
  ret void
"""
COPIED_TOGETHER = """
  %slot = alloca { ptr, double }, !dbg !41
  %twin = alloca { ptr, double }, !dbg !41
  %number = getelementptr i8, ptr %slot, i64 8, !dbg !41
  store ptr %x, ptr %slot, !dbg !41
  store double %s, ptr %number, !dbg !41
  call void @llvm.memcpy.p0.p0.i64(ptr %twin, ptr %slot, i64 16, i1 false), !dbg !42
  %p = load ptr, ptr %twin
  %at = getelementptr i8, ptr %twin, i64 8
  %v = load double, ptr %at
  store double %v, ptr %p
  ret void
"""
COMPUTED_ADDRESS = """
  %i = ptrtoint ptr %x to i64, !dbg !41
  %p = inttoptr i64 %i to ptr, !dbg !42
  store double %s, ptr %p
  ret void
"""
POINTER_FROM_CALL = """
  %v = load double, ptr %x, !dbg !41
  %p = call ptr @same(ptr %x), !dbg !42
  store double %v, ptr %p
  ret void
"""
FIXED_ADDRESS = """
  %v = load double, ptr %x, !dbg !41
  %p = select i1 %c, ptr %x, ptr inttoptr (i64 4096 to ptr), !dbg !42
  store double %v, ptr %p
  ret void
"""
UNKNOWN_GLOBAL = """
  %v = load double, ptr %x, !dbg !41
  %p = select i1 %c, ptr %x, ptr @other, !dbg !42
  %w = load double, ptr %p
  store double %w, ptr %x
  ret void
"""
TWO_SIZES = """
  %f = fptrunc double %s to float, !dbg !41
  store double %s, ptr %x, !dbg !41
  store float %f, ptr %x, !dbg !41
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 8, i1 false), !dbg !42
  ret void
"""
UNKNOWN_BLOCK = """
  %t = call ptr @irad_alloc(i64 8, i32 8), !dbg !41
  call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %y, i64 8, i1 false), !dbg !42
  store double %s, ptr %x, !dbg !41
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %t, i64 8, i1 false), !dbg !42
  ret void
"""
DIRECT_RESULT = """
  %v = load double, ptr %x, !dbg !41
  %w = call double @first(ptr %x), !dbg !42
  store double %w, ptr %x
  ret void
"""
VECTOR_BITS = """
  %f = fptrunc double %s to float, !dbg !41
  %v = insertelement <2 x float> zeroinitializer, float %f, i64 0, !dbg !41
  %d = bitcast <2 x float> %v to double, !dbg !42
  store double %d, ptr %x
  ret void
"""
SHUFFLE = """
  %v = insertelement <2 x double> zeroinitializer, double %s, i64 0, !dbg !41
  %w = shufflevector <2 x double> %v, <2 x double> poison, <2 x i32> <i32 1, i32 0>, !dbg !42
  %d = extractelement <2 x double> %w, i64 1
  store double %d, ptr %x
  ret void
"""


def many_ways() -> str:
    cases = range(130)
    return "\n".join(
        [
            "  switch i64 %n, label %join [",
            *(f"    i64 {n}, label %way{n}" for n in cases),
            "  ], !dbg !41",
            *(f"way{n}:\n  %v{n} = fmul double %s, 0x{n:016X}, !dbg !41\n  br label %join, !dbg !41" for n in cases),
            "join:",
            f"  %v = phi double [ %s, %entry ], {', '.join(f'[ %v{n}, %way{n} ]' for n in cases)}, !dbg !41",
            "  store double %v, ptr %x, !dbg !41",
            "  ret void, !dbg !42",
        ]
    )


REFUSED: dict[str, tuple[str, type[IradError], str]] = {
    "irreducible": (IRREDUCIBLE, Unsupported, "entered at two places"),
    "atomic": (ATOMIC, Unsupported, "an atomic update"),
    "bits": (BITS, Unsupported, "bits of an active float"),
    "function pointer": (FUNCTION_POINTER, MissingRule, "known by its address alone"),
    "stored together": (STORED_TOGETHER, Unsupported, "pointers and floats are stored together"),
    "loaded together": (LOADED_TOGETHER, Unsupported, "pointers and floats are loaded together"),
    "copied together": (COPIED_TOGETHER, Unsupported, "pointers and floats are copied together"),
    "computed address": (COMPUTED_ADDRESS, Unsupported, "an address computed from an integer"),
    "pointer from call": (POINTER_FROM_CALL, Unsupported, "comes out of a call"),
    "fixed address": (FIXED_ADDRESS, Unsupported, "memory at a fixed address"),
    "unknown global": (UNKNOWN_GLOBAL, Unsupported, "a global of unknown size"),
    "many ways": (many_ways(), Unsupported, "more than 127 branches"),
    "two sizes": (TWO_SIZES, AmbiguousKind, "both float32 and float64"),
    "unknown block": (UNKNOWN_BLOCK, AmbiguousKind, "nothing tells which floats lie in it"),
    "direct result": (DIRECT_RESULT, Unsupported, "returns a value directly"),
    "vector bits": (VECTOR_BITS, Unsupported, "made vectors of this"),
    "shuffle": (SHUFFLE, MissingRule, "no derivative is known for this operation"),
}


FLOATS: dict[str, dict[str, Float]] = {"two sizes": {"y": SINGLE}, "unknown block": {}}
"""What the second array holds where it is not float64."""


def derive(facts: Facts, mode: str) -> None:
    """Everything that may refuse."""
    backward = mode == "reverse"
    canonical = facts.canonical
    subject = Subject(
        name="f",
        canonical=canonical,
        objects=facts.objects,
        kinds=facts.kinds,
        activity=facts.activity,
        memory=facts.memory,
        guarded=facts.guarded,
        wanted=facts.wanted,
        plan=facts.plan if backward else None,
    )
    if backward:
        children = {call: augment.Child("augmented", "reverse", 16) for call in facts.activity.calls}
        augment.augmented(subject, "augmented", children)
        reverse.reverse(subject, "reverse", children, ())
    else:
        forward.tangent(subject, "tangent", dict.fromkeys(facts.activity.calls, "tangent"), ())


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("case", REFUSED)
def test_refusal_names_the_instruction(case, mode):
    code, kind, why = REFUSED[case]
    if case == "many ways" and mode == "forward":
        pytest.skip("only the reverse needs to know the way")
    text = f"define void @f(ptr %x, ptr %y, double %s, i64 %n, i1 %c) {{\nentry:{code}\n}}\n{LINES}"
    floats = {"x": DOUBLE, **FLOATS.get(case, {"y": DOUBLE})}
    apart = () if case == "computed address" else None
    numbers = ("y",) if case == "unknown block" else ()
    facts = Facts(text, active=["s"], shadowed=["x", "y"], apart=apart, floats=floats, numbers=numbers)
    with pytest.raises(IradError) as caught:
        derive(facts, mode)
    error = caught.value
    place = Lines(facts.module).place(error.culprit)
    assert type(error) is kind and why in error.why and error.hint
    assert place == Place("/home/me/heat.py", 42)
    assert str(error.at(place)).startswith(f"/home/me/heat.py:42: {error.why}\n")
