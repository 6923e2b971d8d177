"""Python: control flow, functions, iteration."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba import carray, literal_unroll, types

from tools.support.case import Group, row
from tools.support.cases.values import A, B, M, X, Y

WEIGHTS = np.array([0.2, 0.5, 0.3, 0.1, 0.4])
DEPTH = 3


def _while(x):
    y, n = x, 0
    while y < 4.0 and n < 20:
        y = y * 1.5 + x
        n += 1
    return y


def _break_continue(x):
    total = 0.0
    for value in x:
        if value < -0.5:
            continue
        if value > 1.0:
            break
        total += value * value
    else:
        total = -1.0
    return total


def _early_return(x):
    for i in range(x.size):
        if x[i] > 0.5:
            return x[i] * x[0]
    return 0.0


def _conditional(x, y):
    z = x if x > y else y * y
    return z * (x and y) + (not x) * y


def _match(x, n):
    match n:
        case 0:
            return x
        case _:
            return x * x


def _nested(x):
    total = 0.0
    for i in range(x.size):
        for j in range(i, x.size):
            total += x[i] * x[j] / (1 + i + j)
    return total


def _range(x):
    total = 0.0
    for i in range(4, -1, -2):
        total += i * x[i]
    return total


def _enumerate(x):
    total = 0.0
    for i, value in enumerate(x, 1):
        total += i * value * value
    return total


def _zip(x, y):
    total = 0.0
    for a, b, k in zip(x, y, range(3)):  # noqa: B905
        total += a * b * k
    return total


def _reversed(x):
    total = 0.0
    for i in reversed(range(x.size)):
        total = total * x[i] + i
    return total


def _ndindex(m):
    total = 0.0
    for i, j in np.ndindex(m.shape):
        total += m[i, j] * m[i, j] * (i + 2 * j)
    return total


def _ndenumerate(m):
    total = 0.0
    for (i, j), value in np.ndenumerate(m):
        total += value * value * (i + 2 * j)
    return total


def _nditer(m):
    total = 0.0
    for value in np.nditer(m):
        total += value.item() ** 2
    return total


def _flat(m):
    total = 0.0
    for value in m.flat:
        total = total * 0.5 + value * value
    return total


@numba.njit
def _squares(x):
    for value in x:
        yield value * value


def _generator(x):
    total = 0.0
    for value in _squares(x):
        total = total * 0.5 + value
    return total


def _generator_expression(x):
    return sum(value * value for value in x)


def _literal_unroll(x, y):
    total = 0.0
    for value in literal_unroll((x, 2, y, 3.0)):
        total += value * x
    return total


@numba.njit
def _scaled(x, factor=2.0):
    return factor * math.sin(x)


def _helper(x):
    return _scaled(x) * _scaled(x, factor=x)


def _closure(x, y):
    def inner(z):
        return z * y

    return inner(x) + inner(x * x)


def _lambda(x):
    square = lambda z: z * z  # noqa: E731
    return square(x) + square(2.0 * x)


@numba.njit
def _power(x, n):
    return 1.0 if n == 0 else x * _power(x, n - 1)


def _recursion(x, n):
    return _power(x, n)


def _function_argument(f, x):
    return f(x) * f(x * x)


@numba.njit
def _cube(x):
    return x * x * x


@numba.njit
def _sine(x):
    return math.sin(x)


def _tuple_of_functions(x):
    total = 0.0
    for f in literal_unroll((_cube, _sine)):
        total += f(x)
    return total


def _chosen_function(x, n):
    f = _cube if n > 0 else _sine
    return f(x)


@numba.njit("float64(float64)")
def _typed_sine(x):
    return np.sin(x)


@numba.njit("float64(float64)")
def _typed_square(x):
    return x * x


def _indexed_function(x, n):
    return (_typed_sine, _typed_square)[n](x)


@numba.cfunc(types.float64(types.float64))
def _typed_cube(x):
    return x * x * x


_POINTER = types.CPointer(types.float64)


@numba.cfunc(types.void(types.float64, _POINTER, _POINTER, _POINTER))
def _lorenz(t, u, du, p):
    state = carray(u, (3,))
    rate = carray(du, (3,))
    sigma, rho, beta = carray(p, (3,))
    rate[0] = sigma * (state[1] - state[0])
    rate[1] = state[0] * (rho - state[2]) - state[1]
    rate[2] = state[0] * state[1] - beta * state[2]


def _cfunc(u, p, steps):
    state, rate = u.copy(), np.zeros(3)
    for _ in range(steps):
        _lorenz(0.0, state.ctypes, rate.ctypes, p.ctypes)
        state += 0.01 * rate
    return state


def _optional(x, y):
    return x if y is None else x * y


def _optional_local(x):
    best = None
    for value in x:
        if best is None or value > best:
            best = value
    return best * best


def _default(x, y=2.0):
    return x * y


def _star(x, y):
    def total(*values):
        return values[0] * values[1]

    return total(x, y)


def _unpack(m):
    a, b, c = m[0, 0], m[1, 1], m[2, 2]
    a, b = b, a
    (d, e), c = (a * c, b), c * b
    return d * e * c


def _raise(x):
    if x < 0.0:
        raise ValueError("negative")
    return x * x


def _assert(x):
    assert x > 0.0, "positive"
    return math.sqrt(x)


def _try(x):
    try:
        if x > 10.0:
            raise ValueError("large")
        y = x * x
    except Exception:
        y = x
    return y


def _with_print(x):
    if x.size > 100:
        print("many:", x.size)
    return x * x


def _global(x):
    return x * WEIGHTS * DEPTH


def _augmented(x):
    y = x
    y += x * 2.0
    y *= x
    y /= 3.0
    y -= 1.0
    y **= 2
    return y


def _walrus(x):
    if (y := x * x) > 0.1:
        return y * x
    return x


def _formatted(x, n):
    name = f"case {n}" + str(n)
    return x * len(name)


def _parallel(x):
    made = np.zeros(x.size)
    for i in numba.prange(x.size):
        made[i] = x[i] * x[i]
    return made


def _objmode(x):
    with numba.objmode(y="float64"):
        y = math.sin(x)
    return x * y


def _stencil_sum(x):
    return _laplace(x)


@numba.stencil
def _laplace(x):
    return x[-1] - 2.0 * x[0] + x[1]


GROUP = Group(
    "python",
    "Python",
    (
        row("while", _while, x=A),
        row("for, break, continue, else", _break_continue, x=X),
        row("early return", _early_return, x=X),
        row("conditional expressions, and, or, not", _conditional, x=A, y=B),
        row("match", _match, x=A, n=1),
        row("nested and triangular loops", _nested, x=X),
        row("range with a step", _range, x=X),
        row("enumerate", _enumerate, x=X),
        row("zip", _zip, x=X, y=Y),
        row("reversed", _reversed, x=X),
        row("np.ndindex", _ndindex, m=M),
        row("np.ndenumerate", _ndenumerate, m=M),
        row("np.nditer", _nditer, m=M),
        row("iteration over x.flat", _flat, m=M),
        row("generator function", _generator, x=X),
        row("generator expression", _generator_expression, x=X),
        row("literal_unroll", _literal_unroll, x=A, y=B),
        row("helper functions, defaults, keywords", _helper, x=A),
        row("closures", _closure, x=A, y=B),
        row("lambda", _lambda, x=A),
        row("recursion", _recursion, x=A, n=4),
        row("njit function as argument", _function_argument, f=_cube, x=A),
        row("cfunc as argument", _function_argument, f=_typed_cube, x=A),
        row("tuple of functions", _tuple_of_functions, x=A),
        row("function chosen at run time", _chosen_function, x=A, n=1),
        row("tuple of functions, indexed at run time", _indexed_function, x=A, n=1),
        row("cfunc and carray", _cfunc, u=X[:3].copy(), p=Y[:3].copy(), steps=3),
        row("None as argument", _optional, x=A, y=None),
        row("Optional local", _optional_local, x=X),
        row("default arguments", _default, x=A, y=B),
        row("*args of a closure", _star, x=A, y=B),
        row("unpacking and swapping", _unpack, m=M),
        row("raise", _raise, x=A),
        row("assert", _assert, x=A),
        row("try, except", _try, x=A),
        row("print of inactive data", _with_print, x=X),
        row("global scalars and arrays", _global, x=X),
        row("augmented assignment", _augmented, x=A),
        row("walrus", _walrus, x=A),
        row("strings built", _formatted, x=A, n=3),
        row("prange", _parallel, x=X, options={"parallel": True}),
        row("objmode", _objmode, x=A),
        row("numba.stencil", _stencil_sum, x=X),
        row("fastmath", "x * x * x", x=X, options={"fastmath": True}),
        row("error_model='numpy'", "x / y", x=A, y=B, options={"error_model": "numpy"}),
        row("boundscheck", "x[1] * x[2]", x=X, options={"boundscheck": True}),
    ),
)
