"""The layer between Numba and the pipeline, with hand-written derivatives in the pipeline's place."""

from __future__ import annotations

import inspect
import pickle
import threading

import numpy as np
import pytest
from numba import njit

import irad
from tests.api.standin import Pipeline, kernel, refused

X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])


def test_gradient_by_each_argument(standin: Pipeline) -> None:
    np.testing.assert_array_equal(irad.grad(kernel)(X, Y, 3.0), 3 * Y)
    np.testing.assert_array_equal(irad.grad(kernel, "y")(X, Y), 2 * X)
    value, (x_bar, w_bar) = irad.value_and_grad(kernel, argnums=(0, "w"))(X, Y, 3.0)
    assert (value, w_bar) == (96.0, 32.0)
    np.testing.assert_array_equal(x_bar, 3 * Y)


@pytest.mark.parametrize(
    "x", [X[::-1], np.arange(6.0)[::2], X[:0], np.broadcast_to(np.float64(2), 3), np.asfortranarray(X)]
)
def test_gradients_have_the_strides_of_their_arrays(standin: Pipeline, x: np.ndarray) -> None:
    x_bar = irad.grad(kernel)(x, Y[: x.size], 3.0)
    np.testing.assert_array_equal(x_bar, 3 * Y[: x.size])
    assert x_bar.flags.writeable
    # the elements of a broadcast have derivatives of their own
    assert x_bar.strides == x.strides or x.strides == (0,)


def test_keywords_defaults_and_signature(standin: Pipeline) -> None:
    g = irad.grad(kernel, "w")
    assert g(y=Y, x=X) == g(X, Y, w=7.0) == 32.0
    assert str(inspect.signature(g)) == "(x, y, w=2.0)"
    assert g.__name__ == "grad_kernel" and g.__doc__ == "Gradient of kernel with respect to w."
    with pytest.raises(TypeError):
        g(X)


def test_jvp(standin: Pipeline) -> None:
    assert irad.jvp(kernel, (X, Y, 3.0), (X, None, 1.0)) == (96.0, 128.0)
    assert irad.jvp(kernel, (X, Y, 3.0), (None, 2 * Y, None)) == (96.0, 192.0)


def test_vjp_may_be_pulled_twice(standin: Pipeline) -> None:
    x = X.copy()
    out, pullback = irad.vjp(kernel, x, Y, 3.0)
    x[:] = np.nan  # does not matter to the pullback
    for seed in (1.0, 2):
        x_bar, y_bar, w_bar = pullback(seed)
        np.testing.assert_array_equal(x_bar, seed * 3 * Y)
        np.testing.assert_array_equal(y_bar, seed * 3 * X)
        assert w_bar == seed * 32
    assert out == 96.0


def test_autodiff_accumulates_into_shadows(standin: Pipeline) -> None:
    x_bar = np.ones(3)
    arguments = irad.Duplicated(X, x_bar), irad.Const(Y), irad.Active(3.0)
    assert irad.autodiff(irad.Reverse, kernel, *arguments, seed=2.0) == (96.0, (64.0,))
    np.testing.assert_array_equal(x_bar, 1 + 6 * Y)
    tangents = irad.Duplicated(X, np.ones(3)), irad.Const(Y), irad.Duplicated(3.0, 1.0)
    assert irad.autodiff(irad.Forward, kernel, *tangents) == (96.0, 45.0 + 32.0)


def test_arrays_that_share_memory_are_one_variable(standin: Pipeline) -> None:
    z = np.arange(1.0, 5.0)
    x_bar, y_bar = irad.grad(kernel, (0, 1))(z[:3], z[1:], 1.0)
    z_bar = np.array([2.0, 4.0, 6.0, 3.0])
    np.testing.assert_array_equal(x_bar, z_bar[:3])
    np.testing.assert_array_equal(y_bar, z_bar[1:])
    np.testing.assert_array_equal(irad.grad(kernel)(z[:3], z[:3], 1.0), 2 * z[:3])
    assert irad.jvp(kernel, (z[:3], z[1:], 1.0), (np.ones(3), np.ones(3), None))[1] == 15.0
    assert irad.vjp(kernel, z[:3], z[1:], 1.0)[1](1.0)[0][1] == 4.0


def test_careful_version_is_compiled_when_asked_for(standin: Pipeline) -> None:
    g = irad.grad(kernel)
    g(X, Y, 1.0)
    assert [query.aliased for query in standin.asked] == [False]
    np.testing.assert_array_equal(g(X, Y, -1.0), -Y)  # the fast one reports ALIASED
    assert [query.aliased for query in standin.asked] == [False, True]
    assert standin.asked[1].activity == ("duplicated", "duplicated", "const")


def test_njit_callers_have_both_versions(standin: Pipeline) -> None:
    g = irad.grad(kernel)

    @njit
    def caller(x, y, w):
        return g(x, y, w)

    np.testing.assert_array_equal(caller(X, Y, 1.0), Y)
    np.testing.assert_array_equal(caller(X, Y, -1.0), -Y)
    np.testing.assert_array_equal(caller(X, X, 1.0), 2 * X)


def test_one_compilation_for_many_threads(standin: Pipeline) -> None:
    g, found = irad.grad(kernel), list[float]()
    threads = [threading.Thread(target=lambda: found.append(g(X, Y, 3.0)[0])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [12.0] * 8
    assert len(standin.asked) == 1


def test_failures_are_remembered_and_come_out_whole(standin: Pipeline) -> None:
    g = irad.grad(refused)

    @njit
    def caller(x, y):
        return g(x, y)

    for function in (g, g, caller, caller):
        with pytest.raises(irad.MissingRule, match=r"^no derivative is known for this kernel\n  use another$"):
            function(X, Y)
    assert len(standin.asked) == 1


def test_pickle(standin: Pipeline) -> None:
    g = irad.value_and_grad(kernel, ("x", 2), strict=True)
    assert pickle.loads(pickle.dumps(g)) is g
    local = njit(lambda a: a * a)
    assert pickle.loads(pickle.dumps(irad.grad(local))).kernel.py_func(3.0) == 9.0


def test_functions_are_made_once(standin: Pipeline) -> None:
    assert irad.grad(kernel, 0) is irad.grad(kernel, "x") is irad.grad(kernel, -3)
    assert irad.grad(kernel, 0) is not irad.grad(kernel, (0,))
