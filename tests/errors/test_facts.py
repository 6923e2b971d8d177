"""Facts print for the author of a kernel: with lines of Python, in program order."""

from __future__ import annotations

import inspect
import re

import numba
import numpy as np
import pytest
from numba import njit

from irad import pipeline


@njit
def flux(y):
    return np.sin(y) * y


def heat(u, c):
    s = 0.0
    for i in range(1, u.shape[0]):
        u[i] = u[i] + c * flux(u[i - 1])
        s += u[i] / c
    return s


STAGES = ("kinds", "activity", "memory", "needs", "plan")


def dump(stage: str, mode: str = "reverse") -> str:
    scalar = "active" if mode == "reverse" else "duplicated"
    return pipeline.dump(heat, (numba.float64[:], numba.float64), stage, mode, ("duplicated", scalar))


def line(text: str) -> int:
    """The line of this file that starts with `text`."""
    lines, first = inspect.getsourcelines(inspect.getmodule(heat))  # type: ignore[arg-type]
    return next(n for n, each in enumerate(lines, max(first, 1)) if each.strip().startswith(text))


@pytest.mark.parametrize("stage", STAGES)
def test_stage_names_the_kernel_and_is_the_same_every_time(stage):
    text = dump(stage)
    assert text.startswith(f"heat (test_facts.py:{line('def heat')})\n")
    assert text == dump(stage)


@pytest.mark.parametrize("stage", ["memory", "needs", "plan"])
def test_facts_come_in_program_order(stage):
    inside = (line("def flux"), line("return np.sin"))
    numbers = [int(n) for n in re.findall(r"^%\S+ \(test_facts\.py:(\d+)\)", dump(stage), re.MULTILINE)]
    own = [n for n in numbers if n not in inside]
    assert own == sorted(own) and len(own) > 0


def test_plan_names_the_line_that_overwrites_and_the_line_that_reads():
    at, inner = line("u[i] = "), line("return np.sin")
    because = f"overwritten by line {at}: u[i] = u[i] + c * flux(u[i - 1]); read for line {inner}: return np.sin(y) * y"
    assert re.search(rf"\(test_facts\.py:{at}\): save in the tape of loop \S+ \(line {line('for i')}\): ", dump("plan"))
    assert because in dump("plan")


def test_activity_groups_values_by_line():
    assert f"  line {line('s += ')}: s += u[i] / c\n      %" in dump("activity")
    assert "argument %arg.u.4 (u)\n" in dump("activity")


def test_forward_mode_has_no_plan():
    assert "reverse mode alone" in dump("plan", "forward")
