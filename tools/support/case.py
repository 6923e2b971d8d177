"""A row of the support page: a small kernel and what it is called with."""

from __future__ import annotations

import inspect
import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np

from irad.checking.copies import floats


@dataclass(frozen=True)
class Case:
    """One row.

    name: the row's title. kernel: a plain Python function. args: what it is called with, float64 mostly.
    constant: names of parameters that are not differentiated though they hold floats. options: of `numba.njit`.
    """

    name: str
    kernel: Callable[..., Any]
    args: tuple[Any, ...]
    constant: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def compiled(self) -> Any:
        return numba.njit(**dict(self.options))(self.kernel)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Parameters to differentiate: those that hold floats and are not constant."""
        names = inspect.signature(self.kernel).parameters
        able = (name for name, arg in zip(names, self.args, strict=True) if len(floats(arg)))
        return tuple(name for name in able if name not in self.constant)

    @property
    def file(self) -> str:
        return self.kernel.__code__.co_filename


@dataclass(frozen=True)
class Group:
    """A section of the page: `word` names it on the command line, `title` heads it."""

    word: str
    title: str
    cases: tuple[Case, ...]


def row(
    name: str,
    kernel: str | Callable[..., Any],
    /,
    *,
    constant: str = "",
    options: dict[str, Any] | None = None,
    **args: Any,
) -> Case:
    """A case whose kernel is a function, or an expression over the names in `args`.

    constant: names, separated by blanks.
    """
    function = _of_expression(name, kernel, tuple(args)) if isinstance(kernel, str) else kernel
    assert tuple(inspect.signature(function).parameters) == tuple(args), name
    return Case(name, function, tuple(args.values()), tuple(constant.split()), tuple((options or {}).items()))


def _of_expression(name: str, expression: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
    """A function that returns the expression. Numba, and irad's messages, find its text through linecache."""
    text = f"def kernel({', '.join(parameters)}):\n    return {expression}\n"
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace: dict[str, Any] = {"np": np, "math": math}
    exec(compile(text, file, "exec"), namespace)
    return namespace["kernel"]
