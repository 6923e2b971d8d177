"""Python's numbers and the math module."""

from __future__ import annotations

import math

from tools.support.case import Group, row
from tools.support.cases.values import MASK, A, B, I, X


def _frexp(x):
    mantissa, exponent = math.frexp(x)
    return mantissa * x + exponent


def _modf(x):
    fraction, whole = math.modf(x)
    return fraction * x + whole


def _divmod(x, y):
    quotient, rest = divmod(x, y)
    return quotient * x + rest * rest


def _integer_power(x):
    return x**2 + x**7 + x**-3 + x**0


def _variable_power(x, n):
    return x**n


def _is_even(x, n):
    for k in range(n):
        if k & 1 == 0 and (k >> 1) ^ 1:
            x = x * (1 + (k << 2))
    return x


def _float_tests(x, y):
    return x if math.isnan(y) or math.isinf(y) or not math.isfinite(x) else x * y


def _bool_arithmetic(x, y):
    return (x < y) * x + (x > y) * y * y


_UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "degrees", "erf", "erfc", "exp"),
    *("expm1", "fabs", "floor", "gamma", "lgamma", "log", "log10", "log1p", "log2", "radians", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc", "exp2", "cbrt"),
)


def _unary(name: str):
    shift = "1.0 + x" if name == "acosh" else "x"
    return row(f"math.{name}", f"x * math.{name}({shift})", x=A)


GROUP = Group(
    "math",
    "Numbers and the math module",
    (
        row("+, -, *, /, unary minus", "-(x + y) * (x - y) / y", x=A, y=B),
        row("x ** 2, x ** -3, x ** 0", _integer_power, x=A),
        row("x ** n, n an integer variable", _variable_power, x=A, n=5),
        row("x ** y", "x ** y", x=A, y=B),
        row("//, %", "(y // x) * y + y % x * x + (-y) % x", x=A, y=B),
        row("divmod", _divmod, x=B, y=A),
        row("abs", "abs(x) * y + abs(y)", x=-A, y=B),
        row("min, max of two", "min(x, y) * max(x, y) + max(x, 0.1)", x=A, y=B),
        row("min, max of several", "min(x, y, z) * max(x, y, z, 0.3)", x=A, y=B, z=-0.4),
        row("round", "round(x) * y + round(y, 1)", x=A, y=B),
        row("int(x), float(n)", "(x - int(x)) * float(n)", x=B, n=3),
        row("bool arithmetic", _bool_arithmetic, x=A, y=B),
        row("comparisons, chained", "x * y if 0.1 < x < y else x", x=A, y=B),
        row("bits of integers: &, |, ^, <<, >>", _is_even, x=A, n=6),
        *map(_unary, _UNARY),
        row("math.atan2", "math.atan2(x, y)", x=A, y=B),
        row("math.copysign", "math.copysign(x, -y) * y", x=A, y=B),
        row("math.fmod", "math.fmod(y, x)", x=A, y=B),
        row("math.hypot", "math.hypot(x, y)", x=A, y=B),
        row("math.ldexp", "math.ldexp(x, n)", x=A, n=3),
        row("math.pow", "math.pow(x, y)", x=A, y=B),
        row("math.frexp", _frexp, x=A),
        row("math.modf", _modf, x=B),
        row("math.nextafter", "math.nextafter(x, y) * x", x=A, y=B),
        row("math.dist", "math.dist((x, y), (y, 0.3))", x=A, y=B),
        row("math.gcd", "x * math.gcd(n, 12)", x=A, n=18),
        row("math.isnan, isinf, isfinite", _float_tests, x=A, y=B),
        row("sum of an array", "sum(x)", x=X),
        row("len, any, all", "x[0] * len(x) * mask.any() + x[1] * mask.all()", x=X, mask=MASK),
        row("min, max of an array's elements", "min(x) * max(x)", x=X),
        row("integer array as data", "x[i[0]] * i[1]", x=X, i=I),
    ),
)
