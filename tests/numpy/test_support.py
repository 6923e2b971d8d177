"""docs/support.md says what irad does: every row is there, and a sample of each group is run again."""

from __future__ import annotations

import numba
import pytest

from tools.support import page
from tools.support.case import Group
from tools.support.cases import GROUPS
from tools.support.verdict import Verdict, judge

# Compiling all rows takes a quarter of an hour; `python -m tools.support --check` does. Here every n-th row is run.
STEPS = {
    "python": 5,
    "creation": 10,
    "indexing": 8,
    "ufuncs": 10,
    "reductions": 16,
    "rearrangement": 16,
    "sorting": 12,
    "signal": 12,
    "linalg": 11,
    "random": 4,
    "dtypes": 5,
}


def rows(group: Group) -> list[str]:
    """The rows of a group as the page has them."""
    return page.stored(group).splitlines()[4:]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.word)
def test_the_page_has_a_row_for_every_case_and_none_is_wrong(group: Group) -> None:
    lines = rows(group)
    assert [line.split(" | ")[0] for line in lines] == [page.title(case) for case in group.cases]
    assert not any(f" | {Verdict.WRONG.value} | " in line for line in lines)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.word)
def test_rows_of_the_page_come_out_again(group: Group) -> None:
    lines = rows(group)
    step = STEPS.get(group.word, 5)
    found = [judge(case) for case in group.cases[::step]]
    if numba.__version__.startswith(page.NUMBA):
        assert [page.line(outcome) for outcome in found] == lines[::step]
    assert not any(outcome.verdict is Verdict.WRONG for outcome in found)


def test_the_readme_gives_the_counts_of_the_page() -> None:
    lines = [line for group in GROUPS for line in rows(group)]
    right, refused = (sum(f" | {v.value} | " in line for line in lines) for v in (Verdict.SUPPORTED, Verdict.REFUSED))
    words = " ".join((page.PATH.parents[1] / "README.md").read_text().split())
    said = f"of {right + refused} that Numba compiles, {right} are right in both modes and {refused} are refused"
    assert said in words
