"""Times that mean something on a machine that others use too.

What is compared runs in turns, so that a slow moment meets everybody, and is timed by the processor time that it got,
not by the clock on the wall. What remains of the noise shows in the spread.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ROUND = 0.02  # seconds: runs are repeated until a round takes about that long
MOST_RUNS = 5_000


def no_preparation() -> None:
    """Nothing has to be done before a run."""


@dataclass(frozen=True)
class Runner:
    """One of the things compared.

    run: what is timed. prepare: what has to be done before each run; it is not timed. clock: seconds of processor
    time; that of the process where other threads do the work.
    """

    run: Callable[[], object]
    prepare: Callable[[], object] = no_preparation
    clock: Callable[[], float] = time.thread_time


@dataclass(frozen=True)
class Times:
    """Seconds of one run: the median of the rounds, and half the distance of their quartiles, relative to it."""

    median: float
    spread: float

    @classmethod
    def of(cls, rounds: list[float]) -> Times:
        low, middle, high = statistics.quantiles(rounds, n=4, method="inclusive")
        return cls(middle, 0.5 * (high - low) / middle)


def one_core() -> int:
    """Keep this thread, and those that it starts, on the last core it may use; its number."""
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def interleave(
    runners: Mapping[str, Runner], rounds: int, tick: Callable[[], object] = no_preparation
) -> dict[str, Times]:
    """The times of all runners, which run in turns; `tick` is called after every round."""
    repeats = {name: _repeats(runner) for name, runner in runners.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runners}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, runner in runners.items():
                seconds[name].append(_round(runner, repeats[name]))
            tick()
    finally:
        if enabled:
            gc.enable()
    return {name: Times.of(found) for name, found in seconds.items()}


def _repeats(runner: Runner) -> int:
    """How many runs make a round; runs twice, so that nothing is compiled and no page is fresh in the first round."""
    _round(runner, 1)
    return max(1, min(MOST_RUNS, math.ceil(ROUND / max(_round(runner, 1), 1e-7))))


def _round(runner: Runner, repeats: int) -> float:
    """Seconds of one run, of several."""
    run, prepare, clock = runner.run, runner.prepare, runner.clock
    if prepare is no_preparation:
        began = clock()
        for _ in range(repeats):
            run()
        return (clock() - began) / repeats
    total = 0.0
    for _ in range(repeats):
        prepare()
        began = clock()
        run()
        total += clock() - began
    return total / repeats
