"""Hypothesis builds kernels until the time is over; what fails is shrunk and written down."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st

from tools.fuzzing.case import Case
from tools.fuzzing.choices import Drawn
from tools.fuzzing.corpus import save
from tools.fuzzing.patterns import case as make_case
from tools.fuzzing.report import checked
from tools.fuzzing.worker import Worker

EXAMPLES = 150
"""Kernels that Hypothesis draws before it starts afresh with another seed."""


@st.composite
def cases(draw: Callable[[Any], Any], patterns: int) -> Case:
    return make_case(Drawn(draw), patterns)


class Found(Exception):
    """A kernel whose derivative is wrong."""


@dataclass
class Tally:
    """What a campaign has done. A program is a kernel with one pattern of arguments; only distinct kernels count.

    programs: by what became of them, see `Report`. ways: kernels that were checked, by how.
    """

    kernels: int = 0
    programs: Counter[str] = field(default_factory=Counter[str])
    ways: Counter[str] = field(default_factory=Counter[str])
    notes: Counter[str] = field(default_factory=Counter[str])
    finds: list[str] = field(default_factory=list[str])


@dataclass
class Campaign:
    """Runs until `deadline` (of time.monotonic), tells `tell` after every kernel."""

    seed: int
    deadline: float
    patterns: int
    folder: Path
    tell: Callable[[Tally], None]
    shrink_checks: int = 60

    def __post_init__(self) -> None:
        self.worker = Worker()
        self.seen: set[bytes] = set()
        self.tally = Tally()

    def run(self) -> None:
        """Draw, check, shrink and save until the time is over."""
        number = 0
        while time.monotonic() < self.deadline:
            self.round(self.seed * 100_000 + number)
            number += 1
        self.worker.stop()

    def round(self, seed: int) -> None:
        shrinking = Shrinking(self.shrink_checks)

        @hypothesis.seed(seed)
        @hypothesis.settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            verbosity=Verbosity.quiet,
        )
        @hypothesis.given(cases(self.patterns))
        def draw(case: Case) -> None:
            verdict = shrinking.known(case)
            if verdict is None:
                verdict = self.examine(case, shrinking)
            if verdict:
                raise Found(verdict)

        try:
            draw()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) or shrinking.best is None:
                raise
        if shrinking.best is not None:
            path = save(*shrinking.best, self.folder)
            self.tally.finds.append(f"{path.name}: seed {seed}: {shrinking.best[1][:200]}")
            self.tell(self.tally)

    def examine(self, case: Case, shrinking: Shrinking) -> str:
        """What is wrong with a new case; nothing when the time is over."""
        if shrinking.best is None and (time.monotonic() > self.deadline or self.duplicate(case)):
            return ""
        report = self.worker.check(case)
        if shrinking.best is None:
            self.tally.kernels += 1
            self.tally.programs.update(report.counts)
            if checked(report.counts):
                self.tally.ways.update([*case.modes, f"LLVM level {case.level}", f"primal {case.primal}"])
            if report.note:
                self.tally.notes[report.note.split(": ", 2)[-1][:120]] += 1
            self.tell(self.tally)
        return shrinking.learn(case, report.finds[0] if report.finds else "")

    def duplicate(self, case: Case) -> bool:
        key = hashlib.sha256(case.source.encode()).digest()
        known = key in self.seen
        self.seen.add(key)
        return known


class Shrinking:
    """Remembers verdicts, so that Hypothesis sees the same answer twice, and ends after so many checks."""

    def __init__(self, checks: int) -> None:
        self.left = checks
        self.verdicts: dict[Case, str] = {}
        self.best: tuple[Case, str] | None = None

    def known(self, case: Case) -> str | None:
        if case in self.verdicts:
            return self.verdicts[case]
        return "" if self.best is not None and self.left <= 0 else None

    def learn(self, case: Case, verdict: str) -> str:
        if self.best is not None:
            self.left -= 1
            if _kind(verdict) != _kind(self.best[1]):
                verdict = ""
        if verdict and (self.best is None or _size(case) <= _size(self.best[0])):
            self.best = case, verdict
        self.verdicts[case] = verdict
        return verdict


def _kind(verdict: str) -> str:
    words = verdict.split(": ", 1)
    return (words[-1] if words[0].startswith("pattern") else verdict).split()[0] if verdict else ""


def _size(case: Case) -> int:
    return len(case.source)
