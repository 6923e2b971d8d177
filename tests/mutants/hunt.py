"""Who finds a planted bug: python -m tests.mutants.hunt NAME, or without a name all of them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import click

SECONDS, STUCK = 120, 40
"""For a mutant; for one kernel of it, whose derivative may not end."""

ROOT = Path(__file__).parents[2]


def killer(name: str, by: str = "all") -> str:
    """What found the mutant `name`; nothing when it survived. `by`: "suite", "generator" or "all"."""
    command = [sys.executable, "-m", "tests.mutants.hunt", name, by]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return ""
    lines = done.stdout.splitlines()
    if lines and lines[-1].startswith("killed by "):
        return lines[-1].removeprefix("killed by ")
    if done.returncode < 0 or "Timeout (" in done.stderr:
        return f"{lines[-1].removeprefix('trying ')}: the process {'dies' if done.returncode < 0 else 'hangs'}"
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return ""


def hunt(name: str, by: str) -> None:
    """Plant a bug in this process and look for it: the fixed suite, then the generator."""
    import faulthandler

    import pytest

    from tests.mutants.planted import MUTANTS
    from tests.mutants.suite import SUITE
    from tools.fuzzing.choices import Seeded
    from tools.fuzzing.oracle import check
    from tools.fuzzing.patterns import case

    patch = pytest.MonkeyPatch()
    if name != "none":
        MUTANTS[name](patch)
    suite = [(f"suite, {key}", lambda one=one: one) for key, one in SUITE.items()]
    generated = [(f"generator, kernel {seed}", lambda seed=seed: case(Seeded(seed), 8)) for seed in range(1000)]
    trials = {"suite": suite, "generator": generated, "all": [*suite, *generated]}[by]
    for who, make in trials:
        faulthandler.dump_traceback_later(STUCK, exit=True)
        click.echo(f"trying {who}")
        report = check(make())
        faulthandler.cancel_dump_traceback_later()
        if report.finds:
            click.echo(f"killed by {who}: {report.finds[0].splitlines()[0][:160]}")
            return


def main() -> None:
    if len(sys.argv) > 1:
        hunt(sys.argv[1], [*sys.argv, "all"][2])
        return
    from tests.mutants.planted import MUTANTS

    for name in MUTANTS:
        for by in ("suite", "generator"):
            began = time.monotonic()
            found = killer(name, by) or "SURVIVED"
            click.echo(f"{name:36} {by:10} {time.monotonic() - began:4.0f} s  {found}")


if __name__ == "__main__":
    main()
