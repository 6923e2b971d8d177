"""Systems of equations, inverses and determinants.

M. Giles, Collected Matrix Derivative Results for Forward and Reverse Mode Algorithmic Differentiation, 2008; for
pseudo-inverses and least squares G. Golub, V. Pereyra, The Differentiation of Pseudo-Inverses and Nonlinear Least
Squares Problems Whose Variables Separate, SIAM J. Numer. Anal. 10 (1973).
"""

from __future__ import annotations

import importlib
from typing import Any

from irad.frontend import whole
from irad.frontend.linalg.operation import replace, wrapped
from irad.frontend.linalg.products import columnwise, conjugate, hermitian, kept, negated, outer, plus, times
from irad.frontend.rulebook import is_floats, is_numbers, overload
from irad.frontend.target import need

np: Any = importlib.import_module("numpy")
_numba: Any = need("numba", "njit")
_linalg: Any = need("numba.np.linalg", "solve_impl", "inv_impl", "det_impl", "slogdet_impl", "pinv_impl", "lstsq_impl")

# --- solve and inv --------------------------------------------------------------------------------------------------


def solve_tangent(a: Any, b: Any, a_dot: Any, b_dot: Any) -> Any:
    x = np.linalg.solve(a, b)
    return x, np.linalg.solve(a, plus(b_dot, negated(times(a_dot, x))))


def solve_augmented(a: Any, b: Any, a_wanted: Any, b_wanted: Any) -> Any:
    x = np.linalg.solve(a, b)
    return x, (a, kept(x, a_wanted))


def solve_pullback(residual: Any, x_bar: Any, a_wanted: Any, b_wanted: Any) -> Any:
    a, x = residual
    b_bar = np.linalg.solve(hermitian(a), x_bar)
    return negated(outer(b_bar, x)), b_bar


def inv_tangent(a: Any, a_dot: Any) -> Any:
    x = np.linalg.inv(a)
    return x, -np.dot(np.dot(x, a_dot), x)


def inv_augmented(a: Any) -> Any:
    x = np.linalg.inv(a)
    return x, x


def inv_pullback(x: Any, x_bar: Any) -> Any:
    return (-np.dot(np.dot(hermitian(x), x_bar), hermitian(x)),)


# --- determinants ---------------------------------------------------------------------------------------------------


@_numba.njit
def cofactors(a: Any, det: Any) -> Any:
    """The gradient of the determinant, for singular matrices too: there by singular values."""
    if det != 0 and np.isfinite(det):
        inverse = np.linalg.inv(a)
        if np.linalg.norm(inverse) * np.linalg.norm(a) < 1e8:
            return (inverse.T * det).astype(a.dtype)
    u, s, vt = np.linalg.svd(a)
    others = np.empty_like(s)
    for i in range(s.size):
        others[i] = np.prod(s[:i]) * np.prod(s[i + 1 :])
    unit = np.linalg.det(u) * np.linalg.det(vt)
    return np.dot((conjugate(u) * (unit / np.abs(unit) * others)).astype(a.dtype), conjugate(vt))


def det_tangent(a: Any, a_dot: Any) -> Any:
    out = np.linalg.det(a)
    return out, np.sum(cofactors(a, out) * a_dot)


def det_augmented(a: Any) -> Any:
    out = np.linalg.det(a)
    return out, (a, out)


def det_pullback(residual: Any, bar: Any) -> Any:
    a, out = residual
    return ((bar * conjugate(cofactors(a, out))).astype(a.dtype),)


def slogdet_tangent(a: Any, a_dot: Any) -> Any:
    sign, log = np.linalg.slogdet(a)
    return (sign, log), (np.zeros_like(a)[0, 0], np.trace(np.linalg.solve(a, a_dot)))


def slogdet_augmented(a: Any) -> Any:
    return np.linalg.slogdet(a), a


def slogdet_pullback(a: Any, bars: Any) -> Any:
    bar = bars[1]
    if bar == 0:
        return (np.zeros_like(a),)
    return ((bar * np.linalg.inv(a).T).astype(a.dtype),)  # of single precision the logarithm has double


# --- pseudo-inverses and least squares ------------------------------------------------------------------------------


@_numba.njit
def full_rank(a: Any, p: Any) -> Any:
    """Raise unless `p` is the pseudo-inverse of a matrix of full rank: elsewhere it is not continuous."""
    if np.trace(np.dot(p, a)) < min(a.shape) - 0.5:
        raise np.linalg.LinAlgError("a matrix that has not full rank: its pseudo-inverse has no derivative")


@_numba.njit
def complement(a: Any, p: Any) -> Any:
    """I - a p"""
    return np.eye(a.shape[0], dtype=a.dtype) - np.dot(a, p)


def pinv_tangent(a: Any, rcond: Any, a_dot: Any, rcond_dot: Any) -> Any:
    p = np.linalg.pinv(a, rcond)
    full_rank(a, p)
    dot = -np.dot(np.dot(p, a_dot), p)
    dot += np.dot(np.dot(p, p.T), np.dot(a_dot.T, complement(a, p)))
    dot += np.dot(np.dot(complement(p, a), a_dot.T), np.dot(p.T, p))
    return p, dot


def pinv_augmented(a: Any, rcond: Any) -> Any:
    p = np.linalg.pinv(a, rcond)
    full_rank(a, p)
    return p, (a, p)


def pinv_pullback(residual: Any, p_bar: Any) -> Any:
    a, p = residual
    a_bar = -np.dot(np.dot(p.T, p_bar), p.T)
    a_bar += np.dot(complement(a, p), np.dot(np.dot(p_bar.T, p), p.T))
    a_bar += np.dot(np.dot(np.dot(p.T, p), p_bar.T), complement(p, a))
    return a_bar, 0.0


def matrix(x: Any) -> Any:
    """A vector as a matrix of one column."""
    raise NotImplementedError


def _matrix(x: Any) -> Any:
    return (lambda x: x) if x.ndim == 2 else (lambda x: np.expand_dims(x, 1))


def like(x: Any, shape: Any) -> Any:
    """A matrix of one column as a vector, where `shape` is one."""
    raise NotImplementedError


def _like(x: Any, shape: Any) -> Any:
    return (lambda x, shape: x) if shape.ndim == 2 else (lambda x, shape: x[:, 0])


def lstsq_tangent(a: Any, b: Any, rcond: Any, a_dot: Any, b_dot: Any, rcond_dot: Any) -> Any:
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    p = np.linalg.pinv(a)
    full_rank(a, p)
    column, rest = matrix(x), matrix(b) - np.dot(a, matrix(x))
    change = matrix(b_dot) - np.dot(a_dot, column)
    dot = np.dot(p, change) + np.dot(np.dot(p, p.T), np.dot(a_dot.T, rest))
    dot += np.dot(complement(p, a), np.dot(a_dot.T, np.dot(p.T, column)))
    u, _, vt = np.linalg.svd(a, 0)
    s_dot = columnwise(np.dot(u.T, a_dot).T, vt.T)
    residuals_dot = 2 * columnwise(rest, change)
    return (x, residuals, rank, s), (like(dot, x), residuals_dot[: residuals.size], None, s_dot)


def lstsq_augmented(a: Any, b: Any, rcond: Any) -> Any:
    out = np.linalg.lstsq(a, b, rcond)
    p = np.linalg.pinv(a)
    full_rank(a, p)
    return out, (a, b, p, out[0])


def lstsq_pullback(residual: Any, bars: Any) -> Any:
    a, b, p, x = residual
    x_bar, residuals_bar, _, s_bar = bars
    column, column_bar = matrix(x), matrix(x_bar)
    rest = matrix(b) - np.dot(a, column)
    b_bar = np.dot(p.T, column_bar)
    if residuals_bar.size > 0:
        b_bar += 2 * rest * residuals_bar
    a_bar = -np.dot(b_bar, column.T)
    a_bar += np.dot(rest, np.dot(np.dot(p, p.T), column_bar).T)
    a_bar += np.dot(np.dot(p.T, column), np.dot(complement(p, a), column_bar).T)
    if np.any(s_bar != 0):
        u, _, vt = np.linalg.svd(a, 0)
        a_bar += np.dot(u * s_bar, vt)
    return a_bar, like(b_bar, b), 0.0


# --- triangular systems, for the rules of factorisations ------------------------------------------------------------

BLOCK = 48


@_numba.njit
def forward_substitution(t: Any, x: Any) -> Any:
    """x := t^-1 x for a lower triangle, by blocks."""
    for start in range(0, t.shape[0], BLOCK):
        end = min(start + BLOCK, t.shape[0])
        if start > 0:
            x[start:end] -= np.dot(t[start:end, :start], x[:start])
        for i in range(start, end):
            for j in range(start, i):
                for k in range(x.shape[1]):
                    x[i, k] -= t[i, j] * x[j, k]
            for k in range(x.shape[1]):
                x[i, k] /= t[i, i]


@_numba.njit
def back_substitution(t: Any, x: Any) -> Any:
    """x := t^-1 x for an upper triangle, by blocks."""
    n = t.shape[0]
    for below in range(0, n, BLOCK):
        end = n - below
        start = max(end - BLOCK, 0)
        if below > 0:
            x[start:end] -= np.dot(t[start:end, end:], x[end:])
        for i in range(end - 1, start - 1, -1):
            for j in range(i + 1, end):
                for k in range(x.shape[1]):
                    x[i, k] -= t[i, j] * x[j, k]
            for k in range(x.shape[1]):
                x[i, k] /= t[i, i]


def triangular_solve(t: Any, b: Any, lower: Any) -> Any:
    x = np.empty(b.shape, b.dtype)
    x[:, :] = b
    if lower:
        forward_substitution(t, x)
    else:
        back_substitution(t, x)
    return x


def triangular_tangent(t: Any, b: Any, lower: Any, t_dot: Any, b_dot: Any, lower_dot: Any) -> Any:
    x = triangular(t, b, lower)
    return x, triangular(t, b_dot - np.dot(triangle(t_dot, lower), x), lower)


def triangular_augmented(t: Any, b: Any, lower: Any) -> Any:
    x = triangular(t, b, lower)
    return x, (t, x, lower)


def triangular_pullback(residual: Any, x_bar: Any) -> Any:
    t, x, lower = residual
    b_bar = triangular(t.T, x_bar, not lower)
    return -triangle(np.dot(b_bar, x.T), lower), b_bar, None


@_numba.njit
def triangle(a: Any, lower: Any) -> Any:
    """The lower or the upper triangle of `a`."""
    out = np.zeros(a.shape, a.dtype)
    for i in range(a.shape[0]):
        # what NumPy offers for this broadcasts, and takes a second to compile
        for j in range(0 if lower else i, min(i + 1, a.shape[1]) if lower else a.shape[1]):
            out[i, j] = a[i, j]
    return out


triangular: Any = whole.make(
    triangular_solve, tangent=triangular_tangent, augmented=triangular_augmented, pullback=triangular_pullback
)
"""triangular(t, b, lower): t^-1 b for a triangle and a matrix."""


def install() -> None:
    """Make the operations known to Numba."""
    overload(matrix, _matrix)
    overload(like, _like)
    names = globals()
    functions = ("solve", np.linalg.solve, 2), ("inv", np.linalg.inv, 1), ("det", np.linalg.det, 1)
    others = ("slogdet", np.linalg.slogdet, 1), ("pinv", np.linalg.pinv, 1), ("lstsq", np.linalg.lstsq, 2)
    for name, function, arrays in (*functions, *others):
        typed = getattr(_linalg, f"{name}_impl")
        rule = {part: names[f"{name}_{part}"] for part in ("tangent", "augmented", "pullback")}
        complex = name in ("solve", "inv", "det")
        operation = wrapped(name, typed, sparse=name == "solve", complex=complex, **rule)
        replace(function, operation, typed, arrays, is_numbers if complex else is_floats)
