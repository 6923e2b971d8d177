"""NIST's 27 nonlinear-regression problems as Numba kernels: the residuals of every model, with data and certified fits.

The data come from the Statistical Reference Datasets (StRD) of the National Institute of Standards and Technology.
Each kernel has the signature `residuals(beta, x, y, out)`: it writes model(beta, x) - y to `out`, all float64.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from math import atan, cos, exp, log, sin
from pathlib import Path
from typing import Any

import numba
import numpy as np

DATA = Path(__file__).with_name("data") / "nist_strd.json"
LEVELS = ("Lower", "Average", "Higher")

# A fit may step to where a model divides by zero; infinity tells the solver to step back, an exception would end it.
njit = numba.njit(error_model="numpy")


def residuals(model: Callable[..., float]) -> Any:
    """The kernel `residuals(beta, x, y, out)` of a model of one predictor, model(b, x)."""
    model = njit(model)

    @njit
    def kernel(beta, x, y, out):
        for i in range(y.size):
            out[i] = model(beta, x[i]) - y[i]

    return kernel


@residuals
def bennett5(b, x):
    return b[0] * (b[1] + x) ** (-1 / b[2])


@residuals
def saturation(b, x):
    return b[0] * (1 - exp(-b[1] * x))


@residuals
def chwirut(b, x):
    return exp(-b[0] * x) / (b[1] + b[2] * x)


@residuals
def power(b, x):
    return b[0] * x ** b[1]


@residuals
def enso(b, x):
    year = 2 * math.pi * x / 12
    first = 2 * math.pi * x / b[3]
    second = 2 * math.pi * x / b[6]
    return (
        b[0]
        + b[1] * cos(year)
        + b[2] * sin(year)
        + b[4] * cos(first)
        + b[5] * sin(first)
        + b[7] * cos(second)
        + b[8] * sin(second)
    )


@residuals
def eckerle4(b, x):
    return b[0] / b[1] * exp(-0.5 * ((x - b[2]) / b[1]) ** 2)


@residuals
def gauss(b, x):
    decay = b[0] * exp(-b[1] * x)
    left = b[2] * exp(-((x - b[3]) ** 2) / b[4] ** 2)
    right = b[5] * exp(-((x - b[6]) ** 2) / b[7] ** 2)
    return decay + left + right


@residuals
def cubic_over_cubic(b, x):
    return (b[0] + b[1] * x + b[2] * x**2 + b[3] * x**3) / (1 + b[4] * x + b[5] * x**2 + b[6] * x**3)


@residuals
def kirby2(b, x):
    return (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2)


@residuals
def lanczos(b, x):
    return b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x)


@residuals
def mgh09(b, x):
    return b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3])


@residuals
def mgh10(b, x):
    return b[0] * exp(b[1] / (x + b[2]))


@residuals
def mgh17(b, x):
    return b[0] + b[1] * exp(-x * b[3]) + b[2] * exp(-x * b[4])


@residuals
def misra1b(b, x):
    return b[0] * (1 - (1 + b[1] * x / 2) ** (-2))


@residuals
def misra1c(b, x):
    return b[0] * (1 - (1 + 2 * b[1] * x) ** (-0.5))


@residuals
def misra1d(b, x):
    return b[0] * b[1] * x * ((1 + b[1] * x) ** (-1))


@njit
def nelson(beta, x, y, out):
    """The one model of log(y), and the one of two predictors: x is (n, 2)."""
    for i in range(y.size):
        out[i] = beta[0] - beta[1] * x[i, 0] * exp(-beta[2] * x[i, 1]) - log(y[i])


@residuals
def rat42(b, x):
    return b[0] / (1 + exp(b[1] - b[2] * x))


@residuals
def rat43(b, x):
    return b[0] / (1 + exp(b[1] - b[2] * x)) ** (1 / b[3])


@residuals
def roszman1(b, x):
    return b[0] - b[1] * x - atan(b[2] / (x - b[3])) / math.pi


KERNELS: dict[str, Any] = {
    "Bennett5": bennett5,
    "BoxBOD": saturation,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": power,
    "ENSO": enso,
    "Eckerle4": eckerle4,
    "Gauss1": gauss,
    "Gauss2": gauss,
    "Gauss3": gauss,
    "Hahn1": cubic_over_cubic,
    "Kirby2": kirby2,
    "Lanczos1": lanczos,
    "Lanczos2": lanczos,
    "Lanczos3": lanczos,
    "MGH09": mgh09,
    "MGH10": mgh10,
    "MGH17": mgh17,
    "Misra1a": saturation,
    "Misra1b": misra1b,
    "Misra1c": misra1c,
    "Misra1d": misra1d,
    "Nelson": nelson,
    "Rat42": rat42,
    "Rat43": rat43,
    "Roszman1": roszman1,
    "Thurber": cubic_over_cubic,
}


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """One data set, its model and NIST's answer.

    `x` is (n,), for Nelson (n, 2); `y` is (n,). `starts` are NIST's two starting points, `certified` the parameters at
    the least sum of squares, which is `sum_of_squares`, to eleven digits; `deviations` are their standard deviations.
    """

    name: str
    level: str
    formula: str
    kernel: Any
    x: np.ndarray
    y: np.ndarray
    starts: tuple[np.ndarray, np.ndarray]
    certified: np.ndarray
    deviations: np.ndarray
    sum_of_squares: float

    def residuals(self, beta: np.ndarray) -> np.ndarray:
        """model(beta, x) - y, a new array of shape (n,)."""
        out = np.empty_like(self.y)
        self.kernel(np.asarray(beta, dtype=np.float64), self.x, self.y, out)
        return out


def problems() -> list[Problem]:
    """All 27, in NIST's order of difficulty."""
    rows = json.loads(DATA.read_text())["problems"]
    return sorted((_problem(name, row) for name, row in rows.items()), key=lambda p: (LEVELS.index(p.level), p.name))


def _problem(name: str, row: dict[str, Any]) -> Problem:
    return Problem(
        name=name,
        level=row["level"],
        formula=row["model"],
        kernel=KERNELS[name],
        x=np.array(row["x"], dtype=np.float64),
        y=np.array(row["y"], dtype=np.float64),
        starts=(np.array(row["start_1"], dtype=np.float64), np.array(row["start_2"], dtype=np.float64)),
        certified=np.array(row["certified"], dtype=np.float64),
        deviations=np.array(row["certified_sd"], dtype=np.float64),
        sum_of_squares=row["residual_sum_of_squares"],
    )
