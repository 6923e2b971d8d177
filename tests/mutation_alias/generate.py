"""Kernels out of parts: source text in a file, so that Numba, irad and people can read it."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.mutation_alias.parts import ALIASING, CONTROL, EFFECTS, GROUPS, HELPER, N
from tests.oracles import MODES
from tests.oracles.memory import mirrored

_HEAD = """import math
import numpy as np
from numba import njit
from tests.mutation_alias.parts import RECORD, Held
"""


@dataclass(frozen=True)
class Row:
    """One combination of the matrix."""

    aliasing: str
    group: int
    control: str
    dtype: str
    modes: tuple[str, ...] = MODES

    def __str__(self) -> str:
        return f"{self.aliasing} / {', '.join(GROUPS[self.group])} / {self.control} / {self.dtype}"

    @property
    def source(self) -> str:
        """The module that holds the kernel."""
        how = ALIASING[self.aliasing]
        steps = [how.within, *(EFFECTS[name] for name in GROUPS[self.group]), how.after]
        body = "\n".join(_lines("\n".join(step for step in steps if step)))
        lines = ["s = 0.0", "n = idx.size", "c = z", *_lines(how.before)]
        lines += [] if "p = " in how.before else ["p = (x, y, x)"]
        lines += _placed(CONTROL[self.control], body)
        for name, factor in (("a", "b[j]"), ("x", "x[j]"), ("y", "w"), ("z", "z[j]")):
            count = "n" if name == "a" else f"{name}.size"
            lines += [f"for j in range({count}):", f"    s += {name}[j] * {factor} * (j + 1.0)"]
        lines += ["return s"]
        text = _HEAD
        if self.control in HELPER:
            inside = ["s = 0.0", *body.split("\n"), *HELPER[self.control].split("\n")]
            text += _function("part(a, b, c, p, x, y, z, w, idx, i, n)", inside)
        return text + _function(f"kernel({how.parameters}, z, w, idx, m)", lines)

    def args(self) -> tuple[Any, ...]:
        """Fresh arguments; float32 keeps what shares memory with what."""
        x, y, z = _converted(ALIASING[self.aliasing].args(), self.dtype)
        w = np.float32(0.9) if self.dtype == "float32" else 0.9
        return x, y, z, w, np.array([1, 2, 2, 0]), -3 if self.control == "zero trips" else N

    @property
    def const(self) -> tuple[int, ...]:
        return ALIASING[self.aliasing].const

    def load(self, folder: Path) -> Any:
        """Write the module into `folder` and return its kernel."""
        path = folder / f"kernel_{abs(hash(self))}.py"
        path.write_text(self.source)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        # Numba does not find a recursive function of a module that is not registered
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel


def _lines(statements: str) -> list[str]:
    """One statement a line; what follows a colon stays with it."""
    found: list[str] = []
    for line in statements.split("\n"):
        found += [line] if line.startswith("if ") else line.split("; ")
    return found


def _placed(template: str, body: str) -> list[str]:
    """The template's lines with `{body}` at its own indentation."""
    found: list[str] = []
    for line in template.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        found += textwrap.indent(body, indent).split("\n") if line.strip() == "{body}" else [line]
    return found


def _function(head: str, lines: list[str]) -> str:
    return f"\n\n@njit\ndef {head}:\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


def _converted(views: tuple[Any, ...], dtype: str) -> tuple[Any, ...]:
    return tuple(mirrored(views, np.dtype(dtype)).args)


def covering() -> Iterator[Row]:
    """Every aliasing, and every control, with every effect and every mode; a third of the rows in float32.

    Reverse mode always, forward and split in turn.
    """
    controls = list(CONTROL)
    for (i, aliasing), group in itertools.product(enumerate(ALIASING), range(len(GROUPS))):
        control = controls[(i + 3 * group) % len(controls)]
        other = ("forward", "split")[(i + group) % 2]
        yield Row(aliasing, group, control, "float32" if (i + group) % 3 == 2 else "float64", ("reverse", other))


def everything() -> Iterator[Row]:
    """The full product."""
    for parts in itertools.product(ALIASING, range(len(GROUPS)), CONTROL, ("float64", "float32")):
        yield Row(*parts)
