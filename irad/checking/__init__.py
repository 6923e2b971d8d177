"""Derivatives checked against each other and against differences, argument by argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irad import api
from irad.checking.copies import Floats
from irad.checking.differences import Slope
from irad.checking.problem import Entry, Problem
from irad.errors import BadArgumentValue, IradError

ALWAYS = 16  # entries of an argument that are compared one by one in any case
AT_MOST = 1024  # and when something is wrong with the argument
MODES = ("forward", "reverse")


class WrongGradient(IradError, AssertionError):
    """`check_grads` found a derivative that is wrong; the message is its report."""


@dataclass
class Report:
    """What `check_grads` found: a line for each check; `failures` are wrong, `warnings` say what was not judged."""

    kernel: str
    lines: list[str] = field(default_factory=list[str])
    failures: list[str] = field(default_factory=list[str])
    warnings: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        verdict = "wrong" if self.failures else "right"
        said = [f"{self.kernel}: {verdict}", *self.lines]
        said += [f"wrong: {line}" for line in self.failures]
        return "\n  ".join([*said, *(f"warning: {line}" for line in self.warnings)])


def check_grads(
    f: Any,
    args: Sequence[Any],
    modes: Sequence[str] = MODES,
    order: int = 1,
    argnums: Any = None,
    *,
    rtol: float | None = None,
    seed: int = 0,
) -> Report:
    """Check irad's derivatives of a kernel at a point, for what it returns and for what it writes into its arguments.

    Each argument is moved in a random direction, and entry by entry when it is small or wrong: against differences at
    several steps (or complex steps where the kernel takes complex numbers), with an estimate of their error. Forward
    and reverse mode are compared by the dot-product test, and the kernel's results with those of the plain call (bit
    for bit; up to rounding where `parallel` or `fastmath` may reorder sums). Where the left and right slopes differ (a
    kink, a tie) nothing but a warning is possible.

    Parameters
    ----------
    args: the point: what `f` is called with; copies are. Parameters that are left out have their defaults.
    modes: "forward", "reverse" or both.
    order: up to which order: 2 checks the gradient's derivatives too (of a kernel that returns one float).
    argnums: as in `irad.grad`; all floats and arrays of floats when None.
    rtol: how far a derivative may be off beyond the estimated error of the differences, relative to it: 1e-6, and 5e-3
        where there is a float32.
    seed: of the random directions.

    Returns
    -------
    The report; `str` makes it readable.

    Raises
    ------
    WrongGradient: an AssertionError with the report: which argument, which entry, by how much.
    IradError: a derivative is refused.
    """
    if not modes or set(modes) - set(MODES) or order < 1:
        raise BadArgumentValue(f"check_grads takes modes {MODES} and an order from 1 on, not {modes!r} and {order!r}")
    rng = np.random.default_rng(seed)
    problem = Problem(f, args, argnums, rng)
    report = Report(problem.name)
    checker = Checker(problem, report, tuple(modes), rtol or (5e-3 if problem.single else 1e-6))
    checker.run()
    if order > 1 and not report.failures:
        _higher(problem, report, modes, order - 1, rtol, seed)
    if report.failures:
        raise WrongGradient(str(report))
    return report


def _higher(problem: Problem, report: Report, modes: Sequence[str], order: int, rtol: float | None, seed: int) -> None:
    if not problem.is_scalar:
        raise BadArgumentValue(f"order 2 is of kernels that return one float, which {problem.name} does not")
    gradient = api.grad(problem.f, problem.wrt)
    try:
        inner = check_grads(gradient, problem.args, modes, order, problem.wrt, rtol=rtol, seed=seed)
    except WrongGradient as wrong:
        report.failures.append(f"the gradient's derivative:\n{wrong}")
        return
    report.lines.append(f"derivatives of the gradient:\n{inner}".replace("\n", "\n    "))
    report.warnings += [f"gradient: {line}" for line in inner.warnings]


@dataclass
class _Worst:
    """The largest difference of one argument in one mode, in units of what is allowed."""

    ratio: float = 0.0
    said: str = "nothing was judged"


class Checker:
    """Fills `report` with what `run` finds out about `problem`; `rtol` as in `check_grads`."""

    def __init__(self, problem: Problem, report: Report, modes: tuple[str, ...], rtol: float) -> None:
        self.problem, self.report, self.modes, self.rtol = problem, report, modes, rtol
        self.bars: list[Any] = []
        self.kinks: list[str] = []

    def run(self) -> None:
        problem, report = self.problem, self.report
        if "reverse" in self.modes:
            self.bars = problem.reverse()
        for position in problem.wrt:
            self.argument(position)
        if len(set(self.modes)) == 2:
            self.dot_product()
        for mode in sorted(problem.changed):
            report.failures.append(f"the kernel's own results differ when it is run in {mode} mode")

    def dot_product(self) -> None:
        """<seed, J d> and <J^T seed, d>: equal up to rounding, for both modes take the same side of a kink."""
        problem, direction = self.problem, self.problem.direction()
        terms = problem.seed * problem.forward(direction)
        right, size = problem.dot(self.bars, direction)
        left = float(np.sum(terms))
        scale = float(np.sum(np.abs(terms))) + size
        gap = abs(left - right) / scale if scale else abs(left - right)
        line = f"forward against reverse (dot product): {left:.12g} and {right:.12g}, apart by {gap:.1e}"
        self.report.lines.append(line)
        if not gap <= (1e-3 if problem.single else 1e-9):
            self.report.failures.append(line)

    def argument(self, position: int) -> None:
        """One argument in one random direction; then its entries, as far as need be."""
        problem, name = self.problem, self.problem.names[position]
        entries = problem.entries(position)
        if not entries:
            self.report.lines.append(f"{name}: empty")
            return
        worst = {mode: _Worst() for mode in self.modes}
        self.kinks = []
        judged = self.compare(problem.direction(position), 1.0, f"{name} in a random direction", worst)
        wrong = any(w.ratio > 1.0 for w in worst.values())
        if len(entries) <= (AT_MOST if wrong or not judged else ALWAYS):
            if wrong:
                worst = {mode: _Worst() for mode in self.modes}
            for entry in entries:
                direction, length = problem.along(position, entry)
                self.compare(direction, length, _entry_name(name, problem.args[position], entry), worst)
            if wrong and not any(w.ratio > 1.0 for w in worst.values()):
                self.compare(problem.direction(position), 1.0, f"{name} in a random direction", worst)
        for mode, found in worst.items():
            line = f"{mode}, {found.said}"
            self.report.lines.append(f"{name}: {line}")
            if not found.ratio <= 1.0:
                self.report.failures.append(line)
        self.warn_of_kinks(name)

    def warn_of_kinks(self, name: str) -> None:
        if self.kinks:
            where = ", ".join(self.kinks[:8]) + (", ..." if len(self.kinks) > 8 else "")
            why = "the slopes from the left and from the right differ: a kink, a tie or a jump; not judged"
            self.report.warnings.append(f"{name}: {why} ({where})")

    def compare(self, direction: list[Any], length: float, what: str, worst: dict[str, _Worst]) -> bool:
        """Compare both modes in one direction; whether they could be judged."""
        problem = self.problem
        slope = problem.differences(direction)
        if slope is None:
            self.report.warnings.append(f"{what}: the kernel cannot be evaluated around this point; not judged")
            return False
        plain = ~slope.kinked
        if "forward" in self.modes:
            got = problem.forward(direction)
            self.judge(worst["forward"], what, got[plain], slope.value[plain], slope.error[plain], length)
        if slope.kinked.any():
            self.kinks.append(what)
            return False
        if "reverse" in self.modes:
            self.judge_reverse(worst["reverse"], what, direction, slope, length)
        return True

    def judge_reverse(self, worst: _Worst, what: str, direction: list[Any], slope: Slope, length: float) -> None:
        seed = self.problem.seed
        got, size = self.problem.dot(self.bars, direction)
        wanted, error = float(np.dot(seed, slope.value)), float(np.dot(np.abs(seed), slope.error))
        scale = max(size, float(np.sum(np.abs(seed * slope.value))))
        one, other, doubt = (np.array([value]) for value in (got, wanted, error))
        self.judge(worst, what, one, other, doubt, length, np.array([scale]))

    def judge(
        self,
        worst: _Worst,
        what: str,
        got: Floats,
        wanted: Floats,
        error: Floats,
        length: float,
        scale: Floats | None = None,
    ) -> None:
        """Keep the largest difference; all four are (n,) and `length` times too large."""
        if not len(got):
            return
        scale = np.maximum(np.abs(got), np.abs(wanted)) if scale is None else scale
        allowed = self.rtol * scale + 4.0 * error + np.finfo(np.float64).tiny
        ratio = np.where(np.isfinite(got), np.abs(got - wanted) / allowed, np.inf)
        at = int(np.argmax(ratio))
        if ratio[at] >= worst.ratio:
            worst.ratio = float(ratio[at])
            g, w, e = (float(v[at]) / length for v in (got, wanted, error))
            where = f", output {at}" if len(got) > 1 else ""
            worst.said = f"{what}{where}: irad {g:.10g}, differences {w:.10g} ± {e:.1e}, off by {abs(g - w):.1e}"
        if error[at] > 0.01 * scale[at] > 0.0 and abs(wanted[at]) > 10 * error[at]:
            self.report.warnings.append(f"{what}: differences are too rough here to say much")


def _entry_name(name: str, value: Any, entry: Entry) -> str:
    which, at = entry
    inside = f"[{which}]" if isinstance(value, tuple) else ""
    return f"{name}{inside}" + (f"[{', '.join(map(str, at))}]" if at else "")


__all__ = ["Report", "WrongGradient", "check_grads"]
