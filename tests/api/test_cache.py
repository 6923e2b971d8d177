"""Native code on disk: found again by new processes, and never when anything that it depends on has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import irad
from irad.frontend.cache import fingerprint

ROOT = Path(__file__).parents[2]

FILES = {
    "constants.py": "SCALE = 2.0\n",
    "helper.py": """
import constants
from numba import njit

@njit
def scaled(a):
    return a * 11.0 * constants.SCALE
""",
    "model.py": """
import irad, helper
from numba import njit

@njit
def kernel(x, w=2.0):
    return helper.scaled(x[0]) * w

@njit
def other(x, w=2.0):
    return x[0] * 5.0

cached = irad.grad(kernel, cache=True)
derivative = irad.grad(kernel)
""",
    "main.py": """
import numpy as np, irad, model
from numba import njit
from irad.frontend import calls

@njit(cache=True)
def direct(x):
    return model.derivative(x, 1.0)[0]

@njit(cache=True)
def outer(x):
    return direct(x) + 1.0

@njit(cache=True)
def call_form(x):
    return irad.value_and_grad(model.kernel)(x, 1.0)[1][0]

@njit("float64(float64[::1])", cache=True)
def eager(x):
    return irad.hvp(model.kernel)(x, 1.0, x)[0] + model.derivative(x, 1.0)[0]

x = np.ones(2)
print(model.cached(x)[0], direct(x), outer(x), call_form(x), eager(x))
print(len(calls._memo))
""",
}


class Project:
    """Files in a directory, run by new processes."""

    def __init__(self, root: Path, files: dict[str, str]) -> None:
        self.root = root
        for name, text in files.items():
            (root / name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert old in text
        (self.root / name).write_text(text.replace(old, new))

    def run(self, **environment: str) -> tuple[list[float], int]:
        """The printed numbers, and how many derivatives had to be made."""
        variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        command = [sys.executable, "main.py"]
        done = subprocess.run(command, cwd=self.root, env=variables, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        numbers, made = done.stdout.splitlines()
        return [float(number) for number in numbers.split()], int(made)


def test_cache_is_hit_and_misses_after_edits(tmp_path: Path) -> None:
    project = Project(tmp_path, FILES)
    assert project.run() == ([44.0, 22.0, 23.0, 22.0, 22.0], 3)
    assert project.run() == ([44.0, 22.0, 23.0, 22.0, 22.0], 0)
    project.edit("helper.py", "11.0", "13.0")
    assert project.run() == ([52.0, 26.0, 27.0, 26.0, 26.0], 3)
    project.edit("constants.py", "2.0", "3.0")
    assert project.run()[0] == [78.0, 39.0, 40.0, 39.0, 39.0]
    assert project.run() == ([78.0, 39.0, 40.0, 39.0, 39.0], 0)
    project.edit("model.py", "derivative = irad.grad(kernel)", "derivative = irad.grad(other)")
    assert project.run()[0] == [78.0, 5.0, 6.0, 39.0, 5.0]
    project.edit("model.py", "    return helper", "    w *= 2.0\n    return helper")
    assert project.run()[0] == [156.0, 5.0, 6.0, 78.0, 5.0]


LARGE = {
    "main.py": """
import numpy as np, irad
from numba import njit
from irad.frontend import calls

TABLE = np.arange(300_000.0)

@njit
def kernel(x, i):
    return x * x * TABLE[i]

derivative = irad.grad(kernel)

@njit(cache=True)
def caller(x):
    return derivative(x, 1000)

print(irad.grad(kernel, cache=True)(2.0, 1000), caller(2.0))
print(len(calls._memo))
"""
}


def test_code_with_addresses_of_this_process_is_not_kept(tmp_path: Path) -> None:
    project = Project(tmp_path, LARGE)
    assert project.run() == project.run() == ([4000.0, 4000.0], 1)


def scale(factor: object) -> object:
    def kernel(x):
        return x * factor

    return kernel


TABLE = np.arange(3.0)


def reads_table(x):
    return x * TABLE[1]


def test_fingerprint_tells_closures_options_and_arrays_apart() -> None:
    seen = [fingerprint(scale(2.0)), fingerprint(scale(3.0)), fingerprint(scale(3)), fingerprint(scale(np.ones(2)))]
    seen += [fingerprint(njit(scale(2.0))), fingerprint(njit(fastmath=True)(scale(2.0)))]
    seen += [fingerprint(irad.grad(njit(scale(2.0)), (0,))), fingerprint(irad.grad(irad.grad(njit(scale(2.0)))))]
    seen.append(fingerprint(reads_table))
    TABLE[1] += 1
    seen.append(fingerprint(reads_table))
    assert len(set(seen)) == len(seen)
    assert fingerprint(scale(2.0)) == seen[0]
    assert fingerprint(scale(threading.Lock())) != fingerprint(scale(threading.Lock()))


def test_kernel_without_a_file_is_not_cached() -> None:
    names: dict[str, object] = {"__name__": "nowhere"}
    exec("def kernel(x):\n    return x * x\n", names)
    with pytest.raises(irad.BadArgumentValue, match="put the kernel into a file"):
        irad.grad(names["kernel"], cache=True)(1.0)
