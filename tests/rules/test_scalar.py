"""Every row against mpmath, forward against reverse, reads against NaN: all generated from the table."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from mpmath import mp

from irad.ir.build import Builder
from irad.ir.model import Binary, Block, Call, Cast, Compare, Select, Value, real
from irad.ir.types import DOUBLE, I1, PTR, SINGLE, VOID
from irad.llvm import miscompiled
from irad.rules.linear import adjoints, reads, tangent, unread
from irad.rules.scalar import OPCODES, PRICE, RULES, rule_name, rule_of
from tests.rules.harness import start

EPS = {DOUBLE: 2.0**-52, SINGLE: 2.0**-23}


def power(x, y):
    return x ** (int(y) if y == int(y) else y)


def truncated(x):
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def log_gamma(x):
    return mp.log(abs(mp.gamma(x)))


ANY = [(0.3,), (-1.7,), (2.6,)]
POSITIVE = [(0.02,), (0.8,), (37.5,)]
UNIT = [(0.3,), (-0.95,), (0.9990234375,)]
PAIRS = [(1.3, -0.7), (-2.1, 0.4), (0.6, 3.5)]
TURNS = [(7.3, 2.1), (-7.3, 2.1), (7.3, -2.1), (100.4, 0.3)]
COMPLEX_POWERS = [(1.2, 0.7, 1.5, 0.3), (-0.4, 0.9, -2.0, 0.5)]

REFERENCE = {
    "fadd": (lambda x, y: x + y, PAIRS),
    "fsub": (lambda x, y: x - y, PAIRS),
    "fneg": (lambda x: -x, ANY),
    "freeze": (lambda x: x, ANY),
    "canonicalize": (lambda x: x, ANY),
    "fmul": (lambda x, y: x * y, PAIRS),
    "fma": (lambda x, y, z: x * y + z, [(1.3, -0.7, 2.0), (0.2, 5.0, -1.0)]),
    "fmuladd": (lambda x, y, z: x * y + z, [(1.3, -0.7, 2.0)]),
    "fdiv": (lambda x, y: x / y, PAIRS),
    "frem": (lambda x, y: x - y * truncated(x / y), TURNS),
    "fmod": (lambda x, y: x - y * truncated(x / y), TURNS),
    "remainder": (lambda x, y: x - y * mp.nint(x / y), TURNS),
    "fpext": (lambda x: x, ANY),
    "fptrunc": (lambda x: x, ANY),
    "floor": (mp.floor, ANY),
    "ceil": (mp.ceil, ANY),
    "trunc": (truncated, ANY),
    "rint": (mp.nint, ANY),
    "nearbyint": (mp.nint, ANY),
    "round": (mp.nint, ANY),
    "roundeven": (mp.nint, ANY),
    "logb": (lambda x: mp.floor(mp.log(abs(x), 2)), ANY),
    "fabs": (abs, ANY),
    "copysign": (lambda x, y: abs(x) * mp.sign(y), PAIRS),
    **dict.fromkeys(("maxnum", "maximumnum", "fmax", "maximum"), (max, PAIRS)),
    **dict.fromkeys(("minnum", "minimumnum", "fmin", "minimum"), (min, PAIRS)),
    "fdim": (lambda x, y: max(x - y, mp.mpf(0)), PAIRS),
    "sqrt": (mp.sqrt, POSITIVE),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), ANY),
    "pow": (power, [(1.7, 0.4), (0.2, -3.5), (30.0, 2.0), (0.5, 0.0)]),
    "powi": (power, [(1.7, 5), (-0.6, 4), (2.5, -3), (1.3, 1), (1.3, 0)]),
    "ldexp": (lambda x, n: x * mp.mpf(2) ** int(n), [(1.3, 5), (-0.7, -4)]),
    "nextafter": (lambda x, y: x, PAIRS),
    "hypot": (mp.hypot, PAIRS),
    "irad.singular": (lambda value, x, y: value, []),
    "irad.cpow.real": (lambda a, b, c, d: mp.re(mp.mpc(a, b) ** mp.mpc(c, d)), COMPLEX_POWERS),
    "irad.cpow.imag": (lambda a, b, c, d: mp.im(mp.mpc(a, b) ** mp.mpc(c, d)), COMPLEX_POWERS),
    "exp": (mp.exp, ANY),
    "exp2": (lambda x: mp.mpf(2) ** x, ANY),
    "exp10": (lambda x: mp.mpf(10) ** x, ANY),
    "expm1": (mp.expm1, [*ANY, (1e-9,), (-30.0,)]),
    "log": (mp.log, POSITIVE),
    "log2": (lambda x: mp.log(x, 2), POSITIVE),
    "log10": (lambda x: mp.log(x, 10), POSITIVE),
    "log1p": (mp.log1p, [(1e-9,), (-0.9,), (20.0,)]),
    "sin": (mp.sin, ANY),
    "cos": (mp.cos, ANY),
    "tan": (mp.tan, ANY),
    "asin": (mp.asin, UNIT),
    "acos": (mp.acos, UNIT),
    "atan": (mp.atan, ANY),
    "atan2": (mp.atan2, [*PAIRS, (-1.0, -2.0), (1e18, 3e18), (2e-18, 1e-18)]),
    "sinh": (mp.sinh, ANY),
    "cosh": (mp.cosh, ANY),
    "tanh": (mp.tanh, [(0.3,), (-1.7,)]),
    "asinh": (mp.asinh, [*ANY, (1e30,)]),
    "acosh": (mp.acosh, [(1.0625,), (3.5,), (1e30,)]),
    "atanh": (mp.atanh, UNIT),
    "erf": (mp.erf, ANY),
    "erfc": (mp.erfc, ANY),
    "tgamma": (mp.gamma, [(0.3,), (-1.7,), (4.6,), (1.0,)]),
    "lgamma": (log_gamma, [(0.3,), (-1.75,), (4.6,), (1.0,), (1e6,)]),
}
"""The operation in mpmath, and where it is tried."""


def rounded(x, row):
    """The point as the row's types hold it."""
    return tuple(
        v if i in row.rule.integers else struct.unpack("f", struct.pack("f", v))[0] if t == SINGLE else v
        for i, (v, t) in enumerate(zip(x, row.types, strict=True))
    )


def exact(function, x, i):
    """d function / d x_i, from a difference with 60 digits."""
    with mp.workdps(60):
        at = [mp.mpf(v) for v in x]
        h = mp.mpf(10) ** -20 * (abs(at[i]) or 1)
        high, low = (function(*at[:i], at[i] + s * h, *at[i + 1 :]) for s in (1, -1))
        return float((high - low) / (2 * h))


def floats(row):
    return [i for i in range(row.rule.arity) if i not in row.rule.integers]


def points(row):
    return [rounded(x, row) for x in REFERENCE[row.name][1]]


def test_every_row_has_a_reference():
    assert REFERENCE.keys() == {name for name in RULES if not name.startswith("numba_")}


def test_the_derivative_is_that_of_mpmath(row):
    function = REFERENCE[row.name][0]
    for x in points(row):
        gradient = row.vjp(x, 1.0)
        for i in floats(row):
            expected = exact(function, x, i)
            assert gradient[i] == pytest.approx(expected, rel=60 * EPS[row.out], abs=0.0)
            unit = [float(j == i) if j not in row.rule.integers else 0 for j in range(row.rule.arity)]
            assert row.jvp(x, unit) == pytest.approx(gradient[i], rel=4 * EPS[row.out])


def test_the_primal_is_the_function_of_the_reference(row):
    """But for what is refused, because LLVM computes it wrongly."""
    function = REFERENCE[row.name][0]
    agrees = True
    for x in points(row):
        with mp.workdps(60):
            expected = float(function(*(mp.mpf(v) for v in x)))
        room = 20 * EPS[row.out]
        agrees &= row.value(x) == pytest.approx(expected, rel=room, abs=room * max(map(abs, x)))
    assert agrees is not bool(miscompiled(f"@llvm.{row.name}."))


def test_reverse_is_the_transpose_of_forward(row, rng):
    for x in points(row):
        x_dot = rounded([0 if i in row.rule.integers else rng.normal() for i in range(row.rule.arity)], row)
        bar = float(np.float32(rng.normal()))
        left = bar * row.jvp(x, x_dot)
        terms = [g * d for g, d in zip(row.vjp(x, bar), x_dot, strict=True)]
        limit = 1e-12 if row.out == row.types[0] == DOUBLE else 8 * EPS[SINGLE]
        assert abs(left - sum(terms)) <= limit * (abs(left) + sum(map(abs, terms)))


def test_values_that_are_not_read_may_be_anything(row):
    for x in points(row):
        out = row.value(x)
        whole = row.vjp(x, 0.7)
        for wanted in map(tuple, subsets(floats(row))):
            read = reads(row.rule, frozenset(wanted))
            assert list(read) == sorted(read, key=str)  # operands, then "out": the tape is laid out in this order
            junk = [-99 if i in row.rule.integers else math.nan for i in range(row.rule.arity)]
            poisoned = [v if i in read else junk[i] for i, v in enumerate(x)]
            gradient = row.vjp(poisoned, 0.7, wanted, out if "out" in read else math.nan)
            assert [gradient[i] for i in wanted] == [whole[i] for i in wanted]


def subsets(items):
    return [[v for i, v in enumerate(items) if mask >> i & 1] for mask in range(1, 1 << len(items))]


SINGULAR = {
    "fdiv": [(1.0, 0.0), (0.0, 0.0), (math.inf, 0.0)],
    "frem": [(1.0, 0.0)],
    "sqrt": [(0.0,), (-1.0,)],
    "cbrt": [(0.0,)],
    "pow": [(0.0, 0.5), (0.0, -1.0), (-2.0, 0.5), (1e30, 1e9)],
    "powi": [(0.0, -1)],
    "hypot": [(math.inf, 1.0)],
    "irad.singular": [(1.0, 2.0, 3.0)],
    "irad.cpow.real": [(0.0, 0.0, 0.5, 0.0), (0.0, 0.0, -1.0, 1.0)],
    "irad.cpow.imag": [(0.0, 0.0, 0.5, 0.0), (1e300, 0.0, 1e9, 0.0)],
    "exp": [(1e4,), (math.nan,)],
    "exp2": [(1e5,)],
    "exp10": [(1e4,)],
    "expm1": [(1e4,)],
    "log": [(0.0,), (math.nan,)],
    "log2": [(0.0,)],
    "log10": [(0.0,)],
    "log1p": [(-1.0,)],
    "sin": [(math.inf,)],
    "cos": [(math.inf,)],
    "tan": [(math.inf,)],
    "asin": [(1.0,), (-1.0,), (2.0,)],
    "acos": [(1.0,), (-1.0,), (2.0,)],
    "atan2": [(math.inf, math.inf), (math.nan, 1.0)],
    "sinh": [(1e4,)],
    "cosh": [(1e4,)],
    "acosh": [(1.0,), (0.0,)],
    "atanh": [(1.0,), (-1.0,)],
    "tgamma": [(0.0,), (-2.0,), (500.0,)],
    "lgamma": [(0.0,), (-2.0,)],
    "fabs": [(math.nan,), (math.inf,)],
    "maxnum": [(math.inf, 1.0), (math.nan, 1.0)],
    "copysign": [(math.inf, 1.0)],
    "fdim": [(math.inf, 1.0)],
}


def test_a_zero_adjoint_or_tangent_gives_exactly_zero(row):
    for x in SINGULAR.get(row.name, []):
        out = row.value(x)
        assert row.vjp(x, 0.0, out=out) == (0.0,) * row.rule.arity
        assert row.jvp(x, [0] * row.rule.arity, out=out) == 0.0


@pytest.mark.parametrize("name", [n for n in RULES if n in SINGULAR and n not in ("maxnum", "frem")])
def test_the_singular_points_are_singular(rows, name):
    """The test above tries what it says."""
    row = rows[name, DOUBLE]
    for x in SINGULAR[name]:
        out = row.value(x)
        assert not all(map(math.isfinite, (*row.vjp(x, 1.0), out, *x)))


# --- second derivatives through the guard ---------------------------------------------------------------------------


def tangents(block: Block, seed: Value, builder: Builder) -> dict[Value, Value]:
    """Tangents with respect to `seed` of what the block computes: forward mode in ten lines."""
    dots: dict[Value, Value] = {seed: real(1.0, seed.type)}
    for i in list(block.body):
        if isinstance(i, Select) and i.type != I1:
            arms = [dots.get(v, real(0.0, i.type)) for v in i.operands[1:]]
            dots[i] = builder.select(i.operands[0], *arms)
        elif (rule := rule_of(i)) and any(v in dots for v in i.operands):
            found = tangent(rule, i.operands, i, [dots.get(v) for v in i.operands], builder)
            dots |= {} if found is None else {i: found}
    return dots


def derivative_of_adjoint(row, by):
    """A function like `row.reverse((0,))` that gives the derivative of the adjoint, by operand 0 ("x") or by "bar"."""
    types = [*row.types, row.out, row.out, PTR]
    f, arguments, builder = start(f"{row.symbol}_by_{by}", VOID, types)
    *operands, out, bar, result = arguments
    x_bar = adjoints(row.rule, operands, out, bar, (0,), builder).get(0, real(0.0, row.out))
    seed = {"x": operands[0], "bar": bar}[by]
    builder.store(tangents(f.entry, seed, builder).get(x_bar, real(0.0, row.out)), result)
    builder.ret()
    return f


def test_the_guard_hides_nothing_from_a_second_derivative(rows, compile_functions):
    """d(adjoint)/d(bar) is the partial, also where bar happens to be 0."""
    chosen = [row for (name, type), row in rows.items() if type == DOUBLE and name != "fpext"]
    address = compile_functions([derivative_of_adjoint(row, "bar") for row in chosen])
    for row in chosen:
        row.address |= {name: a for name, a in address.items() if name.startswith(row.symbol)}
        for x in REFERENCE[row.name][1]:
            found = row.vjp(x, 0.0, which="by_bar")[0]
            assert found == pytest.approx(row.vjp(x, 1.0, (0,))[0], rel=1e-14), (row.name, x)


@pytest.mark.parametrize(("y", "expected"), [(0.0, 0.0), (1.0, 0.0), (2.0, 2.0), (3.0, 0.0)])
def test_the_second_derivative_of_a_power_at_zero(rows, compile_functions, y, expected):
    row = rows["pow", DOUBLE]
    row.address |= compile_functions([derivative_of_adjoint(row, "x")])
    assert row.vjp((0.0, y), 1.0, which="by_x")[0] == expected


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("llvm.exp.f64", "exp"),
        ("llvm.exp.f32", "exp"),
        ("llvm.exp.v4f64", "exp"),
        ("exp", "exp"),
        ("expf", "exp"),
        ("erf", "erf"),
        ("erff", "erf"),
        ("llvm.powi.f64.i32", "powi"),
        ("llvm.powi.v2f64.i32", None),
        ("llvm.ldexp.f32.i32", "ldexp"),
        ("numba_ldexpf", "numba_ldexp"),
        ("numba_gamma", "numba_gamma"),
        ("numba_gammaf", "numba_gamma"),
        ("lgammaf", "lgamma"),
        ("llvm.fma.f64", "fma"),
        ("maximum", None),
        ("fmul", None),
        ("llvm.fadd.f64", None),
        ("modf", None),
        ("expl", None),
        ("numba_nextafterf", "numba_nextafter"),
        ("frexp", None),
        ("llvm.smax.i64", None),
        ("llvm.vector.reduce.fadd.v4f64", None),
        ("my_function", None),
        ("", None),
    ],
)
def test_a_function_finds_its_row(function, name):
    assert rule_name(function) == name


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        (Binary(op="fmul", type=DOUBLE), "fmul"),
        (Binary(op="mul", type=DOUBLE), None),
        (Cast(op="fpext", type=DOUBLE), "fpext"),
        (Cast(op="sitofp", type=DOUBLE), None),
        (Compare(op="fcmp", predicate="olt", type=I1), None),
        (Builder(Block("b")).call("sqrt", DOUBLE, []), "sqrt"),
        (Builder(Block("b")).call("puts", DOUBLE, []), None),
    ],
)
def test_an_instruction_finds_its_row(instruction, name):
    found = rule_of(instruction)
    assert (found.name if found else None) == name


def test_dearer_operations_cost_more():
    order = ["fmul", "sqrt", "exp", "sin", "pow"]
    assert PRICE.keys() == RULES.keys()
    assert sorted(order, key=PRICE.__getitem__) == order


def test_only_what_is_wanted_is_emitted():
    block = Block("b")
    x, y = real(2.0, DOUBLE), real(3.0, DOUBLE)
    result = tangent(RULES["pow"], [x, y], unread(DOUBLE), [real(1.0, DOUBLE), None], Builder(block))
    called = [i.callee_name for i in block.body if isinstance(i, Call)]
    assert result is not None and called == ["llvm.pow.f64"]


def test_division_by_a_constant_is_a_product_without_a_guard():
    block = Block("b")
    bar = Builder(block).binary("fadd", real(1.0, DOUBLE), real(2.0, DOUBLE))
    tangent(RULES["fdiv"], [bar, real(4.0, DOUBLE)], unread(DOUBLE), [bar, None], Builder(block))
    assert [getattr(i, "op", "") for i in block.body] == ["fadd", "fmul"]


def test_the_slope_of_a_reciprocal_is_its_square():
    block = Block("b")
    build = Builder(block)
    y = build.binary("fadd", real(1.0, DOUBLE), real(2.0, DOUBLE))
    result = build.binary("fdiv", real(1.0, DOUBLE), y)
    tangent(RULES["fdiv"], [real(1.0, DOUBLE), y], result, [None, y], build)
    assert [getattr(i, "op", "") for i in block.body].count("fdiv") == 1


def test_opcodes_have_rows():
    assert RULES.keys() >= OPCODES


def test_integers_have_no_partial(rows):
    assert rows["powi", DOUBLE].vjp((2.0, 3), 1.0) == (12.0, 0.0)
    assert rows["ldexp", DOUBLE].vjp((2.0, 3), 1.0) == (8.0, 0.0)
