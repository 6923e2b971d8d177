"""Time every kernel's derivative beside what others need: python -m tools.bench."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tools.bench import compiling, peers, report, run
from tools.bench.cases import GROWTH, Case, chosen
from tools.bench.contenders import WrongGradientError
from tools.bench.results import Grown, Results, Row, compare, newly_refused
from tools.bench.timing import one_core

DOCS = Path(__file__).parents[2] / "docs"
FEWEST, QUICK = 7, 3  # rounds
WIDTH = 150  # of tables that do not go to a terminal

_file = click.Path(dir_okay=False, path_type=Path)
_existing = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--kernels", "names", default="", metavar="A,B", help="Only these kernels.")
@click.option("--quick", is_flag=True, help="Demo sizes, few rounds; neither other programs nor fresh processes.")
@click.option("--rounds", default=9, show_default=True, type=click.IntRange(FEWEST), help="Medians are of that many.")
@click.option(
    "--skip",
    multiple=True,
    type=click.Choice(["peers", "fresh", "growth"]),
    help="Leave parts out: other programs, what fresh processes measure, other sizes.",
)
@click.option("--json", "output", metavar="OUT", type=_file, help="Keep the results here.")
@click.option("--compare", "old", metavar="OLD", type=_existing, help="Show what changed since these results.")
@click.option("--from", "given", metavar="JSON", type=_existing, help="Report these results; measure nothing.")
@click.option("--write/--no-write", default=None, help="Rewrite docs/benchmarks.md; by default after a whole run.")
@click.option("--compile", "compile_times", is_flag=True, help="Show where a first gradient's time goes, instead.")
def main(
    names: str,
    quick: bool,
    rounds: int,
    skip: tuple[str, ...],
    output: Path | None,
    old: Path | None,
    given: Path | None,
    write: bool | None,
    compile_times: bool,
) -> None:
    """Time value and gradient of the kernels, by irad, by hand, by JAX and by PyTorch, on one core."""
    out = Console()
    out = out if out.is_terminal else Console(width=WIDTH)
    wanted = tuple(name for name in names.split(",") if name)
    if compile_times:
        compiling.report(out, wanted)
        return
    if given is not None:
        results = Results.load(given)
        wrong: list[str] = []
    else:
        try:
            cases = chosen(wanted)
        except KeyError as unknown:
            raise click.UsageError(unknown.args[0]) from None
        results, wrong = _quick(cases) if quick else _measured(cases, rounds, skip)
    if output is not None:
        results.save(output)
    for cells in (report.times(results.rows), report.firsts(results.rows), report.growth(results.growth)):
        if len(cells) > 1:
            out.print(_table(cells))
    _words(out, results, quick=quick or given is not None)
    if old is not None:
        _changes(out, Results.load(old), results)
    if write if write is not None else not (wanted or quick or skip or given or wrong):
        report.page(results, DOCS)
    if wrong:
        raise click.ClickException("\n".join(wrong))


def _measured(cases: Sequence[Case], rounds: int, skip: Sequence[str]) -> tuple[Results, list[str]]:
    """All results, and the gradients that were wrong."""
    one_core()
    others = () if "peers" in skip else peers.installed()
    growths = [g for g in GROWTH if "growth" not in skip and any(case.kernel == g.kernel for case in cases)]
    rows: list[Row] = []
    wrong: list[str] = []
    grown: list[Grown] = []
    try:
        with _progress() as progress:
            task = progress.add_task("", total=len(cases) + len(growths))
            for case in cases:
                progress.update(task, description=case.label)
                try:
                    row = run.measure(case, rounds, others, progress.refresh, fresh_processes="fresh" not in skip)
                    rows.append(row)
                except WrongGradientError as error:
                    wrong.append(str(error))
                progress.advance(task)
            for growth in growths:
                progress.update(task, description=f"growth of {growth.kernel}")
                grown.append(run.grow(growth, rounds, progress.refresh))
                progress.advance(task)
    except KeyboardInterrupt:
        wrong.append("interrupted: the rest was not measured")
    return Results(run.machine(), rows, grown), wrong


def _quick(cases: Sequence[Case]) -> tuple[Results, list[str]]:
    one_core()
    kernels = dict.fromkeys((case.kernel, case.fastmath) for case in cases)
    rows: list[Row] = []
    wrong: list[str] = []
    with _progress() as progress:
        for kernel, fastmath in progress.track(kernels):
            try:
                case = Case(kernel, "demo", fastmath=fastmath)
                rows.append(run.measure(case, QUICK, (), progress.refresh, fresh_processes=False))
            except WrongGradientError as error:
                wrong.append(str(error))
    return Results(run.machine(), rows), wrong


def _words(out: Console, results: Results, *, quick: bool) -> None:
    for row in results.rows:
        if row.refused:
            out.print(f"{row.label} is refused: {row.refused}")
    absent = [report.NAMES[name] for name in peers.PEERS if name not in peers.installed()]
    if absent and not quick:
        out.print(f"Not installed, so not measured: {', '.join(absent)}.")


def _changes(out: Console, old: Results, new: Results) -> None:
    changes = compare(old, new)
    regressions = [change for change in changes if change.regression]
    for change in regressions:
        out.print(f"Regression: {change.label}, {change.quantity}: {change.old:.4g} before, {change.new:.4g} now.")
    for row in newly_refused(old, new):
        out.print(f"Regression: {row.label} is refused now.")
    better = sum(change.better for change in changes)
    out.print(f"Of {len(changes)} quantities {len(regressions)} got worse and {better} better by more than noise.")


def _table(cells: report.Cells) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for at, heading in enumerate(cells[0]):
        table.add_column(heading, justify="right" if at else "left")
    for row in cells[1:]:
        table.add_row(*(cell.replace("**", "") for cell in row))
    return table


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = TextColumn("{task.description:24}"), BarColumn(), TextColumn("{task.completed}/{task.total}")
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)


if __name__ == "__main__":
    main()
