"""What is kept, recomputed and saved, and where."""

from __future__ import annotations

from itertools import pairwise

import pytest

from irad.ir.model import Argument, Instruction, Phi, Value
from irad.ir.types import size_of
from irad.plan import How, guards, hoistable
from tests.analysis.facts import DECLARE, Facts, body
from tests.emit.golden import NAMES, Golden

PARAMETERS = "ptr %x, ptr %y, i64 %n, i64 %m, double %a, i1 %c"


def how(facts: Facts, name: str) -> How | None:
    return facts.plan.how.get(facts[name])


def looped(code: str, phi: str = "", **asked: object) -> Facts:
    text = f"""entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  {phi}
  {code}
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  ret void"""
    given = {"active": ["a"], "shadowed": ["x"], "floats": {}} | asked
    return Facts(body(text, PARAMETERS) + DECLARE, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "value", "wanted"),
    [
        # a cheap value of kept ones is computed again; a dear one is saved
        ("%v = load double, ptr %y\n%k = fmul double %v, 2.0\n%w = fmul double %k, %a\n"
         "store double %w, ptr %x", "k", How.RECOMPUTE),
        ("%v = load double, ptr %y\n%k = call double @llvm.sin.f64(double %v)\n%w = fmul double %k, %a\n"
         "store double %w, ptr %x", "k", How.SAVE),
        # memory that nothing writes is read again; memory that is overwritten is saved
        ("%v = load double, ptr %y\n%w = fmul double %v, %a\nstore double %w, ptr %x", "v", How.RECOMPUTE),
        ("%v = load double, ptr %y\n%w = fmul double %v, %a\nstore double %w, ptr %x\n"
         "store double 1.0, ptr %y", "v", How.SAVE),
        # outside the loop all is kept in the frame
        ("%w = fmul double %a, %a\nstore double %w, ptr %x", "a", How.SAVE),
    ],
)  # fmt: skip
def test_how(code: str, value: str, wanted: How) -> None:
    facts = looped(code)
    assert how(facts, value) is wanted
    assert str(facts.plan.because[facts[value]])


def test_inductions_and_counters() -> None:
    facts = looped("%p = getelementptr double, ptr %x, i64 %i\nstore double %a, ptr %p")
    shadow = facts.canonical.shadow[facts["p"]]
    assert facts.plan.how[shadow] is How.RECOMPUTE
    assert how(facts, "i") is How.INDUCTION
    counter = facts.canonical.counted[facts.loop("loop")].counter
    assert facts.plan.how.get(counter, How.COUNTER) is How.COUNTER


def test_volatile_and_frozen_values_are_not_computed_again() -> None:
    for line in ("%v = load volatile double, ptr %y", "%u = load double, ptr %y\n%v = freeze double %u"):
        facts = looped(f"{line}\n%w = fmul double %v, %a\nstore double %w, ptr %x")
        assert how(facts, "v") is How.SAVE


def test_shadows_of_stack_slots_lie_in_the_frame() -> None:
    text = (
        "entry:\n%s = alloca [3 x double]\nstore double %a, ptr %s\n%v = load double, ptr %s\n"
        "store double %v, ptr %x\nret void"
    )
    facts = Facts(body(text, PARAMETERS), active=["a"], shadowed=["x"])
    shadow = facts.canonical.shadow[facts["s"]]
    assert facts.plan.how[shadow] is How.FRAME
    assert facts.plan.place[shadow].offset % 16 == 0 and facts.plan.frame_size >= 24


# --- buffers ---


def buffers(name: str) -> dict[str, list[bool]]:
    """By the loop that owns them: whether each buffer of a golden file grows."""
    golden = Golden(name)
    facts = Facts(golden.text if "\ndeclare" in golden.text else golden.text + DECLARE, **golden.asked)
    return {loop.header.name: [b.growing for b in each] for loop, each in facts.plan.buffers.items()}


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("loop", {"loop": [False]}),
        ("rectangular", {"outer": [False]}),
        ("guarded", {"outer": [False]}),
        ("triangular", {"outer": [False], "inner": [False]}),
        ("while", {"loop": [True]}),
        ("while_in_while", {"outer": [True], "inner": [True]}),
        ("break", {"loop": [True]}),
        ("leave_two", {"outer": [True], "inner": [True]}),
        ("raises", {"loop": [False]}),
        ("inert", {}),
    ],
)
def test_buffers(name: str, wanted: dict[str, list[bool]]) -> None:
    assert buffers(name) == wanted


@pytest.mark.parametrize("name", NAMES)
def test_every_needed_value_is_covered(name: str) -> None:
    golden = Golden(name)
    facts = Facts(golden.text if "\ndeclare" in golden.text else golden.text + DECLARE, **golden.asked)
    plan, canonical = facts.plan, facts.canonical
    assert set(facts.needs.of) <= set(plan.how)
    for value, answer in plan.how.items():
        match answer:
            case How.SAVE | How.FRAME | How.SCRATCH:
                assert value in plan.place
            case How.RECOMPUTE:
                assert isinstance(value, Instruction) and not isinstance(value, Phi)
                assert all(v in plan.how for v in value.operands if isinstance(v, (Argument, Instruction)))
            case How.INDUCTION:
                found = canonical.inductions[value]  # type: ignore[index]
                given: list[Value] = [found.start, found.step]
                assert all(v in plan.how for v in given if isinstance(v, (Argument, Instruction)))
            case How.COUNTER:
                assert value in {c.counter for c in canonical.counted.values()}


@pytest.mark.parametrize("name", NAMES)
def test_places_do_not_overlap(name: str) -> None:
    golden = Golden(name)
    facts = Facts(golden.text if "\ndeclare" in golden.text else golden.text + DECLARE, **golden.asked)
    plan = facts.plan
    frame = [
        (p.offset, size_of(p.type)) for v, p in plan.place.items() if p.buffer is None and not hasattr(v, "allocated")
    ]
    for each in plan.buffers.values():
        for buffer in each:
            assert buffer.pointer is not None
            inside = [buffer.pointer, *buffer.counts.values()]
            frame += [(p.offset, 8) for p in inside if p.buffer is None]
            records = sorted((p.offset, size_of(p.type)) for p in buffer.members)
            if buffer.growing:
                assert all(a + s <= b for (a, s), (b, _) in pairwise(records))
                assert all(a + s <= buffer.record for a, s in records)
    frame.sort()
    assert all(a + s <= b for (a, s), (b, _) in pairwise(frame))
    assert all(a + s <= plan.frame_size for a, s in frame)


# --- counts that are computed early ---

NESTED = """entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i1, %latch ]
  {before}
pre:
  br label %inner
inner:
  %j = phi i64 [ 0, %pre ], [ %j1, %inner ]
  %v = load double, ptr %x
  %s = call double @llvm.sin.f64(double %v)
  store double %s, ptr %x
  %j1 = add i64 %j, 1
  %more = icmp ne i64 %j1, {bound}
  br i1 %more, label %inner, label %after
after:
  br label %latch
latch:
  %i1 = add i64 %i, 1
  %go = icmp slt i64 %i1, %n
  br i1 %go, label %outer, label %out
out:
  ret void"""


@pytest.mark.parametrize(
    ("before", "bound", "early", "conditions"),
    [
        ("br label %pre", "%m", True, []),
        ("br i1 %c, label %pre, label %latch", "%m", True, [("c", True)]),
        ("br i1 %c, label %latch, label %pre", "%m", True, [("c", False)]),
        ("%d = icmp sgt i64 %m, 2\nbr i1 %d, label %pre, label %latch", "%m", True, [("d", True)]),
        ("%d = icmp sgt i64 %i, 2\nbr i1 %d, label %pre, label %latch", "%m", False, [("d", True)]),
        ("%b = add i64 %m, 3\nbr label %pre", "%b", True, []),
        ("%b = add i64 %m, %i\nbr label %pre", "%b", False, []),
        ("%b = load i64, ptr %y\nbr label %pre", "%b", False, []),
        ("%b = sdiv i64 %m, %n\nbr label %pre", "%b", False, []),
        ("switch i64 %m, label %latch [ i64 3, label %pre ]", "%m", False, None),
        (
            "br i1 %c, label %one, label %two\none:\n%d = icmp sgt i64 %m, 0\nbr i1 %d, label %pre, label %latch\n"
            "two:\nbr label %latch",
            "%m", True, [("d", True), ("c", True)],
        ),
        (
            "br i1 %c, label %one, label %two\none:\n%d = icmp sgt i64 %m, 0\nbr i1 %d, label %pre, label %latch\n"
            "two:\n%e = icmp sgt i64 %m, 5\nbr i1 %e, label %pre, label %latch",
            "%m", False, None,
        ),
    ],
)  # fmt: skip
def test_hoisting(before: str, bound: str, early: bool, conditions: list[tuple[str, bool]] | None) -> None:
    text = body(NESTED.format(before=before, bound=bound), PARAMETERS) + DECLARE
    facts = Facts(text, shadowed=["x"], floats={})
    inner, outer = facts.loop("inner"), facts.loop("outer")
    assert hoistable(inner, outer, facts.canonical) is early
    found = guards(inner, outer, facts.canonical.flow)
    assert found is None if conditions is None else found == [(facts[n], outcome) for n, outcome in conditions]
