"""Arguments and results of every kind, through the whole pipeline; what a call leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

import irad

X = np.array([1.0, 2.0, 3.0])


class Pair(NamedTuple):
    a: Any
    b: Any


@njit
def of_tuples(p, q):
    return p.a * p.b + q[0].sum() * q[1][0]


@njit
def of_narrow(x, w):
    return (x * x).sum() * w


@njit
def several(x):
    return x.sum(), x * 2.0, x.size


@njit
def padded(x, flag):
    return x[0], (flag, x * x[1]), flag


@njit
def accumulates(x, work, at):
    for i in range(x.size):
        work[at[i]] += x[i] * x[i]
    return (work * work).sum()


@njit
def refuses(x):
    total = 0.0
    for i in range(x.size):
        if x[i] < 0.0:
            raise ValueError("negative", i, x[i])
        total += np.sqrt(x[i])
        x[i] = 0.0
    return total


@njit
def shifted(x, y):
    for i in range(x.size):
        x[i] *= y[i]
    return x.sum()


def test_gradient_of_tuples_has_their_structure() -> None:
    q = X, np.ones(2)
    p_bar, q_bar = irad.grad(of_tuples, (0, 1))(Pair(2.0, 3.0), q)
    assert p_bar == Pair(3.0, 2.0) and type(p_bar).__name__ == "Pair"
    np.testing.assert_array_equal(q_bar[0], np.ones(3))
    np.testing.assert_array_equal(q_bar[1], [6.0, 0.0])
    assert irad.jvp(of_tuples, (Pair(2.0, 3.0), q), (Pair(1.0, 0.0), None)) == (12.0, 3.0)
    assert irad.jvp(of_tuples, (Pair(2.0, 3.0), q), ((1, 1.0), (X, np.zeros(2)))) == (12.0, 11.0)


def test_float32_stays() -> None:
    x_bar, w_bar = irad.grad(of_narrow, (0, 1))(X.astype(np.float32), np.float32(2.0))
    assert x_bar.dtype == np.float32
    np.testing.assert_array_equal(x_bar, 4 * X)
    assert w_bar == 14.0


def test_result_of_several_parts() -> None:
    out, pullback = irad.vjp(several, X)
    assert out[0] == 6.0 and out[2] == 3
    np.testing.assert_array_equal(pullback((1.0, X, None))[0], 1 + 2 * X)
    _, (total, doubled, size) = irad.jvp(several, (X,), (X,))
    assert (total, size) == (6.0, 3)
    np.testing.assert_array_equal(doubled, 2 * X)
    x_bar = np.zeros(3)
    irad.autodiff(irad.Reverse, several, irad.Duplicated(X, x_bar), seed=(1.0, np.ones(6)[::2], 0))
    np.testing.assert_array_equal(x_bar, [3.0, 3.0, 3.0])


def test_results_of_parts_with_padding_between_them() -> None:
    x = X.astype(np.float32)
    out, pullback = irad.vjp(padded, x, True)
    assert out[0] == 1.0 and out[1][0] is True and out[2] is True
    np.testing.assert_array_equal(out[1][1], 2 * X)
    np.testing.assert_array_equal(pullback((3.0, (None, np.ones_like(x)), None))[0], [5.0, 8.0, 2.0])
    dot = irad.jvp(padded, (x, True), (x, None))[1]
    assert dot[0] == 1.0
    np.testing.assert_array_equal(dot[1][1], 4 * X)


def test_derivatives_flow_through_arrays_that_are_not_asked_for() -> None:
    work, at = np.zeros(3), np.array([2, 0, 2])
    np.testing.assert_array_equal(irad.grad(accumulates)(X, work, at), [40.0, 32.0, 120.0])
    np.testing.assert_array_equal(work, [4.0, 0.0, 10.0])


def test_exceptions_and_writes_are_those_of_the_kernel() -> None:
    derivatives: list[Callable[..., Any]] = [refuses, irad.grad(refuses), irad.hessian(refuses)]
    derivatives += [lambda x: irad.vjp(refuses, x), lambda x: irad.jvp(refuses, (x,), (X,))]
    for function in derivatives:
        x = np.array([4.0, -1.0, 9.0])
        with pytest.raises(ValueError, match="negative") as caught:
            function(x)
        assert caught.value.args == ("negative", 1, -1.0)
        if function is not derivatives[2]:  # which fails on its first copy
            np.testing.assert_array_equal(x, [0.0, -1.0, 9.0])


def test_memory_is_given_back(allocations: Callable[[], int]) -> None:
    base = np.arange(1.0, 6.0)

    def run() -> None:
        irad.grad(shifted, (0, 1))(base[1:].copy(), base[1:])
        irad.grad(shifted)(base[1:], base[:-1])
        irad.vjp(several, X)[1]((1.0, X, 0))
        irad.hvp(of_narrow)(X, 1.0, X)
        with pytest.raises(ValueError, match="negative"):
            irad.grad(refuses)(-X)

    run()
    before = allocations()
    for _ in range(5):
        run()
    assert allocations() == before
