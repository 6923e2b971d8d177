"""What the reverse wants to know, as instructions of the primal."""

from __future__ import annotations

import pytest

from irad.analysis.canonical import single_return
from irad.errors import Unsupported
from irad.ir.check import check
from irad.ir.model import Call, Gep, Phi, Return, Select, Store
from irad.ir.read import read
from tests.analysis.facts import DECLARE, Facts, body

PARAMETERS = "ptr %x, ptr %y, i64 %n, i64 %m, double %a, i1 %c"

COUNTED = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  {phi}
  {body}
  store double %a, ptr %x
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void"""


def counted(phi: str = "", code: str = "") -> Facts:
    text = COUNTED.format(phi=phi, body=code)
    return Facts(body(text, PARAMETERS) + DECLARE, active=["a"], shadowed=["x", "y"])


def test_one_return() -> None:
    text = "define i32 @f(i1 %c) {\nentry:\n  br i1 %c, label %a, label %b\na:\n  ret i32 0\nb:\n  ret i32 1\n}\n"
    function = read(text).functions["f"]
    single_return(function)
    check(function)
    (end,) = [b for b in function.blocks if isinstance(b.end, Return)]
    assert [(str(v.literal), b.name) for v, b in end.phis[0].incoming()] == [("0", "a"), ("1", "b")]  # type: ignore[union-attr]


# --- inductions ---


@pytest.mark.parametrize(
    ("phi", "code", "start", "step", "negative"),
    [
        ("%p = phi i64 [ %m, %entry ], [ %q, %loop ]", "%q = add i64 %p, 3", "m", "3", False),
        ("%p = phi i64 [ %m, %entry ], [ %q, %loop ]", "%q = add i64 3, %p", "m", "3", False),
        ("%p = phi i64 [ %m, %entry ], [ %q, %loop ]", "%q = add i64 %p, %n", "m", "n", False),
        ("%p = phi i64 [ %m, %entry ], [ %q, %loop ]", "%q = sub i64 %p, %n", "m", "n", True),
        ("%p = phi i32 [ 5, %entry ], [ %q, %loop ]", "%q = add i32 %p, -1", "5", "-1", False),
        ("%p = phi ptr [ %y, %entry ], [ %q, %loop ]", "%q = getelementptr i8, ptr %p, i64 %m", "y", "m", False),
        (
            "%p = phi ptr [ %y, %entry ], [ %q, %loop ]",
            "%q = getelementptr [3 x double], ptr %p, i64 2",
            "y",
            "2",
            False,
        ),
    ],
)
def test_inductions(phi: str, code: str, start: str, step: str, negative: bool) -> None:
    facts = counted(phi, code)
    found = facts.canonical.inductions[facts["p"]]  # type: ignore[index]

    def said(value: object) -> str:
        return getattr(value, "name", None) or str(getattr(value, "literal", ""))

    assert (said(found.start), said(found.step), found.negative) == (start, step, negative)
    assert found.advance is facts["q"]


@pytest.mark.parametrize(
    ("phi", "code"),
    [
        ("%p = phi i64 [ %m, %entry ], [ %q, %loop ]", "%q = mul i64 %p, 3"),
        ("%p = phi i64 [ %m, %entry ], [ %q, %loop ]", "%q = sub i64 3, %p"),
        ("%p = phi i64 [ %m, %entry ], [ %q, %loop ]", "%k = mul i64 %i, 2\n%q = add i64 %p, %k"),
        ("%p = phi i64 [ %m, %entry ], [ %n, %loop ]", ""),  # an outside value from the second iteration on
        ("%p = phi double [ %a, %entry ], [ %q, %loop ]", "%q = fadd double %p, 1.0"),
        ("%p = phi ptr [ %y, %entry ], [ %q, %loop ]", "%q = getelementptr [3 x double], ptr %p, i64 0, i64 1"),
        ("%p = phi ptr [ %y, %entry ], [ %q, %loop ]", "%k = add i64 %i, 1\n%q = getelementptr i8, ptr %p, i64 %k"),
    ],
)
def test_what_is_no_induction(phi: str, code: str) -> None:
    facts = counted(phi, code)
    assert facts["p"] not in facts.canonical.inductions


def test_shadows_of_inductions_are_inductions() -> None:
    facts = counted("%p = phi ptr [ %y, %entry ], [ %q, %loop ]", "%q = getelementptr i8, ptr %p, i64 8")
    shadow = facts.canonical.shadow[facts["p"]]
    assert facts.canonical.inductions[shadow].start is facts.canonical.shadow[facts["y"]]  # type: ignore[index]


# --- counters and last iterations ---


def test_counter() -> None:
    facts = counted()
    counter = facts.canonical.counted[facts.loop("loop")].counter
    (start, entry), (following, latch) = counter.incoming()
    assert (start.literal, entry.name, latch.name) == (0, "entry", "loop")  # type: ignore[union-attr]
    assert following.operands[0] is counter  # type: ignore[union-attr]


TWO_EXITS = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %next ]
  store double %a, ptr %x
  %leave = icmp eq i64 %i, 7
  br i1 %leave, label %early, label %next
next:
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
early:
  br label %out
out:
  ret void"""


def test_last_iteration_at_every_exit() -> None:
    facts = Facts(body(TWO_EXITS, PARAMETERS), active=["a"], shadowed=["x"])
    counted = facts.canonical.counted[facts.loop("loop")]
    assert counted.last is None
    assert {b.name for b in counted.exit_last} == {"early", "out"}
    at_out = counted.exit_last[facts.block("out")]
    assert isinstance(at_out, Phi)
    assert {b.name: v is counted.counter for v, b in at_out.incoming()} == {"next": True, "early": False}
    assert facts.canonical.last(facts.loop("loop"), facts.block("early")) is counted.exit_last[facts.block("early")]


@pytest.mark.parametrize(
    ("test", "known"),
    [
        ("%go = icmp slt i64 %j, %n", True),
        ("%go = icmp sgt i64 %n, %j", True),
        ("%k = load i64, ptr %y\n%go = icmp slt i64 %j, %k", False),  # the bound changes
        ("%go = icmp sgt i64 %j, %n", False),  # runs away from the bound
        ("%t = trunc i64 %j to i32\n%go = icmp slt i32 %t, 7", False),
        ("%d = icmp slt i64 %j, %n\n%go = and i1 %d, %c", False),
        ("%go = icmp eq i64 %j, %n", False),
    ],
)
def test_which_counts_are_known(test: str, known: bool) -> None:
    text = COUNTED.format(phi="", body="").replace("%go = icmp slt i64 %j, %n", test)
    facts = Facts(body(text, PARAMETERS), active=["a"], shadowed=["x"], floats={})
    assert (facts.canonical.counted[facts.loop("loop")].last is not None) is known


def test_a_test_that_iterations_may_skip_counts_nothing() -> None:
    text = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  store double %a, ptr %x
  %j = add i64 %i, 1
  br i1 %c, label %test, label %latch
test:
  %go = icmp slt i64 %j, %n
  br i1 %go, label %latch, label %out
latch:
  br label %loop
out:
  ret void"""
    facts = Facts(body(text, PARAMETERS), active=["a"], shadowed=["x"])
    assert facts.canonical.counted[facts.loop("loop")].last is None


# --- arrival ---

DIAMOND = """entry:
  {top}
yes:
  store double %a, ptr %x
  br label %out
no:
  %b = fmul double %a, %a
  store double %b, ptr %x
  br label %out
out:
  ret void"""


@pytest.mark.parametrize(("true", "false"), [("yes", "no"), ("no", "yes")])
def test_arrival_by_the_condition(true: str, false: str) -> None:
    text = DIAMOND.format(top=f"br i1 %c, label %{true}, label %{false}")
    facts = Facts(body(text, PARAMETERS), active=["a"], shadowed=["x"])
    out = facts.block("out")
    arrival, ways = facts.canonical.arrival[out], facts.reversal.back[out]
    assert isinstance(arrival, Select)
    assert arrival.operands[0] is facts["c"]
    assert [ways[v.literal].name for v in arrival.operands[1:]] == [true, false]  # type: ignore[union-attr]


def test_arrival_from_the_branch_itself() -> None:
    text = DIAMOND.format(top="br i1 %c, label %out, label %no").replace(
        "yes:\n  store double %a, ptr %x\n  br label %out\n", ""
    )
    facts = Facts(body(text, PARAMETERS), active=["a"], shadowed=["x"])
    arrival = facts.canonical.arrival[facts.block("out")]
    assert isinstance(arrival, Select)
    ways = facts.reversal.back[facts.block("out")]
    assert [ways[v.literal].name for v in arrival.operands[1:]] == ["entry", "no"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "top",
    [
        "switch i64 %n, label %yes [ i64 0, label %no\n i64 1, label %no ]",
        "switch i64 %n, label %yes [ i64 0, label %no\n i64 1, label %out\n i64 2, label %out ]",
        "br i1 %c, label %more, label %no\nmore:\n  %d = icmp eq i64 %n, 0\n  br i1 %d, label %yes, label %no",
    ],
)
def test_arrival_by_a_phi(top: str) -> None:
    facts = Facts(body(DIAMOND.format(top=top), PARAMETERS), active=["a"], shadowed=["x"])
    out = facts.block("out")
    arrival = facts.canonical.arrival[out]
    assert isinstance(arrival, Phi)
    for value, source in arrival.incoming():
        assert facts.reversal.back[out][value.literal] is source  # type: ignore[union-attr]


def test_errors_that_reach_the_merge_forbid_the_condition() -> None:
    text = """entry:
  %bad = icmp slt i64 %n, 0
  br i1 %bad, label %{error}, label %ok
ok:
  %d = icmp eq i64 %n, 3
  br i1 %d, label %yes, label %no
yes:
  store double %a, ptr %x
  br label %out
no:
  store double 1.0, ptr %x
  br label %out
{block}out:
  %s = phi i32 [ 0, %yes ], [ 0, %no ], [ 1, %{source} ]
  ret i32 %s"""
    for error, block, source in (("out", "", "entry"), ("error", "error:\n  br label %out\n", "error")):
        code = text.format(error=error, block=block, source=source)
        facts = Facts(body(code, PARAMETERS, "i32"), active=["a"], shadowed=["x"])
        assert isinstance(facts.canonical.arrival[facts.block("out")], Phi)


# --- shadows ---


def straight(code: str, shadowed: str = "x", extra: str = "") -> Facts:
    text = body(f"entry:\n{code}\n  ret void", PARAMETERS) + DECLARE + extra
    return Facts(text, active=["a"], shadowed=shadowed.split())


def test_pointers_that_are_stored_have_shadows_that_are_stored() -> None:
    facts = straight("%s = alloca ptr\nstore ptr %x, ptr %s\n%p = load ptr, ptr %s\nstore double %a, ptr %p")
    canonical = facts.canonical
    stores = [i for i in facts.function.entry.body if isinstance(i, Store)]
    assert list(stores[1].operands) == [canonical.shadow[facts["x"]], canonical.shadow[facts["s"]]]
    assert canonical.shadow[facts["p"]].operands == [canonical.shadow[facts["s"]]]  # type: ignore[union-attr]


def test_null_is_its_own_shadow() -> None:
    facts = straight("%p = select i1 %c, ptr %x, ptr null\nstore double %a, ptr %p")
    shadow = facts.canonical.shadow[facts["p"]]
    assert shadow.operands[1:] == [facts.canonical.shadow[facts["x"]], facts["p"].operands[2]]  # type: ignore[union-attr]


def test_constant_tables_get_a_shadow_of_zeros() -> None:
    table = "@t = constant [4 x double] zeroinitializer\n"
    facts = straight(
        "%p = select i1 %c, ptr %x, ptr getelementptr (i8, ptr @t, i64 8)\n%v = load double, ptr %p\n"
        "store double %v, ptr %x",
        extra=table,
    )
    made, moved, *_ = (facts.canonical, facts.function.entry.body)[1]
    assert isinstance(made, Call) and made.callee_name == "irad.shadow" and made.operands[0].literal == 32  # type: ignore[union-attr]
    assert isinstance(moved, Gep) and moved.operands[0] is made


def test_pointer_phis() -> None:
    text = """entry:
  br label %loop
loop:
  %p = phi ptr [ %x, %entry ], [ %q, %loop ]
  %q = phi ptr [ %y, %entry ], [ %p, %loop ]
  store double %a, ptr %p
  br i1 %c, label %loop, label %out
out:
  ret void"""
    facts = Facts(body(text, PARAMETERS), active=["a"], shadowed=["x", "y"])
    shadow = facts.canonical.shadow
    for name in "pq":
        assert [shadow[v] for v in facts[name].operands] == shadow[facts[name]].operands  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("%i = ptrtoint ptr %x to i64\n%p = inttoptr i64 %i to ptr\n"
         "store double %a, ptr %p", "computed from an integer"),
        ("%p = select i1 %c, ptr %x, ptr inttoptr (i64 64 to ptr)\nstore double %a, ptr %p", "fixed address"),
        ("%s = alloca double, i64 %n\nstore double %a, ptr %s\n%v = load double, ptr %s\n"
         "store double %v, ptr %x", "size that varies"),
        ("%s = alloca { ptr, double }\n%q = insertvalue { ptr, double } undef, ptr %x, 0\n"
         "%r = insertvalue { ptr, double } %q, double %a, 1\nstore { ptr, double } %r, ptr %s\n"
         "%p = load ptr, ptr %s\nstore double %a, ptr %p", "stored together"),
    ],
)  # fmt: skip
def test_refusals(code: str, words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        assert straight(code).canonical


def test_a_stack_slot_inside_a_loop_is_refused() -> None:
    facts = counted(
        "", "%s = alloca double\nstore double %a, ptr %s\n%v = load double, ptr %s\nstore double %v, ptr %y"
    )
    with pytest.raises(Unsupported, match="stack memory"):
        assert facts.canonical
