"""Linear algebra: values, both modes, several layouts and dtypes, memory that is overwritten, singular cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad

RNG = np.random.default_rng(7)
SQUARE, VECTOR, WIDE = RNG.normal(size=(4, 4)), RNG.normal(size=4), RNG.normal(size=(4, 3))
TALL = RNG.normal(size=(5, 3))
POSITIVE = SQUARE @ SQUARE.T + np.eye(4)


@njit
def products(a, b, v):
    out = np.empty((4, 3))
    np.dot(a, b, out)
    c = a.T @ a[::-1, 1:] + np.dot(a[:, ::2], b[:2])
    return (
        np.sum(out * out)
        + np.sum(np.sin(c))
        + np.dot(v @ b, v[1:]) * np.vdot(v, a @ v)
        + np.linalg.norm(b) * np.linalg.norm(v)
        + np.trace(np.linalg.matrix_power(a, 3))
        + np.sum(np.outer(v, v) * a)
        + np.sum(np.kron(a, b)[3:9])
    )


@njit
def systems(a, b, v):
    x, y = np.linalg.solve(a, b), np.linalg.solve(a, v)
    sign, log = np.linalg.slogdet(a)
    return np.sum(x * x) + y[0] * y[1] + np.linalg.inv(a)[1, 2] + np.linalg.det(a) ** 2 + sign * log


@njit
def matrices(w):
    """A square one and a tall one."""
    return w[:16].reshape(4, 4), w[16:31].reshape(5, 3)


@njit
def factors(w):
    a, b = matrices(w)
    lower = np.linalg.cholesky(a)
    q, r = np.linalg.qr(b)
    wide_q, wide_r = np.linalg.qr(b.T)
    return np.sum(lower[1:] ** 3) + q[0, 1] * r[1, 2] + wide_q[1, 2] * wide_r[0, 4] + wide_r[2, 2]


@njit
def spectra(w):
    a, b = matrices(w)
    values, vectors = np.linalg.eigh(a)
    u, s, vt = np.linalg.svd(b, 0)
    return (
        values[0] * vectors[1, 0] ** 2
        + np.linalg.eigvalsh(a)[2]
        + u[0, 1] * u[1, 1] * s[1]
        + vt[0, 2] ** 2
        + np.linalg.norm(b, 2)
        + np.linalg.cond(b)
    )


@njit
def least_squares(w):
    b, v = w[:15].reshape(5, 3), w[15:]
    x, residuals, _, s = np.linalg.lstsq(b, v)
    wide = np.linalg.lstsq(b.T.copy(), x)[0]
    return np.sum(x**3) + residuals[0] + s[1] + np.linalg.pinv(b)[1, 3] + wide[0] * wide[1]


CASES = [
    (products, (SQUARE, WIDE, VECTOR)),
    (least_squares, (np.append(TALL, RNG.normal(size=5)),)),
]


def slope(f: Callable[..., float], args: tuple[Any, ...], dots: tuple[Any, ...], h: float = 1e-6) -> float:
    ends = [f(*(a + s * h * d for a, d in zip(args, dots, strict=True))) for s in (1, -1)]
    return (ends[0] - ends[1]) / (2 * h)


def named(case: Any) -> str:
    return case.__name__ if callable(case) else ""


@pytest.mark.parametrize(("kernel", "args"), CASES, ids=named)
def test_both_modes(kernel: Any, args: tuple[Any, ...], rng: np.random.Generator) -> None:
    derivatives(kernel, args, rng)


def derivatives(kernel: Any, args: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    """The gradients of a kernel, held against forward mode and differences."""
    dots = tuple(rng.normal(size=a.shape) for a in args)
    value, grads = irad.value_and_grad(kernel, tuple(range(len(args))))(*args)
    out, dot = irad.jvp(kernel, args, dots)
    assert value == out == kernel(*args)
    assert dot == pytest.approx(sum(np.sum(g * d) for g, d in zip(grads, dots, strict=True)), rel=1e-10)
    assert dot == pytest.approx(slope(kernel, args, dots), rel=1e-6)
    return grads


@pytest.mark.parametrize(
    ("kernel", "degenerate"),
    [(factors, np.append(POSITIVE, np.ones(15))), (spectra, np.append(np.eye(4), TALL))],
    ids=named,
)
def test_factors_in_both_modes_and_where_they_have_no_derivative(
    kernel: Any, degenerate: Any, rng: np.random.Generator
) -> None:
    (bar,) = derivatives(kernel, (np.append(POSITIVE, TALL),), rng)
    assert not np.triu(matrices(bar)[0], 1).any(), "only the lower triangle is read"
    with pytest.raises(np.linalg.LinAlgError):
        irad.value_and_grad(kernel, (0,))(degenerate)


def test_systems_in_both_modes_and_singular(rng: np.random.Generator) -> None:
    derivatives(systems, (SQUARE, WIDE, VECTOR), rng)
    with pytest.raises(np.linalg.LinAlgError):
        irad.value_and_grad(systems, (0, 1, 2))(np.zeros((4, 4)), WIDE, VECTOR)


def test_float32() -> None:
    @njit
    def kernel(w):
        a, v = w[:16].reshape(4, 4), w[16:]
        return np.dot(np.linalg.solve(a, v), a @ v) + np.linalg.slogdet(a)[1]

    double = np.append(SQUARE, VECTOR)
    single = double.astype(np.float32)
    value, bar = irad.value_and_grad(kernel)(single)
    assert value == kernel(single)
    assert bar.dtype == np.float32
    expected = [slope(kernel, (double,), (direction,)) for direction in np.eye(double.size)]
    np.testing.assert_allclose(bar, expected, rtol=1e-3, atol=1e-4)


@njit
def complex_numbers(w):
    a, v = w[:9].reshape(3, 3), w[9:]
    x = np.linalg.solve(a, v)
    y = np.dot(a, x * x)
    return np.vdot(v, y) * np.dot(v, x) + np.linalg.norm(x) + np.linalg.inv(a)[1, 2]


def test_complex_numbers(rng: np.random.Generator) -> None:
    """Holomorphic and other operations: gradients are df/dx + i df/dy, tangents are dz."""
    w, dots = (rng.normal(size=12) + 1j * rng.normal(size=12) for _ in range(2))
    out, dot = irad.jvp(complex_numbers, (w,), (dots,))
    again, pull = irad.vjp(complex_numbers, w)
    assert out == again == complex_numbers(w)
    assert dot == pytest.approx(slope(complex_numbers, (w,), (dots,)), rel=1e-6)
    for seed in (1.0 + 0j, 0.3 - 2j):
        assert np.vdot(pull(seed)[0], dots).real == pytest.approx((np.conj(seed) * dot).real, rel=1e-10)


def test_complex_determinant() -> None:
    """Of single precision, where all that a rule computes must be too; at a singular matrix."""
    singular = np.array([[1.0, 2j, 0.5], [1j, 1.0, 2.0], [1.0 + 1j, 1.0 + 2j, 2.5]], np.complex64)
    det = njit(lambda a: np.linalg.det(a))
    cofactor = singular[1, 1] * singular[2, 2] - singular[1, 2] * singular[2, 1]
    assert irad.grad(det, holomorphic=True)(singular)[0, 0] == pytest.approx(cofactor, rel=1e-4)


@njit
def overwriting(a, b, n):
    total = 0.0
    for i in range(n):
        x = np.linalg.solve(a, b)
        y = np.dot(a, x * x)
        a[i, i] += x[0]
        b[:] = y * b
        x[:] = 0.0
        total += x[1] + y[2]
    return total + np.dot(b, b)


def test_what_is_overwritten_later_is_kept(rng: np.random.Generator) -> None:
    a, b = SQUARE + 4 * np.eye(4), VECTOR
    grads = irad.grad(overwriting, (0, 1))(a.copy(), b.copy(), 3)
    dots = rng.normal(size=(4, 4)), rng.normal(size=4)
    expected = slope(lambda a, b: overwriting(a.copy(), b.copy(), 3), (a, b), dots)
    assert sum(np.sum(g * d) for g, d in zip(grads, dots, strict=True)) == pytest.approx(expected, rel=1e-6)


@njit
def chain(a, b):
    x = b.copy()
    for _ in range(3):
        x = np.sin(np.dot(a, x)) + np.linalg.solve(a, x)
    return np.dot(x, x)


def test_rules_differentiate_again_and_inside_njit() -> None:
    @njit
    def inside(a, b):
        return irad.grad(chain, 1)(a, b)

    a, gradient = SQUARE + 4 * np.eye(4), irad.grad(chain, 1)
    assert np.array_equal(inside(a, VECTOR), gradient(a, VECTOR))
    hessian = irad.hessian(chain, 1)(a, VECTOR)
    step = 1e-6 * np.eye(4)
    expected = [(gradient(a, VECTOR + h) - gradient(a, VECTOR - h)) / 2e-6 for h in step]
    np.testing.assert_allclose(hessian, expected, rtol=1e-6, atol=1e-6)


# --- singular and degenerate matrices (docs/conventions.md) ---------------------------------------------------------


def test_singular_determinant_has_its_cofactors() -> None:
    @njit
    def det(a):
        return np.linalg.det(a)

    np.testing.assert_allclose(irad.grad(det)(np.array([[1.0, 2], [2, 4]])), [[4, -2], [-2, 1]], atol=1e-12)


@njit
def trace_of_values(a):
    return np.sum(np.linalg.eigvalsh(a))


@njit
def one_value(a):
    return np.linalg.eigvalsh(a)[0]


@njit
def log_det(a):
    return np.linalg.slogdet(a)[1]


@njit
def inverse(a):
    return np.linalg.pinv(a)[0, 0]


@pytest.mark.parametrize(
    ("kernel", "a"),
    [
        (one_value, np.eye(2)),
        (log_det, np.zeros((2, 2))),
        (inverse, np.ones((2, 2))),
    ],
    ids=named,
)
def test_no_derivative_is_an_error(kernel: Any, a: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        irad.grad(kernel)(a)


def test_equal_eigenvalues_treated_alike() -> None:
    np.testing.assert_allclose(irad.grad(trace_of_values)(np.eye(3)), np.eye(3), atol=1e-12)
