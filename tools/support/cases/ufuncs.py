"""NumPy's universal functions, on arrays."""

from __future__ import annotations

import numba
import numpy as np

from tools.support.case import Case, Group, row
from tools.support.cases.values import A, I, M, P, U, X, Y

_ANY = (
    *("negative", "positive", "absolute", "fabs", "rint", "sign", "conj", "exp", "exp2", "square"),
    *("sin", "cos", "tan", "arctan", "sinh", "cosh", "tanh", "arcsinh", "deg2rad", "rad2deg", "degrees", "radians"),
    *("floor", "ceil", "trunc", "expm1", "cbrt"),
)
_POSITIVE = ("log", "log2", "log10", "log1p", "sqrt")
_UNIT = ("arcsin", "arccos", "arctanh")
_BINARY = (
    *("add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "remainder", "fmod", "hypot", "arctan2"),
    *("maximum", "minimum", "fmax", "fmin", "copysign", "nextafter", "logaddexp", "logaddexp2"),
)
_TESTS = ("isfinite", "isinf", "isnan", "signbit", "logical_not")
_COMPARISONS = (
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
)
_INTEGER = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm")


def _out(x, y):
    made = np.empty(x.shape)
    np.multiply(x, y, made)
    np.add(made, x, out=made)
    return made


def _in_place(x, y):
    z = x.copy()
    z += y
    z *= z
    z -= x
    z /= y
    z **= 2
    return z


def _divmod(x, y):
    quotient, rest = np.divmod(x, y)
    return quotient * x + rest * y


def _modf(x):
    fraction, whole = np.modf(x)
    return fraction * whole


@numba.vectorize
def _softplus(x, y):
    return np.log1p(np.exp(x)) * y


@numba.guvectorize(["(float64[:], float64[:], float64[:])"], "(n),(n)->()")
def _inner(x, y, out):
    out[0] = 0.0
    for i in range(x.size):
        out[0] += x[i] * y[i]


def _vectorized(x, y):
    return _softplus(x, y)


def _generalized(x, y):
    out = np.zeros(())
    _inner(x, y, out)
    return out[()]


def _unary(name: str, at: np.ndarray) -> Case:
    return row(f"np.{name}", f"np.{name}(x) * x", x=at)


GROUP = Group(
    "ufuncs",
    "NumPy: universal functions",
    (
        *(_unary(name, X) for name in _ANY),
        *(_unary(name, P) for name in _POSITIVE),
        row("np.spacing", "np.spacing(x) * x[0]", x=X[:4].copy()),
        *(_unary(name, U) for name in _UNIT),
        row("np.reciprocal", "np.reciprocal(x) * x[0]", x=X),
        row("np.arccosh", "np.arccosh(1.0 + x)", x=P),
        *(row(f"np.{name}", f"np.{name}(x, y) * (x + 2.0 * y)", x=X, y=Y) for name in _BINARY),
        row("np.power", "np.power(x, y)", x=P, y=Y),
        row("np.float_power", "np.float_power(x, y)", x=P, y=Y),
        row("np.divmod", _divmod, x=Y, y=P),
        row("np.modf", _modf, x=Y),
        row("np.ldexp", "np.ldexp(x, i)", x=X[:4].copy(), i=I),
        *(row(f"np.{name}", f"np.{name}(x) * x", x=X) for name in _TESTS),
        *(row(f"np.{name}", f"np.{name}(x, y) * x", x=X, y=Y) for name in _COMPARISONS),
        *(row(f"np.{name}", f"np.{name}(i, 2) * x", x=X[:4].copy(), i=I) for name in _INTEGER),
        row("np.invert", "np.invert(i) * x", x=X[:4].copy(), i=I),
        row("broadcasting", "(x * m + x[:3].reshape(3, 1) / a) * a", x=X[:4].copy(), m=M, a=A),
        row("out=", _out, x=X, y=Y),
        row("in-place operators", _in_place, x=X, y=P),
        row("array expressions", "np.sqrt(x * x + 1.0) / (2.0 + np.cos(y)) - x**3 + abs(y) ** 0.5", x=X, y=Y),
        row("numba.vectorize", _vectorized, x=X, y=Y),
        row("numba.guvectorize", _generalized, x=X, y=Y),
    ),
)
