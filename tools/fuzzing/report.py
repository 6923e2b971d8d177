"""What came of a kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Report:
    """`counts`: programs by what became of them (run, raised, refused, wild, untyped, turned away); `finds`: what is
    wrong, a line each; `note`: why it was refused."""

    counts: Counter[str] = field(default_factory=Counter[str])
    finds: list[str] = field(default_factory=list[str])
    note: str = ""


def checked(programs: Counter[str]) -> int:
    """Of programs by what became of them: those that were compared with Numba from beginning to end."""
    return programs["run"] + programs["raised"]
