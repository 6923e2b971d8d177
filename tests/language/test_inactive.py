"""Arguments without derivatives: text, dates, members of enumerations."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad


class Rule(enum.IntEnum):
    LEFT = 1
    RIGHT = 2


@njit
def kernel(x, name, when, rule, pair):
    total = 0.0
    for i in range(x.size):
        if name == "cubic":
            total += x[i] ** 3
        elif name.startswith("qu"):
            total += x[i] ** 2
        else:
            raise ValueError(name)
    if rule == Rule.RIGHT and when[1] > when[0]:
        total *= pair[0]
    return total if pair[1] == "whole" else total * 2


X, WHEN = np.array([0.5, -2.0]), np.array(["2020-01-01", "2024-02-29"], "M8[D]")


def arguments(name: str) -> tuple[Any, ...]:
    # made at run time: a literal lives for ever, and would hide a reference too few
    return X, "".join(list(name)), WHEN, Rule.RIGHT, (3.0, "".join(["wh", "ole"]))


def test_text_dates_and_enumerations(allocations: Callable[[], int]) -> None:
    gradient, push = irad.grad(kernel, (0, 4)), irad.jvp
    for name, slope in (("cubic", 3 * X**2), ("quadratic", 2 * X)):
        x_bar, pair_bar = gradient(*arguments(name))
        assert np.allclose(x_bar, 3.0 * slope, rtol=1e-14) and pair_bar == (kernel(*arguments(name)) / 3.0, None)
        _, dot = push(kernel, arguments(name), (X, None, None, None, None))
        assert dot == pytest.approx(X @ x_bar, rel=1e-14)
        assert np.array_equal(irad.vjp(kernel, *arguments(name))[1](1.0)[0], x_bar)
    with pytest.raises(ValueError, match="cosine"):
        gradient(*arguments("cosine"))
    before = allocations()
    for _ in range(50):
        gradient(*arguments("cubic"))
        irad.vjp(kernel, *arguments("cubic"))[1](1.0)
    assert allocations() == before


@njit
def labelled(x, n, name):
    if n < 0:
        raise ValueError(f"{n} of {name}", n, name)
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = x[i] ** 2 * n
    label = name + str(n)
    if len(label) > 8:
        raise KeyError(label)
    return y, label, name, str(n)


@njit
def pushed(x, n, name):
    return irad.jvp(labelled, (x, n, name), (x, None, None))[1][0]


def test_text_put_together_beside_arrays(allocations: Callable[[], int]) -> None:
    """Messages of exceptions live as long as these, and texts that are returned belong to the caller."""
    name = "".join(["n", "ämé"])
    out = labelled(X, 3, name)

    def run() -> None:
        value, dot = irad.jvp(labelled, (X, 3, name), (X, None, None))
        again, pull = irad.vjp(labelled, X, 3, name)
        assert value[1:] == dot[1:] == again[1:] == out[1:] == ("nämé3", "nämé", "3")
        assert np.array_equal(dot[0], 6 * X**2)
        assert np.array_equal(pull((X, None, None, None))[0], 6 * X**2)
        assert np.allclose(irad.jvp(pushed, (X, 3, name), (X, None, None))[1], 12 * X**2)
        for n, longer in ((-2, name), (3, name * 3)):
            with pytest.raises((ValueError, KeyError)) as expected:
                labelled(X, n, longer)
            given, dots = (X, n, longer), (X, None, None)
            for differentiated in (labelled, pushed):
                for call, args in ((irad.jvp, (given, dots)), (irad.vjp, given)):
                    with pytest.raises(expected.type) as raised:
                        call(differentiated, *args)
                    assert raised.value.args == expected.value.args

    run()
    before = allocations()
    for _ in range(10):
        for n in (3, -2):
            with contextlib.suppress(ValueError):
                irad.vjp(labelled, X, n, name)
            with contextlib.suppress(ValueError):
                irad.jvp(labelled, (X, n, name), (X, None, None))
    assert allocations() == before
