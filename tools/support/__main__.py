"""python -m tools.support: run the cases, print counts, write docs/support.md."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tools.support import page
from tools.support.case import Group
from tools.support.cases import GROUPS
from tools.support.verdict import Outcome, Verdict, judge

WORDS = [group.word for group in GROUPS]


@click.command()
@click.option("--group", "words", type=click.Choice(WORDS), multiple=True, help="Only this group; may be repeated.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when the page is not what comes out.")
def main(words: tuple[str, ...], check: bool) -> None:
    """Compile and check every case in both modes, print counts, and write docs/support.md.

    Exit code 1: a case is wrong, or, with --check, the page is stale.
    """
    console = Console(stderr=True)
    chosen = [group for group in GROUPS if not words or group.word in words]
    found = run(chosen, console)
    for group, outcomes in zip(chosen, found, strict=True):
        click.echo(f"{group.title}: {page.counts(outcomes)}")
    everything = [outcome for outcomes in found for outcome in outcomes]
    click.echo(f"All: {page.counts(everything)}")
    wrong = [outcome for outcome in everything if outcome.verdict is Verdict.WRONG]
    for outcome in wrong:
        click.echo(f"WRONG {outcome.case.name}: {outcome.why}")
    sections = {group.title: page.section(outcomes) for group, outcomes in zip(chosen, found, strict=True)}
    stale = [group for group in chosen if page.stored(group) != sections[group.title]]
    if check and stale:
        click.echo(f"docs/support.md is stale: run python -m tools.support --group {stale[0].word}")
    if not check and not wrong:
        page.write(sections)
    sys.exit(bool(wrong or (check and stale)))


def run(groups: list[Group], console: Console) -> list[list[Outcome]]:
    """The outcomes of each group."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=sum(len(group.cases) for group in groups))
        found: list[list[Outcome]] = []
        for group in groups:
            found.append([])
            for case in group.cases:
                progress.update(task, description=f"{group.title}: {case.name}")
                found[-1].append(judge(case))
                progress.advance(task)
    return found


if __name__ == "__main__":
    main()
