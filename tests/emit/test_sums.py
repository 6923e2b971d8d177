"""Sums over a loop into one place of a shadow."""

from __future__ import annotations

import numba
import numpy as np

import irad


@numba.njit
def left_early(x, y, k, w):
    """Reads `x[k]` in every whole iteration, but the last one may end before."""
    total, i = 0.0, 0
    while True:
        y[i] = w
        if y[i] > 1.0:
            break
        total += x[k] * w
        i += 1
        if i >= y.size:
            break
    return total


def test_a_place_is_touched_only_where_the_kernel_read_it() -> None:
    gradient = irad.grad(left_early, argnums=(0, 3))
    x, y = np.arange(1.0, 5.0), np.zeros(3)
    x_bar, w_bar = gradient(x, y, 2, 0.5)
    assert (x_bar == [0.0, 0.0, 1.5, 0.0]).all()
    assert w_bar == 9.0
    x_bar, w_bar = gradient(x, y, 2**40, 2.0)  # far outside of the array: reading there ends the process
    assert not x_bar.any()
    assert w_bar == 0.0
