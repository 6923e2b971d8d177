"""Values that are the same in all iterations of an outer loop share one place on the tape."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import irad
from irad.analysis.variation import Variation
from tests.analysis.facts import Facts, body

NEST = """entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.end ]
  %i.next = add i64 %i, 1
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner.end ]
  %j.next = add i64 %j, 1
  %p = getelementptr double, ptr %x, i64 %j
  %q = getelementptr double, ptr %y, i64 %i
  {code}
  br label %inner.end
inner.end:
  %more = icmp slt i64 %j.next, %n
  br i1 %more, label %inner, label %outer.end
outer.end:
  {late}
  %again = icmp slt i64 %i.next, %n
  br i1 %again, label %outer, label %out
out:
  ret void"""


@pytest.mark.parametrize(
    ("code", "late", "varies"),
    [
        ("%v = load double, ptr %p", "", "inner"),
        ("%v = load double, ptr %q", "", "outer"),
        ("%v = load double, ptr %x", "", ""),
        ("%v = load double, ptr %p", "store double 0.0, ptr %x", "outer inner"),
        ("%v = load double, ptr %p", "store double 0.0, ptr %y", "inner"),
        ("%v = load double, ptr %p\nstore double 0.0, ptr %q", "", "inner"),
        ("%v = load double, ptr %q\nstore double 0.0, ptr %q", "", "outer inner"),
        ("%u = load double, ptr %p\n%v = fmul double %u, %a", "", "inner"),
        ("%u = load double, ptr %p\n%w = load double, ptr %q\n%v = fmul double %u, %w", "", "outer inner"),
        ("%u = load double, ptr %p\n%v = call double @llvm.sin.f64(double %u)", "", "inner"),
        ("%v = freeze double %a", "", "outer inner"),
        ("%v = call ptr @irad_alloc(i64 8, i32 8)", "", "outer inner"),
        ("%u = load double, ptr %q", "%v = phi double [ %u, %inner.end ]", "outer"),
    ],
)
def test_nest(code: str, late: str, varies: str) -> None:
    facts = Facts(body(NEST.format(code=code, late=late), "ptr %x, ptr %y, i64 %n, double %a"), shadowed=["x", "y"])
    found = Variation(facts.canonical, facts.memory, facts.objects).of(facts["v"])
    assert {loop.header.name for loop in found} == set(varies.split())


def test_merges_vary_with_what_decides_them() -> None:
    text = """entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.end ]
  %i.next = add i64 %i, 1
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %join ]
  %j.next = add i64 %j, 1
  %p = getelementptr double, ptr %x, i64 %j
  %u = load double, ptr %p
  %c = icmp slt i64 %i, 3
  br i1 %c, label %side, label %join
side:
  %s = fmul double %u, %u
  br label %join
join:
  %v = phi double [ %u, %inner ], [ %s, %side ]
  %w = fmul double %v, %v
  store double %w, ptr %y
  %more = icmp slt i64 %j.next, %n
  br i1 %more, label %inner, label %outer.end
outer.end:
  %again = icmp slt i64 %i.next, %n
  br i1 %again, label %outer, label %out
out:
  ret void"""
    facts = Facts(body(text, "ptr %x, ptr %y, i64 %n"), shadowed=["x", "y"])
    variation = Variation(facts.canonical, facts.memory, facts.objects)
    assert {loop.header.name for loop in variation.of(facts["v"])} == {"outer", "inner"}
    assert {loop.header.name for loop in variation.of(facts["s"])} == {"inner"}


@numba.njit
def chain(x, m, steps):
    """Reads all of `a` for each element of `b`, and overwrites it then."""
    a = x.copy()
    b = np.empty(x.size)
    for _ in range(steps):
        for j in range(x.size):
            reach = 0.0
            for i in range(x.size):
                reach += a[i] * m[i, j] * a[i]
            b[j] = reach
        for j in range(x.size):
            a[j] = b[j] + x[j]
    return a.sum()


def test_tape_grows_with_what_is_read_not_with_how_often() -> None:
    rng = np.random.default_rng(0)
    n, steps = 40, 3
    x, m = 0.1 * rng.random(n), rng.random((n, n)) / n
    a, x_bar, m_bar = x.copy(), np.zeros(n), np.zeros((n, n))
    history = []
    for _ in range(steps):
        history.append(a)
        a = (a * a) @ m + x
    bar = np.ones(n)
    for a in reversed(history):
        x_bar += bar
        m_bar += np.outer(a * a, bar)
        bar = 2.0 * a * (m @ bar)
    got = irad.grad(chain, argnums=(0, 1))(x, m, steps)
    np.testing.assert_allclose(got[0], x_bar + bar, rtol=1e-12)
    np.testing.assert_allclose(got[1], m_bar, rtol=1e-12)
    used = irad.llvm.tape_bytes(lambda: irad.grad(chain, argnums=(0, 1))(x, m, steps))
    assert used < 20 * n * steps * 8  # once for each read it would be n times as much
