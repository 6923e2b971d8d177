"""What the reader makes of single lines, and that it stops at what it does not know."""

from __future__ import annotations

import pytest

from irad.errors import InvalidIR
from irad.ir.model import (
    Constant,
    ConstantExpression,
    Global,
    InlineAssembly,
    Instruction,
    MetadataOperand,
    Splat,
    Store,
    Switch,
)
from irad.ir.read import read
from irad.ir.types import DOUBLE, I1, I8, I32, I64, PTR, FunctionType, Ptr, Struct, Vector

FRAME = """\
define void @f(i64 %n, double %x, ptr %p, i1 %c) {{
entry:
  {line}
  ret void
}}
"""


def first(line: str) -> Instruction:
    return read(FRAME.format(line=line)).functions["f"].entry.body[0]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("%r = frobnicate double %x", "frobnicate"),
        ("%r = fadd quick double %x, %x", "quick"),
        ("%r = fadd nuw double %x, %x", "nuw"),
        ("%r = add nuw exact i64 %n, 1", "exact"),
        ("%r = icmp almost i64 %n, 1", "almost"),
        ("%r = fadd float8 1.0, 2.0", "float8"),
        ("%r = add i64 %n, 1 sideways", "sideways"),
        ("%r = add i64 %n, 1, soon", "soon"),
        ("%r = add i64 %n, %m", "%m is not defined"),
        ("%r = add i64 %n, %x", "%x is double, not i64"),
        ("%r = add i64 %n, one", "one"),
        ("%r = add i64 %n, 1.5", "1.5"),
        ("%n = add i64 %n, 1", "%n is defined twice"),
        ("%r = store i64 %n, ptr %p", "%r"),
        ("%r = load double, ptr %p, align x", "'x'"),
        ('%r = load atomic i64, ptr %p syncscope("one") seq_cst, align 8', "syncscope"),
        ("%r = getelementptr inbounds outward i8, ptr %p, i64 1", "outward"),
        ("%r = atomicrmw nudge ptr %p, i64 1 seq_cst, align 8", "nudge"),
        ("%r = call loudly double @g(double %x)", "loudly"),
        ("%r = call double @g(double loud %x)", "loud"),
        ("%r = call double @g(double loud(3) %x)", "loud"),
        ("%r = call double @g(double %x) loudly", "loudly"),
        ('call void @g() [ "align"(ptr %p, i64 8) ]', "bundle"),
        ("call void @g(metadata !{i64 %n})", "reference"),
        ("%r = extractvalue { i64, i1 } undef, 2", "no field 2"),
        ("%r = va_arg ptr %p, i32", "va_arg"),
        ("invoke void @g() to label %entry unwind label %entry", "invoke"),
        ("indirectbr ptr %p, [label %entry]", "indirectbr"),
        ("%r = add i64 %n, ~1", "~"),
        ("%r = landingpad { ptr, i32 } cleanup", "landingpad"),
    ],
)
def test_unknown_words_stop_with_the_line(line: str, word: str) -> None:
    with pytest.raises(InvalidIR) as caught:
        read(FRAME.format(line=line))
    message = str(caught.value)
    assert message.startswith("line 3: ") and message.endswith(f"in: {line}")
    assert word in message.split("\n", maxsplit=1)[0]


@pytest.mark.parametrize(
    ("text", "where", "word"),
    [
        ("\nnonsense\n", "line 2", "nonsense"),
        ("declare wobbly i32 @f()\n", "line 1", "wobbly"),
        ("declare i32 @f(i32) wobbly\n", "line 1", "wobbly"),
        ("@x = wobbly global i32 0\n", "line 1", "wobbly"),
        ("\n@x = global i32 0, wobbly 3\n", "line 2", "wobbly"),
        ("%t = type { i32, wobbly }\n", "line 1", "wobbly"),
        ("define void @f() {\na:\n  ret void\na:\n  ret void\n}\n", "line 4", "twice"),
        ("define void @f() {\na:\n  ret void\n  ret void\n}\n", "line 4", "label"),
        ("define void @f() {\na:\n", "line 3", "end of text"),
        ("define void @f() {\n  br label %nowhere\n}\n", "line 2", "nowhere"),
        ("define void @f() {\na:\n  ret void\n}\ndeclare void @f()\n", "line 5", "twice"),
        ("define void @f(i1 %c) {\na:\n  %x = add i8 1, 2\n  %p = phi i8 [ 1, %a ]\n  ret void\n}\n", "line 4", "phi"),
        ("define i8 @f() {\na:\n  br label %b\nb:\n  ret i8 %later\n}\n", "line 5", "%later"),
    ],
)
def test_unknown_words_outside_instructions(text: str, where: str, word: str) -> None:
    with pytest.raises(InvalidIR, match=rf"{where}: .*{word}"):
        read(text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%r = fadd nnan contract double %x, 0x7FF0000000000000", {"flags": ("nnan", "contract")}),
        ("%r = load atomic volatile i64, ptr %p acquire, align 8", {"atomic": "acquire", "flags": ("volatile",)}),
        ("%r = load i64, ptr %p, align 8, !tbaa !3, !dbg !4", {"metadata": {"!tbaa": "!3", "!dbg": "!4"}, "align": 8}),
        ("%r = getelementptr inbounds nuw i8, ptr %p, i64 8", {"source": I8, "flags": ("inbounds", "nuw")}),
        ("%r = alloca i8, i64 %n, align 32, addrspace(5)", {"type": Ptr(5), "align": 32, "allocated": I8}),
        ("%r = cmpxchg ptr %p, i64 1, i64 2 seq_cst monotonic", {"ordering": "seq_cst monotonic"}),
        ("%r = fcmp une <2 x double> zeroinitializer, undef", {"type": Vector(2, I1), "predicate": "une"}),
        ("%r = getelementptr i8, ptr %p, <2 x i64> zeroinitializer", {"type": Vector(2, PTR)}),
        ("%r = extractvalue { [2 x i8], i64 } undef, 1", {"type": I64, "indices": (1,)}),
        ("musttail call fastcc void @g(ptr nonnull align 8 %p) #2", {
            "tail": "musttail",
            "convention": "fastcc",
            "argument_attributes": [("nonnull", "align 8")],
            "attributes": ("#2",),
        }),
        ("%r = call noundef range(i32 0, 5) i32 (ptr, ...) @g(ptr %p, double %x)", {
            "type": I32,
            "function_type": FunctionType(I32, (PTR,), varargs=True),
            "return_attributes": ("noundef", "range(i32 0, 5)"),
        }),
        ('call void @g() [ "a"(i64 4, i32 2), "b"() ]', {"bundles": '[ "a" ( i64 4 , i32 2 ) , "b" ( ) ]'}),
        ('call void asm sideeffect "nop", "~{memory}"()', {
            "callee": InlineAssembly('asm sideeffect "nop", "~{memory}"')
        }),
        ('call void @g(metadata !"text")', {"operands": [MetadataOperand('!"text"')]}),
    ],
)  # fmt: skip
def test_fields(line: str, expected: dict[str, object]) -> None:
    instruction = first(line)
    found = {name: getattr(instruction, name) for name in expected}
    assert found.pop("operands", None) == expected.pop("operands", None) or "operands" not in expected
    assert found == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("i64 -3", Constant(I64, -3)),
        ("i1 true", Constant(I1, True)),
        ("double 1.000000e-01", Constant(DOUBLE, "1.000000e-01")),
        ("double 0x3FB999999999999A", Constant(DOUBLE, "0x3FB999999999999A")),
        ("ptr null", Constant(PTR, "null")),
        ("ptr @g", Global("g")),
        (r'ptr @"a \22\CE\B1"', Global('a "α')),
        ("<2 x i8> <i8 1, i8 2>", Constant(Vector(2, I8), (Constant(I8, 1), Constant(I8, 2)))),
        ("<2 x i8> splat (i8 7)", Constant(Vector(2, I8), Splat(Constant(I8, 7)))),
        ("{ i8, i1 } { i8 1, i1 0 }", Constant(Struct((I8, I1)), (Constant(I8, 1), Constant(I1, False)))),
        ("<{ i8 }> <{ i8 1 }>", Constant(Struct((I8,), packed=True), (Constant(I8, 1),))),
        ("ptr inttoptr (i64 16 to ptr)", ConstantExpression(PTR, "inttoptr", (Constant(I64, 16),))),
        (
            "ptr getelementptr inbounds (i8, ptr @g, i64 4)",
            ConstantExpression(PTR, "getelementptr", (Global("g"), Constant(I64, 4)), ("inbounds",), I8),
        ),
    ],
)
def test_constants(text: str, value: object) -> None:
    assert first(f"store {text}, ptr %p").operands[0] == value


def test_literals_keep_their_value() -> None:
    store = first("store double 0x3FB999999999999A, ptr %p")
    assert isinstance(store, Store) and isinstance(store.value, Constant)
    assert store.value.number == 0.1


def test_references_are_the_objects_themselves() -> None:
    text = """
define i64 @f(i64 %n) !dbg !7 {
  br label %loop

exit:                                             ; preds = %loop
  ret i64 %next

loop:                                             ; preds = %loop, %1
  %i = phi i64 [ %n, %0 ], [ %next, %loop ]
    #dbg_value(i64 %i, !9, !DIExpression(), !10)
  %next = add nsw i64 %i, -1, !dbg !12
  switch i64 %next, label %loop [
    i64 0, label %exit
    i64 -1, label %exit
  ]
}
""".replace("%1\n", "%0\n")
    function = read(text).functions["f"]
    entry, exit_, loop = function.blocks
    (phi,) = loop.phis
    (next_,) = loop.body
    assert entry.successors == [loop] and function.metadata == {"!dbg": "!7"}
    assert list(phi.incoming()) == [(function.arguments[0], entry), (next_, loop)]
    assert next_.operands[0] is phi and exit_.end.operands == [next_] and next_.metadata == {"!dbg": "!12"}
    match loop.end:
        case Switch(cases=[0, -1], targets=[first_, second, third]):
            assert (first_, second, third) == (loop, exit_, exit_)
        case _:
            pytest.fail("no switch")


def test_everything_around_functions() -> None:
    module = read(
        """source_filename = "a;b"
target triple = "x86_64-unknown-linux-gnu"
%"a b" = type { double, ptr }
%empty = type opaque
$c = comdat any
@v = internal unnamed_addr constant [2 x i8] c"a;", align 1 ; a comment
@w = external global i32
declare !dbg !3 noalias ptr @make(i64 noundef, i32) #0
attributes #0 = { nounwind "a"="b" }
!0 = !{!"x = y", i32 1}
!named = !{!0}
"""
    )
    assert module.header == ['source_filename = "a;b"', 'target triple = "x86_64-unknown-linux-gnu"']
    assert module.structs == {'%"a b"': Struct((DOUBLE, PTR)), "%empty": None}
    assert module.comdats == ["$c = comdat any"]
    variable = module.variables["v"]
    assert variable.constant and variable.initializer == Constant(variable.value_type, 'c"a;"')  # type: ignore[arg-type]
    assert module.variables["w"].value_type == I32 and module.variables["w"].initializer is None
    make = module.functions["make"]
    assert make.is_declaration and make.type == FunctionType(PTR, (I64, I32))
    assert (make.linkage, make.attributes, make.metadata) == (("noalias",), ("#0",), {"!dbg": "!3"})
    assert [(a.name, a.attributes) for a in make.arguments] == [("", ("noundef",)), ("", ())]
    assert module.attribute_groups == {"#0": '{ nounwind "a"="b" }'}
    assert module.metadata == {"!0": '!{!"x = y", i32 1}', "!named": "!{!0}"}
