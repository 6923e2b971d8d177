"""Fits of NIST's problems, with exact Jacobians or with finite differences, and how many digits they get right."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import irad
from kernels.nist import Problem

SOLVED = 6  # digits that agree with the certified parameters, in the worst of them
CERTIFIED = 11  # digits that NIST gives

# As tight as the solver allows: how many digits come out is then a matter of the Jacobian alone.
SETTINGS: dict[str, Any] = dict.fromkeys(("ftol", "xtol", "gtol"), 2.3e-16) | {"method": "trf", "max_nfev": 5000}

Jacobian = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a fit ended and what it cost; `residuals` counts every call of the kernel, differences included."""

    digits: float
    residuals: int
    jacobians: int
    seconds: float

    @property
    def solved(self) -> bool:
        return self.digits >= SOLVED


def digits(beta: np.ndarray, certified: np.ndarray) -> float:
    """Decimal digits that agree with the certified parameters, in the worst of them, from 0 to 11."""
    error = np.abs(beta - certified) / np.abs(certified)
    if not np.all(np.isfinite(error)):
        return 0.0
    return float(np.clip(-np.log10(np.maximum(error, 10.0**-CERTIFIED)), 0, CERTIFIED).min())


def exact_jacobian(problem: Problem) -> Jacobian:
    """beta -> d residuals / d beta, (n, parameters), by forward mode: one tangent a column."""
    residuals = np.empty_like(problem.y)
    constants = irad.Const(problem.x), irad.Const(problem.y)

    def jacobian(beta: np.ndarray) -> np.ndarray:
        columns = np.zeros((beta.size, problem.y.size))
        for direction, column in zip(np.eye(beta.size), columns, strict=True):
            irad.autodiff(
                irad.Forward,
                problem.kernel,
                irad.Duplicated(beta, direction),
                *constants,
                irad.Duplicated(residuals, column),
            )
        return columns.T

    return jacobian


def fit(problem: Problem, start: np.ndarray, jacobian: Jacobian | None) -> Fit:
    """Least squares from `start`; with `jacobian` None, by finite differences under the same settings."""
    calls = {"residuals": 0, "jacobians": 0}

    def residuals(beta: np.ndarray) -> np.ndarray:
        calls["residuals"] += 1
        return problem.residuals(beta)

    def derivative(beta: np.ndarray) -> np.ndarray:
        assert jacobian is not None
        calls["jacobians"] += 1
        return jacobian(beta)

    began = time.perf_counter()
    found = least_squares(residuals, start, jac="2-point" if jacobian is None else derivative, **SETTINGS)
    seconds = time.perf_counter() - began
    return Fit(digits(found.x, problem.certified), calls["residuals"], calls["jacobians"], seconds)
