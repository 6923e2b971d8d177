"""`grad` leaves out what only the kernel's value needs, and nothing else."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import irad
from irad.pipeline import Request, derive


@numba.njit
def squares(x):
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return total


@numba.njit
def logged(x, log):
    total = 0.0
    for i in range(x.size):
        if x[i] < 0.0:
            raise ValueError("negative")
        total += x[i] * x[i]
        log[i] = total
    return total


@pytest.mark.parametrize("value", [False, True])
def test_sums_that_only_the_value_needs_are_gone(value: bool) -> None:
    request = Request(squares, (numba.float64[::1],), "reverse", ("duplicated",), value=value)
    assert ("phi double" in derive(request).concrete) is value


def test_writes_and_exceptions_stay() -> None:
    x, log, expected = np.arange(4.0), np.zeros(4), np.zeros(4)
    logged(x, expected)
    np.testing.assert_array_equal(irad.grad(logged)(x, log), 2 * x)
    np.testing.assert_array_equal(log, expected)
    with pytest.raises(ValueError, match="negative"):
        irad.grad(logged)(-x, log)
