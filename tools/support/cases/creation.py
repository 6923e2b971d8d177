"""NumPy: arrays made."""

from __future__ import annotations

import numpy as np

from tools.support.case import Group, row
from tools.support.cases.values import A, B, M, S, X


def _empty(x):
    made = np.empty(x.size)
    for i in range(x.size):
        made[i] = x[i] * x[i]
    return made


def _empty_like(x):
    made = np.empty_like(x)
    made[:] = x * 2.0
    return made


def _zeros(x):
    made = np.zeros((2, x.size))
    made[1] = x
    return made


def _diagonal(m, a):
    made = m.copy()
    np.fill_diagonal(made, a)
    return made * m


def _filled(x, a):
    made = x.copy()
    made.fill(a)
    return made * x


def _meshgrid(x, y):
    one, other = np.meshgrid(x, y)
    return one * other


def _comprehension(x):
    return np.array([x[i] * i for i in range(x.size)])


GROUP = Group(
    "creation",
    "NumPy: creation",
    (
        row("np.empty", _empty, x=X),
        row("np.empty_like", _empty_like, x=X),
        row("np.zeros", _zeros, x=X),
        row("np.zeros_like, np.ones_like", "np.zeros_like(x) + x * np.ones_like(x)", x=X),
        row("np.ones", "np.ones(5) * x", x=X),
        row("np.full", "np.full(4, a) * a", a=A),
        row("np.full_like", "np.full_like(x, a) * x", x=X, a=A),
        row("np.array of scalars", "np.array([a, b, a * b])", a=A, b=B),
        row("np.array of a nested list", "np.array([[a, b], [1.0, a * b]])", a=A, b=B),
        row("np.array of a comprehension", _comprehension, x=X),
        row("np.array of a tuple", "np.array((a, b, a * b))", a=A, b=B),
        row("np.asarray, np.asarray_chkfinite", "np.asarray(x) * np.asarray_chkfinite(x)", x=X),
        row("np.ascontiguousarray, np.asfortranarray", "np.ascontiguousarray(m.T) * np.asfortranarray(m.T)", m=M),
        row("np.copy, x.copy", "np.copy(x) * x.copy()", x=X),
        row("np.arange of integers", "x * np.arange(x.size)", x=X),
        row("np.arange of floats", "np.arange(a, b, 0.5) * a", a=A, b=3.45),
        row("np.linspace", "np.linspace(a, b, 6)", a=A, b=B),
        row("np.logspace", "np.logspace(a, b, 4)", a=A, b=B),
        row("np.geomspace", "np.geomspace(a, b, 4)", a=A, b=B),
        row("np.eye, np.identity", "np.eye(3) * s + np.identity(3) * s.T", s=S),
        row("np.tri", "np.tri(3) * s", s=S),
        row("np.tril, np.triu", "np.tril(s) * 2.0 + np.triu(s, 1) * s", s=S),
        row("np.tril_indices, np.triu_indices", "s[np.tril_indices(3)[0][1], 2] * s[0, np.triu_indices(3)[1][1]]", s=S),
        row("np.diag of a vector", "np.diag(x) * 3.0", x=X[:3].copy()),
        row("np.diag of a matrix", "np.diag(s) * s[0]", s=S),
        row("np.diagflat", "np.diagflat(x) * 2.0", x=X[:3].copy()),
        row("np.fill_diagonal", _diagonal, m=M, a=A),
        row("x.fill", _filled, x=X, a=A),
        row("np.indices", "np.indices((3, 4))[0] * m", m=M),
        row("np.meshgrid", _meshgrid, x=X, y=X[:3].copy()),
        row("np.vander", "np.vander(x, 4)", x=X[:3].copy()),
        row("np.frombuffer", "np.frombuffer(x) * 2.0", x=X),
        row(
            "np.bartlett, blackman, hamming, hanning",
            "x * (np.bartlett(5) + np.blackman(5) + np.hamming(5) + np.hanning(5))",
            x=X,
        ),
        row("np.kaiser", "x * np.kaiser(5, a)", x=X, a=A),
        row("np.finfo, np.iinfo", "x * np.finfo(np.float64).eps * np.iinfo(np.int8).max", x=X),
    ),
)
