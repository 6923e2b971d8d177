"""What a caller can get wrong: each message names the kernel's line and the remedy."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad
from irad import BadArgumentType, BadArgumentValue, Const, Duplicated, Forward, Reverse, Unsupported
from tests.api.standin import Pipeline, kernel

X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
NARROW = np.ones(3, np.float32)


@njit
def returns_array(x):
    return x * 2.0


@njit
def returns_nothing(x):
    x[0] = 1.0


@njit
def returns_count(x):
    return x.size


@njit
def untypable(x):
    return x.no_such_attribute


@njit
def pairs(t):
    return t[0]


def readonly(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


def reverse(*shadows: Any, x: np.ndarray = X, y: np.ndarray = Y) -> Any:
    words = [Duplicated(value, shadow) for value, shadow in zip((x, y), shadows, strict=False)]
    return irad.autodiff(Reverse, kernel, *words, *[Const(Y)] * (2 - len(words)), Const(2.0))


CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "not a function": (lambda: irad.grad(3), BadArgumentType, "3 is not a function that Numba compiles"),
    "argnums too large": (lambda: irad.grad(kernel, 3), BadArgumentValue, "kernel has no argument 3; it has x, y, w"),
    "argnums too small": (lambda: irad.grad(kernel, -4), BadArgumentValue, "no argument -4"),
    "argnums unknown": (lambda: irad.grad(kernel, "z"), BadArgumentValue, "kernel has no argument 'z'"),
    "argnums twice": (lambda: irad.grad(kernel, (0, "x")), BadArgumentValue, "several different ones"),
    "argnums empty": (lambda: irad.grad(kernel, ()), BadArgumentValue, "must name one argument"),
    "argnums float": (lambda: irad.grad(kernel, 1.0), BadArgumentType, "positions and names, not 1.0"),
    "jacobian of several": (lambda: irad.jacfwd(kernel, (0, 1)), BadArgumentType, "not several"),
    "star arguments": (lambda: irad.grad(lambda *xs: xs[0]), Unsupported, r"parameter \*xs"),
    "integer": (lambda: irad.grad(kernel, "w")(X, Y, 2), BadArgumentType, "w is int64: integers have no derivative"),
    "integer array": (lambda: irad.grad(kernel)(np.arange(3), Y), BadArgumentType, "integers have no derivative"),
    "integers in a tuple": (
        lambda: irad.grad(pairs)((1, True)),
        BadArgumentType,
        r"t is Tuple\(int64, bool\): integers",
    ),
    "complex result": (
        lambda: irad.grad(kernel)(X + 1j, Y),
        BadArgumentType,
        "kernel returns complex128, not one float",
    ),
    "text in a tuple": (lambda: irad.grad(pairs)(("abc", 1)), Unsupported, "t is .*, which has no derivative"),
    "no array": (lambda: irad.grad(kernel)("abc", Y), Unsupported, "x is unicode_type, which has no derivative"),
    "mixed tuple": (
        lambda: irad.autodiff(Reverse, pairs, Duplicated((1.0, X), (0.0, X))),
        BadArgumentType,
        "floats and arrays in one tuple cannot be Duplicated",
    ),
    "empty tuple": (lambda: irad.grad(pairs)(()), BadArgumentType, "t is an empty tuple"),
    "no Numba type": (lambda: irad.grad(kernel)(object(), Y), BadArgumentType, "annot determine Numba type"),
    "self-overlap": (
        lambda: irad.grad(kernel)(np.lib.stride_tricks.as_strided(X, (3,), (0,)), Y),
        BadArgumentValue,
        "x overlaps itself in memory",
    ),
    "jvp lengths": (lambda: irad.jvp(kernel, (X, Y), (X,)), BadArgumentType, "of the same length"),
    "tangent dtype": (lambda: irad.jvp(kernel, (X, Y, 1.0), (NARROW, None, None)), BadArgumentType, "array of float64"),
    "tangent shape": (lambda: irad.jvp(kernel, (X, Y, 1.0), (X[:2], None, None)), BadArgumentValue, "another shape"),
    "tangent of an integer": (lambda: irad.jvp(kernel, (X, Y, 1), (X, None, 1.0)), BadArgumentType, "w is int64"),
    "vjp count": (lambda: irad.vjp(kernel, X), BadArgumentType, "kernel takes 3 arguments, not 1"),
    "vjp of integers": (lambda: irad.vjp(returns_count, np.arange(3)), BadArgumentType, "no argument of returns_count"),
    "mode": (lambda: irad.autodiff("reverse", kernel), BadArgumentType, "irad.Forward or irad.Reverse, not 'reverse'"),
    "no annotation": (lambda: irad.autodiff(Reverse, kernel, X, Y, 1.0), BadArgumentType, "x has no annotation"),
    "annotations": (lambda: irad.autodiff(Reverse, kernel, Const(X)), BadArgumentType, "3 arguments, not 1"),
    "active array": (
        lambda: irad.autodiff(Reverse, kernel, irad.Active(X), Const(Y), Const(1.0)),
        BadArgumentType,
        "cannot be Active in reverse mode",
    ),
    "duplicated float": (
        lambda: irad.autodiff(Reverse, kernel, Const(X), Const(Y), Duplicated(1.0, 1.0)),
        BadArgumentType,
        "cannot be Duplicated in reverse mode",
    ),
    "active forward": (
        lambda: irad.autodiff(Forward, kernel, Const(X), Const(Y), irad.Active(1.0)),
        BadArgumentType,
        "cannot be Active in forward mode",
    ),
    "shadow shape": (lambda: reverse(np.zeros(2)), BadArgumentValue, "shadow of x has another shape"),
    "shadow strides": (lambda: reverse(np.zeros(6)[::2]), BadArgumentValue, "other strides, than x"),
    "shadow dtype": (
        lambda: reverse(NARROW),
        BadArgumentType,
        "shadow of x of kernel must be an array of float64, 1-d",
    ),
    "shadow rank": (lambda: reverse(np.zeros((3, 1))), BadArgumentType, "not array\\(float64, 2d, C\\)"),
    "shadow read-only": (lambda: reverse(readonly(X)), BadArgumentType, "x_bar is read-only"),
    "shadow is the primal": (lambda: reverse(X), BadArgumentValue, "the shadow of x shares memory with an argument"),
    "shadow is another primal": (lambda: reverse(Y), BadArgumentValue, "shares memory with an argument"),
    "one shadow for two": (
        lambda: reverse(*[np.zeros(3)] * 2),
        BadArgumentValue,
        "shadows of x and y must share memory",
    ),
    "two shadows for one": (lambda: reverse(np.zeros(3), np.zeros(3), y=X), BadArgumentValue, "exactly as x and y do"),
    "constant alias": (lambda: reverse(np.zeros(3), x=Y), BadArgumentValue, "y is constant, but shares memory"),
    "integer alias": (
        lambda: irad.grad(kernel, (0, 1))(X, X.view(np.float32)[:3].view(), 1.0),
        BadArgumentValue,
        "have not both a shadow of the same dtype",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(standin: Pipeline, name: str) -> None:
    call, error, message = CASES[name]
    with pytest.raises(error, match=message) as caught:
        call()
    assert isinstance(caught.value, irad.IradError)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: irad.grad(returns_array)(X),
            r"test_bad_input.py:\d+: returns_array returns array.*irad.vjp takes a seed",
        ),
        (lambda: irad.grad(returns_nothing)(X), r"returns none, not one float.*irad.autodiff\(irad.Reverse"),
        (lambda: irad.grad(returns_count)(X), r"returns int64, not one float.*nothing to differentiate"),
        (lambda: irad.autodiff(Reverse, returns_array, Duplicated(X, np.zeros(3))), "the seed of the result"),
        (lambda: irad.vjp(returns_array, X)[1](X[:2]), "the cotangent has another shape than the result"),
        (
            lambda: irad.autodiff(Reverse, returns_array, Duplicated(X, np.zeros(3)), seed=np.ones(2)),
            "the seed has another shape than the result",
        ),
    ],
)
def test_result_and_seed(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(irad.BadArguments, match=f"(?s){message}"):
        call()


def test_numba_message_is_short() -> None:
    collector = gc.get_threshold()
    with pytest.raises(Unsupported, match="no_such_attribute") as caught:
        irad.grad(untypable)(X)
    assert gc.get_threshold() == collector, "what is set while irad compiles is set back"
    assert len(str(caught.value).splitlines()) <= 3


def test_message_is_whole_in_njit_callers(standin: Pipeline) -> None:
    g = irad.grad(kernel, "w")

    @njit
    def caller(x):
        return g(x, x, 2)

    with pytest.raises(BadArgumentType, match=r"^.*standin.py:\d+: w is int64: integers have no derivative"):
        caller(X)
