"""Arrays that recursive helpers, which are not inlined, are given, make, choose and return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from tests.mutation_alias.parts import values
from tests.oracles import assert_derivatives_right


@njit
def chosen(x, y, k):
    if k == 0:
        return x
    return chosen(y, x, k - 1)


@njit
def returned(x, y, k):
    a = chosen(x, y, k)
    a[0] *= y[1]
    return a[0] * x[1] + a[1] * y[0]


@njit
def sort(x):
    if x.size < 2:
        return
    left, right = x[: x.size // 2].copy(), x[x.size // 2 :].copy()
    sort(left)
    sort(right)
    i, j = 0, 0
    for k in range(x.size):
        if j >= right.size or (i < left.size and left[i] <= right[j]):
            x[k] = left[i]
            i += 1
        else:
            x[k] = right[j]
            j += 1


@njit
def merged(x):
    sort(x)
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i] * i
    return total


@njit
def halves(x, k):
    if k == 0:
        if x.size > 9:
            raise ValueError(f"{x.size} are too many")
        return x * x, x[::-1]
    a, b = halves(x, k - 1)
    return a * 0.5 + b, b.copy()


@njit
def counted(x, k):
    """Floats, integers and arrays in one result."""
    if k == 0:
        return np.sum(x), x * x, k
    s, a, n = counted(x, k - 1)
    return s * 0.5, a * s, n + 1


@njit
def weighed(x, k):
    s, a, n = counted(x, k)
    return np.sum(a) * s * n


@njit
def pair(x, k):
    a, b = halves(x, k)
    b[0] *= a[1]  # the first level gives a view of x
    return np.sum(a * b) + a.size


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (returned, (values(4), values(4, 0.5), 3)),
        (merged, (values(7),)),
        (pair, (values(3), 2)),
        (pair, (values(3), 0)),
        (weighed, (values(3), 2)),
    ],
)
def test_recursive_helpers(kernel: Any, args: tuple[Any, ...]) -> None:
    assert_derivatives_right(kernel, args)
