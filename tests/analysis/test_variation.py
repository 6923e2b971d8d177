"""Values that are the same in all iterations of an outer loop share one place on the tape."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import irad
from irad.analysis.diagonals import loops_of
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


TRIANGLE = """entry:
  br label %outer
outer:
  %i = phi i64 [ {first}, %entry ], [ %i.next, %outer.end ]
  %i.next = add i64 %i, {step}
  %from = add i64 %i, {ahead}
  %some = icmp slt i64 {start}, {bound}
  {test}
pre:
  br label %inner
inner:
  %j = phi i64 [ {start}, %pre ], [ %j.next, %inner ]
  %j.next = add i64 %j, {step}
  %p = getelementptr double, ptr %x, i64 %j
  %v = load double, ptr %p
  %q = getelementptr double, ptr %x, i64 %i
  %u = load double, ptr %q
  %w = fmul double %u, %v
  store double %w, ptr %y
  {code}
  %more = icmp slt i64 %j.next, {bound}
  br i1 %more, label %inner, label %outer.end
outer.end:
  %again = icmp slt i64 %i.next, %n
  br i1 %again, label %outer, label %out
out:
  ret void"""
PLAIN = {
    "first": "0",
    "step": "1",
    "ahead": "1",
    "start": "%from",
    "bound": "%n",
    "test": "br i1 %some, label %pre, label %outer.end",
    "code": "",
}


@pytest.mark.parametrize(
    ("changed", "axes"),
    [
        ({}, "outer+inner"),
        ({"start": "%i"}, "outer+inner"),
        ({"step": "2", "ahead": "3"}, "outer+inner"),
        ({"first": "5"}, "outer+inner"),
        ({"start": "0"}, "inner"),
        ({"code": "store double 0.0, ptr %q"}, "outer inner"),  # what is read is not the same in all iterations
        ({"bound": "%i"}, "outer inner"),  # the sums do not end at one place
        ({"test": "br i1 %c, label %pre, label %outer.end"}, "outer inner"),  # what does %c keep from happening?
        ({"start": "%odd"}, "outer inner"),
    ],
)
def test_what_two_loops_walk_together(changed: dict[str, str], axes: str) -> None:
    parts = PLAIN | changed
    text = TRIANGLE.format(**parts).replace("  %some", "  %odd = mul i64 %i, 2\n  %some", 1)
    facts = Facts(body(text, "ptr %x, ptr %y, i64 %n, i1 %c"), shadowed=["x", "y"])
    variation = Variation(facts.canonical, facts.memory, facts.objects)
    found = ["+".join(loop.header.name for loop in loops_of(axis)) for axis in variation.axes(facts["v"])]
    assert found == axes.split()
    assert {loop.header.name for loop in variation.of(facts["w"])} == {"outer", "inner"}
    assert all(len(loops_of(axis)) == 1 for axis in variation.axes(facts["w"]))


@numba.njit
def pairs(x, first, last, ahead, step, steps):
    """Walks pairs of elements, whose squares are overwritten after each step."""
    a = x.copy()
    total = 0.0
    for _ in range(steps):
        for i in range(first, last):
            for j in range(i + ahead, x.size):
                d = a[j] - a[i]
                total += np.sqrt(d * d + 1.0) * a[j]
        for i in range(0, x.size, 2):
            for j in range(i + 4, x.size, 2):
                total += a[i] * a[j] * a[j]
        for i in range(x.size - 1, -1, step):
            for j in range(i - ahead, -1, step):
                total += a[i] * a[j] * a[j]
        for i in range(x.size):
            a[i] = np.sin(a[i])
    return total


@pytest.mark.parametrize(
    ("n", "first", "last", "ahead", "steps"),
    [(7, 0, 7, 1, 2), (7, 0, 7, 0, 1), (7, 2, 5, 2, 3), (7, 0, 7, 9, 2), (7, 3, 4, 1, 2), (1, 0, 1, 1, 2),
     (0, 0, 0, 1, 2), (6, 4, 1, 1, 2), (6, 0, 6, 6, 2), (2, 0, 2, 1, 0)],
)  # fmt: skip
def test_pairs(n: int, first: int, last: int, ahead: int, steps: int) -> None:
    x = np.random.default_rng(n).random(n)
    got = irad.grad(pairs)(x, first, last, ahead, -1, steps)
    for k in range(n):
        direction = np.eye(n)[k]
        _, slope = irad.jvp(pairs, (x, first, last, ahead, -1, steps), (direction, None, None, None, None, None))
        assert got[k] == pytest.approx(slope, rel=1e-12)


@numba.njit
def distances(x, steps):
    a = x.copy()
    total = 0.0
    for _ in range(steps):
        for i in range(x.size):
            for j in range(i + 1, x.size):
                total += (a[j] - a[i]) ** 2 * a[j]
        for i in range(x.size):
            a[i] *= 0.9
    return total


def test_pairs_take_a_place_for_each_element() -> None:
    n, steps = 60, 3
    x = np.random.default_rng(0).random(n)
    irad.grad(distances)(x, steps)
    used = irad.llvm.tape_bytes(lambda: irad.grad(distances)(x, steps))
    assert used < 10 * n * steps * 8  # a place for each pair would take n / 2 times as much
