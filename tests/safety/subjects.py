"""Kernels for the tests of safety, each with arguments that are fresh in every call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import float64, njit
from numba.experimental import jitclass


@njit
def history(x, n):
    """Its tape is sized on entry."""
    t = x.copy()
    for _ in range(n):
        for i in range(1, t.size):
            t[i] = math.sin(t[i]) * t[i - 1]
    return t.sum()


@njit
def halving(x, limit):
    """Its tape grows."""
    total = x[0] * x[1]
    while total > limit:
        total = total * (0.5 + 0.4 * math.sin(x[2] * total))
    return total


@njit
def scratch(x, n):
    """Allocates in a loop."""
    total = 0.0
    for k in range(n):
        s = np.zeros(x.size + k)
        for i in range(x.size):
            s[i] = x[i] * x[i] * total
        total += 0.1 * s.sum() + math.exp(-x[0])
    return total


@njit
def array(x, n):
    """Returns an array."""
    out = np.empty(x.size)
    for i in range(x.size):
        out[i] = math.exp(x[i]) / n
    return out


@njit
def picky(x, limit):
    """Raises in the middle, where blocks and tape are held."""
    t = x.copy()
    for i in range(1, t.size):
        t[i] *= t[i - 1]
        if t[i] < limit:
            raise ValueError("too small")
    return t.sum()


@njit
def decay(x, n):
    """One float a step."""
    for _ in range(n):
        x = math.sin(x)
    return x


@jitclass([("gain", float64), ("state", float64[:])])
class Filter:
    """Has a float, which changes, and an array."""

    def __init__(self, gain, state):
        self.gain = gain
        self.state = state


@njit
def filtered(one, x, other):
    """Takes instances on both sides of an array."""
    one.gain *= other.gain
    one.state[0] += x[0] * one.gain
    return one.state[0] * other.state[1]


def filters() -> Any:
    return Filter(2.0, vector(2)), vector(), Filter(3.0, vector(2))


def vector(size: int = 9) -> Any:
    return np.linspace(0.5, 1.4, size)
