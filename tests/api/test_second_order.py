"""Jacobians, Hessians and derivatives of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad

X = np.array([0.3, 1.2, -0.7])


@njit
def wave(a):
    return np.sin(a) * a


@njit
def energy(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] ** 2 * x[(i + 1) % x.size]
    return total


@njit
def spread(a):
    return np.array([a, a * a, np.exp(a)])


@njit
def products(x):
    out = np.empty((x.size, 2))
    for i in range(x.size):
        out[i, 0] = x[i] * x[0]
        out[i, 1] = np.sin(x[i])
    return out


@njit
def in_place(x):
    for i in range(1, x.size):
        x[i] *= x[i - 1]
    return x.sum()


def difference(f: Callable[..., Any], x: Any) -> Any:
    """The Jacobian by central differences."""
    shape, columns = np.shape(x), list[Any]()
    for i in np.ndindex(shape):
        step = np.zeros(shape)
        step[i] = 1e-6
        ends = [np.asarray(f(x + step if shape else float(x + step))) for step in (step, -step)]
        columns.append((ends[0] - ends[1]) / 2e-6)
    return np.stack(columns, axis=-1).reshape((*columns[0].shape, *shape))


@pytest.mark.parametrize("jacobian", [irad.jacfwd, irad.jacrev])
@pytest.mark.parametrize(("f", "x"), [(wave, 0.7), (energy, X), (spread, 0.7), (products, X), (in_place, X)])
def test_jacobian(jacobian: Any, f: Any, x: Any) -> None:
    found = jacobian(f)(np.copy(x) if isinstance(x, np.ndarray) else x)
    np.testing.assert_allclose(found, difference(f, x), rtol=1e-8, atol=1e-8)
    assert np.shape(found) == (*np.shape(f(np.copy(x) if isinstance(x, np.ndarray) else x)), *np.shape(x))


@pytest.mark.parametrize("jacobian", [irad.jacfwd, irad.jacrev])
def test_jacobian_of_nothing(jacobian: Any) -> None:
    assert jacobian(products)(X[:0]).shape == (0, 2, 0)


@pytest.mark.parametrize("f", [energy, in_place])
def test_hessian(f: Any) -> None:
    expected = difference(irad.grad(f), X)
    np.testing.assert_allclose(irad.hessian(f)(X.copy()), expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(irad.jacrev(irad.grad(f))(X.copy()), expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(irad.hvp(f)(X.copy(), X), expected @ X, rtol=1e-7, atol=1e-8)


def test_second_derivative_of_a_float() -> None:
    expected = 2 * np.cos(0.7) - 0.7 * np.sin(0.7)
    assert irad.hessian(wave)(0.7) == pytest.approx(expected, rel=1e-14)
    assert irad.grad(irad.grad(wave))(0.7) == pytest.approx(expected, rel=1e-14)


def test_kernel_writes_once() -> None:
    for derivative in (irad.jacfwd(in_place), irad.jacrev(in_place), irad.hvp(in_place), irad.hessian(in_place)):
        x, expected = X.copy(), X.copy()
        derivative(x, *(X,) * (len(derivative.__signature__.parameters) - 1))
        in_place(expected)
        np.testing.assert_array_equal(x, expected)


@njit
def mixed(x, y):
    total = 0.0
    for i in range(x.size):
        y[i] = x[i] * x[i] * y[i]
        total += y[i] * x[i]
    return total


@pytest.mark.parametrize(
    ("apart", "shared"), [(True, False), (False, True), (False, False)], ids=["apart", "same", "shifted"]
)
def test_shared_memory_inside_a_second_derivative(apart: bool, shared: bool) -> None:
    gradient, buffer = irad.grad(mixed, (0, 1)), np.linspace(0.3, 0.8, 9)

    @njit
    def outer(x, y):
        a, b = gradient(x, y)
        total = 0.0
        for i in range(a.size):
            total += a[i] * (i + 1.0) + b[i] * b[i]
        return total

    def views(memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return memory[:4], memory[5:] if apart else memory[:4] if shared else memory[1:5]

    def difference(i: int) -> float:
        moved = np.stack([buffer, buffer])
        moved[:, i] += 1e-5, -1e-5
        high, low = (outer(*views(memory)) for memory in moved)
        return (high - low) / 2e-5

    slopes = np.array([difference(i) for i in range(9)])
    for found, wanted in zip(irad.grad(outer, (0, 1))(*views(buffer.copy())), views(slopes), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)
    if shared:
        x, v = buffer[:4].copy(), np.array([1.0, 2.0, -1.0, 0.5])
        np.testing.assert_allclose(irad.hvp(mixed)(x, x, v), 30.0 * buffer[:4] ** 4 * v)  # of x ** 6


def test_jacobians_of_a_lambda() -> None:
    x = np.array([0.5, 2.0])
    right = np.diag(np.cos(x) * x[0]) + np.outer(np.sin(x), [1.0, 0.0])
    for jacobian in (irad.jacfwd, irad.jacrev):
        assert np.allclose(jacobian(lambda z: np.sin(z) * z[0])(x), right)


@njit
def scaled(x, y):
    return np.sin(x) * y, x * y * y


@njit
def pulled_back(x):
    (first, _), pull = irad.vjp(scaled, x, 2.0)
    x_bar, y_bar = pull((1.0, 0.5))
    return x_bar * y_bar + first


def test_a_pullback_in_differentiated_code() -> None:
    for x in (0.3, -1.1):
        x_bar, y_bar = 2.0 * np.cos(x) + 2.0, np.sin(x) + 2.0 * x
        right = -2.0 * np.sin(x) * y_bar + x_bar * (np.cos(x) + 2.0) + 2.0 * np.cos(x)
        assert irad.grad(pulled_back)(x) == pytest.approx(right, rel=1e-12)
        assert irad.jvp(pulled_back, (x,), (1.0,))[1] == pytest.approx(right, rel=1e-12)
