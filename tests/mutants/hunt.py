"""Who finds a planted bug: python -m tests.mutants.hunt [suite] [generator] says it of every mutant."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import signal
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any

import click
import pytest

from irad.frontend.lower import lower
from tests.mutants.planted import MUTANTS
from tests.mutants.suite import SUITE
from tools.fuzzing.case import Case
from tools.fuzzing.choices import Seeded
from tools.fuzzing.native import Primal, numba_types
from tools.fuzzing.oracle import check
from tools.fuzzing.patterns import case

SECONDS = 120
"""For a mutant."""

STUCK, COLD = 5, 30
"""Seconds of processor time after which a derivative will not end: of a kernel that is prepared, of any other."""

SHARED = 24
"""Generated kernels that are compiled once for all mutants; few mutants live longer."""

Trial = tuple[str, Case]

_spawn, _fork = multiprocessing.get_context("spawn"), multiprocessing.get_context("fork")


class Hunter:
    """A process that compiles each kernel once; every mutant is planted in a fork of it, which may crash or hang."""

    def __enter__(self) -> Hunter:
        self._pipe, other = _spawn.Pipe()
        self._process = _spawn.Process(target=_serve, args=(other,))
        self._process.start()
        other.close()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join()

    def killer(self, name: str, by: str = "all") -> str:
        """What found the mutant `name`; nothing when it survived. `by`: "suite", "generator" or "all"."""
        self._pipe.send((name, by))
        found = self._pipe.recv()
        if isinstance(found, BaseException):
            raise found
        return found


def _serve(pipe: Connection) -> None:
    kernels = Kernels()
    with contextlib.suppress(EOFError):
        while True:
            name, by = pipe.recv()
            try:
                pipe.send(_killer(name, kernels, kernels.trials(MUTANTS[name].first, by)))
            except Exception as error:
                pipe.send(error)


class Kernels:
    """The kernels to try, with what no mutant touches: Numba's own compilation, and Numba's lowering for irad."""

    def __init__(self) -> None:
        self.primals: dict[Case, Primal] = {}

    def trials(self, first: str, by: str) -> Iterator[Trial]:
        """By whom, with which kernel: `first` of the suite, the rest of it, the generator."""
        if by != "generator":
            self.prepare(SUITE[first])
            yield from ((f"suite, {key}", SUITE[key]) for key in sorted(SUITE, key=lambda key: key != first))
        if by != "suite":
            if by == "generator":
                for seed in range(SHARED):
                    self.prepare(_generated(seed))
            yield from ((f"generator, kernel {seed}", _generated(seed)) for seed in itertools.count())

    def prepare(self, one: Case) -> None:
        if one not in self.primals:
            self.primals[one] = Primal(one)
            lower(self.primals[one].function, numba_types(one))


def _generated(seed: int) -> Case:
    return case(Seeded(seed), 8)


def _killer(name: str, kernels: Kernels, trials: Iterator[Trial]) -> str:
    """Run `_hunt` in a fork and tell what came of it."""
    first = next(trials)  # prepares what is shared
    told, teller = _fork.Pipe(duplex=False)
    process: Any = _fork.Process(target=_hunt, args=(name, kernels, itertools.chain([first], trials), teller))
    process.start()
    teller.close()
    deadline, at, found = time.monotonic() + SECONDS, "", ""
    with contextlib.suppress(EOFError):
        while not found and told.poll(deadline - time.monotonic()):
            at, found = told.recv()
    late = time.monotonic() >= deadline
    if late:
        process.kill()
    process.join()
    if found:
        return f"{at}: {found}"
    if process.exitcode == 0 or late:
        return ""
    if process.exitcode > 0:
        raise RuntimeError(f"{name}: hunting failed at {at}")
    return f"{at}: the process {'hangs' if process.exitcode == -signal.SIGPROF else 'dies'}"


def _hunt(name: str, kernels: Kernels, trials: Iterator[Trial], teller: Connection) -> None:
    """Plant a bug in this process and look for it."""
    MUTANTS[name].plant(pytest.MonkeyPatch())
    for who, one in trials:
        # ends the process, in machine code too
        signal.setitimer(signal.ITIMER_PROF, STUCK if one in kernels.primals else COLD)
        teller.send((who, ""))
        report = check(one, kernels.primals.get(one))
        if report.finds:
            teller.send((who, report.finds[0].splitlines()[0][:160]))
            return


def main() -> None:
    with Hunter() as hunter:
        for by, name in itertools.product(sys.argv[1:] or ("suite", "generator"), MUTANTS):
            began = time.monotonic()
            found = hunter.killer(name, by) or "SURVIVED"
            click.echo(f"{name:36} {by:10} {time.monotonic() - began:4.0f} s  {found}")


if __name__ == "__main__":
    main()
