"""Measuring: every case in this process, what needs a process of its own in one, and growth with the problem's size."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import irad
import kernels
from irad import llvm
from tools.bench import fresh, peers
from tools.bench.blocks import Blocks
from tools.bench.cases import Case, Growth
from tools.bench.contenders import API, HAND, IRAD, PRIMAL, Contender, Problem, WrongGradientError
from tools.bench.results import Grown, Row
from tools.bench.timing import Runner, interleave

Tick = Callable[[], object]


def machine() -> dict[str, str]:
    """Where and with what: processor, date, versions."""
    found = {
        "processor": _processor(),
        "date": f"{datetime.date.today():%d %B %Y}",
        "Python": platform.python_version(),
    }
    for package in ("irad", "numba", "numpy", *peers.installed()):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "from source"
    found["LLVM"] = ".".join(map(str, llvm.VERSION))
    return found


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def measure(case: Case, rounds: int, others: tuple[str, ...], tick: Tick, *, fresh_processes: bool) -> Row:
    """One case: all contenders in turns, their gradients checked first.

    Raises
    ------
    WrongGradientError: a gradient differs from the independent one.
    """
    blocks = case.kernel == "ba_blocks"
    try:
        found = _blocks(case, others) if blocks else _contenders(case, others)
    except irad.IradError as refusal:
        return Row(case.label, refused=str(refusal).splitlines()[0])
    times = interleave({name: contender.runner for name, contender in found.items()}, rounds, tick)
    if not fresh_processes or blocks:
        return Row(case.label, times)
    return Row(case.label, times, fresh.first_calls(case), fresh.memory(case))


def _contenders(case: Case, others: tuple[str, ...]) -> dict[str, Contender]:
    problem = Problem(case.module, case.function, case.size)
    plain = Problem(case.module, kernels.function(case.kernel), case.size)
    found: dict[str, Contender | None] = {
        PRIMAL: plain.primal(),
        IRAD: problem.irad(),
        HAND: problem.hand(),
        API: problem.api(),
    }
    for name in others:
        found[name] = peers.contender(name, case.kernel, case.module, problem.pristine)
    return _checked(case, found, problem.expected())


def _blocks(case: Case, others: tuple[str, ...]) -> dict[str, Contender]:
    problem = Blocks(case.size)
    found: dict[str, Contender | None] = {PRIMAL: problem.primal(), IRAD: problem.irad(), HAND: problem.hand()}
    for name in others:
        found[name] = peers.contender(name, case.kernel, kernels.load("ba"), problem.args)
    return _checked(case, found, problem.expected())


def _checked(case: Case, found: dict[str, Contender | None], expected: tuple[Any, ...]) -> dict[str, Contender]:
    there = {name: contender for name, contender in found.items() if contender is not None}
    for name, contender in there.items():
        contender.check(f"{case.label}: {name}", expected)
    return there


def grow(growth: Growth, rounds: int, tick: Tick) -> Grown:
    """Times and tape of one kernel at three sizes."""
    module, function = kernels.load(growth.kernel), kernels.function(growth.kernel)
    primal: list[float] = []
    gradient: list[float] = []
    tape: list[int | None] = []
    for size in growth.sizes:
        problem = Problem(module, function, size)
        runner = problem.api().runner
        times = interleave({PRIMAL: problem.primal().runner, IRAD: runner}, rounds, tick)
        primal.append(times[PRIMAL].median)
        gradient.append(times[IRAD].median)
        tape.append(llvm.tape_bytes(_prepared(runner)))
    return Grown(growth.kernel, growth.unit, growth.work, tuple(primal), tuple(gradient), tuple(tape))


def _prepared(runner: Runner) -> Callable[[], object]:
    def run() -> object:
        runner.prepare()
        return runner.run()

    return run


__all__ = ["WrongGradientError", "grow", "machine", "measure"]
