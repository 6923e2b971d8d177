"""Slopes by central differences at several steps, extrapolated to step zero, with an estimate of their error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Curve = Callable[[float], Floats | None]

LARGEST = 2.0**-5
LEVELS = {True: 6, False: 11}  # by whether the curve is in single precision
ORDER = 4  # how often the error's leading term is removed


@dataclass(frozen=True)
class Slope:
    """The derivative of each output, (n,) float64, how far off it may be, and where left and right differ."""

    value: Floats
    error: Floats
    kinked: Flags


def slope(curve: Curve, *, single: bool) -> Slope | None:
    """The slope at 0 of `curve`, which gives (n,) values at a step, or None where it cannot be evaluated.

    None where there are no three steps, each half the one before, around which everything is finite. A kink, or a jump,
    is where the left and right slopes keep their distance when the step shrinks.
    """
    middle = curve(0.0)
    if middle is None:
        return None
    steps = [LARGEST / 2.0**k for k in range(LEVELS[single])]
    sides = [(curve(step), curve(-step)) for step in steps]
    ahead: list[Floats] = []
    behind: list[Floats] = []
    for right, left in reversed(sides):
        if right is None or left is None or not np.all(np.isfinite(right) & np.isfinite(left)):
            break
        ahead.insert(0, right)
        behind.insert(0, left)
    if len(ahead) < 3:
        return None
    steps = steps[len(steps) - len(ahead) :]
    size = np.max(np.abs([middle, *ahead, *behind]), axis=0)
    noise = 4.0 * size * float(np.finfo(np.float32 if single else np.float64).eps)
    value, error = _extrapolated(steps, ahead, behind, noise)
    gaps = [np.abs(r - 2.0 * middle + b) / h for r, b, h in zip(ahead, behind, steps, strict=True)]
    first = max(0, len(gaps) - 6)  # what bends within the smaller steps only
    kinked = (gaps[-1] > 0.3 * gaps[first]) & (gaps[-1] > 10.0 * noise / steps[-1] + 1e-6 * np.abs(value))
    return Slope(value, error, kinked)


def _extrapolated(
    steps: list[float], ahead: list[Floats], behind: list[Floats], noise: Floats
) -> tuple[Floats, Floats]:
    """Richardson's table; of each output the entry that its neighbours agree with best."""
    best = np.zeros_like(noise)
    error = np.full_like(noise, np.inf)
    above: list[Floats] = []
    for step, right, left in zip(steps, ahead, behind, strict=True):
        row = [(right - left) / (2.0 * step)]
        for m in range(1, min(len(above), ORDER) + 1):
            row.append(row[m - 1] + (row[m - 1] - above[m - 1]) / (4.0**m - 1.0))
            doubt = np.maximum(np.abs(row[m] - row[m - 1]), np.abs(row[m] - above[m - 1])) + noise / step
            better = doubt < error
            best, error = np.where(better, row[m], best), np.where(better, doubt, error)
        above = row
    return best, error
