"""Kernels over the whole language, each with arguments to run it on."""

# ruff: noqa: B905, RUF007, SIM116, PERF401, C405, PLC3002

from __future__ import annotations

import ctypes
import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cfunc, guvectorize, literal_unroll, njit, prange, stencil, typed, types, vectorize
from numba.experimental import jitclass
from numba.extending import overload, register_jitable

# fmt: off


@dataclass(frozen=True)
class Case:
    """`arguments` makes new ones each time. Without `exact`, sums may differ in their last bits."""

    kernel: Any
    arguments: Callable[[], tuple[Any, ...]]
    exact: bool = True


CASES: dict[str, Case] = {}


def case(*arguments: Any, exact: bool = True) -> Callable[[Any], Any]:
    """Register a kernel; an argument that is a function is called to make the argument."""

    def register(kernel: Any) -> Any:
        name = getattr(kernel, "__name__", str(kernel))
        assert name not in CASES, name
        CASES[name] = Case(kernel, lambda: tuple(a() if callable(a) else a for a in arguments), exact)
        return kernel

    return register


def vector(n: int = 7, dtype: Any = np.float64, seed: int = 0) -> Callable[[], np.ndarray]:
    return lambda: np.random.default_rng(seed).uniform(0.5, 2.0, n).astype(dtype)


def matrix(
    n: int = 5, m: int = 5, order: str = "C", dtype: Any = np.float64, seed: int = 0
) -> Callable[[], np.ndarray]:
    def make() -> np.ndarray:
        values = np.random.default_rng(seed).uniform(0.5, 2.0, (n, m))
        return np.asarray(values + n * np.eye(n, m), dtype=dtype, order=order)
    return make


def symmetric(n: int = 4) -> np.ndarray:
    a = matrix(n, n)()
    return a + a.T


def strided() -> np.ndarray:
    return np.arange(1.0, 15.0)[::2]


def reversed_() -> np.ndarray:
    return np.arange(1.0, 8.0)[::-1]


def frozen() -> np.ndarray:
    x = np.arange(1.0, 8.0)
    x.flags.writeable = False
    return x


def integers() -> np.ndarray:
    return np.array([3, 1, 4, 1, 5, 0, 2])


def complexes() -> np.ndarray:
    return np.arange(1.0, 6.0) + 1j * np.arange(5.0)


# --- scalars --------------------------------------------------------------------------------------------------------

@case(1.3, 0.7)
@njit
def polynomial(x, y): return 3.0 * x * x - y / x + x ** 3 - 2.0 ** y

@case(1.3, 3)
@njit
def integer_powers(x, n): return x ** 2 + x ** n + x ** -2 + x ** 0.5

@case(0.3)
@njit
def elementary(x):
    return (math.sin(x) + math.cos(x) * math.tan(x) + math.exp(x) - math.log(x) + math.sqrt(x) + math.tanh(x)
            + math.asin(x) + math.acos(x) + math.atan(x) + math.sinh(x) + math.cosh(x) + math.expm1(x) + math.log1p(x))

@case(1.7)
@njit
def special(x):
    return (math.erf(x) + math.erfc(x) + math.gamma(x) + math.lgamma(x) + math.atan2(x, 2.0) + math.hypot(x, 1.0)
            + math.pow(x, 1.5) + math.copysign(1.0, -x) + math.log2(x) + math.log10(x) + math.fabs(x))

@case(-3.6, 2.5)
@njit
def rounding(x, y):
    return (x % y + x // y + math.floor(x) + math.ceil(x) + round(x) + np.sign(x) + abs(x) + math.trunc(x)
            + max(x, y) + min(x, y) + int(x) + np.cbrt(x) + np.logaddexp(x, y) + np.hypot(x, y) + np.arctan2(x, y))

@case(7, 3)
@njit
def integer_arithmetic(a, b): return a // b + a % b - (a << b) ^ (a & b | 12) + (-a) // b + (-a) % b + a ** b + ~a

@case(np.uint8(200), np.int32(-5))
@njit
def mixed_widths(a, b): return a + b, a * np.uint8(2), np.int8(a), np.float32(b) / 3

@case(np.float32(1.3), np.float32(0.4))
@njit
def single(x, y): return np.sin(x) * y + x ** 2 / y

@case(1.5, True)
@njit
def boolean(x, b): return x if b and x > 1.0 else -x

@case(0.5 + 2j, 1.5 - 1j)
@njit
def complex_scalars(a, b): return (a * b + np.exp(a)).real / abs(b) + (a / b).imag

@case(1.5)
@njit
def nothing(x): pass

@case(1.5)
@njit
def constant(x): return 2.0

@case(1.5, None)
@njit
def optional_argument(x, y):
    if y is None:
        return x
    return x * y

@case(1.5, 2)
@njit
def optional_value(x, n):
    y = x * x if n > 1 else None
    return 0.0 if y is None else y

@case(1.5)
@njit
def defaults(x, y=2.0, n=3): return x * y + n

@case(2.0, 3.0, 4.0)
@njit
def star(x, *rest): return x * rest[0] + rest[1]

# --- loops and branches ---------------------------------------------------------------------------------------------

@case(vector())
@njit
def sum_of_squares(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s

@case(1.01, 50)
@njit
def while_loop(x, n):
    while n > 0 and x < 2.0:
        x *= x
        n -= 3
    return x, n

@case(vector())
@njit
def early_exits(x):
    s = 0.0
    for i in range(x.size):
        if x[i] > 1.9:
            break
        if x[i] < 0.6:
            continue
        for v in x[:i]:
            if v * s > 10.0:
                return -s
            s += v
    else:
        s *= 2.0
    return s

@case(vector())
@njit
def constant_trips(x):
    y = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            y[i, j] = x[i] * x[j] + i
    s = 0.0
    for i in range(2, -1, -1):
        for j in range(3):
            s += y[i, j] * y[j, i]
    return s

@case(vector(32))
@njit
def longer_constant_trips(x):
    s = 0.0
    for i in range(1, 31, 2):
        s = s * 0.5 + math.sin(x[i])
    for i in range(1000):
        s += 1.0 / (i + 1)
    return s

@case(6)
@njit
def triangular(n):
    a = np.empty((n, n))
    for i in range(n):
        for j in range(i, n):
            a[i, j] = i + j * 0.5
            a[j, i] = a[i, j] - 1.0
    return a

@case(4, -3)
@njit
def negative_ranges(n, m):
    s = 0.0
    for i in range(n, m, -2):
        for j in range(m):
            s += j
        s += i
    return s

@case(vector())
@njit
def iterators(x):
    s = 0.0
    for i, v in enumerate(x):
        s += i * v
    for a, b in zip(x, x[1:]):
        s += a * b
    return s

@case(matrix())
@njit
def array_iterators(x):
    s = 0.0
    for v in x.flat:
        s += v
    for i, j in np.ndindex(x.shape):
        s *= x[i, j]
    for v in np.nditer(x):
        s += v.item()
    for k, v in np.ndenumerate(x):
        s -= v * k[0]
    return s

@case(3)
@njit
def switch(n):
    if n == 0:
        return 1.0
    elif n == 1:
        return 2.5
    elif n == 3:
        return 7.25
    return 0.0

@case(0.9, 30)
@njit
def newton(x, n):
    for _ in range(n):
        step = (x * x - 2.0) / (2.0 * x)
        x -= step
        if abs(step) < 1e-12:
            break
    return x

# --- arrays ---------------------------------------------------------------------------------------------------------

def _scale(x, a):
    for i in range(x.shape[0]):
        x[i] = x[i] * a + 1.0
    return x.sum()

_LAYOUTS_1D = {"c": vector(), "strided": strided, "reversed": reversed_, "single": vector(6, np.float32)}
for _name, _make in _LAYOUTS_1D.items():
    CASES[f"scale_{_name}"] = Case(njit(_scale), lambda make=_make: (make(), 1.5))

def _walk(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += x[i, j] * (i + 2 * j)
    return s

_LAYOUTS_2D = {
    "c": matrix(3, 5),
    "fortran": matrix(3, 5, "F"),
    "transposed": lambda: matrix(3, 5)().T,
    "window": lambda: matrix(6, 7)()[1:4, ::2],
}
for _name, _make in _LAYOUTS_2D.items():
    CASES[f"walk_{_name}"] = Case(njit(_walk), lambda make=_make: (make(),))

@case(frozen)
@njit
def read_only(x): return x[0] * x[-1]

@case(lambda: np.array(2.5))
@njit
def zero_dimensional(x): return x[()] * 2.0

@case(lambda: np.ones((2, 3, 4)))
@njit
def three_dimensional(x):
    s = 0.0
    for i in range(x.shape[0]):
        v = x[i]
        v[1, 2] *= i + 1.0
        s += x[i, 1, 2] + v[0].sum()
    return s

@case(lambda: np.empty(0))
@njit
def empty_array(x): return x.sum() + x.size

@case(vector())
@njit
def returns_new(x): return x * 2.0

@case(vector(), vector(seed=1))
@njit
def returns_several(x, y): return x + y, x, (y[1:], x.size), y.sum()

@case(vector())
@njit
def returns_same_twice(x):
    y = x + 1.0
    return y, y, y[::2]

@case(matrix(3, 4))
@njit
def returns_views(x): return x.T, x[1], x[:, ::-1], x.reshape(-1)

@case(vector())
@njit
def returns_argument(x): return x

@case(vector(), 3)
@njit
def scratch(x, n):
    a = np.zeros_like(x)
    b = x.copy()
    for k in range(n):
        a[1:-1] = b[2:] - 2.0 * b[1:-1] + b[:-2]
        b += 0.1 * a
        t = np.empty(x.size)
        for i in range(x.size):
            t[i] = b[i] * k
        b -= 0.01 * t
    return b.sum()

@case(vector(), 4)
@njit
def swapped_buffers(x, n):
    a, b = x.copy(), np.empty_like(x)
    for _ in range(n):
        for i in range(x.size):
            b[i] = a[i] * a[(i + 1) % x.size]
        a, b = b, a
    return a

@case(vector(), True)
@njit
def chosen_array(x, b):
    y = x if b else np.zeros(3)
    y[0] = 5.0
    return y.sum()

@case(strided, matrix(7, 7))
@njit
def broadcast(x, y): return (x * y).sum()

@case(vector())
@njit
def array_expression(x): return np.exp(x) * x + np.sqrt(x) / (1.0 + x ** 2)

@case(vector())
@njit
def reductions(x): return x.min() + np.std(x) + np.argmax(x)

@case(vector())
@njit
def cumulative(x):
    y = np.cumsum(x)
    y[1:] += x[:-1]
    return y[::-1]

@case(vector(), integers)
@njit
def fancy(x, index): return x[index] * 2.0, x[x > 1.0].sum()

@case(matrix())
@njit
def reshaping(x):
    y = x.T.copy().reshape(-1)
    z = np.concatenate((y, y))
    return np.where(z > 1.0, z, 0.0), np.ascontiguousarray(x[:, 1])

@case(vector(), vector(seed=2))
@njit
def overlapping(x, y):
    for i in range(1, x.size):
        x[i] = x[i - 1] * y[i]
        y[i - 1] = x[i]
    return x[-1] - y[0]

@case(lambda: vector()(), vector(4))
@njit
def writes(x, out):
    x[:] = 1.0
    out[-1] = x[-1] * 3.0

@case(integers)
@njit
def integer_array(x):
    x[0] += 5
    x //= 2
    return x.sum(), (x * 1.5).sum()

@case(lambda: np.array([True, False, True]))
@njit
def boolean_array(m): return m.sum(), np.any(m)

@case(complexes)
@njit
def complex_array(a):
    s = 0.0
    for i in range(a.size):
        a[i] *= 1j
        s += abs(a[i]) ** 2
    return s

@case(vector(), 1)
@njit
def makers(x, n): return np.linspace(x[0], x[1], 5), np.arange(n, 9, 2) * x[0], np.full(3, x[2]), np.eye(2)

@case(vector())
@njit
def comprehension(x): return np.array([v * v for v in x])

@case(vector(40))
@njit
def histogram(x):
    counts = np.zeros(4, np.int64)
    for v in x:
        counts[int((v - 0.5) / 0.376)] += 1
    return counts

# --- linear algebra, sorting ----------------------------------------------------------------------------------------

@case(matrix(), matrix(seed=1))
@njit
def matmul(a, b): return a @ b

@case(matrix(), vector(5))
@njit
def products(a, x): return np.dot(a, x), np.dot(x, x)

@case(matrix(order="F", dtype=np.float32), matrix(dtype=np.float32, seed=1))
@njit
def matmul_single(a, b): return a @ b

@case(matrix(), vector(5))
@njit
def solve(a, b): return np.linalg.solve(a, b), np.linalg.det(a)

@case(symmetric)
@njit
def eigen(a): return np.linalg.eigh(a)[0]

@case(vector())
@njit
def sorting(x): return x[np.argsort(x)]

@case(1.2, lambda: np.arange(5.0), vector(5))
@njit
def interpolation(x, a, b): return b[np.searchsorted(a, x)] * x

# --- tuples, records ------------------------------------------------------------------------------------------------

Point = namedtuple("Point", "a b")
Inner = namedtuple("Inner", "u v")

@case((1.0, 2.0, 3.0))
@njit
def tuples(t): return t[0] * t[1] + t[2]

@case(lambda: (1.5, 2, np.arange(1.0, 4.0), True))
@njit
def mixed_tuple(t): return t[0] * t[1] + t[2][0], t[2] * 2.0, t[3]

@case(lambda: Point(2.0, np.arange(3.0)))
@njit
def named_tuple(p): return Point(p.a * 2.0, p.b * p.a)

@case(lambda: Point(Inner(1.0, np.ones(2)), (3, (4.0,))))
@njit
def nested_tuple(p): return p.a.u * p.b[1][0] + p.a.v[0] * p.b[0], p.b

@case(lambda: (np.arange(3.0), np.arange(3.0) + 1.0), 1)
@njit
def indexed_tuple(t, i): return t[i][0]

@case(lambda: (1.5, np.ones(3)))
@njit
def unrolled(t):
    s = 0.0
    for v in literal_unroll(t):
        s += np.sum(np.asarray(v))
    return s

@case(())
@njit
def empty_tuple(t): return len(t) + 1.5

RECORD = np.dtype([("x", "f8"), ("n", "i4"), ("v", "f8", (3,))], align=True)

def records() -> np.ndarray:
    a = np.zeros(4, RECORD)
    a["x"], a["n"], a["v"] = np.arange(4.0), 2, np.ones((4, 3))
    return a

@case(records)
@njit
def record_array(a):
    s = 0.0
    for i in range(a.size):
        a[i].x *= 2.0
        s += a[i].x * a[i].v[0] + a[i].n
    return s

# --- functions ------------------------------------------------------------------------------------------------------

@njit
def first_helper(x): return x * 2.0 + 1.0

@njit
def second_helper(x): return x * x - 3.0

@case(1.7)
@njit
def two_helpers(x): return first_helper(x) * 100.0 + second_helper(x)

@case(1.7, 1.2)
@njit
def max_and_min(x, y): return max(x, y) * 100.0 + min(x, y)

@case(vector())
@njit
def same_types_many(x): return np.sum(x), np.prod(x), np.max(x), np.min(x), np.mean(x)

@njit
def raised(x, n=2): return x ** n

@njit
def shifted(x, n=5.0): return x + n

@case(1.7)
@njit
def helper_defaults(x): return raised(x) + raised(x, 3) + raised(x, n=4) + shifted(x)

@njit
def array_helper(x, a):
    x *= a
    return x[1:]

@case(vector())
@njit
def helper_arrays(x):
    y = array_helper(x, 2.0)
    return array_helper(y, 3.0).sum(), y

def _closure(k, table):
    @njit
    def closure(x): return x * k + table[1]
    return closure

CASES["closure"] = Case(_closure(3.5, np.arange(4.0)), lambda: (1.5,))
CASES["other_closure"] = Case(_closure(-1.5, np.ones(3)), lambda: (1.5,))

@case(1.5)
@njit
def inner_function(x):
    k = x * 2
    def inner(y): return y * k
    return inner(x)

@case(1.5)
@njit
def lambda_(x): return (lambda y: y * x)(x + 1.0)

TABLE = np.arange(50.0)
SCALE = 2.5
PAIR = (1.0, np.arange(3.0))
BIG = np.arange(300_000.0)

@case(1.5, 7)
@njit
def globals_(x, i): return x * SCALE + TABLE[i] + PAIR[1][1] * PAIR[0] + BIG[i * 1000]

@case(1.1, 5)
@njit
def recursion(x, n):
    if n <= 0:
        return 1.0
    return x * recursion(x, n - 1)

@njit
def odd(x, n):
    if n <= 0:
        return x
    return even(x, n - 1) * 2.0

@case(1.1, 5)
@njit
def even(x, n):
    if n <= 0:
        return x
    return odd(x * x, n - 1)

@case(vector(), 2)
@njit
def array_recursion(x, n):
    if n == 0:
        return x.sum()
    y = x * 2.0
    return array_recursion(y, n - 1) + y[0]

@case(lambda: first_helper, 1.5)
@njit
def function_argument(f, x): return f(x) * 2.0

@case(1.5, True)
@njit
def function_choice(x, b):
    f = first_helper if b else second_helper
    return f(x)

@case(1.5)
@njit
def function_tuple(x):
    s = 0.0
    for f in literal_unroll((first_helper, second_helper)):
        s += f(x)
    return s

@njit
def powers(x, n):
    v = x
    for _ in range(n):
        yield v
        v = v * x

@case(1.1, 4)
@njit
def generator(x, n):
    s = 0.0
    for v in powers(x, n):
        s += v
    return s

@njit(inline="always")
def inlined_helper(x): return x * x + 1

@njit(forceinline=True)
def forced_helper(x): return x * x + 2

@register_jitable
def jitable_helper(x): return x * x + 3

def overloaded(x): return x * 3.0

@overload(overloaded)
def _overloaded(x):
    if isinstance(x, types.Float):
        return lambda x: x * 3.0
    return None

@case(1.5)
@njit
def other_helpers(x): return inlined_helper(x) + forced_helper(x) * jitable_helper(x) + overloaded(x)

@cfunc("float64(float64)")
def callback(x): return x * x

_libm = ctypes.CDLL("libm.so.6")
c_sin = _libm.sin
c_sin.argtypes, c_sin.restype = [ctypes.c_double], ctypes.c_double
external_cos = types.ExternalFunction("cos", types.float64(types.float64))

@case(1.5)
@njit
def c_functions(x): return callback(x) + c_sin(x) * external_cos(x)

@vectorize(["float64(float64,float64)"])
def eager_ufunc(a, b): return a * b + 1

@vectorize
def lazy_ufunc(a, b): return a * b + np.sinc(a)

@guvectorize(["void(float64[:],float64[:])"], "(n)->(n)", nopython=True)
def eager_gufunc(a, out):
    for i in range(a.size):
        out[i] = a[i] * 2

@guvectorize("(n)->(n)", nopython=True)
def lazy_gufunc(a, out):
    for i in range(a.size):
        out[i] = a[i] * 3

@case(vector(), vector(seed=1))
@njit
def ufuncs(a, b): return eager_ufunc(a, b), lazy_ufunc(a, b), eager_ufunc(1.5, a[0])

@case(vector(), vector(seed=1))
@njit
def gufuncs(a, b):
    eager_gufunc(a, b)
    c = np.zeros_like(b)
    lazy_gufunc(b, c)
    return b[0], c

@stencil
def neighbours(a): return 0.5 * (a[-1] + a[1])

@case(vector())
@njit
def stencils(x): return neighbours(x)

# --- options --------------------------------------------------------------------------------------------------------

@case(vector(), exact=False)
@njit(fastmath=True)
def fast(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] / 3.0
    return s

@case(vector(), exact=False)
@njit(fastmath={"reassoc", "contract"})
def some_fast(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * 3.0
    return s

@case(1.5, 0.0)
@njit(error_model="numpy")
def numpy_division(x, y): return x / y

@case(1.5, 0.0)
@njit
def python_division(x, y): return x / y

@case(vector(), 9)
@njit(boundscheck=True)
def checked_bounds(x, i): return x[i] * 2

@case(vector(), 3)
@njit(debug=True)
def debugged(x, i): return x[i] * 2

@case(1.5)
@njit(locals={"y": types.float32})
def typed_locals(x):
    y = x / 3.0
    return y * 2.0

@case(vector())
@njit(nogil=True)
def without_gil(x): return x[0] * 2

@case(vector())
@njit(parallel=True)
def parallel_array(x):
    out = np.empty_like(x)
    for i in prange(x.size):
        out[i] = x[i] ** 2
    return out

@case(matrix(), exact=False)
@njit(parallel=True)
def parallel_reductions(x):
    s, m = 0.0, 1.0
    for i in prange(x.shape[0]):
        s += x[i, 0]
        m *= x[i, 1]
    return s + m

# --- exceptions -----------------------------------------------------------------------------------------------------

@case(-1.5)
@njit
def raises(x):
    if x < 0:
        raise ValueError("negative")
    return x

@case(-1.5, 3)
@njit
def raises_values(x, n):
    if x < 0:
        raise ValueError("negative", x, n)
    return x

@njit
def checking_helper(x):
    if x < 0:
        raise KeyError("from a helper", x)
    return x

@case(lambda: np.array([1.0, -2.0]))
@njit
def helper_raises(x):
    s = 0.0
    for v in x:
        s += checking_helper(v)
        x[0] = s
    return s

@case(vector())
@njit
def catches(x):
    try:
        if x[0] > 0:
            raise ValueError("caught")
        return x[0]
    except Exception:
        return x[1] * 2.0

@case(-1.0)
@njit
def asserts(x):
    assert x > 0, "must be positive"
    return x

@case(lambda: np.zeros((3, 3)), vector(3))
@njit
def singular(a, b): return np.linalg.solve(a, b)

@case(vector(3), vector(4))
@njit
def bad_shapes(x, y): return x + y

@case(5)
@njit
def huge_allocation(n): return np.empty(n << 58)[0]

# --- what needs more of Numba's runtime than arrays -----------------------------------------------------------------

@case(vector())
@njit
def local_list(x):
    values = []
    for v in x:
        values.append(v * 2.0)
    return sum(values)

@case(vector())
@njit
def list_of_arrays(x):
    arrays = [x, x * 2.0]
    s = 0.0
    for a in arrays:
        s += a[0]
    return s

@case(vector())
@njit
def local_typed_list(x):
    values = typed.List()
    for i in range(x.size):
        values.append(x[i] * x[0])
    values.insert(1, values.pop(0))
    del values[::2]
    return values[-1] * len(values)

@case(lambda: typed.List([1.0, 2.0, 3.0]))
@njit
def typed_list(values):
    s = 0.0
    for v in values:
        s += v * v
    return s

@case(lambda: typed.List([np.ones(2)]), vector())
@njit
def typed_list_of_arrays(values, x):
    values[0][:] = x[:2] * values[0]
    return values[0][1]

def _dictionary() -> Any:
    d = typed.Dict.empty(types.int64, types.float64)
    d[1] = 1.5
    return d

@case(_dictionary)
@njit
def typed_dict(d):
    d[3] = d[1] * 2.0
    return d[3]

@case(vector())
@njit
def local_dict(x):
    d = {}
    for i in range(x.size):
        d[i] = x[i] * 2.0
    return d[0]

@case(vector())
@njit
def local_set(x): return x[0] * len(set([1, 2, 3]))

@jitclass([("a", types.float64), ("v", types.float64[::1])])
class Holder:
    def __init__(self, a, v):
        self.a = a
        self.v = v

    def value(self, x):
        return self.a * x + self.v[0]

@case(lambda: Holder(1.5, np.ones(2)), 2.0)
@njit
def jitclass_argument(h, x):
    h.a = h.a + 1.0
    h.v[:] = h.v * x + 1.0
    return h.value(x)

@case(2.0, vector())
@njit
def jitclass_inside(x, v): return Holder(x, v).value(x)

@case(1.5, "abc")
@njit
def strings(x, s): return x * 2 if s == "abc" else x + len(s)

@case(lambda: np.arange(3).astype("M8[s]"))
@njit
def datetimes(x): return x[1]

@case(1.5)
@njit
def random_numbers(x):
    np.random.seed(5)
    return x * np.random.normal() + np.random.standard_normal(3).sum()
