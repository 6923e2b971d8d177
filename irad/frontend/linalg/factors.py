"""Factorisations: Cholesky and QR.

M. Giles, Collected Matrix Derivative Results, 2008, for Cholesky; for QR S. Walter, L. Lehmann, Algorithmic
Differentiation of Linear Algebra Functions with Application in Optimum Experimental Design, 2010, and for wide matrices
F. de Hoog, R. Anderssen, M. Lukas, Differentiation of Matrix Functionals Using Triangular Factorization, Math. Comp. 80
(2011).
"""

from __future__ import annotations

import importlib
from typing import Any

from irad.frontend.linalg.operation import replace, wrapped
from irad.frontend.linalg.systems import triangle, triangular
from irad.frontend.target import need

np: Any = importlib.import_module("numpy")
_numba: Any = need("numba", "njit")
_linalg: Any = need("numba.np.linalg", "cho_impl", "qr_impl")


@_numba.njit
def half(a: Any) -> Any:
    """The lower triangle, its diagonal halved."""
    out = triangle(a, True)
    for i in range(a.shape[0]):
        out[i, i] *= a.dtype.type(0.5)
    return out


@_numba.njit
def mirrored(a: Any) -> Any:
    """The symmetric matrix with the lower triangle of `a`."""
    out = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(i + 1):
            out[i, j] = out[j, i] = a[i, j]
    return out


@_numba.njit
def folded(a: Any) -> Any:
    """The cotangent of the lower triangle of a symmetric matrix, of which only that triangle is read."""
    out = triangle(a, True)
    for i in range(a.shape[0]):
        for j in range(i):
            out[i, j] += a[j, i]
    return out


# --- Cholesky -------------------------------------------------------------------------------------------------------


def cholesky_tangent(a: Any, a_dot: Any) -> Any:
    factor = np.linalg.cholesky(a)
    left = triangular(factor, mirrored(a_dot), True)
    return factor, np.dot(factor, half(triangular(factor, left.T, True)))


def cholesky_augmented(a: Any) -> Any:
    factor = np.linalg.cholesky(a)
    return factor, factor


def cholesky_pullback(factor: Any, bar: Any) -> Any:
    inner = triangular(factor.T, half(np.dot(factor.T, triangle(bar, True))), False)
    return (folded(triangular(factor.T, inner.T, False).T),)


# --- QR -------------------------------------------------------------------------------------------------------------


@_numba.njit
def regular(r: Any) -> Any:
    """Raise unless the triangle has an inverse: elsewhere the factors are not determined."""
    n = min(r.shape)
    largest = np.abs(r).max() if r.size > 0 else 0
    for i in range(n):
        if abs(r[i, i]) <= np.finfo(r.dtype).eps * n * largest:
            raise np.linalg.LinAlgError("a matrix that has not full rank: its QR factors have no derivative")


def qr_tangent(a: Any, a_dot: Any) -> Any:
    q, r = np.linalg.qr(a)
    n = min(a.shape)
    regular(r)
    square = np.ascontiguousarray(r[:, :n])
    change = triangular(square.T, np.ascontiguousarray(a_dot[:, :n].T), True).T
    inside = np.dot(q.T, change)
    turn = triangle(inside, True)
    turn -= turn.T.copy()
    q_dot = change - np.dot(q, inside) + np.dot(q, turn)
    return (q, r), (q_dot, triangle(np.dot(q_dot.T, a) + np.dot(q.T, a_dot), False))


def qr_augmented(a: Any) -> Any:
    q, r = np.linalg.qr(a)
    regular(r)
    return (q, r), (a, q, r)


def qr_pullback(residual: Any, bars: Any) -> Any:
    a, q, r = residual
    q_bar, r_bar = bars
    n = min(a.shape)
    square, square_bar = np.ascontiguousarray(r[:, :n]), triangle(r_bar[:, :n], False)
    rest_bar = np.ascontiguousarray(r_bar[:, n:])
    turned = q_bar + np.dot(np.ascontiguousarray(a[:, n:]), rest_bar.T)
    inner = mirrored(np.dot(square, square_bar.T) - np.dot(turned.T, q))
    left = triangular(square, np.ascontiguousarray((turned + np.dot(q, inner)).T), False).T
    out = np.empty(a.shape, a.dtype)
    out[:, :n] = left
    out[:, n:] = np.dot(q, rest_bar)
    return (out,)


def install() -> None:
    """Make the operations known to Numba."""
    names = globals()
    for name, function, typed in (
        ("cholesky", np.linalg.cholesky, _linalg.cho_impl),
        ("qr", np.linalg.qr, _linalg.qr_impl),
    ):
        rule = {part: names[f"{name}_{part}"] for part in ("tangent", "augmented", "pullback")}
        replace(function, wrapped(name, typed, **rule), typed)
