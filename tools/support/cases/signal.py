"""NumPy: polynomials, interpolation, convolution."""

from __future__ import annotations

import numpy as np
from numba.np.extensions import cross2d
from numpy.polynomial import polynomial

from tools.support.case import Group, row
from tools.support.cases.values import SORTED, A, M, P, S, X, Y


def _cross2d(x, y):
    return cross2d(x, y)


def _polyadd(x, y):
    return polynomial.polyadd(x, y) * 2.0


def _polymul(x, y):
    return polynomial.polymul(x, y)


def _polysub(x, y):
    return polynomial.polysub(x, y) * 2.0


def _polyint(x):
    return polynomial.polyint(x)


def _polyval(a, x):
    return polynomial.polyval(a, x)


def _polydiv(x, y):
    quotient, rest = polynomial.polydiv(x, y)
    return quotient[0] * rest[0]


GROUP = Group(
    "signal",
    "NumPy: polynomials, interpolation, convolution",
    (
        row("np.interp", "np.interp(a, x, y)", a=P - 0.4, x=SORTED, y=Y),
        row("np.interp of a scalar", "np.interp(a, x, y)", a=A, x=SORTED, y=Y),
        row("np.diff", "np.diff(x) * 2.0", x=X),
        row("np.diff of order 2", "np.diff(x, 2)", x=X),
        row("np.gradient", "np.gradient(x)", x=X),
        row("np.trapezoid", "np.trapezoid(y, x)", x=SORTED, y=Y),
        row("np.convolve", "np.convolve(x, y[:3])", x=X, y=Y),
        row("np.convolve with mode", "np.convolve(x, y[:3], mode='same')", x=X, y=Y),
        row("np.correlate", "np.correlate(x, y[:3], mode='valid')", x=X, y=Y),
        row("np.cross", "np.cross(s, s.T.copy() * 2.0 + s)", s=S),
        row("numba.np.extensions.cross2d", _cross2d, x=X[:2].copy(), y=Y[:2].copy()),
        row("np.outer", "np.outer(x, y)", x=X, y=Y),
        row("np.kron", "np.kron(s, x[:2].reshape(1, 2))", s=S, x=X),
        row("np.unwrap", "np.unwrap(x * 5.0)", x=X),
        row("np.sinc", "np.sinc(x)", x=X),
        row("np.angle", "np.angle(x) * x", x=X),
        row("np.polyval", "np.polyval(x, a)", x=X, a=A),
        row("np.roots", "np.roots(x).real", x=np.array([1.0, -3.5, 2.0])),
        row("polynomial.polyval", _polyval, a=A, x=X),
        row("polynomial.polyadd", _polyadd, x=X, y=Y[:3].copy()),
        row("polynomial.polysub", _polysub, x=X, y=Y[:3].copy()),
        row("polynomial.polymul", _polymul, x=X, y=Y[:3].copy()),
        row("polynomial.polydiv", _polydiv, x=X, y=Y[:3].copy()),
        row("polynomial.polyint", _polyint, x=X),
        row("np.isreal, np.iscomplex, np.isrealobj", "x * (np.isreal(x) + np.iscomplex(x) + np.isrealobj(x))", x=X),
        row(
            "np.isneginf, np.isposinf, np.isscalar", "x * (1 + np.isneginf(x) + np.isposinf(x) + np.isscalar(2.0))", x=X
        ),
        row("np.round, np.around", "np.round(x * 1.2) * x + np.around(x * 1.2)", x=X),
        row("np.ptp of a matrix", "np.ptp(m) * m", m=M),
    ),
)
