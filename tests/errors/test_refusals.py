"""Every refusal: its class, the line of Python it names, why, and what to write instead."""

from __future__ import annotations

import ctypes
import ctypes.util
import inspect
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba import float64, int64, njit, typeof
from numba.experimental import jitclass

from irad import pipeline
from irad.errors import IradError, MissingRule, Unsupported

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
J0 = LIBM.j0
J0.restype, J0.argtypes = ctypes.c_double, [ctypes.c_double]
TABLE = np.array([5.0, 7.0, 11.0])


# A kernel's line at fault ends in `# here`.


def ctypes_function(x):
    y = x * x
    return J0(y)  # here


@njit
def bessel(x):
    y = x + 1.0
    return J0(y)  # here


def inlined_helper(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += bessel(x[i])
    return s


@njit(inline="never")
def recursive(x, n):
    if n == 0:
        return J0(x)  # here
    return recursive(x * x, n - 1)


def helper_that_stays(x):
    depth = int(x) + 3
    return recursive(x, depth)


def number_of_text(x):
    return float(str(x)) * x  # here


def bits_in_place(x):
    v = x.view(np.int64)
    for i in range(v.shape[0]):
        v[i] += 1 << 52  # here
    return x[0] * x[1]


def bits_of_a_copy(x):
    v = x.view(np.int64)
    w = v + (1 << 52)  # here
    return w.view(np.float64)[0]


def bits_as_number(x):
    v = x.view(np.int64)
    return v[0] * 2.0**-52  # here


@jitclass([("a", float64), ("n", int64)])
class Walker:
    def __init__(self, a):
        self.a = a
        self.n = 1


@njit
def walk(w, k):
    if k > 0:
        w.a = w.a * w.n  # here
        w.n += 1
        walk(w, k - 1)


def instance_in_recursion(x):
    w = Walker(x)
    walk(w, 3)
    return w.a


def complex_cholesky(x):
    a = np.diag(x + 0j)
    return np.linalg.cholesky(a)[0, 0].real  # here


def dictionary(x):
    values = {"a": x[0]}  # here
    values["b"] = x[1]
    return values["a"]


def printed(x):
    y = x * x
    print(y)  # noqa: T201  # here
    return y


def text_and_array(x):  # here
    powers = {"one": 1, "two": 2}
    return x ** powers["two"]


BLAS = "a BLAS or LAPACK routine on active data"
CONTAINERS = "lists, dictionaries and sets of active values"
BITS = "integer arithmetic on the bits of an active float"
X = np.array([0.5, 0.25, 0.125])

REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], type[IradError], str]] = [
    (ctypes_function, (0.5,), MissingRule, "known by its address alone"),
    (bits_in_place, (X,), Unsupported, BITS),
    (bits_of_a_copy, (X,), Unsupported, BITS),
    (bits_as_number, (X,), Unsupported, BITS),
    (complex_cholesky, (X,), MissingRule, BLAS),
    (dictionary, (X,), MissingRule, CONTAINERS),
    (printed, (0.5,), MissingRule, "given to Python"),
]


def refusal(kernel: Callable[..., Any], args: tuple[Any, ...], mode: str = "reverse") -> IradError:
    """What deriving `kernel` by all of `args` raises."""
    scalar = "active" if mode == "reverse" else "duplicated"
    activity = tuple("duplicated" if isinstance(v, np.ndarray) else scalar for v in args)
    request = pipeline.Request(kernel, tuple(map(typeof, args)), mode, activity)
    with pytest.raises(IradError) as caught:
        _ = pipeline.derive(request).emitted
    return caught.value


def marked(function: Callable[..., Any]) -> tuple[int, str]:
    """The line of `function` that ends in `# here`, and its text."""
    lines, first = inspect.getsourcelines(function)
    return next((first + n, line.strip()) for n, line in enumerate(lines) if line.endswith("# here\n"))


def assert_names(error: IradError, kind: type[IradError], why: str, culprit: Callable[..., Any]) -> None:
    line, text = marked(culprit)
    first, second, *rest = str(error).split("\n")
    assert type(error) is kind
    assert first.startswith(f"{__file__}:{line}: ") and why in first
    assert second.strip() == text
    assert rest[0].startswith("  in: ") and "!dbg" not in rest[0]
    assert error.hint and rest[1].strip() == error.hint


def test_refusal_of_a_kernel_as_a_whole_names_its_first_line() -> None:
    line, text = marked(text_and_array)
    error = refusal(text_and_array, (X,))
    assert str(error).startswith(f"{__file__}:{line}: ") and text in str(error)
    assert "memory that Numba counts" in error.why and "keys of dictionaries" in error.hint


@pytest.mark.parametrize(("kernel", "args", "kind", "why"), REFUSED, ids=lambda v: getattr(v, "__name__", ""))
def test_refusal_names_the_line(kernel, args, kind, why):
    assert_names(refusal(kernel, args), kind, why, kernel)


def test_forward_mode_refuses_the_same():
    why = "known by its address alone"
    assert_names(refusal(ctypes_function, (0.5,), "forward"), MissingRule, why, ctypes_function)


def test_line_lies_in_the_inlined_helper():
    assert_names(refusal(inlined_helper, (X,)), MissingRule, "known by its address alone", bessel.py_func)


def test_line_lies_in_a_helper_that_is_not_inlined():
    assert_names(refusal(helper_that_stays, (0.5,)), MissingRule, "known by its address alone", recursive.py_func)


def test_an_exception_inside_numba_is_a_refusal_with_its_line():
    """Numba passes on what the code behind a function raises, without a place."""
    error = refusal(number_of_text, (0.5,))
    line, text = marked(number_of_text)
    assert type(error) is Unsupported
    assert str(error).startswith(f"{__file__}:{line}: Numba cannot compile number_of_text: could not convert string")
    assert text in str(error)


def test_what_is_not_followed_into_recursion_is_said():
    assert_names(refusal(instance_in_recursion, (0.5,)), Unsupported, "in one structure", walk.py_func)


def test_no_place_is_the_def_of_the_kernel():
    @njit
    def kernel(x):
        return x * x

    derivation = pipeline.derive(pipeline.Request(kernel, (numba.float64,), "forward", ("duplicated",))).derivation
    _, first = inspect.getsourcelines(kernel.py_func)
    place = derivation.place_of(Unsupported("no reason"))
    assert place is not None
    assert (place.file, place.line, place.text) == (__file__, first + 1, "def kernel(x):")


# --- what looks like these and is right -----------------------------------------------------------------------------


def seeded(x):
    np.random.seed(3)
    return x * np.random.normal(x, x)


def merged_with_table(x, n):
    t = TABLE if n > 0 else x
    s = 0.0
    for i in range(3):
        s += t[i] * x[i]
    return s


@njit(parallel=True)
def parallel_sum(x):
    s = 0.0
    for i in numba.prange(x.shape[0]):
        s += x[i] * x[i]
    return s


def inactive_dictionary(x):
    values = {0: 2, 1: 3}
    return values[0] * x * x


def inactive_bits(x, n):
    v = n.view(np.int64)
    return x * v[0]


@njit
def mixing(x, w, n):
    if n == 0:
        return 1.0
    return math.sin(mixing(x, w, n - 1)) * x[n - 1] * w[n - 1]


def constant_beside_active(x, n):
    return mixing(x, TABLE, n)


def test_draws_are_constants_of_the_path():
    import irad

    h = 1e-6
    difference = (njit(seeded)(0.5 + h) - njit(seeded)(0.5 - h)) / (2 * h)
    assert irad.grad(seeded)(0.5) == pytest.approx(difference, rel=1e-8)


@pytest.mark.parametrize(("n", "expected"), [(1, TABLE), (0, 2 * X)])
def test_table_merged_with_an_array_has_no_derivative_of_its_own(n, expected):
    import irad

    before = TABLE.copy()
    assert irad.grad(merged_with_table)(X.copy(), n) == pytest.approx(expected, rel=1e-14)
    assert np.array_equal(TABLE, before)


def test_parallel_loops_are_differentiated_as_serial():
    import irad

    assert irad.grad(parallel_sum)(X.copy()) == pytest.approx(2 * X, rel=1e-14)


def test_constant_beside_an_array_in_a_function_that_stays():
    import irad

    direction = np.array([0.3, -0.2, 0.7])
    up, down = (njit(constant_beside_active)(X + h * direction, 3) for h in (1e-5, -1e-5))
    gradient = irad.grad(constant_beside_active)(X.copy(), 3)
    assert gradient @ direction == pytest.approx((up - down) / 2e-5, rel=1e-8)


def test_constant_containers_are_allowed():
    import irad

    assert irad.grad(inactive_dictionary)(1.5) == pytest.approx(6.0, rel=1e-14)


def test_bits_of_constants_are_allowed():
    import irad

    assert irad.grad(inactive_bits)(1.5, np.array([2.0])) == float(np.array([2.0]).view(np.int64)[0])
