"""The command line: what it prints, and how it fails."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from irad.__about__ import __version__
from irad.cli import main
from irad.cli.dump import STAGES, coloured

KERNEL = """
import numba

@numba.njit
def weighted(x, w, n):
    total = 0.0
    for i in range(n):
        total += w * x[i] ** 2
    return total
"""
TYPES = "float64[:], float64, int64"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "weighted_sum.py"
    path.write_text(KERNEL)
    return str(path)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_version_names_everything_that_code_depends_on():
    lines = run("--version").output.splitlines()
    assert lines[0] == f"irad {__version__}"
    assert [line.split()[0] for line in lines] == ["irad", "numba", "llvmlite", "LLVM", "vector"]


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_prints(file: str, stage: str, mode: str):
    result = run("dump", f"{file}:weighted", "--sig", TYPES, "--stage", stage, "--mode", mode)
    assert result.exit_code == 0, result.output
    assert result.output.strip()
    assert "\x1b" not in result.output


PROMISED = """
import numba

@numba.njit
def squares(x, y, n):
    for k in range(n):
        for i in range(x.size):
            y[i] = x[i] * x[i] + y[i] * 2.0

@numba.njit
def sums(x, y, n):
    for i in range(n):
        y[i] += 3.0 * x[i]

@numba.njit
def dot(x, y, n):
    total = 0.0
    for i in range(n):
        total += x[i] * y[i]
    return total
"""


def test_the_plan_shows_what_the_promise_saves(tmp_path: Path):
    path = tmp_path / "promised.py"
    path.write_text(PROMISED)

    def plan(name: str) -> str:
        return run("dump", f"{path}:{name}", "--sig", "float64[::1], float64[::1], int64", "--stage", "plan").output

    said = plan("squares").split("\n\n")[-1].splitlines()
    assert said[0] == "the promise that x and y do not overlap saves 1 value on the tape:"
    assert said[1].endswith("(line 7), 8 bytes:")
    assert "(promised.py:8): overwritten by line 8: y[i] = x[i] * x[i] + y[i] * 2.0" in said[2]
    assert plan("sums").endswith("x and y do not overlap saves nothing: the tape is the same without it\n")
    assert "the promise" not in plan("dot")  # nothing is written, so nothing is promised


def test_arguments_may_be_values_and_go_to_a_file(file: str, tmp_path: Path):
    output = tmp_path / "out.ll"
    result = run("dump", f"{file}:weighted", "--args", "np.ones(3), 2.0, 3", "--wrt", "x", "-o", str(output))
    assert (result.exit_code, result.output) == (0, "")
    assert "define" in output.read_text()


@pytest.mark.parametrize("target", ["kernels/heat.py:heat", "kernels.heat:heat"])
def test_make_args_gives_the_types(target: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    result = run("dump", target, "--stage", "plan")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["{file}"], "not of the form"),
        (["{file}:other"], "choose from weighted"),
        (["{file}:weighted"], "no make_args"),
        (["missing.py:f"], "no file"),
        (["missing_package.module:f"], "no module"),
        (["{file}:weighted", "--sig", "float64"], "takes 3 arguments"),
        (["{file}:weighted", "--args", "np.ones("], "SyntaxError"),
        (["{file}:weighted", "--sig", TYPES, "--args", "1"], "not both"),
        (["{file}:weighted", "--sig", TYPES, "--wrt", "z"], "choose from x, w, n"),
        (["{file}:weighted", "--sig", TYPES, "--stage", "nothing"], "nothing"),
    ],
)
def test_wrong_usage_ends_with_code_two(file: str, words: list[str], complaint: str):
    result = run("dump", *(word.format(file=file) for word in words))
    assert result.exit_code == 2, result.output
    assert complaint in result.output


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--sig", "float[:], flat64, int64"], "no list of Numba types"),
        (["--sig", TYPES, "--wrt", "n"], "argument n is int64"),
        (["--sig", "float64, float64, int64"], "weighted_sum.py:"),
    ],
)
def test_a_refusal_is_one_block_and_code_one(file: str, words: list[str], complaint: str):
    result = run("dump", f"{file}:weighted", *words)
    assert result.exit_code == 1, result.output
    assert complaint in result.output
    assert "Traceback" not in result.output


def test_a_module_that_fails_to_import_is_named(tmp_path: Path):
    path = tmp_path / "broken.py"
    path.write_text("1 / 0\n")
    result = run("dump", f"{path}:f")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.output


def test_colour_adds_nothing_but_colour():
    text = '  %a = call double @f(ptr "x", double %b) ; note\n'
    assert coloured(text) != text
    assert click.unstyle(coloured(text)) == text
