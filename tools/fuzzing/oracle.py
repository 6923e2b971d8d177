"""What must hold for a generated kernel, and what is said where it does not."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from irad.errors import InvalidIR, IradError
from irad.frontend.abi import ALIASED
from tools.fuzzing.case import Case, Memory, Pattern, contents, materialize, overlapping
from tools.fuzzing.native import GOOD, Derivatives, Outcome, Primal
from tools.fuzzing.report import Report

EXACT, MIXED = 1e-10, 1e-4
LARGE = 1e6
STEP = 1e-6
DIFFERENCE = 1e-4

Arrays = list[NDArray[np.generic]]


class Disagreement(AssertionError):
    """A derivative that is wrong, or a primal that is not Numba's."""


def check(case: Case, primal: Primal | None = None) -> Report:
    """Compile a kernel once, where `primal` is not given, and run all its patterns."""
    report, calls = Report(), len(case.patterns)
    try:
        primal = primal or Primal(case)
    except (NumbaError, IradError) as error:
        report.counts["untyped"] += calls
        report.note = _last(str(error))
        return report
    try:
        derivatives = Derivatives(case, primal.function)
    except InvalidIR as error:
        report.finds.append(f"internal: InvalidIR: {_last(str(error))}")
        return report
    except IradError as error:
        report.counts["refused"] += calls
        report.note = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        return report
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        report.finds.append(
            f"internal: {type(error).__name__}: {error} ({where.filename.split('/')[-1]}:{where.lineno})"
        )
        return report
    for number, pattern in enumerate(case.patterns):
        try:
            report.counts[Program(case, pattern, primal, derivatives).check()] += 1
        except Disagreement as error:
            report.finds.append(f"pattern {number}: {error}")
    return report


def _last(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return " | ".join(lines[:3])[:300]


@dataclass
class Program:
    """One kernel with one pattern of arguments."""

    case: Case
    pattern: Pattern
    primal: Primal
    derivatives: Derivatives

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.pattern.seed)
        self.inputs = contents(self.case, self.pattern, self.rng)
        self.memory = self.make(self.inputs)
        self.expected = self.primal(self.memory)
        self.left = self.memory.bytes()
        self.tolerance = EXACT if self.case.smooth else MIXED

    def make(self, fill: Arrays) -> Memory:
        return materialize(self.case, self.pattern, fill)

    def check(self) -> str:
        """What became of it.

        Raises
        ------
        Disagreement.
        """
        if not self.tame(self.expected, self.memory):
            return "wild"
        for _ in range(2):
            verdict = self.direction()
            if verdict != "run":
                return verdict
        return "run" if self.expected.status in GOOD else "raised"

    def tame(self, outcome: Outcome, memory: Memory) -> bool:
        values = [*outcome.results, *memory.buffers]
        return all(np.isfinite(v).all() and (np.abs(v) < LARGE).all() for v in map(np.asarray, values))

    def same_primal(self, mode: str, outcome: Outcome, memory: Memory) -> bool:
        """Whether a derivative's run did what Numba's did; false when it turned the arguments away."""
        if outcome.status == ALIASED and not self.case.aliased:
            if not overlapping(self.case, self.pattern):
                raise Disagreement(f"{mode}: turned away arrays that are apart")
            if memory.bytes() != self.make(self.inputs).bytes():
                raise Disagreement(f"{mode}: turned away after something was written")
            return False
        if outcome.status != self.expected.status:
            if self.expected.status not in GOOD and outcome.status not in GOOD and self.expected.error == outcome.error:
                pass
            else:
                raise Disagreement(f"{mode}: status {outcome.status}, Numba's {self.expected.status}")
        if outcome.error != self.expected.error:
            raise Disagreement(f"{mode}: raised {outcome.error}, Numba {self.expected.error}")
        if outcome.bytes() != self.expected.bytes():
            raise Disagreement(f"{mode}: primal result {outcome.results}, Numba's {self.expected.results}")
        if memory.bytes() != self.left:
            raise Disagreement(f"{mode}: arguments are left as {memory.buffers}, by Numba as {self.memory.buffers}")
        return True

    def shadow(self, active: Arrays) -> Memory:
        """Derivatives in memory like the arguments', zero for constant arrays."""
        return self.make(active)

    def random(self) -> Arrays:
        """A random derivative for every buffer of active arrays, zeros for the others."""
        keep = {
            v.buffer for a, v in zip(self.case.arguments, self.pattern.views, strict=True) if v is not None and a.active
        }
        found: Arrays = []
        made = contents(self.case, self.pattern, self.rng, spread=1.0)
        for key, values in zip(sorted({v.buffer for v in self.pattern.views if v is not None}), made, strict=True):
            found.append(values if key in keep else np.zeros_like(values))
        return found

    def direction(self) -> str:
        """Everything for one random direction and one random cotangent."""
        scalars = self.rng.uniform(-1, 1, sum(a.active and not a.dims for a in self.case.arguments))
        tangent, cotangent = self.random(), self.random()
        seeds = [
            np.asarray(self.rng.uniform(-1, 1, r.shape), r.dtype) for r in self.float_results(self.expected.results)
        ]
        pushed = self.push(tangent, list(scalars), cotangent, seeds)
        if pushed is None:
            return "turned away"
        for mode, pull in (("reverse", self.reverse), ("split", self.split)):
            if mode in self.case.modes:
                pull(pushed, tangent, scalars, cotangent, seeds)
        return "run"

    def float_results(self, results: Arrays) -> Arrays:
        return [r for r in results if r.dtype.kind == "f"]

    def push(
        self, tangent: Arrays, scalars: list[float], cotangent: Arrays, seeds: Arrays
    ) -> tuple[float, float] | None:
        """Forward mode: <cotangent, J tangent>, and the size of its terms."""
        memory, shadow = self.make(self.inputs), self.make(tangent)
        rest = iter(scalars)
        pairs = zip(self.case.arguments, shadow.values, strict=True)
        shadow.values = [next(rest) if a.active and not a.dims else v for a, v in pairs]
        outcome, dots = self.derivatives.forward(memory, shadow)
        if not self.same_primal("forward", outcome, memory):
            return None
        self.guarded("forward", shadow)
        if outcome.status not in GOOD:
            return 0.0, 0.0
        left = self.trimmed(shadow)
        terms = [
            np.asarray(w, np.float64) * v
            for w, v in zip([*cotangent, *seeds], [*left, *self.float_results(dots)], strict=True)
        ]
        value, scale = sum(float(t.sum()) for t in terms), sum(float(np.abs(t).sum()) for t in terms)
        if self.case.smooth:
            self.differences(value, tangent, scalars, cotangent, seeds)
        return value, scale

    def trimmed(self, memory: Memory) -> Arrays:
        return [b[4:-4] for b in memory.buffers]

    def guarded(self, mode: str, memory: Memory) -> None:
        for buffer in memory.buffers:
            if not (buffer[:4] == 77).all() or not (buffer[-4:] == 77).all():
                raise Disagreement(f"{mode}: wrote outside of a shadow: {buffer}")

    def differences(
        self, value: float, tangent: Arrays, scalars: list[float], cotangent: Arrays, seeds: Arrays
    ) -> None:
        """A sanity check of forward mode; silent where two step sizes disagree (a kink is near, or chaos)."""
        wide, narrow = (self.central(h, tangent, scalars, cotangent, seeds) for h in (STEP, STEP / 8))
        if wide is None or narrow is None:
            return
        room = DIFFERENCE * max(float(np.abs(narrow).sum()), 1.0)
        first, second = float(wide.sum()), float(narrow.sum())
        if abs(first - second) < room / 10 and not abs(second - value) <= room:
            raise Disagreement(f"forward {value!r}, differences {first!r} and {second!r}")

    def central(self, step: float, tangent: Arrays, scalars: list[float], cotangent: Arrays, seeds: Arrays) -> Any:
        """The terms of <cotangent, J tangent> by central differences; None where results change their shape, and on a
        kink, where the differences to either side are not the same."""
        sides: list[Arrays] = []
        for h in (step, 0.0, -step):
            moved = [x if x.dtype.kind == "i" else x + h * t for x, t in zip(self.inputs, tangent, strict=True)]
            memory = self.make(moved)
            rest, given = iter(scalars), []
            for argument, value in zip(self.case.arguments, memory.values, strict=True):
                given.append(value + h * next(rest) if argument.active and not argument.dims else value)
            memory.values = given
            outcome = self.primal(memory)
            if outcome.status != self.expected.status:
                return None
            sides.append([*self.trimmed(memory), *self.float_results(outcome.results)])
        terms: list[NDArray[np.float64]] = []
        bends: list[NDArray[np.float64]] = []
        for w, ahead, here, behind in zip([*cotangent, *seeds], *sides, strict=True):
            if not w.shape == ahead.shape == behind.shape:
                return None
            weight = np.asarray(w, np.float64) / (2 * step)
            terms.append((weight * (ahead - behind)).ravel())
            bends.append((weight * (ahead - 2 * here + behind)).ravel())
        found, bend = np.concatenate(terms), np.abs(np.concatenate(bends)).sum()
        return None if bend > DIFFERENCE * max(float(np.abs(found).sum()), 1.0) else found

    def reverse(
        self, pushed: tuple[float, float], tangent: Arrays, scalars: Any, cotangent: Arrays, seeds: Arrays
    ) -> None:
        """Reverse mode against forward mode."""
        memory, shadow = self.make(self.inputs), self.make(cotangent)
        outcome, bars = self.derivatives.reverse(memory, shadow, seeds)
        self.same_primal("reverse", outcome, memory)
        self.guarded("reverse", shadow)
        if outcome.status in GOOD:
            self.compare("reverse", pushed, self.trimmed(shadow), bars, tangent, scalars)

    def split(
        self, pushed: tuple[float, float], tangent: Arrays, scalars: Any, cotangent: Arrays, seeds: Arrays
    ) -> None:
        """Two pullbacks after all arguments were overwritten, against each other and forward mode."""
        memory, other = self.make(self.inputs), self.make(cotangent)
        kept: list[bool] = []

        def spoil() -> None:
            kept.append(memory.bytes() == self.left)
            for buffer in memory.buffers:
                buffer[...] = 9 if buffer.dtype.kind == "i" else np.nan

        outcome, adjoints, left = self.derivatives.split(memory, other, seeds, spoil)
        if kept == [False]:
            raise Disagreement("split: arguments are not left as by Numba")
        if kept == [True]:
            memory.buffers[:] = self.memory.buffers
        self.same_primal("split", outcome, memory)
        if outcome.status in GOOD:
            self.guarded("split", other)
            if left[0] != left[1] or not np.array_equal(*adjoints, equal_nan=True):
                told = [np.frombuffer(b) if len(b) % 8 == 0 else b for pull in left for b in pull]
                raise Disagreement(f"split: a second pullback differs from the first: {adjoints}, {told}")
            self.compare("split", pushed, self.trimmed(other), adjoints[0], tangent, scalars)

    def compare(
        self, mode: str, pushed: tuple[float, float], shadows: Arrays, bars: list[float], tangent: Arrays, scalars: Any
    ) -> None:
        terms = [np.asarray(s, np.float64) * t for s, t in zip(shadows, tangent, strict=True)]
        terms.append(np.asarray(bars) * scalars)
        value, size = sum(float(t.sum()) for t in terms), sum(float(np.abs(t).sum()) for t in terms)
        if not np.isfinite(value) and not np.isfinite(pushed[0]):
            return  # chaos: both overflow, and differences had nothing to say
        scale = max(size, pushed[1])
        if not abs(value - pushed[0]) <= self.tolerance * scale:
            raise Disagreement(f"{mode} {value!r}, forward {pushed[0]!r}, terms of size {scale:.3g}")


def replay(case: Case) -> None:
    """Check a find again; print its source, its arguments and what came of it.

    Raises
    ------
    Disagreement.
    """
    print(case.source)
    for pattern in case.patterns:
        memory = materialize(case, pattern, contents(case, pattern, np.random.default_rng(pattern.seed)))
        print(pattern)
        for argument, value in zip(case.arguments, memory.values, strict=True):
            print(f"  {argument.name} = {value!r}")
    report = check(case)
    if report.finds:
        raise Disagreement("\n".join(report.finds))
    print(dict(report.counts), report.note)
