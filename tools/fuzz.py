"""Attack irad with random kernels: python -m tools.fuzz --minutes 10.

A program is one generated kernel with one pattern of arguments (views, aliases, values). For each: forward against
reverse and split mode by dot products, central differences where they can be trusted, and results, exceptions and
arguments bit for bit against the kernel itself, which Numba compiles from beginning to end for one kernel in four and
LLVM, from what Numba lowered for irad, for the others. Finds are shrunk and go into tests/corpus/.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import time
from pathlib import Path
from queue import Empty
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tools.fuzzing.campaign import Campaign, Tally
from tools.fuzzing.corpus import FOLDER
from tools.fuzzing.report import checked

_spawn = multiprocessing.get_context("spawn")


def _campaign(seed: int, seconds: float, patterns: int, checks: int, folder: Path, queue: Any) -> None:
    def tell(tally: Tally) -> None:
        queue.put((seed, tally))

    with contextlib.suppress(KeyboardInterrupt):
        Campaign(seed, time.monotonic() + seconds, patterns, folder, tell, checks).run()


@click.command()
@click.option("--minutes", default=10.0, show_default=True)
@click.option("--jobs", default=2, show_default=True, help="processes that check kernels")
@click.option("--patterns", default=40, show_default=True, help="patterns of arguments for each kernel")
@click.option("--seed", default=None, type=int, help="of the first job; from the clock when absent")
@click.option("--shrink", default=60, show_default=True, help="checks spent on making a find smaller")
@click.option(
    "--finds", default=FOLDER, show_default=False, type=click.Path(path_type=Path), help="folder of the finds"
)
def main(minutes: float, jobs: int, patterns: int, seed: int | None, shrink: int, finds: Path) -> None:
    """Generate and check kernels for some minutes."""
    first = int(time.time()) % 1_000_000 * 10 if seed is None else seed
    queue: Any = _spawn.Queue()
    given = (60 * minutes, patterns, shrink, finds, queue)
    running = [_spawn.Process(target=_campaign, args=(first + i, *given)) for i in range(jobs)]
    for process in running:
        process.start()
    total = _watch(running, queue, 60 * minutes)
    for process in running:
        process.join()
    _report(total, first, finds)
    sys.exit(bool(total.finds))


def _watch(running: list[Any], queue: Any, seconds: float) -> Tally:
    """Show progress until every job has ended; their tallies summed."""
    tallies: dict[int, Tally] = {}
    began = last = time.monotonic()
    console = Console(stderr=True)
    words = TextColumn("{task.fields[words]}")
    with Progress(
        BarColumn(), TimeElapsedColumn(), words, console=console, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("", total=seconds, words="")
        while any(p.is_alive() for p in running) or not queue.empty():
            try:
                seed, tally = queue.get(timeout=1.0)
            except Empty:
                continue
            for find in tally.finds[len(tallies.get(seed, Tally()).finds) :]:
                console.print(f"find {find}", markup=False)
            tallies[seed] = tally
            now = time.monotonic()
            line = _line(summed(tallies), now - began)
            progress.update(task, completed=min(now - began, seconds), words=line)
            if not console.is_terminal and now - last > 30:
                last = now
                console.print(line, markup=False)
    return summed(tallies)


def summed(tallies: dict[int, Tally]) -> Tally:
    total = Tally()
    for tally in tallies.values():
        total.kernels += tally.kernels
        total.programs += tally.programs
        total.ways += tally.ways
        total.notes += tally.notes
        total.finds += tally.finds
    return total


def _line(total: Tally, seconds: float) -> str:
    done = checked(total.programs)
    return f"{done} programs of {total.kernels} kernels, {done / seconds:.1f}/s, {len(total.finds)} finds"


def _report(total: Tally, seed: int, folder: Path) -> None:
    for find in total.finds:
        path = folder / find.split(":")[0]
        print(f"--- {path}\n{path.read_text()}")
    counts = ", ".join(f"{count} {what}" for what, count in total.programs.most_common())
    ways = ", ".join(f"{count} {what}" for what, count in sorted(total.ways.items()))
    print(f"seed {seed}: {total.kernels} distinct kernels; programs: {counts}")
    print(f"  kernels checked by: {ways}")
    for note, count in total.notes.most_common(12):
        print(f"  refused {count}: {note}")
    print(f"{checked(total.programs)} programs checked, {len(total.finds)} disagreements")


if __name__ == "__main__":
    main()
