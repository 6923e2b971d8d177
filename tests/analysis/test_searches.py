"""Loops that choose one value of many: one iteration is reversed."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import irad
from tests.analysis.facts import DECLARE, Facts, body

LOOP = """entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
  %best = phi double [ %a, %entry ], [ %new, %loop ]
  {phi}
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %c = fcmp ogt double %v, %best
  {code}
  %i.next = add i64 %i, 1
  %go = icmp slt i64 %i.next, %n
  br i1 %go, label %loop, label %out
out:
  %last = phi double [ {leaves}, %loop ]
  store double %last, ptr %y
  ret void"""
CHOICE = "%new = select i1 %c, double %v, double %best"


@pytest.mark.parametrize(
    ("code", "phi", "leaves", "is_one"),
    [
        (CHOICE, "", "%new", True),
        ("%new = select i1 %c, double %best, double %v", "", "%new", True),
        ("%w = call double @llvm.sin.f64(double %v)\n%new = select i1 %c, double %w, double %best", "", "%new", True),
        # an integer beside it, where the largest was found
        (CHOICE, "%k = phi i64 [ 0, %entry ], [ %k.new, %loop ]\n%k.new = select i1 %c, i64 %i, i64 %k", "%new", True),
        # an iteration that does not choose adds something all the same
        (CHOICE, "%s = phi double [ %a, %entry ], [ %s.new, %loop ]", "%s.new", False),
        ("%w = fadd double %v, %best\n%new = select i1 %c, double %w, double %best", "", "%new", False),
        ("%w = fadd double %v, %best\n%new = select i1 %c, double %v, double %w", "", "%new", False),
        (CHOICE, "", "%v", False),
        (CHOICE, "", "%best", False),
        # memory is written, so that the shadow is read on the way back
        (f"{CHOICE}\nstore double %v, ptr %y", "", "%new", False),
        ("%new = fadd double %v, %best", "", "%new", False),
    ],
)
def test_which(code: str, phi: str, leaves: str, is_one: bool) -> None:
    head, _, tail = phi.partition("\n")
    code = f"{tail}\n{code}" + ("\n%s.new = fadd double %s, %v" if "%s.new" in phi else "")
    text = body(LOOP.format(code=code, phi=head, leaves=leaves), "ptr %x, ptr %y, i64 %n, double %a") + DECLARE
    plan = Facts(text, active=["a"], shadowed=["x", "y"]).plan
    assert ("loop loop is reversed as a search" in str(plan)) is is_one


@numba.njit
def largest(x, first, weight, seen):
    """The largest of all elements and `first`, weighed; the least distance from a half, and the last of the largest
    in rows."""
    best = first
    for i in range(x.size):
        if x.flat[i] > best:
            best = x.flat[i]
    near = 10.0
    for i in range(x.shape[0]):
        d = abs(x[i, 0] - 0.5)
        near = min(near, d)
    total = 0.0
    for i in range(x.shape[0]):
        row = x[i, 0]
        at = 0
        for j in range(1, x.shape[1]):
            if x[i, j] >= row:
                row = x[i, j]
                at = j
        seen[i] = at
        total += row * (i + 1)
    return best * weight + near + total


def expected(x, first, weight):
    bar, first_bar = np.zeros_like(x), 0.0
    best, where = first, None
    for at in np.ndindex(x.shape):
        if x[at] > best:
            best, where = x[at], at
    if where is None:
        first_bar = weight
    else:
        bar[where] += weight
    near, where = 10.0, None
    for i in range(len(x)):
        if abs(x[i, 0] - 0.5) < near:
            near, where = abs(x[i, 0] - 0.5), i
    if where is not None:
        bar[where, 0] += np.sign(x[where, 0] - 0.5)
    for i in range(len(x)):
        k = 0
        for j in range(1, x.shape[1]):
            if x[i, j] >= x[i, k]:
                k = j
        bar[i, k] += i + 1
    return bar, first_bar, best


@pytest.mark.parametrize("shape", [(0, 1), (1, 1), (1, 2), (2, 1), (2, 3), (7, 5)])
@pytest.mark.parametrize("first", [-1.0, 0.9, 5.0, np.nan])
def test_values(shape: tuple[int, int], first: float) -> None:
    rng = np.random.default_rng(sum(shape))
    x = np.round(rng.random((shape[0], 2 * shape[1])), 1)[:, ::2]  # with ties, strided
    for weight in (2.0, 0.0):
        seen = np.zeros(shape[0], np.int64)
        bars = irad.grad(largest, argnums=(0, 1, 2))(x, first, weight, seen)
        for got, want in zip(bars, expected(x, first, weight), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-14)


def test_nan_and_infinite_elements() -> None:
    x = np.array([[0.1, np.nan, 0.7, -np.inf], [0.2, 0.3, np.inf, 0.1]])
    seen = np.zeros(2, np.int64)
    got = irad.grad(largest)(x, 0.0, np.inf, seen)
    np.testing.assert_array_equal(got, expected(x, 0.0, np.inf)[0])


@numba.njit
def scaled(x):
    best = x[0]
    for i in range(1, x.size):
        if x[i] > best:
            best = x[i]
    return best * x[0]


def test_an_adjoint_that_is_zero_may_have_a_derivative() -> None:
    x = np.array([0.0, 1.0, 3.0, 2.0])  # the adjoint of the largest is x[0]
    h = irad.hessian(scaled)(x)
    want = np.zeros((4, 4))
    want[0, 2] = want[2, 0] = 1.0
    np.testing.assert_array_equal(h, want)
