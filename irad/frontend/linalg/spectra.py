"""Eigenvalues and singular values.

M. Giles, Collected Matrix Derivative Results for Forward and Reverse Mode Algorithmic Differentiation, 2008; for
singular vectors J. Townsend, Differentiating the Singular Value Decomposition, 2016. Vectors of equal values can turn
into each other, and have no derivative; equal values have one only for what treats them alike.
"""

from __future__ import annotations

import importlib
from typing import Any

from irad.frontend.linalg.factors import folded, mirrored
from irad.frontend.linalg.operation import replace, wrapped
from irad.frontend.linalg.products import columnwise
from irad.frontend.target import need

np: Any = importlib.import_module("numpy")
_numba: Any = need("numba", "njit")
_linalg: Any = need(
    "numba.np.linalg",
    "eigh_impl",
    "eigvalsh_impl",
    "eig_impl",
    "eigvals_impl",
    "svd_impl",
    "_compute_singular_values",
    "_compute_singular_values_impl",
)


@_numba.njit
def gaps(w: Any) -> Any:
    """1 / (w_j - w_i), zero on the diagonal; raise where two values are equal up to rounding."""
    n = w.size
    out = np.zeros((n, n), w.dtype)
    limit = np.finfo(w.dtype).eps * n * np.abs(w).max() if n > 0 else 0
    for i in range(n):
        for j in range(n):
            if i != j:
                gap = w[j] - w[i]
                if abs(gap) <= limit:
                    raise np.linalg.LinAlgError("equal eigenvalues or singular values: vectors have no derivative")
                out[i, j] = 1 / gap
    return out


@_numba.njit
def alike(w: Any, bars: Any) -> Any:
    """Raise unless values that are equal up to rounding have equal cotangents."""
    limit = np.finfo(w.dtype).eps * w.size * (np.abs(w).max() if w.size > 0 else 0)
    for i in range(1, w.size):
        if abs(w[i] - w[i - 1]) <= limit and abs(bars[i] - bars[i - 1]) > 1e-6 * (abs(bars[i]) + abs(bars[i - 1])):
            raise np.linalg.LinAlgError("equal eigenvalues or singular values have no derivative by themselves")


@_numba.njit
def alone(w: Any, turned: Any) -> Any:
    """Raise where a direction, in the coordinates of the vectors, treats equal values as different."""
    limit = np.finfo(w.dtype).eps * w.size * (np.abs(w).max() if w.size > 0 else 0)
    size = 1e-6 * np.abs(turned).max() if w.size > 0 else 0
    for i in range(1, w.size):
        if abs(w[i] - w[i - 1]) <= limit:
            apart = abs(turned[i, i] - turned[i - 1, i - 1])
            if apart > size or abs(turned[i, i - 1]) > size or abs(turned[i - 1, i]) > size:
                raise np.linalg.LinAlgError("equal eigenvalues or singular values have no derivative by themselves")


# --- symmetric matrices ---------------------------------------------------------------------------------------------


def eigh_tangent(a: Any, a_dot: Any) -> Any:
    w, v = np.linalg.eigh(a)
    turned = np.dot(v.T, np.dot(mirrored(a_dot), v))
    return (w, v), (np.diag(turned), np.dot(v, gaps(w) * turned))


def eigh_augmented(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    return (w, v), (gaps(w), v)


def eigh_pullback(residual: Any, bars: Any) -> Any:
    gap, v = residual
    w_bar, v_bar = bars
    inner = gap * np.dot(v.T, v_bar) + np.diag(w_bar)
    return (folded(np.dot(v, np.dot(inner, v.T)) * v.dtype.type(0.5) * 2),)


def eigvalsh_tangent(a: Any, a_dot: Any) -> Any:
    w = np.linalg.eigvalsh(a)
    _, v = np.linalg.eigh(a)
    turned = np.dot(v.T, np.dot(mirrored(a_dot), v))
    alone(w, turned)
    return w, np.diag(turned)


def eigvalsh_augmented(a: Any) -> Any:
    return np.linalg.eigvalsh(a), a


def eigvalsh_pullback(a: Any, w_bar: Any) -> Any:
    w, v = np.linalg.eigh(a)
    alike(w, w_bar)
    return (folded(np.dot(v * w_bar, v.T)),)


# --- general matrices with real eigenvalues -------------------------------------------------------------------------


def eig_tangent(a: Any, a_dot: Any) -> Any:
    w, v = np.linalg.eig(a)
    turned = np.linalg.solve(v, np.dot(a_dot, v))
    v_dot = np.dot(v, gaps(w) * turned)
    return (w, v), (np.diag(turned), v_dot - v * columnwise(v, v_dot))


def eig_augmented(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return (w, v), (gaps(w), v)


def eig_pullback(residual: Any, bars: Any) -> Any:
    gap, v = residual
    w_bar, v_bar = bars
    straight = v_bar - v * columnwise(v, v_bar)
    inner = gap * np.dot(v.T, straight) + np.diag(w_bar)
    return (np.linalg.solve(v.T, np.dot(inner, v.T)),)


def eigvals_tangent(a: Any, a_dot: Any) -> Any:
    w = np.linalg.eigvals(a)
    values, v = np.linalg.eig(a)
    gaps(values)
    return w, np.diag(np.linalg.solve(v, np.dot(a_dot, v)))


def eigvals_augmented(a: Any) -> Any:
    return np.linalg.eigvals(a), a


def eigvals_pullback(a: Any, w_bar: Any) -> Any:
    w, v = np.linalg.eig(a)
    gaps(w)
    return (np.linalg.solve(v.T, np.expand_dims(w_bar, 1) * v.T),)


# --- singular values ------------------------------------------------------------------------------------------------


@_numba.njit
def differ(s: Any) -> Any:
    """Raise where two singular values are equal, or one is zero; the gaps of their squares."""
    if s.size > 0 and s[-1] <= np.finfo(s.dtype).eps * s.size * s[0]:
        raise np.linalg.LinAlgError("a singular value is zero: singular vectors have no derivative")
    gaps(s)
    return gaps(s * s)


def svd_tangent(a: Any, full_matrices: Any, a_dot: Any, full_dot: Any) -> Any:
    u, s, vt = np.linalg.svd(a, full_matrices)
    if u.shape[1] != s.size or vt.shape[0] != s.size:
        raise np.linalg.LinAlgError("the full singular vectors of a matrix that is not square have no derivative")
    gap = differ(s)
    turned = np.dot(u.T, np.dot(a_dot, vt.T))
    u_dot = np.dot(u, gap * (turned * s + np.expand_dims(s, 1) * turned.T))
    v_dot = np.dot(vt.T, gap * (np.expand_dims(s, 1) * turned + turned.T * s))
    u_dot += (np.dot(a_dot, vt.T) - np.dot(u, turned)) / s
    v_dot += (np.dot(a_dot.T, u) - np.dot(vt.T, turned.T)) / s
    return (u, s, vt), (u_dot, np.diag(turned), v_dot.T)


def svd_augmented(a: Any, full_matrices: Any) -> Any:
    u, s, vt = np.linalg.svd(a, full_matrices)
    return (u, s, vt), (u, s, vt, differ(s))


def svd_pullback(residual: Any, bars: Any) -> Any:
    u, s, vt, gap = residual
    u_bar, s_bar, vt_bar = bars
    k = s.size
    if np.any(u_bar[:, k:] != 0) or np.any(vt_bar[k:] != 0):
        raise np.linalg.LinAlgError("the full singular vectors of a matrix that is not square have no derivative")
    left, right = np.ascontiguousarray(u[:, :k]), np.ascontiguousarray(vt[:k].T)
    left_bar, right_bar = np.ascontiguousarray(u_bar[:, :k]), np.ascontiguousarray(vt_bar[:k].T)
    from_left, from_right = np.dot(left.T, left_bar), np.dot(right.T, right_bar)
    inner = gap * (from_left - from_left.T) * s + np.expand_dims(s, 1) * (gap * (from_right - from_right.T))
    out = np.dot(left, np.dot(inner + np.diag(s_bar), right.T))
    out += np.dot((left_bar - np.dot(left, from_left)) / s, right.T)
    out += np.dot(left, ((right_bar - np.dot(right, from_right)) / s).T)
    return out, None


def singular_values_tangent(a: Any, a_dot: Any) -> Any:
    s = _singular_values(a)
    u, _, vt = np.linalg.svd(a, 0)
    turned = np.dot(u.T, np.dot(a_dot, vt.T))
    nonzero(s, np.diag(turned))
    alone(s, turned)
    return s, np.diag(turned)


def singular_values_augmented(a: Any) -> Any:
    return _singular_values(a), a


def singular_values_pullback(a: Any, s_bar: Any) -> Any:
    u, s, vt = np.linalg.svd(a, 0)
    nonzero(s, s_bar)
    alike(s, s_bar)
    return (np.dot(u * s_bar, vt),)


@_numba.njit
def nonzero(s: Any, bars: Any) -> Any:
    """Raise where a singular value that is zero has a cotangent or a tangent."""
    for i in range(s.size):
        if s[i] <= np.finfo(s.dtype).eps * s.size * s[0] and bars[i] != 0:
            raise np.linalg.LinAlgError("a singular value that is zero has no derivative")


_singular_values = _linalg._compute_singular_values


def install() -> None:
    """Make the operations known to Numba."""
    names = globals()
    for name, function, typed in (
        ("eigh", np.linalg.eigh, _linalg.eigh_impl),
        ("eigvalsh", np.linalg.eigvalsh, _linalg.eigvalsh_impl),
        ("eig", np.linalg.eig, _linalg.eig_impl),
        ("eigvals", np.linalg.eigvals, _linalg.eigvals_impl),
        ("svd", np.linalg.svd, _linalg.svd_impl),
        ("singular_values", _singular_values, _linalg._compute_singular_values_impl),
    ):
        rule = {part: names[f"{name}_{part}"] for part in ("tangent", "augmented", "pullback")}
        replace(function, wrapped(name, typed, **rule), typed)
