"""Names: what each table says of them, and that every symbol Numba emits for mathematics is known."""

from __future__ import annotations

import math
import re

import numba
import numpy as np
import pytest
from numba.core.typing import mathdecl

from irad.rules import calls
from irad.rules.scalar import rule_name


@pytest.mark.parametrize(
    "name",
    [
        "llvm.smax.i64",
        "llvm.abs.i32",
        "llvm.sadd.with.overflow.i64",
        "llvm.smul.with.overflow.i64",
        "llvm.uadd.sat.v4i32",
        "llvm.is.fpclass.f64",
        "llvm.fptosi.sat.i32.f64",
        "llvm.lround.i64.f64",
        "lrintf",
        "numba_fptoui",
    ],
)
def test_integer_functions_are_inactive_and_pure(name):
    assert calls.is_integer(name) and calls.is_inactive(name) and calls.is_pure(name)


@pytest.mark.parametrize(
    "name",
    [
        *("llvm.assume", "llvm.lifetime.start.p0", "llvm.expect.i1", "llvm.experimental.noalias.scope.decl"),
        *("NRT_incref", "NRT_decref", "numba_unpickle", "PyErr_SetString", "printf", "PySys_FormatStdout"),
    ],
)
def test_these_are_inactive_and_must_not_be_repeated(name):
    assert calls.is_inactive(name) and not calls.is_pure(name)


@pytest.mark.parametrize("name", ["llvm.exp.f64", "erf", "powf", "numba_gamma"])
def test_rows_are_pure(name):
    assert calls.is_pure(name) and not calls.is_inactive(name)


@pytest.mark.parametrize(
    "name",
    [
        *("llvm.fmuladd.f64", "sqrt", "nextafter", "frexp", "numba_attempt_nocopy_reshape", "my_function", ""),
        *("llvm.memcpy.p0.p0.i64", "llvm.vector.reduce.fadd.f64", "irad_alloc", "PyFloat_AsDouble"),
        *sorted(calls.BOXES),
    ],
)
def test_these_are_not_inactive(name):
    assert not calls.is_inactive(name)


def test_memory_intrinsics():
    assert "llvm.memcpy.p0.p0.i64" in calls.COPIES and "llvm.memmove.p0.p0.i64" in calls.COPIES
    assert "llvm.memset.p0.i64" in calls.FILLS and "irad_alloc" in calls.ALLOCATORS
    assert not any(map(calls.is_pure, calls.COPIES | calls.FILLS | calls.ALLOCATORS))


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("llvm.frexp.f64.i32", "frexp"),
        ("llvm.modf.f64", "modf"),
        ("llvm.sincos.f64", "sincos"),
        ("numba_get_np_random_state", "random"),
        ("numba_rnd_shuffle", "random"),
        ("numba_xxgemm", "BLAS"),
        ("numba_ez_gesdd", "LAPACK"),
        ("numba_xgesv", "LAPACK"),
        ("numba_parallel_for", "parallel"),
        ("NRT_MemInfo_new_varsize_dtor", "lists"),
        ("numba_dict_insert", "dictionaries"),
        ("NRT_MemInfo_alloc_dtor", "destructor"),
        ("PyFloat_FromDouble", "Python"),
        ("llvm.masked.load.v4f64.p0", "vectorised"),
        ("my_function", "my_function"),
    ],
)
def test_a_refusal_names_its_reason_and_a_remedy(name, word):
    why, hint = calls.explain_missing(name)
    assert word in why and hint
    assert rule_name(name) is None and not calls.is_inactive(name)


def test_python_is_seen_to_run():
    names = ["PyObject_CallFunctionObjArgs", "PyFloat_AsDouble", "PyNumber_Float", "NRT_adapt_ndarray_from_python"]
    assert all(map(calls.RUNS_PYTHON.fullmatch, names))
    assert not any(map(calls.RUNS_PYTHON.fullmatch, calls.BOXES))


# --- what Numba emits -----------------------------------------------------------------------------------------------

ONE = "acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 fabs floor gamma lgamma log log10 log1p "
ONE += "log2 sin sinh sqrt tan tanh trunc"
UFUNCS = "arccos arccosh arcsin arcsinh arctan arctanh cbrt exp exp2 expm1 log log10 log1p log2 sin sinh sqrt tan tanh "
UFUNCS += "rint sign square reciprocal absolute deg2rad sinc"
TWO = "arctan2 copysign hypot fmod mod fmax fmin maximum minimum power logaddexp logaddexp2 floor_divide"


def kernel():
    numbas = dict(mathdecl.registry.globals)
    lines = [f"s += math.{n}(x)" for n in ONE.split() if getattr(math, n, None) in numbas]
    lines += [f"s += np.{n}(x)" for n in UFUNCS.split()] + [f"s += np.{n}(x, y)" for n in TWO.split()]
    lines += ["s += x ** y", "s += x % y", "s += math.atan2(x, y)", "s += math.hypot(x, y)", "s += math.ldexp(x, 3)"]
    lines += ["s += round(x)", "s += abs(x)"]
    space = {"math": math, "np": np}
    exec("def f(x, y):\n  s = x * y\n  " + "\n  ".join(lines) + "\n  return s", space)
    return space["f"]


@pytest.mark.parametrize("type", [numba.float64, numba.float32], ids=str)
def test_every_symbol_that_numba_emits_for_mathematics_is_known(type):
    compiled = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")(kernel())
    compiled.compile((type, type))
    text = str(compiled.overloads[type, type].library._final_module)
    called = set(re.findall(r"(?:call|invoke)[^@\n]*@([\w.$]+)\(", text))
    assert len(called) > 30
    assert {n for n in called if rule_name(n) is None and not calls.is_inactive(n)} == set()
