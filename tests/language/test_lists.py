"""Lists that a kernel makes: of floats, of arrays, of lists; grown, shrunk, passed on."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import irad
from tests.oracles.compare import assert_derivatives_right

X = np.array([0.3, -0.8, 0.55, 1.4, -0.25])


@numba.njit
def grown(x, n):
    """Moves when it grows, many times over."""
    values = [x[0]]
    for i in range(n):
        values.append(values[-1] * 0.9 + x[i % x.size] * values[i // 2])
    values.insert(2, values.pop() * values[1])
    return values[2] * sum(values)


@numba.njit
def written_through(x, y):
    """The arrays of a list are those that it was made of."""
    made = [x * 2.0, y, x]
    for array in made:
        array[1] *= array[0]
    return made[0].sum() * made[1][1]


@numba.njit
def _row(x, i):
    return [x[i], x[i] * x[0]]


@numba.njit
def nested(x):
    rows = [_row(x, i) for i in range(x.size)]
    rows[1][0] = rows[2][1] * 3.0
    total = 0.0
    for a, b in [(row[0], row[1]) for row in rows]:
        total = total * a + b
    return total


@numba.njit
def emptied(x):
    """A stack whose length the loop asks for: it moves while the loop runs."""
    intervals = [(x[0], x[3])]
    rows = [[x[1]]]
    total = 0.0
    while len(intervals) > 0:
        low, high = intervals.pop()
        if high - low < 0.1:
            total += low * high * x[2]
        else:
            intervals.append((low, 0.5 * (low + high)))
            intervals.append((0.5 * (low + high), high))
            while len(rows[0]) < 3 * len(intervals):
                rows[0].append(rows[0][-1] * x[4])
    return total + sum(rows[0])


@pytest.mark.parametrize(
    ("kernel", "args"),
    [(grown, (X, 40)), (written_through, (X, X * 0.5 + 1.0)), (nested, (X,)), (emptied, (X,))],
    ids=["grown", "written through", "nested", "emptied"],
)
def test_lists_of_the_kernel_are_differentiated(kernel, args) -> None:
    assert_derivatives_right(kernel, args, analytic=False)


@numba.njit
def _counted(x, n):
    """The message needs reference counts, so the scratch array has them too, and is freed before the way back."""
    if n < 0:
        raise ValueError("negative: " + str(n))
    weights = np.empty(n)
    for i in range(n):
        weights[i] = np.sin(1.0 * i)
    total = 0.0
    for i in range(n):
        total += weights[i] * x[i] * x[i]
    return total


def test_memory_that_the_kernel_frees_is_not_read_again() -> None:
    x = np.arange(300_000.0)  # large enough to be given back to the system
    np.testing.assert_array_equal(irad.grad(_counted)(x, x.size), 2 * (np.sin(x) * x))
