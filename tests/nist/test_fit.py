"""NIST's problems are solved with irad's Jacobians."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import nist
from tools.nist_fit import SOLVED, exact_jacobian, fit

PROBLEMS = nist.problems()


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_a_fit_from_the_second_start_reaches_six_digits(problem: nist.Problem):
    jacobian = exact_jacobian(problem)
    assert fit(problem, problem.starts[1], jacobian).digits >= SOLVED


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_the_jacobian_is_that_of_central_differences(problem: nist.Problem):
    beta = problem.certified
    steps = np.diag(1e-6 * np.abs(beta))
    rows = [(problem.residuals(beta + s) - problem.residuals(beta - s)) / (2 * s.sum()) for s in steps]
    expected = np.array(rows).T
    scale = np.abs(expected).max(axis=0)
    np.testing.assert_array_less(np.abs(exact_jacobian(problem)(beta) - expected) / scale, 1e-5)
