"""What was measured, as data: kept as JSON, and compared with what was measured before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.bench.timing import Times

WORSE = 1.15  # differences below this are noise on a machine that others use


@dataclass(frozen=True)
class First:
    """Seconds of processor time until the first result in a fresh process, imports left out."""

    numba: float
    irad: float
    numba_cached: float
    irad_cached: float


@dataclass(frozen=True)
class Memory:
    """Bytes. tape: what a gradient saves (None: over 256 MB); peaks: resident memory that a call adds for its time."""

    tape: int | None
    primal_peak: int
    gradient_peak: int


@dataclass(frozen=True)
class Row:
    """One case: times by contender, or why there are none."""

    label: str
    times: dict[str, Times] = field(default_factory=dict[str, Times])
    first: First | None = None
    memory: Memory | None = None
    refused: str = ""

    def ratio(self, name: str) -> float | None:
        """A contender's time over the primal's; None when it was not measured."""
        if name not in self.times or "primal" not in self.times:
            return None
        return self.times[name].median / self.times["primal"].median

    def spread(self, name: str) -> float:
        """The relative uncertainty of a ratio."""
        return (self.times[name].spread ** 2 + self.times["primal"].spread ** 2) ** 0.5


@dataclass(frozen=True)
class Grown:
    """Times and tape of one kernel at three sizes; work in `unit`s."""

    kernel: str
    unit: str
    work: tuple[float, ...]
    primal: tuple[float, ...]
    gradient: tuple[float, ...]
    tape: tuple[int | None, ...]


@dataclass(frozen=True)
class Results:
    """One run of the benchmark; `machine` says where and with what."""

    machine: dict[str, str]
    rows: list[Row]
    growth: list[Grown] = field(default_factory=list[Grown])

    def save(self, path: Path) -> None:
        """Write them as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read what `save` wrote."""
        data = json.loads(path.read_text())
        return cls(data["machine"], [_row(r) for r in data["rows"]], [_grown(g) for g in data["growth"]])

    def quantities(self) -> dict[tuple[str, str], float]:
        """What is compared between runs, by label and quantity: ratios to the primal, bytes, ratios of first calls."""
        return dict(self._quantities())

    def _quantities(self) -> Iterator[tuple[tuple[str, str], float]]:
        for row in self.rows:
            ratio = row.ratio("irad")
            if ratio is not None:
                yield (row.label, "gradient / primal"), ratio
            if row.memory is not None and row.memory.tape is not None:
                yield (row.label, "tape bytes"), row.memory.tape
            if row.first is not None:
                yield (row.label, "first gradient / first call"), row.first.irad / row.first.numba


def _row(data: dict[str, Any]) -> Row:
    first, memory = data["first"], data["memory"]
    return Row(
        data["label"],
        {name: Times(**times) for name, times in data["times"].items()},
        First(**first) if first else None,
        Memory(**memory) if memory else None,
        data["refused"],
    )


def _grown(data: dict[str, Any]) -> Grown:
    return Grown(data["kernel"], data["unit"], *(tuple(data[n]) for n in ("work", "primal", "gradient", "tape")))


@dataclass(frozen=True)
class Change:
    """A quantity that two runs share."""

    label: str
    quantity: str
    old: float
    new: float

    @property
    def regression(self) -> bool:
        return self.new > WORSE * self.old

    @property
    def better(self) -> bool:
        return self.old > WORSE * self.new


def compare(old: Results, new: Results) -> list[Change]:
    """Everything that both runs measured; the largest growth first."""
    before = old.quantities()
    changes = [Change(*key, before[key], value) for key, value in new.quantities().items() if key in before]
    return sorted(changes, key=lambda c: c.new / c.old if c.old else float(c.new > 0), reverse=True)


def newly_refused(old: Results, new: Results) -> list[Row]:
    """Cases that had a gradient before and have none now."""
    had = {row.label for row in old.rows if not row.refused}
    return [row for row in new.rows if row.refused and row.label in had]
