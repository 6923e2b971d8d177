"""The residual kernels reproduce what NIST certifies."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import nist

PROBLEMS = nist.problems()


def test_there_are_twenty_seven_problems_of_three_levels():
    assert len(PROBLEMS) == len({p.name for p in PROBLEMS}) == 27
    assert [sum(p.level == level for p in PROBLEMS) for level in nist.LEVELS] == [8, 11, 8]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_certified_parameters_give_the_certified_sum_of_squares(problem: nist.Problem):
    norm = np.linalg.norm(problem.residuals(problem.certified))
    assert norm == pytest.approx(problem.sum_of_squares**0.5, rel=1e-10, abs=rounding(problem))


def rounding(problem: nist.Problem) -> float:
    """What eleven digits of the parameters leave open in the norm: only Lanczos1 fits its data more closely."""
    half_digit = 0.5 * 10.0 ** (np.floor(np.log10(np.abs(problem.certified))) - 10)
    base = problem.residuals(problem.certified)
    moved = [problem.residuals(problem.certified + step) - base for step in np.diag(half_digit)]
    return float(np.linalg.norm(np.sum(np.abs(moved), axis=0)))
