"""The interface inside njit functions."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import irad

X = np.array([1.0, 2.0, 3.0])


@njit
def kernel(x, w):
    total = 0.0
    for i in range(x.size):
        total += x[i] ** 2 * w
    return total


@njit
def waves(x, w):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = np.sin(x[i]) * w
    return out


outside = irad.grad(kernel, ("x", "w"))


def test_derivative_made_outside() -> None:
    @njit
    def caller(x):
        return outside(x, w=3.0)

    x_bar, w_bar = caller(X)
    np.testing.assert_array_equal(x_bar, 6 * X)
    assert w_bar == 14.0


def test_derivative_as_argument_and_as_freevar() -> None:
    @njit
    def apply(g, x):
        return g(x, 1.0)

    by_w = irad.grad(kernel, 1)

    @njit
    def caller(x):
        return apply(by_w, x), by_w(x, 2.0)

    assert caller(X) == (14.0, 14.0)
    assert apply(by_w, X) == 14.0


def test_call_forms() -> None:
    @njit
    def caller(x):
        x_bar = irad.grad(kernel)(x, 1.0)
        value, (w_bar, _) = irad.value_and_grad(kernel, argnums=("w", 0))(x, 2.0)
        return x_bar, value, w_bar, irad.hessian(kernel)(x, 1.0), irad.hvp(kernel, "x")(x, 1.0, x)

    x_bar, value, w_bar, hessian, product = caller(X)
    np.testing.assert_array_equal(x_bar, 2 * X)
    assert (value, w_bar) == (28.0, 14.0)
    np.testing.assert_array_equal(hessian, 2 * np.eye(3))
    np.testing.assert_array_equal(product, 2 * X)


def test_jvp() -> None:
    @njit
    def caller(x):
        return irad.jvp(kernel, (x, 2.0), (np.ones(3), None)), irad.jvp(kernel, (x, 2.0), (x, 1.0))

    assert caller(X) == ((28.0, 24.0), (28.0, 70.0))


def test_vjp_keeps_its_own_state() -> None:
    @njit
    def caller(x):
        out, pullback = irad.vjp(waves, x, 2.0)
        x[:] = 0.0
        first, second = pullback(np.ones(x.size)), pullback(out)
        out[:] = 0.0
        return first, second, pullback(np.ones(x.size))

    (x_bar, w_bar), (_, square), (again, _) = caller(X.copy())
    np.testing.assert_allclose(x_bar, 2 * np.cos(X))
    np.testing.assert_array_equal(again, x_bar)
    np.testing.assert_allclose([w_bar, square], [np.sin(X).sum(), 2 * (np.sin(X) ** 2).sum()])


def test_autodiff() -> None:
    @njit
    def caller(x, x_bar):
        both = irad.autodiff(irad.Reverse, kernel, irad.Duplicated(x, x_bar), irad.Active(2.0), seed=0.5)
        one = irad.autodiff(irad.Reverse, kernel, irad.Const(x), irad.Active(2.0))
        return both, one, irad.autodiff(irad.Forward, kernel, irad.Duplicated(x, x.copy()), irad.Const(2.0))

    x_bar = np.zeros(3)
    assert caller(X, x_bar) == ((28.0, (7.0,)), (28.0, (14.0,)), (28.0, 56.0))
    np.testing.assert_array_equal(x_bar, 2 * X)


def test_differentiable() -> None:
    @irad.differentiable(error_model="numpy")
    def squares(x):
        return (x * x).sum()

    @njit
    def caller(x):
        return squares(x), squares.grad(x), squares.value_and_grad(x)[0]

    value, x_bar, again = caller(X)
    assert value == again == squares(X) == 14.0
    np.testing.assert_array_equal(x_bar, 2 * X)
    np.testing.assert_array_equal(squares.grad(X), 2 * X)
    assert squares.jvp((X,), (X,))[1] == 28.0
    np.testing.assert_array_equal(squares.vjp(X)[1](1.0)[0], 2 * X)
    assert squares.targetoptions["error_model"] == "numpy"


@pytest.mark.filterwarnings("ignore::numba.NumbaExperimentalFeatureWarning")
def test_first_class_functions() -> None:
    by_w = irad.grad(kernel, 1)

    @njit
    def choose(which, x):
        function = by_w if which else kernel
        return function(x, 2.0)

    assert (choose(True, X), choose(False, X)) == (14.0, 28.0)

    @njit
    def returns():
        return by_w

    assert returns() is by_w


@njit
def _product(x: float, y: float) -> float:
    return x * y + x


def test_a_call_costs_its_arithmetic_and_can_be_cached() -> None:
    @njit
    def caller(x: float, y: float) -> float:
        _, (x_bar, y_bar) = irad.autodiff(irad.Reverse, _product, irad.Active(x), irad.Active(y))
        return x_bar * y_bar

    assert caller(3.0, 4.0) == 15.0
    (compiled,) = caller.overloads.values()
    assert not compiled.library.has_dynamic_globals  # else Numba does not cache the caller
    body = compiled.library.get_asm_str().split(f"\n{compiled.fndesc.mangled_name}:\n")[1].split("\n.Lfunc_end")[0]
    code = [line.split()[0] for line in body.splitlines() if line.startswith("\t") and not line.startswith("\t.")]
    assert "callq" not in code and len(code) <= 10, code
