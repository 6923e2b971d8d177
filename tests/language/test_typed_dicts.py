"""Dictionaries that a kernel makes: derivatives as those of Python's, of floats and of arrays."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.typed import Dict

import irad
from tests.oracles.compare import assert_derivatives_right

X = np.array([0.3, -0.8, 0.55, 1.4, -0.25])


@numba.njit
def edited(x, n):
    """Grows several times, with keys that collide, are deleted and come again."""
    values = Dict()
    for i in range(n):
        values[i * 16 % 119] = x[i % x.size] * x[(i + 1) % x.size]
        if i % 4 == 3:
            del values[(i - 1) * 16 % 119]
    values[-1] = x[0]
    key, last = values.popitem()
    values[16] += key * last
    total = values.get(33, x[1]) + values.setdefault(1000, x[2])
    for key, value in values.items():
        total = total * 0.9 + key * value
    return total * values.pop(1000) * len(values)


@numba.njit
def pairs(x):
    """The arrays of a dictionary are those that it was made of."""
    arrays = {(0, 1): x * 2.0, (1, 0): x}
    arrays[1, 1] = arrays[0, 1]
    arrays[1, 1][0] *= arrays[1, 0][1]
    return arrays[0, 1].sum() * arrays[1, 0][2]


@pytest.mark.parametrize(("kernel", "args"), [(edited, (X, 50)), (pairs, (X,))], ids=["floats", "arrays"])
def test_dictionaries_of_the_kernel_are_differentiated(kernel, args) -> None:
    assert_derivatives_right(kernel, args, modes=("forward", "reverse"), analytic=False)


@numba.njit
def changed(x, n):
    """An iteration ends where the dictionary has grown, or where its table has."""
    values = {0: x}
    seen = 0
    for key in values:
        seen += 1
        values[key + n] = x * x
        del values[key]
        if seen > 100:
            break
    return seen * values.popitem()[1]


def test_a_dictionary_that_changes_in_an_iteration_is_that_of_numba() -> None:
    value_and_grad = irad.value_and_grad(changed)
    for n in (1, 3):
        assert value_and_grad(0.7, n)[0] == changed(0.7, n)
    with pytest.raises(KeyError):
        irad.grad(numba.njit(lambda x: {1: x}[2]))(0.7)
