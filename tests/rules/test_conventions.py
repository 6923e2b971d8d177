"""The table of docs/conventions.md, run; and strong zeros at work."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import pytest

from irad.ir.types import DOUBLE, SINGLE
from irad.llvm import miscompiled
from tests.rules.harness import ROWS

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"
ROW = re.compile(r"\| `(\w+)` \|[^|]*\| `(\(.*?\))` \| `(\(.*?\))` \|")


def numbers(text):
    return eval(text, {"inf": math.inf, "nan": math.nan})


TABLE = [(name, numbers(at), numbers(slope)) for name, at, slope in ROW.findall(PAGE.read_text(encoding="utf-8"))]


def same(found, expected):
    return found == expected or (math.isnan(found) and math.isnan(expected))


def test_the_page_is_read_whole():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| `\w+` \|", line)]
    assert len(lines) == len(TABLE) > 50


@pytest.mark.parametrize("type", [DOUBLE, SINGLE], ids=str)
@pytest.mark.parametrize(("name", "at", "slope"), TABLE)
def test_a_convention_holds(rows, name, at, slope, type):
    row = rows[name, type]
    found = row.vjp(at, 1.0)
    assert all(map(same, found, slope)), found
    for i in range(row.rule.arity):
        unit = [float(i == j) if j not in row.rule.integers else 0 for j in range(row.rule.arity)]
        assert same(row.jvp(at, unit), slope[i])


@pytest.mark.parametrize(
    "name", [n for n, t in ROWS if t == DOUBLE and re.match("f?(max|min)", n) and not miscompiled(f"@llvm.{n}.")]
)
@pytest.mark.parametrize(
    "at", [(1.0, 1.0), (0.0, -0.0), (-0.0, 0.0), (math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0)]
)
def test_one_operand_of_a_choice_takes_the_whole_adjoint(rows, name, at):
    """Also an infinite one, which the other must not see as 0 * inf."""
    row = rows[name, DOUBLE]
    assert sorted(row.vjp(at, 1.0)) == [0.0, 1.0]
    assert sorted(row.vjp(at, math.inf)) == [0.0, math.inf]
    taken = row.vjp(at, 1.0).index(1.0)
    assert same(at[taken], row.value(at))


def chain(rows, steps, x, bar):
    """Adjoint of x through `steps`, each (name, operands) with `...` for the result so far: outermost last."""
    trail, value = [], x
    for name, operands in steps:
        at = tuple(value if o is ... else o for o in operands)
        trail.append((rows[name, DOUBLE], at, operands.index(...)))
        value = trail[-1][0].value(at)
    for row, at, i in reversed(trail):
        bar = row.vjp(at, bar)[i]
    return bar


@pytest.mark.parametrize(
    ("steps", "x", "bar", "expected"),
    [
        # an unused infinite value: min(1, 1/x) at 0
        ([("fdiv", (1.0, ...)), ("minnum", (1.0, ...))], 0.0, 1.0, 0.0),
        ([("fdiv", (1.0, ...)), ("minnum", (1.0, ...))], 4.0, 1.0, -0.0625),
        # arccos of a clipped argument, outside, at the edge and inside
        ([("maxnum", (-1.0, ...)), ("minnum", (1.0, ...)), ("acos", (...,))], 10.0, 1.0, 0.0),
        ([("maxnum", (-1.0, ...)), ("minnum", (1.0, ...)), ("acos", (...,))], -3.0, 1.0, 0.0),
        ([("maxnum", (-1.0, ...)), ("minnum", (1.0, ...)), ("acos", (...,))], 0.6, 1.0, -1.25),
        # the discarded arm of where(x > 0, sqrt(x), 0), and of guards round log and pow
        ([("sqrt", (...,))], 0.0, 0.0, 0.0),
        ([("sqrt", (...,))], 4.0, 1.0, 0.25),
        ([("log", (...,))], 0.0, 0.0, 0.0),
        ([("pow", (..., -1.5))], 0.0, 0.0, 0.0),
        # what LLVM makes of x ** 0.5
        ([("sqrt", (...,)), ("fabs", (...,))], 0.0, 1.0, 0.0),
        # polynomials by powers at 0: the sum of c[k] k x**(k-1) is c[1]
        ([("pow", (..., 0.0)), ("fmul", (3.0, ...))], 0.0, 1.0, 0.0),
        ([("pow", (..., 1.0)), ("fmul", (-2.0, ...))], 0.0, 1.0, -2.0),
        ([("pow", (..., 2.0)), ("fmul", (5.0, ...))], 0.0, 1.0, 0.0),
        # a periodic wrap, at a period's end too
        ([("frem", (..., 1.0))], 3.3, 1.0, 1.0),
        ([("frem", (..., 1.0))], 3.0, 1.0, 1.0),
    ],
)
def test_reported_faults_of_other_systems_stay_out(rows, steps, x, bar, expected):
    assert chain(rows, steps, x, bar) == pytest.approx(expected, rel=1e-14, abs=0.0)


def test_the_square_of_a_norm_is_flat_at_zero(rows):
    """sqrt(s) * sqrt(s) at s = 0: both adjoints of the product are 0 * n."""
    n = rows["sqrt", DOUBLE].value((0.0,))
    bars = rows["fmul", DOUBLE].vjp((n, n), 1.0)
    assert rows["sqrt", DOUBLE].vjp((0.0,), sum(bars)) == (0.0,)


@pytest.mark.parametrize(
    ("x", "y"),
    [(355.0, 113.0), (1e15, 3.0), (0.3, 0.1), (2.0**53 - 1, 1.0000000000000002), (5.5, math.inf), (1e-310, 3e-311)],
)
def test_the_quotient_of_a_remainder_is_exact(rows, x, y):
    quotient = 0 if math.isinf(y) else int(Fraction(x) / Fraction(y))
    assert -rows["fmod", DOUBLE].vjp((x, y), 1.0)[1] == pytest.approx(quotient, rel=1e-15)
