"""A short run of the generator, the same every time, and the finds of longer ones."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.fuzzing.case import Argument, Case, Pattern, View, buffer_sizes, contents, extent, materialize, overlapping
from tools.fuzzing.choices import Seeded
from tools.fuzzing.corpus import FOLDER, save
from tools.fuzzing.oracle import check
from tools.fuzzing.patterns import case

FINDS = sorted(FOLDER.glob("*.py"))


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("seed", range(16))
def test_generated_kernels_agree(seed: int) -> None:
    report = check(case(Seeded(seed), 6))
    assert not report.finds
    assert not report.counts["untyped"], report.note


@pytest.mark.parametrize("path", FINDS, ids=lambda p: p.stem)
def test_finds_stay_mended(path: Path) -> None:
    report = check(_load(path).CASE)
    assert not report.finds
    assert report.counts["run"] + report.counts["raised"], report.note


@pytest.mark.parametrize("seed", range(50))
def test_patterns_stay_inside_their_buffers(seed: int) -> None:
    one = case(Seeded(seed), 4)
    for pattern in one.patterns:
        memory = materialize(one, pattern, contents(one, pattern, np.random.default_rng(seed)))
        sizes = buffer_sizes(one, pattern)
        for argument, view, value in zip(one.arguments, pattern.views, memory.values, strict=True):
            if view is not None:
                assert isinstance(value, np.ndarray)
                low, high = extent(pattern.shape(argument), view)
                assert 0 <= low <= high < sizes[view.buffer][1]
                assert not (value == 77).any()


def _out_of_bounds(one: Case) -> str:
    """What NumPy says of a kernel that runs as Python, where it indexes an array wrongly."""
    namespace: dict[str, Any] = {"np": np, "math": math, "njit": lambda f=None, **_: f or (lambda g: g)}
    exec(one.source, namespace)
    for pattern in one.patterns:
        memory = materialize(one, pattern, contents(one, pattern, np.random.default_rng(pattern.seed)))
        try:
            with np.errstate(all="ignore"):
                namespace["kernel"](*memory.values)
        except (ValueError, OverflowError, ZeroDivisionError):
            pass  # raised by the kernel, or by `math` where Numba gives NaN
        except IndexError as error:
            if error.args[0] != "high":
                return str(error)
    return ""


def test_generated_kernels_stay_in_bounds() -> None:
    assert not [seed for seed in range(1000) if _out_of_bounds(case(Seeded(seed), 1))]


def test_an_index_out_of_bounds_is_seen() -> None:
    pattern = Pattern(3, 1, (View(0, 0, (1,)), View(1, 0, (1,))), (), 0)
    one = Case("def kernel(x, y):\n    x[x.shape[0]] = 0.0\n", VECTOR, (pattern,), aliased=True)
    assert "out of bounds" in _out_of_bounds(one)


VECTOR = Argument("x", "float64", True, ("N",)), Argument("y", "float64", True, ("N",))


@pytest.mark.parametrize(
    ("other", "crosses"),
    [(View(0, 3, (1,)), False), (View(0, 2, (1,)), True), (View(0, 2, (-1,)), True), (View(1, 0, (1,)), False)],
)
def test_overlap_is_of_extents(other: View, crosses: bool) -> None:
    pattern = Pattern(3, 1, (View(0, 0, (1,)), other), (), 0)
    assert overlapping(Case("", VECTOR, (pattern,), True), pattern) == crosses


def test_a_wrong_derivative_is_a_find_that_runs_on_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irad.emit import memory

    source = "def kernel(x, y):\n    x[0] = math.sin(y[1])\n    return x[0] * y[0]\n"
    patterns = tuple(Pattern(3, 1, (View(0, 0, (1,)), View(1, 0, (1,))), (), seed) for seed in (1, 2))
    one = Case(source, VECTOR, patterns, aliased=True)
    assert check(one).counts["run"] == 2
    monkeypatch.setattr(memory, "load_adjoint", lambda load, bar, out: None)
    finds = check(one).finds
    assert [f.split()[:3] for f in finds] == [["pattern", f"{i}:", "reverse"] for i in (0, 1)]
    again = _load(save(one, finds[1], tmp_path))
    assert again.CASE.patterns == patterns[1:]
    with pytest.raises(AssertionError, match="reverse"):
        again.replay(again.CASE)
