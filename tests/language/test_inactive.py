"""Arguments without derivatives: text, dates, members of enumerations."""

from __future__ import annotations

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
