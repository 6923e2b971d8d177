"""NumPy: elements and parts of arrays."""

from __future__ import annotations

import numpy as np

from tools.support.case import Group, row
from tools.support.cases.values import MASK, A, I, M, T, X, Y


def _slice_assign(x, y):
    made = x.copy()
    made[1:4] = y[:3]
    made[::2] *= x[::2]
    return made


def _row_assign(m, x):
    made = m * 2.0
    made[1] = x
    made[:, 2] = made[:, 0] * made[:, 1]
    return made


def _scatter(x, y, i):
    made = x.copy()
    made[i] = y[: i.size]
    return made * x


def _mask_assign(x, a, mask):
    made = x * 1.0
    made[mask] = a
    return made * x


def _mask_assign_array(x, y, mask):
    made = x * 1.0
    made[mask] = y[: mask.sum()]
    return made * x


def _overlap(x):
    made = x * 1.0
    made[1:] = made[:-1] * x[1:]
    made[:-1] = made[1:]
    return made


def _view_chain(m):
    view = m[1:, ::2]
    return view[::-1].T[1] * view[0, 1]


def _mutated_argument(x, y):
    x[1:] += y[:-1] * x[:-1]
    return x[2]


def _iteration(m):
    total = 0.0
    for line in m:
        total += line[0] * line[-1]
    return total


GROUP = Group(
    "indexing",
    "NumPy: indexing",
    (
        row("x[i], x[-1], m[i, j]", "x[1] * x[-1] + m[1, 2] * m[-1, -2]", x=X, m=M),
        row("slices, steps, negative steps", "x[1:4] * x[::-2] + x[:-2]", x=X),
        row("rows and columns", "m[1] * m[:, 1].sum() + m[-1, :]", m=M),
        row("ellipsis", "t[..., 1] * t[1, ..., 0]", t=T),
        row("newaxis", "x[:, None] * x[np.newaxis, :3]", x=X),
        row("views of views", _view_chain, m=M),
        row("assignment to slices", _slice_assign, x=X, y=Y),
        row("assignment to rows and columns", _row_assign, m=M, x=X[:4].copy()),
        row("assignment of overlapping slices", _overlap, x=X),
        row("arguments written in place", _mutated_argument, x=X, y=Y),
        row("integer array", "x[i] * 2.0", x=X, i=I),
        row("integer array and slice", "m[:, i] * 2.0", m=M, i=I),
        row("integer array, assigned", _scatter, x=X, y=Y, i=I),
        row("boolean mask", "x[mask] * 3.0", x=X, mask=MASK),
        row("boolean mask of a comparison", "x[x > 0.0] ** 2", x=X),
        row("boolean mask, a scalar assigned", _mask_assign, x=X, a=A, mask=MASK),
        row("boolean mask, an array assigned", _mask_assign_array, x=X, y=Y, mask=MASK),
        row("iteration over rows", _iteration, m=M),
        row("x.flat", "m.flat[2] * m.flat[7]", m=M),
        row("x.item", "x.item(2) * x[2:3].item()", x=X),
        row("np.take", "np.take(x, i) * 2.0", x=X, i=I),
        row("np.take_along_axis", "np.take_along_axis(m, k, 1)", m=M, k=np.array([[0, 3], [1, 1], [2, 0]])),
        row("np.where of three", "np.where(x > 0.2, x * x, y)", x=X, y=Y),
        row("np.where of scalars", "np.where(x > 0.2, x, a)", x=X, a=A),
        row("np.where of one, np.nonzero", "x[np.where(x > 0.2)[0]] * x[x.nonzero()[0][0]]", x=X),
        row("np.select", "np.select([x > 0.5, x < 0.0], [x * x, y], 0.5)", x=X, y=Y),
        row("np.extract", "np.extract(mask, x) * 2.0", x=X, mask=MASK),
        row("np.argwhere, np.flatnonzero", "x[np.argwhere(x > 0.2)[0, 0]] * x[np.flatnonzero(x > 0.2)[1]]", x=X),
        row(
            "shape, size, ndim, strides, itemsize",
            "x * (x.shape[0] + x.size + x.ndim + x.strides[0] + x.itemsize)",
            x=X,
        ),
    ),
)
