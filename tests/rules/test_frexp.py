"""`math.frexp`: exact in the primal of a derivative, a scaling in derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import irad

SPECIAL = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -3e-310, 1.0, -0.5, 2.0**1023, 1.7e308, -7.9]


@njit
def split(x, out):
    for i in range(x.size):
        out[i, 0], out[i, 1] = math.frexp(x[i])


@njit
def cubed(x):
    m, e = math.frexp(x)
    return m**3 + e * x


@pytest.mark.parametrize("number", [np.float64, np.float32])
def test_the_primal_is_bit_for_bit_that_of_numba(number) -> None:
    with np.errstate(over="ignore"):
        x = np.array(SPECIAL, number)
    wanted, out, out_dot = np.zeros((3, x.size, 2), number)
    split(x, wanted)
    irad.autodiff(irad.Forward, split, irad.Duplicated(x, np.ones_like(x)), irad.Duplicated(out, out_dot))
    assert out.tobytes() == wanted.tobytes()
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out_dot[:, 0], np.ldexp(number(1.0), -wanted[:, 1].astype(np.int32)))
    assert not out_dot[:, 1].any()


def test_derivatives() -> None:
    x, (m, e) = 13.0, math.frexp(13.0)
    assert irad.grad(cubed)(x) == pytest.approx(3 * m**2 * 2.0**-e + e)
    assert irad.grad(irad.grad(cubed))(x) == pytest.approx(6 * m * 4.0**-e)
