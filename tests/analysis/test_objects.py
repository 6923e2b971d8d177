"""What a pointer may point to."""

from __future__ import annotations

import pytest

from irad.analysis.objects import Object, effects_of, objects
from irad.ir.read import read
from tests.analysis.facts import Facts, body

PARAMETERS = "ptr %x, ptr %y, i64 %n, i1 %c"


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("%p = getelementptr double, ptr %x, i64 %n", {"argument %x"}),
        ("%p = select i1 %c, ptr %x, ptr %y", {"argument %x", "argument %y"}),
        ("%p = freeze ptr %y", {"argument %y"}),
        ("%p = select i1 %c, ptr %x, ptr null", {"argument %x"}),
        ("%p = select i1 %c, ptr @table, ptr %y", {"global table", "argument %y"}),
        ("%p = getelementptr i8, ptr getelementptr (i8, ptr @table, i64 8), i64 %n", {"global table"}),
        ("%p = alloca double", {"stack %p"}),
        ("%p = call ptr @irad_alloc(i64 8, i32 32)", {"heap %p"}),
        ("%p = load ptr, ptr %x", {"external"}),
        ("%q = load ptr, ptr %x\n%p = load ptr, ptr %q", {"external"}),
        ("%p = load ptr, ptr @table", {"address"}),
        (
            "%s = alloca ptr\nstore ptr %x, ptr %s\nstore ptr %y, ptr %s\n%p = load ptr, ptr %s",
            {"argument %x", "argument %y"},
        ),
        ("store ptr %y, ptr %x\n%p = load ptr, ptr %x", {"argument %y", "external"}),
        (
            "%s = alloca ptr\n%t = alloca ptr\nstore ptr %y, ptr %s\n"
            "call void @llvm.memcpy.p0.p0.i64(ptr %t, ptr %s, i64 8, i1 false)\n%p = load ptr, ptr %t",
            {"argument %y"},
        ),
        ("%p = inttoptr i64 %n to ptr", {"address"}),
        ("%i = ptrtoint ptr %x to i64\n%k = add i64 %i, 8\n%p = inttoptr i64 %k to ptr", {"address", "argument %x"}),
        ("%p = getelementptr i8, ptr inttoptr (i64 4096 to ptr), i64 %n", {"address"}),
        (
            "%a = insertvalue { ptr, i64 } undef, ptr %x, 0\n%b = insertvalue { ptr, i64 } %a, i64 %n, 1\n"
            "%p = extractvalue { ptr, i64 } %b, 0",
            {"argument %x"},
        ),
    ],
)
def test_pointed(code: str, wanted: set[str]) -> None:
    facts = Facts(body(f"entry:\n{code}\n  ret void", PARAMETERS) + "@table = constant [2 x ptr] zeroinitializer\n")
    assert set(map(str, facts.objects.pointed(facts["p"]))) == wanted


def test_phis_meet_over_the_loop() -> None:
    text = """entry:
  br label %loop
loop:
  %p = phi ptr [ %x, %entry ], [ %q, %loop ]
  %q = phi ptr [ %y, %entry ], [ %p, %loop ]
  br i1 %c, label %loop, label %out
out:
  ret void"""
    facts = Facts(body(text, PARAMETERS))
    for name in "pq":
        assert set(map(str, facts.objects.pointed(facts[name]))) == {"argument %x", "argument %y"}


def test_what_a_call_is_given_it_may_store_anywhere_it_reaches() -> None:
    code = (
        "%s = alloca ptr\n%t = alloca ptr\nstore ptr %x, ptr %s\ncall void @keep(ptr %s, ptr %t)\n%p = load ptr, ptr %t"
    )
    text = body(f"entry:\n{code}\n  ret void", PARAMETERS) + "declare void @keep(ptr, ptr)\n"
    facts = Facts(text)
    assert {"argument %x", "stack %s", "stack %t"} <= set(map(str, facts.objects.pointed(facts["p"])))


def test_what_a_call_returns_may_be_what_it_was_given() -> None:
    text = body("entry:\n%p = call ptr @same(ptr %x)\n  ret void", PARAMETERS) + "declare ptr @same(ptr)\n"
    facts = Facts(text)
    assert set(map(str, facts.objects.pointed(facts["p"]))) == {"argument %x", "external"}


def test_calls_put_no_pointers_into_numbers() -> None:
    code = "%a = call ptr @irad_alloc(i64 8, i32 32)\n%t = call ptr @irad_tape(i64 8, i32 32)\n"
    code += (
        "call void @keep(ptr %a, ptr %t, ptr %x)\n%p = load ptr, ptr %a\n%q = load ptr, ptr %x\n%r = load ptr, ptr %t"
    )
    text = body(f"entry:\n{code}\n  ret void", PARAMETERS) + "declare void @keep(ptr, ptr, ptr)\n"
    facts = Facts(text, numbers=["x"])
    assert not facts.objects.pointed(facts["p"])
    assert not facts.objects.pointed(facts["q"])
    assert {"argument %x", "heap %a", "heap %t"} <= set(map(str, facts.objects.pointed(facts["r"])))


def test_what_is_never_followed_leads_nowhere() -> None:
    code = "%p = select i1 %c, ptr %y, ptr null\n%a = insertvalue { ptr, ptr } undef, ptr %p, 0\n"
    code += "%b = insertvalue { ptr, ptr } %a, ptr %x, 1\n%q = extractvalue { ptr, ptr } %b, 1\n%r = load ptr, ptr %p"
    facts = Facts(body(f"entry:\n{code}\n  ret void", PARAMETERS), opaque=["y"])
    assert facts.objects.is_opaque(facts["p"])
    assert facts.objects.is_opaque(facts["a"])
    assert set(map(str, facts.objects.pointed(facts["q"]))) == {"argument %x"}
    assert not facts.objects.pointed(facts["r"])
    assert not facts.objects.reachable([facts["y"]])


OBJECTS = ("argument %x", "argument %y", "heap %h", "stack %s", "global table", "external", "address")


def test_overlap() -> None:
    code = "%h = call ptr @irad_alloc(i64 8, i32 32)\n%s = alloca double"
    facts = Facts(body(f"entry:\n{code}\n  ret void", PARAMETERS), apart=["x"])
    of = {name: facts.object(name) for name in OBJECTS}
    meeting = {(a, b) for a in OBJECTS for b in OBJECTS if a != b and facts.objects.may_overlap(of[a], of[b])}
    outside = ("argument %y", "external", "address")
    assert meeting == {(a, b) for a in outside for b in outside if a != b}
    assert all(facts.objects.may_overlap(o, o) for o in of.values())


def test_reachable() -> None:
    code = "%s = alloca ptr\nstore ptr %x, ptr %s"
    facts = Facts(body(f"entry:\n{code}\n  ret void", PARAMETERS))
    found = facts.objects.reachable([facts["s"]])
    assert found == {facts.object("stack %s"), facts.object("argument %x"), Object("external", "")}


CALLEE = """
define internal i32 @g(ptr %out, ptr %a, ptr %b, i64 %n) {
entry:
  %fresh = call ptr @irad_alloc(i64 8, i32 32)
  store ptr %fresh, ptr %out
  %second = getelementptr i8, ptr %out, i64 8
  store ptr %a, ptr %second
  store ptr %b, ptr %a
  ret i32 0
}
"""


def test_calls_of_functions_whose_effect_is_known() -> None:
    code = """entry:
  %out = alloca [2 x ptr]
  %b = alloca ptr
  store ptr %y, ptr %b
  %s = call i32 @g(ptr %out, ptr %x, ptr %b, i64 %n)
  %p = load ptr, ptr %out
  %q = load ptr, ptr %b
  %r = load ptr, ptr %x
  ret void"""
    module = read(body(code, PARAMETERS) + CALLEE + "declare ptr @irad_alloc(i64, i32)\n")
    callee, kernel = module.functions["g"], module.functions["f"]
    known = effects_of([callee, kernel], {})
    found = objects(kernel, (), effects=known)
    pointed = {i.name: {str(o) for o in found.pointed(i)} for i in kernel.instructions if i.name in ("p", "q", "r")}
    assert pointed == {
        "p": {"heap %s of g: %fresh", "argument %x"},
        "q": {"argument %y"},
        "r": {"external", "stack %b"},
    }
