"""Vector versions of libm: who gets them, and how accurate they are."""

from __future__ import annotations

import ctypes
import math

import llvmlite.binding as ll
import numba
import numpy as np
import pytest

import irad
from irad import llvm
from irad.emit import vectors
from irad.ir.types import DOUBLE
from irad.pipeline import Request, derive

AVAILABLE = llvm.vector_symbols(vectors.candidates())
needs_libmvec = pytest.mark.skipif(not AVAILABLE, reason="glibc's libmvec is missing")
ULPS = 4  # glibc's own bound for libmvec

RANGES = {
    **dict.fromkeys(("sin", "cos", "tan", "atan", "cbrt", "asinh"), (-50.0, 50.0)),
    **dict.fromkeys(("asin", "acos", "atanh", "erf"), (-0.99, 0.99)),
    **dict.fromkeys(("exp", "exp2", "exp10", "expm1", "sinh", "cosh", "tanh"), (-20.0, 20.0)),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "pow", "atan2", "hypot"), (0.01, 30.0)),
    "acosh": (1.01, 30.0),
    "erfc": (-1.0, 3.0),
}


def all_at_once(name: str, letter: str, *arguments: np.ndarray) -> np.ndarray:
    """The vector version of `name` over arrays."""
    lanes = vectors.REGISTERS[letter] // 8
    wide = f"<{lanes} x double>"
    symbol = vectors.symbol(name, DOUBLE, letter)
    loads = "\n".join(
        f"%p{i} = getelementptr double, ptr %x{i}, i64 %i\n%v{i} = load {wide}, ptr %p{i}, align 8"
        for i in range(len(arguments))
    )
    text = f"""
declare {wide} @{symbol}({", ".join([wide] * len(arguments))})
define void @f(ptr %out, i64 %n, {", ".join(f"ptr %x{i}" for i in range(len(arguments)))}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  {loads}
  %r = call {wide} @{symbol}({", ".join(f"{wide} %v{i}" for i in range(len(arguments)))})
  %q = getelementptr double, ptr %out, i64 %i
  store {wide} %r, ptr %q, align 8
  %j = add i64 %i, {lanes}
  %go = icmp slt i64 %j, %n
  br i1 %go, label %loop, label %done
done:
  ret void
}}
"""
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    machine = ll.Target.from_default_triple().create_target_machine(
        cpu=ll.get_host_cpu_name(), features=ll.get_host_cpu_features().flatten()
    )
    engine = ll.create_mcjit_compiler(ll.parse_assembly(text), machine)
    engine.finalize_object()
    out = np.empty_like(arguments[0])
    pointers = [a.ctypes.data for a in arguments]
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_void_p] * len(pointers))
    kind(engine.get_function_address("f"))(out.ctypes.data, out.size, *pointers)
    return out


def exact(name: str, *arguments: np.ndarray) -> np.ndarray:
    """In extended precision where NumPy has it; else by Python's libm, right to about one unit in the last place."""
    ufunc = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}.get(name, name)
    ufunc = {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}.get(name, ufunc)
    if hasattr(np, ufunc):
        return getattr(np, ufunc)(*(a.astype(np.longdouble) for a in arguments))
    if name == "exp10":
        return np.power(np.longdouble(10), arguments[0].astype(np.longdouble))
    return np.array([getattr(math, name)(v) for v in arguments[0]], np.longdouble)


@needs_libmvec
@pytest.mark.parametrize("name", vectors.FUNCTIONS)
def test_accuracy(name: str) -> None:
    rng = np.random.default_rng(0)
    arguments = [rng.uniform(*RANGES[name], 4096) for _ in range(vectors.FUNCTIONS[name])]
    expected = exact(name, *arguments)
    unit = np.spacing(np.abs(expected.astype(float)))
    for letter in vectors.REGISTERS:
        if vectors.symbol(name, DOUBLE, letter) in AVAILABLE:
            error = np.abs(all_at_once(name, letter, *arguments) - expected) / unit
            assert error.max() <= ULPS, f"{name}, registers {letter}: {error.max():.2f} units in the last place"


def kernel(fastmath: bool | set[str]):
    @numba.njit(fastmath=fastmath)
    def f(x):
        total = 0.0
        for i in range(x.size):
            total += np.sin(x[i])
        return total

    return f


@needs_libmvec
@pytest.mark.parametrize(
    ("fastmath", "strict", "found"),
    [(False, False, {"cos"}), (False, True, set()), (True, False, {"sin", "cos"}), ({"reassoc"}, False, set())],
)
def test_loose_calls_alone_become_vectors(fastmath: bool | set[str], strict: bool, found: set[str]) -> None:
    request = Request(kernel(fastmath), (numba.float64[::1],), "reverse", ("duplicated",), strict=strict)
    calls = [line for line in derive(request).concrete.splitlines() if " call " in line and "@_ZGV" in line]
    assert {name for name in ("sin", "cos") if any(f"_{name}(" in line for line in calls)} == found


@numba.njit
def roots(x):
    return np.cbrt(x)


def test_fast_math_inside_numpy_stays_what_numba_compiles() -> None:
    """Numba compiles `np.cbrt` with fast-math, in kernels without it too."""
    x = np.linspace(-2.0, 3.0, 37)
    value, _ = irad.jvp(roots, (x,), (np.ones(37),))
    np.testing.assert_array_equal(value, roots(x))
    value, _ = irad.vjp(roots, x)
    np.testing.assert_array_equal(value, roots(x))


@pytest.mark.parametrize("have", [True, False])
def test_right_with_and_without(have: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not have:
        monkeypatch.setattr(llvm, "vector_symbols", lambda names: frozenset())
    x = np.linspace(-3.0, 3.0, 1003)
    np.testing.assert_allclose(irad.grad(kernel(fastmath=True))(x), np.cos(x), rtol=1e-15 * ULPS, atol=1e-16 * ULPS)
