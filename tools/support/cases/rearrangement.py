"""NumPy: arrays of other shapes and orders."""

from __future__ import annotations

import numpy as np

from tools.support.case import Group, row
from tools.support.cases.values import A, I, M, S, T, X, Y


def _split(x):
    first, second = np.split(x[:4], 2)
    return first * second


def _array_split(x):
    parts = np.array_split(x, 2)
    return parts[0] * parts[1][0]


def _hsplit(m):
    parts = np.hsplit(m, 2)
    return parts[0] * parts[1]


def _vsplit(m):
    parts = np.vsplit(m, 3)
    return parts[0] * parts[2]


def _dsplit(t):
    parts = np.dsplit(t, 2)
    return parts[0] * parts[1]


def _broadcast_arrays(x, m):
    one, other = np.broadcast_arrays(x, m)
    return one * other


GROUP = Group(
    "rearrangement",
    "NumPy: rearrangement",
    (
        row("np.reshape, x.reshape", "np.reshape(m, (4, 3)) * m.reshape(4, 3) + m.reshape(-1)[0]", m=M),
        row("x.reshape of a transposed array", "m.T.copy().reshape(3, 4) * m", m=M),
        row("np.ravel, x.flatten", "np.ravel(m) * m.flatten() + m.T.ravel()", m=M),
        row("x.T, np.transpose", "m.T * np.transpose(m)", m=M),
        row("np.transpose with axes", "np.transpose(t, (2, 0, 1)) * 2.0", t=T),
        row("np.swapaxes, np.moveaxis", "np.swapaxes(t, 0, 2) * 2.0", t=T),
        row("np.moveaxis", "np.moveaxis(t, 0, 2) * 2.0", t=T),
        row("np.expand_dims", "np.expand_dims(x, 0) * np.expand_dims(x, 1)", x=X),
        row("np.squeeze", "np.squeeze(x.reshape(1, 5)) * x", x=X),
        row(
            "np.atleast_1d, np.atleast_2d, np.atleast_3d", "np.atleast_1d(x) * np.atleast_2d(x) * np.atleast_3d(x)", x=X
        ),
        row("np.broadcast_to", "np.broadcast_to(x, (3, 4)) * m", x=X[:4].copy(), m=M),
        row("np.broadcast_arrays", _broadcast_arrays, x=X[:4].copy(), m=M),
        row("np.flip, np.flipud, np.fliplr", "np.flip(m) * np.flipud(m) * np.fliplr(m)", m=M),
        row("np.rot90", "np.rot90(s) * s", s=S),
        row("np.roll", "np.roll(x, 2) * x", x=X),
        row("np.concatenate", "np.concatenate((x, y * x, x))", x=X, y=Y),
        row("np.concatenate with axis", "np.concatenate((m, m * 2.0), axis=1)", m=M),
        row("np.stack", "np.stack((x, y * x))", x=X, y=Y),
        row("np.vstack, np.hstack", "np.vstack((x, y)) * np.hstack((x, y)).reshape(2, 5)", x=X, y=Y),
        row("np.dstack, np.column_stack", "np.dstack((x, y))[0] * np.column_stack((x, y))", x=X, y=Y),
        row("np.split", _split, x=X),
        row("np.array_split", _array_split, x=X),
        row("np.hsplit", _hsplit, m=M),
        row("np.vsplit", _vsplit, m=M),
        row("np.dsplit", _dsplit, t=T),
        row("np.repeat", "np.repeat(x, 2) * 3.0", x=X),
        row("np.repeat with counts", "np.repeat(x[:4], i)", x=X, i=I),
        row("np.tile", "np.tile(x, 2)", x=X),
        row("np.resize", "np.resize(x, (2, 4))", x=X),
        row("np.append", "np.append(x, y * x)", x=X, y=Y),
        row("np.append of a scalar", "np.append(x, a)", x=X, a=A),
        row("np.insert", "np.insert(x, 2, a)", x=X, a=A),
        row("np.delete", "np.delete(x, 2) * 2.0", x=X),
        row("np.trim_zeros", "np.trim_zeros(x) * 2.0", x=X),
        row("np.diagonal by strides", "s.ravel()[::4] * 2.0", s=S),
        row("x.astype", "x.astype(np.float64) * x", x=X.astype(np.float32)),
        row("x.view", "x.view(np.float64) * 2.0", x=X),
        row("np.clip", "np.clip(x, -0.5, 1.0) * x.clip(-0.5, a)", x=X, a=A),
        row("np.nan_to_num", "np.nan_to_num(x) * x", x=X),
        row("np.real, np.imag, x.conj", "np.real(x) * x.conj() + np.imag(x)", x=X),
        row("np.shape, np.size", "x * np.shape(x)[0] * np.size(x)", x=X),
    ),
)
