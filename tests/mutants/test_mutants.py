"""Every planted bug is found within two minutes; it is said who found it."""

from __future__ import annotations

import click
import pytest

from tests.mutants.hunt import killer
from tests.mutants.planted import MUTANTS
from tests.mutants.suite import SUITE
from tools.fuzzing.oracle import check


@pytest.mark.parametrize("name", SUITE)
def test_the_suite_finds_nothing_in_irad(name: str) -> None:
    report = check(SUITE[name])
    assert not report.finds
    assert report.counts["run"] == len(SUITE[name].patterns)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_found(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = killer(name)
    assert found, f"{name} survived: {MUTANTS[name].__doc__}"
    with capsys.disabled():
        click.echo(f"\n{name}: {found}", nl=False)
