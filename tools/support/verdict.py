"""Run a case and say what came of it."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numba.core.errors import NumbaError, NumbaWarning

from irad.checking import MODES, Checker, Report
from irad.checking.copies import copies
from irad.checking.problem import Problem
from irad.errors import InvalidIR, IradError
from tools.support.case import Case

DOUBLE, SINGLE = 1e-9, 5e-3


class Verdict(Enum):
    """What a row says."""

    SUPPORTED = "supported"
    REFUSED = "refused"
    ABSENT = "not in Numba"
    WRONG = "WRONG"


@dataclass(frozen=True)
class Outcome:
    """The verdict on a case, and why: irad's message, or what is wrong."""

    case: Case
    verdict: Verdict
    why: str = ""


class _Interpreted(Problem):
    """A kernel at a point whose complex step is taken by the interpreter and NumPy: nothing more to compile."""

    def complex_kernel(self) -> Any:
        return self.f.py_func


def judge(case: Case) -> Outcome:
    """Compile a case, run it in both modes, and compare it with Numba's own results and with differences.

    A row is supported when every argument could be judged and everything agrees.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumbaWarning)
        warnings.simplefilter("error", np.exceptions.ComplexWarning)  # the complex step has lost its derivative
        try:
            case.compiled(*copies(case.args))
        except (NumbaError, NotImplementedError) as error:
            return Outcome(case, Verdict.ABSENT, _last(str(error)))
        try:
            faults = _faults(case)
        except IradError as error:
            return _refused(case, error)
    return Outcome(case, Verdict.WRONG if faults else Verdict.SUPPORTED, "; ".join(faults))


def _faults(case: Case) -> list[str]:
    """What is wrong with the derivatives of a case, or could not be judged."""
    problem = _Interpreted(case.compiled, case.args, case.wanted, np.random.default_rng(1))
    report = Report(case.name)
    Checker(problem, report, MODES, SINGLE if problem.single else DOUBLE).run()
    return report.failures + report.warnings


def _refused(case: Case, error: IradError) -> Outcome:
    """A refusal has to name a line of the kernel, and a remedy."""
    if isinstance(error, InvalidIR) or error.place is None or error.place.file != case.file or not error.hint:
        return Outcome(case, Verdict.WRONG, f"a refusal without line or remedy: {error}")
    return Outcome(case, Verdict.REFUSED, f"{error.why}: {error.hint}")


def _last(message: str) -> str:
    """The sentence of Numba's message that says what is missing."""
    lines = [line.strip(" -") for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    said = [
        line for line in lines if line and not line.startswith(("Failed in", "During:", "File", "<source", "Enable"))
    ]
    return _without_places(said[0] if said else message)


def _without_places(message: str) -> str:
    """`message` without what differs between machines and versions of Python: files, and names in bytecode."""
    message = re.sub(r"Module\(<module '([\w.]+)'[^>]*>\)", r"module \1", message)
    return re.sub(r"variable '\$[^']*' cannot be determined, operation: .*", "a part cannot be determined", message)


__all__ = ["Outcome", "Verdict", "judge"]
