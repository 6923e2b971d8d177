"""The linear maps one by one, as the text that they append; and rows on vectors."""

from __future__ import annotations

import ctypes

import pytest

from irad.ir.build import Builder, Expr
from irad.ir.model import Argument, Block, Constant, Return
from irad.ir.types import DOUBLE, I1, PTR, SINGLE, VOID, Vector
from irad.ir.write import text_of
from irad.rules.linear import FLIP, SAME, ZERO, Convert, Gate, Scale, Through, adjoints, strong
from irad.rules.scalar import OPCODES, RULES
from tests.rules.harness import LIBM, operation, start


@pytest.fixture
def builder():
    return Builder(Block("b"))


def argument(builder, name, type=DOUBLE):
    return Expr(Argument(type, name), builder)


def text(builder):
    return [text_of(i) for i in builder.block.body]


def test_plain_maps(builder):
    t = argument(builder, "t")
    assert SAME.apply(t) is t and SAME.transpose(t) is t
    assert ZERO.apply(t) is None and ZERO.transpose(t) is None
    assert FLIP.transpose(t).type == DOUBLE
    assert [line.split("= ")[1] for line in text(builder)] == ["fneg double %t"]


def test_a_scale_multiplies_and_nothing_else(builder):
    Scale(argument(builder, "f")).transpose(argument(builder, "t"))
    assert [line.split("= ")[1] for line in text(builder)] == ["fmul double %f, %t"]


def test_a_strong_scale_selects(builder):
    strong(argument(builder, "f")).apply(argument(builder, "t"))
    words = [line.split("= ")[1].split()[0] for line in text(builder)]
    assert words == ["fmul", "fcmp", "fcmp", "and", "select"]


@pytest.mark.parametrize(("literal", "guarded"), [("2.5", False), ("0x7FF0000000000000", True), ("poison", True)])
def test_only_a_finite_constant_needs_no_guard(builder, literal, guarded):
    strong(Expr(Constant(DOUBLE, literal), builder)).apply(argument(builder, "t"))
    assert (len(builder.block.body) > 1) == guarded


def test_a_gate_never_multiplies(builder):
    gate = Gate(argument(builder, "c", I1), FLIP, SAME)
    gate.apply(argument(builder, "t"))
    assert [line.split("= ")[1].split()[0] for line in text(builder)] == ["fneg", "select"]


def test_widening_and_narrowing_are_transposes(builder):
    widen, narrow = Convert(SINGLE, DOUBLE, widens=True), Convert(DOUBLE, SINGLE, widens=False)
    assert widen.apply(argument(builder, "s", SINGLE)).type == DOUBLE
    assert widen.transpose(argument(builder, "d")).type == SINGLE
    assert narrow.apply(argument(builder, "d")).type == SINGLE
    assert narrow.transpose(argument(builder, "s", SINGLE)).type == DOUBLE
    assert [i.op for i in builder.block.body] == ["fpext", "fptrunc", "fptrunc", "fpext"]


def test_through_applies_its_function(builder):
    t = argument(builder, "t")
    assert Through(lambda t: t + t).apply(t).type == DOUBLE
    assert [i.op for i in builder.block.body] == ["fadd"]


# --- vectors --------------------------------------------------------------------------------------------------------

VECTOR_ROWS = [n for n in RULES if n not in LIBM and not n.startswith(("numba_", "fp")) and not RULES[n].integers]
assert VECTOR_ROWS and OPCODES - {"fpext", "fptrunc"} <= set(VECTOR_ROWS)


def vector_function(name):
    """x_bar of <2 x double> operands, from and to memory: (x pointer, bar pointer, result pointer)."""
    pair, rule = Vector(2, DOUBLE), RULES[name]
    f, (x, bar, result), builder = start(f"vector_{name}", VOID, [PTR, PTR, PTR])
    operands = [builder.load(pair, builder.offset(x, 16 * i), 8) for i in range(rule.arity)]
    out = operation(builder, name, operands, pair)
    found = adjoints(rule, operands, out, builder.load(pair, bar, 8), range(rule.arity), builder)
    for i, value in found.items():
        builder.store(value, builder.offset(result, 16 * i), 8)
    builder.ret()
    assert isinstance(f.entry.end, Return)
    return f


def test_a_vector_is_its_elements(rows, compile_functions):
    address = compile_functions([vector_function(name) for name in VECTOR_ROWS])
    lanes = [(0.7, 0.3, 0.2), (0.4, 0.6, 1.5)]
    for name in VECTOR_ROWS:
        row, n = rows[name, DOUBLE], RULES[name].arity
        x = (ctypes.c_double * (2 * n))(*(lanes[k][i] for i in range(n) for k in (0, 1)))
        bar, result = (ctypes.c_double * 2)(1.5, 0.0), (ctypes.c_double * (2 * n))()
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(address[f"vector_{name}"])(x, bar, result)
        for k in (0, 1):
            assert list(result[k::2]) == pytest.approx(row.vjp(lanes[k][:n], bar[k]), rel=1e-14, abs=1e-300), name
