"""Every planted bug is found within two minutes; it is said who found it."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from tests.mutants.hunt import Hunter
from tests.mutants.planted import MUTANTS
from tests.mutants.suite import SUITE
from tools.fuzzing.oracle import check


@pytest.mark.parametrize("name", SUITE)
def test_the_suite_finds_nothing_in_irad(name: str) -> None:
    report = check(SUITE[name])
    assert not report.finds
    assert report.counts["run"] == len(SUITE[name].patterns)


@pytest.fixture(scope="module")
def hunter() -> Iterator[Hunter]:
    with Hunter() as hunter:
        yield hunter


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_bug_is_found(name: str, hunter: Hunter, capsys: pytest.CaptureFixture[str]) -> None:
    found = hunter.killer(name)
    assert found, f"{name} survived: {MUTANTS[name].plant.__doc__}"
    with capsys.disabled():
        click.echo(f"\n{name}: {found}", nl=False)
