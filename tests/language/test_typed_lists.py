"""Lists of `numba.typed` that a kernel makes: Numba's own errors, and derivatives as those of Python's lists."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from numba.typed import List

import irad
from tests.oracles.compare import assert_derivatives_right

X = np.array([0.3, -0.8, 0.55, 1.4, -0.25])


@numba.njit
def edited(x):
    """Moves when it grows; shrinks at its end, inside, and by slices with steps."""
    values = List()
    values.append(x[0])
    for i in range(20):
        values.append(values[-1] * 0.9 + x[i % x.size] * values[i // 2])
    values.insert(2, values.pop() * values[1])
    del values[3:14:3]
    del values[10:5:-2]
    values.pop(1)
    total = 0.0
    for value in values[1:9]:
        total = total * 0.7 + value
    return total


@numba.njit
def _pair(x, y):
    made = List()
    made.append(x * 2.0)
    made.append(y)
    return made


@numba.njit
def nested(x, y):
    """The arrays of a list are those that it was made of."""
    pairs = List()
    for i in range(5):
        pairs.append(_pair(x * i, y))
    pairs[1][1] = pairs[2][0]
    pairs[2][0][1] *= x[0]
    total = 0.0
    for pair in pairs:
        total = total * pair[0][1] + pair[1][0]
    return total


@pytest.mark.parametrize(("kernel", "args"), [(edited, (X,)), (nested, (X, X * 0.5 + 1.0))], ids=["floats", "nested"])
def test_typed_lists_of_the_kernel_are_differentiated(kernel, args) -> None:
    assert_derivatives_right(kernel, args, modes=("forward", "reverse"), analytic=False)


@numba.njit
def _wrong(x, how):
    values = List()
    values.append(x[0])
    if how == 1:
        values.pop(0)
        values.pop()
    elif how == 2:
        return values[3]
    elif how == 3:
        values._make_immutable()
        values.append(x[1])
    elif how == 4:
        for value in values:
            values.append(value)
    return values[0] * values[0]


def test_typed_lists_raise_what_they_raise_in_numba() -> None:
    gradient = irad.grad(_wrong)
    assert gradient(X, 0)[0] == 0.6
    for how, error in ((1, IndexError), (2, IndexError), (3, ValueError), (4, RuntimeError)):
        with pytest.raises(error) as wanted:
            _wrong(X, how)
        with pytest.raises(error) as raised:
            gradient(X, how)
        assert str(raised.value) == str(wanted.value)
