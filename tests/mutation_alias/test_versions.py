"""Which version runs: one is made for arrays that share no memory, the other when such arrays are first met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

import irad
from irad import pipeline
from tests.mutation_alias.parts import values


@njit
def smeared(x, y):
    """What the version for disjoint arrays would get wrong: it does not save x."""
    total = 0.0
    for i in range(x.size):
        y[i] = x[i] * x[i] * y[i]
        total += y[i] * x[i]
    return total


def wanted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient by both, where they are apart; else by the buffer whose head is x and whose tail is y."""
    if not np.shares_memory(x, y):
        return np.array([3 * x**2 * y, x**3])
    buffer = np.concatenate([x, y[-1:]]).astype(complex)
    slopes = np.empty(buffer.size)
    for i in range(buffer.size):
        moved = buffer.copy()
        moved[i] += 1e-30j
        slopes[i] = smeared.py_func(moved[:-1], moved[1:]).imag / 1e-30
    return np.array([slopes[:-1], slopes[1:]])


def apart() -> tuple[np.ndarray, np.ndarray]:
    return values(4), values(4, 0.5)


def shifted() -> tuple[np.ndarray, np.ndarray]:
    buffer = values(5)
    return buffer[:-1], buffer[1:]


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each derivative that is made: whether arrays may overlap."""
    found: list[bool] = []
    real = pipeline.derive

    def derive(request: pipeline.Request) -> Any:
        found.append(request.aliased)
        return real(request)

    monkeypatch.setattr(pipeline, "derive", derive)
    return found


def test_versions_are_made_when_they_are_needed_and_shared_with_njit_code(planned: list[bool]) -> None:
    gradient = irad.grad(smeared, (0, 1))
    for arrays, made in ((apart, [False]), (apart, [False]), (shifted, [False, True]), (apart, [False, True])):
        assert np.array(gradient(*arrays())) == pytest.approx(wanted(*arrays()), rel=1e-12)
        assert planned == made

    @njit
    def caller(x, y):
        return gradient(x, y)

    for arrays in (apart, shifted):
        assert np.array(caller(*arrays())) == pytest.approx(wanted(*arrays()), rel=1e-12)
    assert planned == [False, True]
