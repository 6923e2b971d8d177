"""Which edges end in an error: every doubt counts as success."""

from __future__ import annotations

import pytest

from irad.errors import Unsupported
from tests.analysis.facts import Facts, body, names

CALLS = """entry:
  %s = call i32 @g()
  {test}
  br i1 %c, label %{true}, label %{false}
good:
  br label %out
bad:
  br label %out
out:
  %r = phi i32 [ 0, %good ], [ {status}, %bad ]
  ret i32 %r"""


def calls(test: str, true: str, false: str, status: str = "%s") -> Facts:
    text = CALLS.format(test=test, true=true, false=false, status=status)
    return Facts(body(text, "i1 %d, i32 %e", "i32") + "declare i32 @g()\n")


OK = "%a = icmp eq i32 %s, 0\n%b = icmp eq i32 %s, -2\n"


@pytest.mark.parametrize(
    ("test", "true", "false", "error"),
    [
        ("%c = icmp sgt i32 %s, 0", "bad", "good", True),
        ("%c = icmp sle i32 %s, 0", "good", "bad", True),
        (OK + "%c = or i1 %a, %b", "good", "bad", True),
        (OK + "%c = select i1 %a, i1 true, i1 %b", "good", "bad", True),
        (OK + "%k = xor i1 %b, true\n%l = xor i1 %a, true\n%c = and i1 %k, %l", "bad", "good", True),
        ("%c = icmp eq i32 %s, 0", "good", "bad", False),  # a status of -2 is a success too
        ("%c = icmp eq i32 %s, 0", "bad", "good", False),
        ("%c = icmp ugt i32 %s, -3", "good", "bad", False),
        (OK + "%c = or i1 %a, %d", "good", "bad", False),
        (OK + "%c = and i1 %a, %b", "bad", "good", True),  # cannot happen
        ("%c = icmp slt i32 %s, %e", "good", "bad", False),
    ],
)
def test_status_of_a_call(test: str, true: str, false: str, error: bool) -> None:
    assert ("bad" in names(calls(test, true, false).success.successors)) is not error


def test_a_block_entered_twice_may_be_a_success() -> None:
    text = """entry:
  %s = call i32 @g()
  br i1 %d, label %look, label %bad
look:
  %c = icmp sgt i32 %s, 0
  br i1 %c, label %bad, label %out
bad:
  br label %out
out:
  %r = phi i32 [ 0, %look ], [ %s, %bad ]
  ret i32 %r"""
    assert "bad" in names(Facts(body(text, "i1 %d", "i32") + "declare i32 @g()\n").success.successors)


@pytest.mark.parametrize(("status", "kept"), [("1", False), ("-2", True), ("0", True), ("-1", False), ("undef", True)])
def test_constant_status(status: str, kept: bool) -> None:
    facts = calls("%c = icmp eq i32 %s, 7", "good", "bad", status)
    assert ("bad" in names(facts.success.successors)) is kept


def test_phi_of_statuses_is_followed_where_its_block_only_returns() -> None:
    text = """entry:
  switch i32 %e, label %a [ i32 1, label %b
    i32 2, label %c ]
a:
  br label %joint
b:
  br label %joint
c:
  br label %out
joint:
  %p = phi i32 [ 0, %a ], [ 4, %b ]
  br label %out
out:
  %r = phi i32 [ %p, %joint ], [ 5, %c ]
  ret i32 %r"""
    graph = Facts(body(text, "i32 %e", "i32")).success
    assert names(graph.successors) == {"entry", "a", "joint", "out"}
    assert names(graph.predecessors[graph.exit]) == {"joint"}


def test_functions_without_a_status_have_no_errors() -> None:
    text = "entry:\n  br i1 %c, label %a, label %b\na:\n  ret i64 1\nb:\n  ret i64 2"
    assert names(Facts(body(text, "i1 %c", "i64")).success.successors) >= {"a", "b"}


def test_dead_ends_are_left_out() -> None:
    text = "entry:\n  br i1 %c, label %a, label %b\na:\n  ret void\nb:\n  unreachable"
    assert names(Facts(body(text, "i1 %c")).success.successors) == {"entry", "a"}


def test_a_function_that_always_raises_keeps_its_graph() -> None:
    text = "entry:\n  br i1 %c, label %a, label %b\na:\n  ret i32 1\nb:\n  ret i32 2"
    assert names(Facts(body(text, "i1 %c", "i32")).flow.order) == {"entry", "a", "b", "irad.return"}


def test_a_function_that_never_returns_is_refused() -> None:
    with pytest.raises(Unsupported, match="never returns"):
        assert Facts(body("entry:\n  unreachable")).success
