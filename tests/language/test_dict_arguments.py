"""Dictionaries of `numba.typed` as arguments: derivatives have their keys, and the caller sees what the kernel does."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
from numba import types
from numba.experimental import jitclass
from numba.typed import Dict

import irad
from irad.frontend.lower import lower

X = {7: 0.7, -1: -1.2, 3: 0.4}


def made(entries: dict[Any, Any], key: Any = types.int64, value: Any = types.float64) -> Any:
    found = Dict.empty(key, value)
    for k, v in entries.items():
        found[k] = v
    return found


@numba.njit
def read(d, w):
    total = 0.0
    for key, value in d.items():
        total += key * value * value * w
    return total * d[3]


@numba.njit
def assigned(d, w):
    for key in d:
        d[key] *= w + d[7]
    d[3] = d.get(9, w) * d[-1]
    return d[3] * d[7] + d[-1]


@numba.njit
def edited(d, w):
    """Deletes, puts the deleted key at the end, grows; and raises late where a value is large."""
    first = d.pop(7)
    for i in range(12):
        d[i] = first * w + d[-1] * i
    d[-1] *= d[3]
    del d[5]
    d[5] = d[-1] * d[4]
    key, value = d.popitem()
    d[8] += value
    if value > 50.0:
        raise ValueError("large", len(d))
    return d[8] * d[-1] + key


def primal(function: Any, x: dict[int, float], w: float = 0.3) -> tuple[Any, list[Any]]:
    """What a function returns or raises, and the entries that it leaves, in their order."""
    d = made(x)
    try:
        found: Any = function(d, w)
    except ValueError as error:
        found = error.args
    return found, list(d.items())


def by_differences(kernel: Any, w: float = 0.3) -> dict[int, float]:
    def at(key: int, h: float) -> float:
        return kernel(made({**X, key: X[key] + h}), w)

    return {key: (at(key, 1e-6) - at(key, -1e-6)) / 2e-6 for key in X}


def assert_close(got: Any, expected: dict[int, float]) -> None:
    assert isinstance(got, Dict)
    assert list(got) == list(expected)
    np.testing.assert_allclose(list(got.values()), list(expected.values()), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", [read, assigned, edited])
def test_derivatives_by_a_dictionary_and_what_the_kernel_does_to_it(kernel) -> None:
    expected, backwards = by_differences(kernel), dict(reversed(list(X.items())))
    d = made(X)
    value, bar = irad.value_and_grad(kernel)(d, 0.3)
    assert_close(bar, expected)
    assert (value, list(d.items())) == primal(kernel, X)
    d = made(X)
    out, out_dot = irad.jvp(kernel, (d, 0.3), (made({key: float(key == 3) for key in backwards}), 0.0))
    np.testing.assert_allclose(out_dot, expected[3], rtol=1e-6)
    assert (out, list(d.items())) == primal(kernel, X)


def test_a_dictionary_that_the_kernel_changed_before_it_raised() -> None:
    large = {**X, 7: 1e3}
    gradient = irad.value_and_grad(edited)
    assert primal(lambda *args: gradient(*args)[0], large) == primal(edited, large)


def test_pullbacks_and_shadows() -> None:
    expected, d = by_differences(assigned), made(X)
    _, pull = irad.vjp(assigned, d, 0.3)
    d[7] = 1e3
    bar, w_bar = pull(1.0)
    assert_close(bar, expected)
    shadow = made(dict.fromkeys(sorted(X), 0.0))
    _, (w_bar_too,) = irad.autodiff(irad.Reverse, assigned, irad.Duplicated(made(X), shadow), irad.Active(0.3))
    assert_close(shadow, {key: expected[key] for key in sorted(X)})
    assert w_bar == w_bar_too
    _, (w_bar_too,) = irad.autodiff(irad.Reverse, assigned, irad.Const(made(X)), irad.Active(0.3))
    assert w_bar == w_bar_too
    with pytest.raises(irad.BadArguments, match="changed the keys of d, whose shadow cannot follow"):
        irad.autodiff(irad.Reverse, edited, irad.Duplicated(made(X), made(X)), irad.Active(0.3))
    with pytest.raises(irad.BadArguments, match="has other keys"):
        irad.jvp(assigned, (made(X), 0.3), (made({7: 1.0}), 0.0))


@numba.njit
def slope(d, w):
    return irad.grad(read)(d, w)[-1] * w


def test_derivatives_called_in_njit_code_and_differentiated_again() -> None:
    assert slope(made(X), 0.3) == 0.3 * irad.grad(read)(made(X), 0.3)[-1]
    assert_close(irad.grad(slope)(made(X), 0.3), by_differences(slope))


@numba.njit
def of_pairs(parts, w):
    total = 0.0
    for (i, j), (x, y) in parts[0].items():
        total += i * x * y + j * y * w
    parts[0][2, 2] = (total, w)
    return total


def test_pairs_as_keys_and_as_values() -> None:
    pair = types.UniTuple(types.float64, 2)
    d = made({(1, 2): (0.5, 1.5), (3, -1): (2.0, 0.25)}, types.UniTuple(types.int64, 2), pair)
    (bar,) = irad.grad(of_pairs)((d,), 0.5)
    assert dict(bar) == {(1, 2): (1.5, 0.5 + 1.0), (3, -1): (0.75, 6.0 - 0.5)}
    assert d[2, 2] == (0.75 + 1.5 + 1.5 - 0.125, 0.5)


@numba.njit
def by_floats(x, p):
    p[2.5] = p[1.5] + 1.0
    return p[1.5] * x[0] * x[0] + p[2.5] * x[1]


def test_dictionaries_by_floats_are_constant() -> None:
    """As those by text are, which take longer to compile."""
    p = made({1.5: 2.0}, types.float64)
    assert irad.grad(by_floats)(np.array([1.5, 2.0]), p).tolist() == [6.0, 3.0]
    assert p[2.5] == 3.0
    with pytest.raises(irad.Unsupported, match=r"(?s)p is DictType\[float64.*integers, or tuples of them"):
        irad.grad(by_floats, 1)(np.array([1.5, 2.0]), p)


@jitclass([("table", types.DictType(types.unicode_type, types.float64)), ("k", types.float64)])
class Holder:
    def __init__(self, k):
        self.k = k


@numba.njit
def held(p, x):
    return p.k * x


def test_a_constant_dictionary_is_no_attribute_of_what_has_a_derivative() -> None:
    kinds = (Holder.class_type.instance_type, types.float64)
    with pytest.raises(irad.Unsupported, match=r"p\.table is of Numba type DictType.*an attribute"):
        lower(held, kinds)
