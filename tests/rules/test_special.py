"""digamma against mpmath; declarations and definitions that an emitted function needs."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest
from mpmath import mp

from irad.ir.types import DOUBLE, SINGLE, FunctionType
from irad.ir.write import write_function
from irad.rules.special import declaration, missing_functions, support_functions
from tests.rules.harness import start

ZERO = 1.4616321449683623413


def wrapper(type):
    """A function with external linkage that calls digamma."""
    f, arguments, builder = start(f"psi_{type}", type, [type])
    builder.ret(builder.expr(arguments[0]).libm("irad.digamma").value)
    return f


@pytest.fixture(scope="module")
def digamma(compile_functions):
    address = compile_functions([wrapper(DOUBLE), wrapper(SINGLE)])
    double = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address["psi_double"])
    return double, ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(address["psi_float"])


GRID = [*np.geomspace(1e-300, 1e300, 61), *np.linspace(0.05, 30, 120), *np.linspace(-20.3, -0.013, 97), -1e6 - 0.37]


def test_digamma_is_accurate_away_from_its_zeros(digamma):
    for x in GRID:
        with mp.workdps(40):
            expected = float(mp.digamma(mp.mpf(float(x))))
        # near a zero the absolute error counts; left of 0, half an ulp of x moves the poles
        slack = 2e-15 if x > 0 else 4e-15 * max(1.0, abs(expected))
        assert digamma[0](x) == pytest.approx(expected, rel=1e-14, abs=slack), x


def test_digamma_of_a_float_is_rounded_from_that_of_a_double(digamma):
    for x in map(float, np.float32([0.3, 2.5, 1e10, -1.7])):
        assert digamma[1](x) == float(np.float32(digamma[0](x)))


@pytest.mark.parametrize("x", [0.0, -0.0, -1.0, -7.0])
def test_digamma_is_infinite_at_its_poles(digamma, x):
    assert math.isinf(digamma[0](x))


def test_digamma_elsewhere(digamma):
    assert abs(digamma[0](ZERO)) < 1e-15
    assert math.isnan(digamma[0](math.nan))
    assert digamma[0](math.inf) == math.inf


def test_support_functions_bring_what_they_call():
    names = [f.name for f in support_functions(["irad.digammaf", "exp"])]
    assert sorted(names) == ["irad.digamma", "irad.digammaf", "llvm.log.f64", "llvm.rint.f64", "llvm.tan.f64"]
    assert [f.name for f in support_functions(["irad.digamma"]) if not f.is_declaration] == ["irad.digamma"]


def test_missing_functions_leave_out_what_is_known():
    assert {f.name for f in missing_functions(wrapper(DOUBLE), {"llvm.log.f64", "irad.digamma"})} == set()
    assert "llvm.log.f64" not in {f.name for f in missing_functions(wrapper(DOUBLE), {"llvm.log.f64"})}


def test_a_declaration_lets_llvm_move_the_call():
    type = FunctionType(DOUBLE, (DOUBLE,))
    text = write_function(declaration("erf", type))
    assert text.startswith("declare double @erf(double") and "memory(none)" in text and "willreturn" in text
    assert "memory" not in write_function(declaration("llvm.exp.f64", type))
