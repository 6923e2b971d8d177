"""The benchmark as a program: what it measures is right, it shows regressions, and it writes its page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numba
import numpy as np
import pytest
from click.testing import CliRunner

import irad
import kernels
from irad import llvm
from tools.bench import adjoints, peers, report
from tools.bench.__main__ import main
from tools.bench.cases import CASES, GROWTH
from tools.bench.contenders import AGREES, Problem, WrongGradientError
from tools.bench.results import First, Grown, Memory, Results, Row, compare, newly_refused
from tools.bench.timing import Runner, Times, interleave
from tools.kernel_times import difference


def row(label: str, gradient: float, tape: int = 1000) -> Row:
    times = {"primal": Times(1e-3, 0.01), "irad": Times(gradient, 0.02), "hand": Times(2e-3, 0.01)}
    return Row(label, times, First(1.0, 2.0, 0.2, 0.25), Memory(tape, 0, 4096))


RESULTS = Results(
    {"processor": "some", "date": "today", "Python": "3"},
    [row("gmm d10", 3e-3), row("heat n1000", 4e-3), Row("fft n16", refused="no such thing")],
    [Grown("gmm", "points", (1.0, 10.0, 100.0), (1.0, 10.0, 100.0), (2.0, 20.0, 200.0), (8, 80, 800))],
)


@pytest.mark.parametrize("name", ["sumsq", "cholesky"])
def test_hand_written_adjoints_are_right(name: str) -> None:
    problem = Problem(kernels.load(name), kernels.function(name), "tiny")
    hand = problem.hand()
    assert hand is not None
    hand.check(name, problem.expected())


def test_all_kernels_are_measured() -> None:
    measured = {case.kernel for case in CASES} - {"ba_blocks"}
    assert measured == set(kernels.names()) == {growth.kernel for growth in GROWTH}
    assert set(adjoints.BY_KERNEL) == measured - {"hand"}
    assert all(case.size in case.module.SIZES for case in CASES if case.kernel != "ba_blocks")
    assert all(size in kernels.load(g.kernel).SIZES for g in GROWTH for size in g.sizes)


def test_a_wrong_gradient_is_an_error() -> None:
    problem = Problem(kernels.load("sumsq"), kernels.function("sumsq"), "tiny")
    hand = problem.hand()
    assert hand is not None
    with pytest.raises(WrongGradientError, match="sumsq"):
        hand.check("sumsq", (problem.expected()[0] + 1e-3,))


def test_rounds_are_interleaved_and_prepared() -> None:
    calls: list[str] = []
    ticks = iter(range(1_000_000))
    runners = {
        "a": Runner(lambda: calls.append("a"), lambda: calls.append("-"), clock=lambda: float(next(ticks))),
        "b": Runner(lambda: calls.append("b"), clock=lambda: float(next(ticks))),
    }
    times = interleave(runners, 3)
    assert "".join(calls) == "-a-abb" + "-ab" * 3
    assert times["a"] == times["b"] == Times(1.0, 0.0)


def test_regressions_are_found() -> None:
    new = Results({}, [row("gmm d10", 3.6e-3), row("heat n1000", 4e-3, tape=0), Row("lstm c1024", refused="why")])
    found = {(c.label, c.quantity): c for c in compare(RESULTS, new)}
    assert found["gmm d10", "gradient / primal"].regression
    assert found["heat n1000", "tape bytes"].better
    assert sum(c.regression for c in found.values()) == 1
    had = replace(RESULTS, rows=[row("lstm c1024", 1e-3)])
    assert [r.label for r in newly_refused(had, new)] == ["lstm c1024"]


def test_page_keeps_what_stands_around(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.md"
    path.write_text(f"before\n\n{report.BEGIN}\nold\n{report.END}\n\nafter\n")
    report.page(RESULTS, tmp_path)
    text = path.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "| gmm d10 | 1 | **3.00** ±2% | 2.1 | 2.4 (7.6) | 2.00 ±1% |  |  |  |" in text
    assert "| heat n1000 | 1.00 | 2.00 | 2.00 | 0.20 | 0.25 | 1 kB | 0 B | 4.1 kB |" in text
    assert "fft n16 is refused: no such thing" in text
    assert "| 1.00 | 1.00 | 1.00 | 1.00 |" in text  # exponents


def test_quick_run_and_comparison(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    run = CliRunner().invoke(main, ["--quick", "--kernels", "sumsq,rosenbrock", "--json", str(first)])
    assert run.exit_code == 0, run.output
    assert "sumsq demo" in run.output and "rosenbrock demo" in run.output
    data = json.loads(first.read_text())
    for found in data["rows"]:
        found["times"]["irad"]["median"] *= 2.0
    second.write_text(json.dumps(data))
    shown = CliRunner().invoke(main, ["--from", str(second), "--compare", str(first)])
    assert shown.exit_code == 0 and shown.output.count("Regression:") == 2
    assert Results.load(first).rows[0].times.keys() == {"primal", "irad", "hand", "api"}


def test_unknown_kernel_is_refused() -> None:
    assert CliRunner().invoke(main, ["--kernels", "nothing"]).exit_code == 2


@numba.njit
def logistic(x: float, n: int) -> float:
    for _ in range(n):
        x = 3.7 * x * (1.0 - x)
    return x


def test_tape_is_what_a_gradient_writes() -> None:
    # each step is needed by the next one's slope: one number a step, or a few
    gradient = irad.grad(logistic)
    gradient(0.3, 10)
    for steps in (1000, 100_000):
        tape = llvm.tape_bytes(lambda n=steps: gradient(0.3, n))
        assert tape is not None and 8 * (steps - 1) <= tape <= 24 * steps
    assert llvm.tape_bytes(lambda: gradient(0.3, 100_000), most=1 << 16) is None


@pytest.mark.parametrize("peer", peers.PEERS)
@pytest.mark.parametrize("name", ["heat"])
def test_peers_agree(peer: str, name: str) -> None:
    if peer not in peers.installed():
        pytest.skip(f"{peer} is not installed")
    problem = Problem(kernels.load(name), kernels.function(name), "tiny")
    contender = peers.contender(peer, name, problem.module, problem.pristine)
    assert contender is not None and contender.bars is not None
    assert difference(contender.bars(), problem.expected()) <= AGREES
    assert isinstance(contender.bars()[0], np.ndarray)
