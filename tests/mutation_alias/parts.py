"""The parts that the matrix is made of: who shares memory, what is done to it, and in what order.

Every fragment is Python source over the same few names: arrays `a` and `b` of at least `n` elements, the arguments
`x`, `y`, `z` that they come from, a float `w`, repeated indices `idx`, and the sum `s` that the kernel returns.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

N = 4
Held = namedtuple("Held", "first second third")
RECORD = np.dtype([("u", "f8"), ("k", "i8"), ("v", "f8")])


def values(size: int, start: float = 0.35) -> np.ndarray:
    """Distinct numbers around a half, in no order."""
    return start + (np.arange(size) * 0.37) % 0.61


# --- effects: statements about element i ----------------------------------------------------------------------------

EFFECTS = {
    "overwrite": "a[i] = b[i] * w + 0.3",
    "accumulate": "a[i] += math.sin(b[i]) * w",
    "multiply": "a[i] *= b[n - 1 - i] + w",
    "read, then overwrite": "t = a[i] * a[i]; a[i] = t * b[i]; s += t",
    "overwrite, then read": "a[i] = w * b[i]; s += a[i] * a[i] * b[i]",
    "swap": "t = a[i]; a[i] = b[n - 1 - i]; b[n - 1 - i] = t * w",
    "shift": "a[i] = a[(i + 1) % n] * w + b[i]",
    "prefix": "b[i] = b[i] * b[i - 1 if i > 0 else 0]",
    "partial": "if i % 2 == 0: a[i] = b[i] * b[i]",
    "conditional": "if a[i] > b[n - 1 - i]: a[i] = b[i] * a[i]",
    "zero": "s += a[i] * w; a[i] = 0.0",
    "gather": "s += a[idx[i]] * b[idx[i]]; b[i] = math.exp(-a[idx[i]]) + b[i]",
    "scatter": "a[idx[i]] = b[i] * b[i]",
    "scatter-add": "b[idx[i]] += a[i] * w",
    "copy": "a[i] = b[i]",
    "slice of itself": "a[1:n] = a[:n - 1]",
    "array": "b[:n] += a[:n] * w",
    "array fill": "s += b[1] * b[n - 1]; b[1:n] = 0.0",
}

GROUPS: tuple[tuple[str, ...], ...] = (
    ("read, then overwrite", "accumulate", "gather", "copy"),
    ("overwrite, then read", "multiply", "shift", "zero"),
    ("swap", "conditional", "scatter-add", "prefix"),
    ("overwrite", "scatter", "partial", "array fill"),
    ("slice of itself", "array"),
)
"""Effects that share a kernel. Each is in one group."""


# --- aliasing: what the arguments and the names a and b have to do with one another ---------------------------------


@dataclass(frozen=True)
class Aliasing:
    """args: makes x, y and z. before: statements that set a and b; within, after: inside every step.

    parameters: the names of the first two arguments, where `before` makes x and y of them.
    const: positions that are given to irad as constants as well.
    """

    args: Callable[[], tuple[Any, Any, Any]]
    before: str = "a = x; b = y"
    within: str = ""
    after: str = ""
    parameters: str = "x, y"
    const: tuple[int, ...] = ()


def disjoint() -> tuple[Any, Any, Any]:
    return values(N), values(N, 0.5), values(N, 0.4)


def longer() -> tuple[Any, Any, Any]:
    return values(2 * N), values(2 * N, 0.5), values(N, 0.4)


def square() -> tuple[Any, Any, Any]:
    return values(N * N), values(N * N, 0.5), values(N, 0.4)


def strided() -> tuple[Any, Any, Any]:
    return values(3 * N)[::3], values(2 * N, 0.5)[::-2], values(N, 0.4)


def ordered() -> tuple[Any, Any, Any]:
    """A matrix in F order, and the same memory in C order."""
    u = np.asfortranarray(values(N * N).reshape(N, N))
    return u, u.T, values(N, 0.4)


def _of(size: int, *cut: Callable[[np.ndarray], np.ndarray]) -> Callable[[], tuple[Any, Any, Any]]:
    """Views of one buffer; z is on its own where only two are given."""

    def make() -> tuple[Any, Any, Any]:
        buffer = values(size)
        views = [c(buffer) for c in cut]
        return views[0], views[1], views[2] if len(views) == 3 else values(N, 0.4)

    return make


ALIASING = {
    "disjoint": Aliasing(disjoint),
    "disjoint, strided": Aliasing(strided),
    "same twice": Aliasing(_of(N, lambda u: u, lambda u: u)),
    "same three times": Aliasing(_of(N, lambda u: u, lambda u: u, lambda u: u)),
    "shifted": Aliasing(_of(N + 1, lambda u: u[:-1], lambda u: u[1:])),
    "shifted back": Aliasing(_of(N + 2, lambda u: u[2:], lambda u: u[:-2], lambda u: u[1:-1])),
    "reversed": Aliasing(_of(N, lambda u: u, lambda u: u[::-1])),
    "interleaved": Aliasing(_of(2 * N, lambda u: u[::2], lambda u: u[1::2])),
    "two strides": Aliasing(_of(2 * N, lambda u: u[::2], lambda u: u[:N])),
    "rows": Aliasing(_of(2 * N, lambda u: u.reshape(2, N)[0], lambda u: u.reshape(2, N)[1])),
    "columns": Aliasing(_of(2 * N, lambda u: u.reshape(N, 2)[:, 0], lambda u: u.reshape(N, 2)[:, 1])),
    "a row and a column": Aliasing(_of(N * N, lambda u: u.reshape(N, N)[1], lambda u: u.reshape(N, N)[:, 1])),
    "views inside": Aliasing(longer, "a = x[1:]; b = x[:-1]"),
    "reversed inside": Aliasing(disjoint, "a = x[::-1]; b = x"),
    "rows inside": Aliasing(longer, "p = x.reshape(2, -1); a = p[0]; b = p[1]"),
    "columns inside": Aliasing(longer, "p = x.reshape(-1, 2); a = p[:, 0]; b = p[:, 1]"),
    "transposed inside": Aliasing(square, "p = x.reshape(4, 4); a = p.T[1]; b = p.T[:, 1]"),
    "F and C order": Aliasing(ordered, "x = u[1]; y = v[:, 2]; a = x; b = y", parameters="u, v"),
    "chosen": Aliasing(disjoint, "a = x if w > 0.5 else y; b = y if x[0] > 0.4 else x"),
    "chosen every step": Aliasing(disjoint, within="a = x if i % 2 == 0 else y; b = y if x[i] > 0.5 else x"),
    "chosen, shared": Aliasing(_of(N + 1, lambda u: u[:-1], lambda u: u[1:]), within="a = x if y[i] > 0.5 else y"),
    "swapped every step": Aliasing(disjoint, after="a, b = b, a"),
    "three buffers in turn": Aliasing(disjoint, after="a, b, c = b, c, a"),
    "renamed": Aliasing(disjoint, "a = x * w; b = y", after="a = a * w + b[0]"),
    "scratch inside": Aliasing(disjoint, "a = np.zeros_like(x); b = y; a[:] = x"),
    "scratch every step": Aliasing(disjoint, within="a = np.empty_like(x); a[:] = x * w"),
    "scratch kept": Aliasing(disjoint, within="a = b * w", after="b = a"),
    "scratch argument": Aliasing(disjoint, "a = z; b = y; a[:] = x * w", const=(2,)),
    "tuple of arrays": Aliasing(disjoint, "p = (x, y); a = p[0]; b = p[1]"),
    "namedtuple of arrays": Aliasing(disjoint, "p = Held(x, y, x); a = p.first; b = p.second", within="b = p.third"),
    "fields of records": Aliasing(disjoint, "p = np.zeros(n, RECORD); a = p['u']; b = p['v']; a[:] = x; b[:] = y"),
    "tuple, any of it": Aliasing(disjoint, "a = x; b = y", within="a = p[i % 2]; b = p[(i + 1) % 3]"),
}

# --- control: where the effects, {body}, are ------------------------------------------------------------------------

CONTROL = {
    "straight": "i = n - 1\n{body}",
    "for": "for i in range(n):\n    {body}",
    "backwards": "for i in range(n - 1, -1, -1):\n    {body}",
    "nested": "for k in range(2):\n    for i in range(n):\n        {body}",
    "triangular": "for k in range(n):\n    for i in range(k):\n        {body}",
    "while": "i = 0\nwhile i < n and s < 3.0:\n    {body}\n    i += 1 if a[i] < 0.8 else 2",
    "break": "for k in range(2):\n    for i in range(n):\n        {body}\n        if s + a[i] > 1.6: break",
    "continue": "for i in range(n):\n    if b[i] < 0.5:\n        continue\n    {body}",
    "early return": "for i in range(n):\n    {body}\n    if s + b[i] > 1.4:\n        return s * a[0] + b[n - 1]",
    "zero trips": "for k in range(2):\n    for i in range(m * k):\n        {body}",
    "helper": "for i in range(n):\n    s += part(a, b, c, p, x, y, z, w, idx, i, n)",
    "recursion": "s += part(a, b, c, p, x, y, z, w, idx, n - n, n)",
    "variable step": "i = 1\nwhile i < n:\n    {body}\n    i *= 2",
}

HELPER = {
    "helper": "if n < 0:\n    return part(a, b, c, p, x, y, z, w, idx, i, n)\nreturn s",
    "recursion": "if i + 1 >= n:\n    return s\nreturn s * w + part(a, b, c, p, x, y, z, w, idx, i + 1, n)",
}
"""The end of the helper functions, whose body the effects are. A function that calls itself is not inlined."""
