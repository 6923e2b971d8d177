"""Golden files: LLVM text with comments that say what is asked, what to run, and what our output must look like.

`; ACTIVE: a b` and `; SHADOWED: x` name arguments; `; RUN: x=3 n=2` gives argument values, a pointer's being the number
of doubles behind it. `; CHECK: text` must follow the last match; `-NEXT` on the next line; `-NOT` not before the next
match. `; CHECK-LABEL: name` starts over at that function.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ll"))


@dataclass(frozen=True)
class Golden:
    """One file."""

    name: str

    @cached_property
    def text(self) -> str:
        return (FOLDER / f"{self.name}.ll").read_text()

    def words(self, key: str) -> list[str]:
        found = re.search(rf"^; {key}: (.*)$", self.text, re.MULTILINE)
        return found[1].split() if found else []

    @property
    def asked(self) -> dict[str, Any]:
        return {"active": self.words("ACTIVE"), "shadowed": self.words("SHADOWED")}

    def runs(self, rng: np.random.Generator) -> list[list[Any]]:
        """Arguments of every run."""
        pointers = set(re.findall(r"ptr %(\w+)", self.text))
        found: list[list[Any]] = []
        for line in re.findall(r"^; RUN: (.*)$", self.text, re.MULTILINE):
            pairs = [word.split("=") for word in line.split()]
            found.append(
                [rng.uniform(0.4, 1.4, int(v)) if k in pointers else float(v) if "." in v else int(v) for k, v in pairs]
            )
        return found

    @property
    def checks(self) -> list[tuple[str, str]]:
        return re.findall(r"^; CHECK(-NEXT|-NOT|-LABEL|): (.*)$", self.text, re.MULTILINE)


def mismatch(checks: list[tuple[str, str]], text: str) -> str:
    """The first check that `text` fails, empty when there is none. `{{...}}` in a check is a regular expression."""
    lines = text.splitlines()
    at, banned = 0, list[str]()
    for kind, wanted in checks:
        if kind == "-NOT":
            banned.append(wanted)
            continue
        pattern = _pattern(r"define .*@" + wanted + r"\(" if kind == "-LABEL" else wanted, literal=kind != "-LABEL")
        stop = at + 1 if kind == "-NEXT" else len(lines)
        start = 0 if kind == "-LABEL" else at
        found = next((n for n in range(start, stop) if pattern.search(lines[n])), None)
        if found is None:
            return f"CHECK{kind}: {wanted}, after line {at}: {lines[at - 1] if at else ''}"
        for each in banned:
            if any(_pattern(each).search(line) for line in lines[at:found]):
                return f"CHECK-NOT: {each}"
        at, banned = found + 1, []
    return next((f"CHECK-NOT: {b}" for b in banned if any(_pattern(b).search(line) for line in lines[at:])), "")


def _pattern(text: str, *, literal: bool = True) -> re.Pattern[str]:
    if not literal:
        return re.compile(text)
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(re.escape(p) if n % 2 == 0 else p for n, p in enumerate(parts)))
