"""The demo: NIST's 27 regression problems fitted with exact Jacobians, then a gradient of every kernel in kernels/.

Tables go to standard output; a progress bar shows on standard error while it runs, on a terminal only.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

import irad
import kernels
from kernels import nist
from tools.kernel_times import Times, measure
from tools.nist_fit import CERTIFIED, SOLVED, Fit, exact_jacobian, fit

AGREES = 1e-8  # relative difference from the independent derivative that is no more than rounding
WIDTH = 110  # of the tables, when they do not go to a terminal
IRAD = "irad"
DIFFERENCES = "differences"


@dataclass(frozen=True, slots=True)
class Result:
    """A problem fitted from one of its starting points, in both ways."""

    problem: nist.Problem
    start: int
    exact: Fit
    differences: Fit


@click.command()
@click.option("--part", type=click.Choice(["all", "nist", "kernels"]), default="all", show_default=True)
def main(part: str) -> None:
    """Fit NIST's problems, then time a gradient of every kernel."""
    out = Console()
    out = out if out.is_terminal else Console(width=WIDTH)
    began = time.perf_counter()
    with _progress() as progress:
        results, first = fit_all(progress) if part != "kernels" else ([], 0.0)
        times = time_all(progress) if part != "nist" else {}
    if results:
        report_fits(out, results, first)
    if times:
        report_times(out, times)
    out.print(f"\n{time.perf_counter() - began:.0f} s in all.")


def fit_all(progress: Progress) -> tuple[list[Result], float]:
    """Every problem from both starts, and the seconds that compiling kernels and Jacobians took."""
    problems = nist.problems()
    task = progress.add_task("NIST problems", total=len(problems))
    results: list[Result] = []
    compiling = 0.0
    for problem in problems:
        progress.update(task, description=problem.name)
        began = time.perf_counter()
        jacobian = exact_jacobian(problem)
        jacobian(problem.starts[0])
        problem.residuals(problem.starts[0])
        compiling += time.perf_counter() - began
        for start, beta in enumerate(problem.starts):
            results.append(Result(problem, start, fit(problem, beta, jacobian), fit(problem, beta, None)))
        progress.advance(task)
    return results, compiling


def time_all(progress: Progress) -> dict[str, Times | irad.IradError]:
    """The times of every kernel, or what irad said instead."""
    names = kernels.names()
    task = progress.add_task("kernels", total=len(names))
    times: dict[str, Times | irad.IradError] = {}
    for name in names:
        progress.update(task, description=name)
        try:
            times[name] = measure(name)
        except irad.IradError as refusal:
            times[name] = refusal
        progress.advance(task)
    return times


def report_fits(out: Console, results: Sequence[Result], compiling: float) -> None:
    """The table of fits, what it comes to, and what falls short."""
    cost = ("digits", "residuals", "Jacobians", "ms")
    table = _table(
        "NIST StRD nonlinear regression",
        ["problem", "level"],
        [
            "start",
            *(f"{IRAD}\n{word}" for word in cost),
            *(f"{DIFFERENCES}\n{word}" for word in cost if word != "Jacobians"),
        ],
    )
    for r in results:
        first = r.start == 0
        table.add_row(
            r.problem.name if first else "",
            r.problem.level if first else "",
            str(r.start + 1),
            _digits(r.exact),
            str(r.exact.residuals),
            str(r.exact.jacobians),
            f"{1e3 * r.exact.seconds:.1f}",
            _digits(r.differences),
            str(r.differences.residuals),
            f"{1e3 * r.differences.seconds:.1f}",
        )
    out.print(table)
    out.print(
        f"digits: decimals that agree with NIST's certified parameters, in the worst of them ({CERTIFIED} are given).\n"
        "residuals: calls of the kernel, those for finite differences included. Solver and settings are the same.\n"
        f"Compiling {len(set(nist.KERNELS.values()))} kernels and their tangents took {compiling:.1f} s.\n"
    )
    out.print(_summary(results))
    _report_short(out, results)


def _summary(results: Sequence[Result]) -> Table:
    table = _table("", ["start", "Jacobian"], [f"solved to {SOLVED} digits", "median digits", "fewest", "residuals"])
    for start in (0, 1):
        chosen = [r for r in results if r.start == start]
        for word, fits in ((IRAD, [r.exact for r in chosen]), (DIFFERENCES, [r.differences for r in chosen])):
            found = [f.digits for f in fits]
            table.add_row(
                str(start + 1),
                word,
                f"{sum(f.solved for f in fits)} of {len(fits)}",
                f"{statistics.median(found):.1f}",
                f"{min(found):.1f}",
                str(sum(f.residuals for f in fits)),
            )
    return table


def _report_short(out: Console, results: Sequence[Result]) -> None:
    short = [r for r in results if not r.exact.solved]
    for r in short:
        out.print(
            Text(f"Falls short: {r.problem.name}, start {r.start + 1}: {r.exact.digits:.1f} digits.", style="red")
        )
    if not short:
        out.print(f"With irad every fit reaches at least {SOLVED} digits.")
    behind = [r for r in results if r.exact.digits < r.differences.digits]
    if behind:
        out.print(
            f"Finite differences end with more digits on {len(behind)} of {len(results)} fits; "
            f"there irad has at least {min(r.exact.digits for r in behind):.1f}."
        )


def _digits(found: Fit) -> Text:
    text = f"{found.digits:.1f}" if found.digits < CERTIFIED else str(CERTIFIED)
    return Text(text, style="" if found.solved else "red")


def report_times(out: Console, times: dict[str, Times | irad.IradError]) -> None:
    """The table of kernels, and what falls short."""
    table = _table(
        "Kernels: a gradient by reverse mode, beside an independent derivative",
        ["kernel"],
        ["primal ms", "gradient ms", "ratio", "first gradient s", "relative difference"],
    )
    for name, found in times.items():
        if isinstance(found, irad.IradError):
            table.add_row(name, Text("refused", style="red"))
            continue
        table.add_row(
            name,
            f"{1e3 * found.primal:.3f}",
            f"{1e3 * found.gradient:.3f}",
            f"{found.ratio:.2f}",
            f"{found.first:.2f}",
            Text(f"{found.difference:.1e}", style="" if found.difference <= AGREES else "red"),
        )
    out.print()
    out.print(table)
    short = False
    for name, found in times.items():
        if isinstance(found, irad.IradError):
            out.print(Text(f"Falls short: {name} is refused: {found}", style="red"))
        elif not found.difference <= AGREES:
            out.print(Text(f"Falls short: {name} differs from its independent derivative.", style="red"))
        else:
            continue
        short = True
    if not short:
        out.print(f"Every gradient agrees with its independent derivative to {AGREES:.0e}.")


def _table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title or None, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _progress() -> Progress:
    console = Console(stderr=True)
    columns = TextColumn("{task.description:14}"), BarColumn(), TextColumn("{task.completed}/{task.total}")
    return Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)


if __name__ == "__main__":
    main()
