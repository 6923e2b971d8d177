"""Which loads may be repeated, and who is the witness that they may not."""

from __future__ import annotations

import pytest

from irad.ir.model import Call, Load, Store
from tests.analysis.facts import DECLARE, Facts, body

PARAMETERS = "ptr %x, ptr %y, i64 %n, i1 %c"

LOOP = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %latch ]
  {first}
  {second}
  br i1 %c, label %side, label %latch
side:
  {side}
  br label %latch
latch:
  %j = add i64 %i, 1
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %out
out:
  {after}
  ret void"""

LOAD, STORE = "%v = load double, ptr %x", "store double 1.0, ptr %x"


def load_of(facts: Facts) -> Load:
    load = facts["v"]
    assert isinstance(load, Load)
    return load


def straight(code: str, **asked: object) -> Facts:
    return Facts(body(f"entry:\n{code}\n  ret void", PARAMETERS) + DECLARE, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "asked", "stable"),
    [
        (f"{STORE}\n{LOAD}", {}, True),
        (f"{LOAD}\n{STORE}", {}, False),
        (f"{LOAD}\nstore double 1.0, ptr %y", {}, True),
        (f"{LOAD}\nstore double 1.0, ptr %y", {"apart": []}, False),
        (f"{LOAD}\nstore double 1.0, ptr %y", {"apart": ["x"]}, True),
        (f"{LOAD}\ncall void @llvm.memset.p0.i64(ptr %x, i8 0, i64 8, i1 false)", {}, False),
        (f"{LOAD}\ncall void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 8, i1 false)", {}, True),
        (f"{LOAD}\ncall void @unknown(ptr %x)", {}, False),
        (f"{LOAD}\ncall void @unknown(ptr %y)", {}, True),
        (f"{LOAD}\n%w = atomicrmw add ptr %x, i64 1 seq_cst", {}, False),
        (f"{LOAD}\n%w = cmpxchg ptr %x, i64 0, i64 1 seq_cst seq_cst", {}, False),
        (LOAD, {"split": True}, False),  # the caller may write it between the halves
        ("%h = call ptr @irad_alloc(i64 8, i32 32)\n%v = load double, ptr %h", {"split": True}, True),
        (
            "%h = call ptr @irad_alloc(i64 8, i32 32)\n%v = load double, ptr %h\nstore ptr %h, ptr %x",
            {"split": True},
            False,
        ),
        ("%s = alloca double\n%v = load double, ptr %s", {}, False),  # ends with the augmented function
        ("%p = inttoptr i64 %n to ptr\n%v = load double, ptr %p\nstore double 1.0, ptr %x", {"apart": []}, False),
        ("%v = load double, ptr @t", {"split": True}, True),
    ],
)
def test_straight_code(code: str, asked: dict[str, object], stable: bool) -> None:
    text = body(f"entry:\n{code}\n  ret void", PARAMETERS) + "@t = constant double 1.0\n" + DECLARE
    facts = Facts(text, **asked)  # type: ignore[arg-type]
    assert facts.memory.is_stable(load_of(facts)) is stable


@pytest.mark.parametrize(
    ("first", "second", "side", "after", "stable"),
    [
        (STORE, LOAD, "", "", False),  # of the next iteration
        (LOAD, STORE, "", "", False),
        (LOAD, "", STORE, "", False),
        (LOAD, "", "", STORE, False),
        (LOAD, "", "store double 1.0, ptr %y", "", True),
        ("", "", LOAD, STORE, False),
        ("", "", LOAD, "", True),
    ],
)
def test_loops(first: str, second: str, side: str, after: str, stable: bool) -> None:
    text = LOOP.format(first=first, second=second, side=side, after=after)
    facts = Facts(body(text, PARAMETERS))
    assert facts.memory.is_stable(load_of(facts)) is stable


def test_a_store_before_the_loop_does_not_count() -> None:
    text = LOOP.format(first=LOAD, second="", side="", after="").replace("entry:", f"entry:\n  {STORE}")
    facts = Facts(body(text, PARAMETERS))
    assert facts.memory.is_stable(load_of(facts))


def test_the_witness_is_named() -> None:
    facts = straight(f"{LOAD}\n{STORE}")
    witness = facts.memory.overwritten[load_of(facts)]
    assert isinstance(witness, Store)
    assert "overwritten by store double 1.0, ptr %x" in str(facts.memory.because(load_of(facts)))
    facts = straight(f"{LOAD}\ncall void @unknown(ptr %x)")
    assert isinstance(facts.memory.overwritten[load_of(facts)], Call)


def test_writes_on_error_paths_do_not_count() -> None:
    text = """entry:
  %v = load double, ptr %x
  br i1 %c, label %error, label %out
error:
  store double 1.0, ptr %x
  br label %out
out:
  %s = phi i32 [ 0, %entry ], [ 1, %error ]
  ret i32 %s"""
    facts = Facts(body(text, PARAMETERS, "i32"))
    assert facts.memory.is_stable(load_of(facts))
