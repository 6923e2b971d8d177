"""NumPy: linear algebra."""

from __future__ import annotations

import numpy as np

from tools.support.case import Group, row
from tools.support.cases.values import M, S, X, Y

_SPD = S @ S.T
V, W = X[:3].copy(), Y[:3].copy()


def _slogdet(s):
    sign, log = np.linalg.slogdet(s)
    return sign * log


def _qr(s):
    q, r = np.linalg.qr(s)
    return q[0, 1] * r[0, 2]


def _eigh(s):
    values, vectors = np.linalg.eigh(s + s.T)
    return values[0] * abs(vectors[0, 0])


def _eig(s):
    values, _ = np.linalg.eig(s)
    return values[0]


def _svd(s):
    u, d, _ = np.linalg.svd(s)
    return d[0] * abs(u[0, 0])


def _lstsq(m, x):
    return np.linalg.lstsq(m.T.copy(), x)[0]


GROUP = Group(
    "linalg",
    "NumPy: linear algebra",
    (
        row("np.dot of vectors", "np.dot(x, y)", x=X, y=Y),
        row("np.dot of matrix and vector", "np.dot(s, v)", s=S, v=V),
        row("np.dot of matrices", "np.dot(s, s.T.copy())", s=S),
        row("@", "(s @ v) @ w", s=S, v=V, w=W),
        row("np.vdot", "np.vdot(x, y)", x=X, y=Y),
        row("np.linalg.solve", "np.linalg.solve(s, v)", s=S, v=V),
        row("np.linalg.inv", "np.linalg.inv(s)", s=S),
        row("np.linalg.det", "np.linalg.det(s)", s=S),
        row("np.linalg.slogdet", _slogdet, s=S),
        row("np.linalg.cholesky", "np.linalg.cholesky(s)", s=_SPD),
        row("np.linalg.qr", _qr, s=S),
        row("np.linalg.eigh", _eigh, s=S),
        row("np.linalg.eigvalsh", "np.linalg.eigvalsh(s)", s=_SPD),
        row("np.linalg.eig", _eig, s=_SPD),
        row("np.linalg.eigvals", "np.linalg.eigvals(s)[0]", s=_SPD),
        row("np.linalg.svd", _svd, s=S),
        row("np.linalg.lstsq", _lstsq, m=M, x=Y[:4].copy()),
        row("np.linalg.pinv", "np.linalg.pinv(m)", m=M),
        row("np.linalg.norm", "np.linalg.norm(x)", x=X),
        row("np.linalg.norm of a matrix", "np.linalg.norm(s)", s=S),
        row("np.linalg.cond", "np.linalg.cond(s)", s=S),
        row("np.linalg.matrix_rank", "np.linalg.matrix_rank(s) * s", s=S),
        row("np.linalg.matrix_power", "np.linalg.matrix_power(s, 3)", s=S),
        row("np.linalg.multi_dot", "np.linalg.multi_dot((s, s, s))", s=S),
        row("np.einsum", "np.einsum('ij,j->i', s, v)", s=S, v=V),
        row("np.tensordot", "np.tensordot(s, s)", s=S),
    ),
)
