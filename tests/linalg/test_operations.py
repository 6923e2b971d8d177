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
def factors(a, b):
    lower = np.linalg.cholesky(a)
    q, r = np.linalg.qr(b)
    wide_q, wide_r = np.linalg.qr(b.T)
    return np.sum(lower[1:] ** 3) + q[0, 1] * r[1, 2] + wide_q[1, 2] * wide_r[0, 4] + wide_r[2, 2]


@njit
def spectra(a, b):
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
def least_squares(b, v):
    x, residuals, _, s = np.linalg.lstsq(b, v)
    wide = np.linalg.lstsq(b.T.copy(), x)[0]
    return np.sum(x**3) + residuals[0] + s[1] + np.linalg.pinv(b)[1, 3] + wide[0] * wide[1]


CASES = [
    (products, (SQUARE, WIDE, VECTOR)),
    (systems, (SQUARE, WIDE, VECTOR)),
    (factors, (POSITIVE, TALL)),
    (spectra, (POSITIVE, TALL)),
    (least_squares, (TALL, RNG.normal(size=5))),
]


def slope(f: Callable[..., float], args: tuple[Any, ...], dots: tuple[Any, ...], h: float = 1e-6) -> float:
    ends = [f(*(a + s * h * d for a, d in zip(args, dots, strict=True))) for s in (1, -1)]
    return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize(("kernel", "args"), CASES, ids=lambda c: c.__name__ if callable(c) else "")
def test_both_modes(kernel: Any, args: tuple[Any, ...], rng: np.random.Generator) -> None:
    dots = tuple(rng.normal(size=a.shape) for a in args)
    value, grads = irad.value_and_grad(kernel, tuple(range(len(args))))(*args)
    out, dot = irad.jvp(kernel, args, dots)
    assert value == out == kernel(*args)
    assert dot == pytest.approx(sum(np.sum(g * d) for g, d in zip(grads, dots, strict=True)), rel=1e-10)
    assert dot == pytest.approx(slope(kernel, args, dots), rel=1e-6)


def test_float32(rng: np.random.Generator) -> None:
    @njit
    def kernel(a, v):
        return np.dot(np.linalg.solve(a, v), a @ v) + np.float32(np.linalg.slogdet(a)[1])

    args = SQUARE.astype(np.float32), VECTOR.astype(np.float32)
    value, grads = irad.value_and_grad(kernel, (0, 1))(*args)
    assert value == kernel(*args)
    assert [g.dtype for g in grads] == [np.float32] * 2
    for single, double in zip(grads, irad.grad(kernel, (0, 1))(SQUARE, VECTOR), strict=True):
        np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-4)


@njit
def complex_numbers(a, v):
    x = np.linalg.solve(a, v)
    w = np.dot(a, x * x)
    return np.vdot(v, w) * np.dot(v, x) + np.linalg.norm(x) + np.linalg.inv(a)[1, 2]


def test_complex_numbers(rng: np.random.Generator) -> None:
    """Holomorphic and other operations: gradients are df/dx + i df/dy, tangents are dz."""
    a, v, a_dot, v_dot = (rng.normal(size=(2, *s)) for s in ((3, 3), (3,), (3, 3), (3,)))
    args, dots = (a[0] + 1j * a[1], v[0] + 1j * v[1]), (a_dot[0] + 1j * a_dot[1], v_dot[0] + 1j * v_dot[1])
    out, dot = irad.jvp(complex_numbers, args, dots)
    again, pull = irad.vjp(complex_numbers, *args)
    assert out == again == complex_numbers(*args)
    assert dot == pytest.approx(slope(complex_numbers, args, dots), rel=1e-6)
    for seed in (1.0 + 0j, 0.3 - 2j):
        found = sum(np.vdot(bar, d).real for bar, d in zip(pull(seed), dots, strict=True))
        assert found == pytest.approx((np.conj(seed) * dot).real, rel=1e-10)


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
def first_vector(a):
    return np.linalg.eigh(a)[1][0, 0]


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
def solved(a):
    return np.linalg.solve(a, a[0])[0]


@njit
def triangle(a):
    return np.linalg.qr(a)[1][0, 0]


@njit
def inverse(a):
    return np.linalg.pinv(a)[0, 0]


@pytest.mark.parametrize(
    ("kernel", "a"),
    [
        (first_vector, np.eye(2)),
        (one_value, np.eye(2)),
        (log_det, np.zeros((2, 2))),
        (solved, np.zeros((2, 2))),
        (triangle, np.ones((2, 2))),
        (inverse, np.ones((2, 2))),
    ],
    ids=lambda c: c.__name__ if callable(c) else "",
)
def test_no_derivative_is_an_error(kernel: Any, a: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        irad.grad(kernel)(a)


def test_equal_eigenvalues_treated_alike() -> None:
    np.testing.assert_allclose(irad.grad(trace_of_values)(np.eye(3)), np.eye(3), atol=1e-12)


def test_only_the_lower_triangle_is_read() -> None:
    @njit
    def kernel(a):
        return np.linalg.cholesky(a)[2, 1] + np.linalg.eigvalsh(a)[0]

    assert not np.triu(irad.grad(kernel)(POSITIVE), 1).any()
