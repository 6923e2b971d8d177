"""docs/support.md: written by the tool, a section for each group."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.support.case import Case, Group
from tools.support.cases import GROUPS
from tools.support.verdict import Outcome, Verdict

PATH = Path(__file__).resolve().parents[2] / "docs" / "support.md"
NUMBA = "0.68"
"""The Numba that the page is about: others compile other rows."""
_HEAD = f"""# What is supported

Written by `python -m tools.support` with Numba {NUMBA}, which compiles a small kernel for each row with Numba and with
irad, and checks the derivative in forward and in reverse mode: against each other, against complex steps or differences
of the kernel, and the kernel's own results bit for bit. `make test` runs a sample of the rows again. The groups follow
Numba's own documentation.

*Supported* means right in both modes; *refused* means that irad stops with the message in the row and the line of the
kernel; *not in Numba* means that Numba itself does not compile the row.
"""
_HEADING = re.compile(r"^## (.*)$", re.MULTILINE)


def counts(outcomes: Sequence[Outcome]) -> str:
    """Such as `41 supported, 2 refused, 1 not in Numba`."""
    found = Counter(outcome.verdict for outcome in outcomes)
    return ", ".join(f"{found[verdict]} {verdict.value}" for verdict in Verdict if found[verdict])


def section(outcomes: Sequence[Outcome]) -> str:
    """The text of a group, without its heading."""
    lines = [f"{counts(outcomes)}.", "", "| | | |", "|---|---|---|"]
    return "\n".join([*lines, *map(line, outcomes)])


def title(case: Case) -> str:
    """How the row of a case begins."""
    return f"| {_cell(case.name)}"


def line(outcome: Outcome) -> str:
    """The row of a case."""
    return f"{title(outcome.case)} | {outcome.verdict.value} | {_cell(outcome.why)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def stored(group: Group) -> str:
    """The section of a group as the page has it; empty when it has none."""
    return _stored().get(group.title, "")


def _stored() -> dict[str, str]:
    if not PATH.exists():
        return {}
    _, *parts = _HEADING.split(PATH.read_text())
    return {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}


def write(sections: Mapping[str, str]) -> None:
    """Write the page with these sections, by title; the others stay as they are."""
    known = {**_stored(), **sections}
    parts = [f"## {group.title}\n\n{known[group.title]}\n" for group in GROUPS if group.title in known]
    PATH.write_text("\n".join([_HEAD, *parts]))
