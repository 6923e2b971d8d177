"""Find the kernel that a command names, and the arguments that it is to be compiled for."""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import click
import numpy as np

Kernel = Callable[..., Any]


def load(target: str) -> tuple[ModuleType, Kernel]:
    """The module and the kernel of `FILE.py:kernel` or `package.module:kernel`.

    Raises
    ------
    click.UsageError: there is no such file, module or function.
    click.ClickException: the module fails while it is imported.
    """
    where, colon, name = target.rpartition(":")
    if not colon or not where or not name:
        raise click.UsageError(f"{target!r} is not of the form FILE.py:kernel or package.module:kernel")
    module = _import(where)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise click.UsageError(f"{where} has no function {name!r}{_offer(module)}")
    return module, cast(Kernel, found)


def parameters(kernel: Kernel) -> tuple[str, ...]:
    """The parameter names of a plain or a compiled function."""
    code = getattr(kernel, "py_func", kernel).__code__
    return tuple(code.co_varnames[: code.co_argcount])


def values(module: ModuleType, expression: str | None) -> tuple[Any, ...] | None:
    """The example arguments that `expression` gives, or the module's own `make_args`; None when there are neither.

    Names in the expression are those of the module, and `np`, `numpy` and `math`.

    Raises
    ------
    click.UsageError: the expression cannot be evaluated.
    """
    if expression is not None:
        names = {"np": np, "numpy": np, "math": math} | vars(module)
        try:
            return tuple(eval(f"({expression.strip().rstrip(',')},)", names))
        except Exception as error:
            raise click.UsageError(f"--args {expression!r}: {type(error).__name__}: {error}") from None
    if not hasattr(module, "make_args"):
        return None
    sizes = getattr(module, "SIZES", {})
    return tuple(module.make_args("tiny" if "tiny" in sizes else next(iter(sizes), "tiny"), 0))


def positions(names: Sequence[str], wrt: str | None, module: ModuleType) -> tuple[int, ...] | None:
    """Positions of the arguments to differentiate: from `--wrt`, else the module's WRT and OUTPUTS, else None.

    Raises
    ------
    click.UsageError: no parameter has that name or position.
    """
    if wrt is None:
        return (*module.WRT, *getattr(module, "OUTPUTS", ())) if hasattr(module, "WRT") else None
    return tuple(_position(word.strip(), names) for word in wrt.split(","))


def _position(word: str, names: Sequence[str]) -> int:
    if word in names:
        return names.index(word)
    if word.isdecimal() and int(word) < len(names):
        return int(word)
    raise click.UsageError(f"--wrt {word!r} is no parameter: choose from {', '.join(names)}")


def _import(where: str) -> ModuleType:
    try:
        return _import_file(Path(where)) if where.endswith(".py") else _import_module(where)
    except click.ClickException:
        raise
    except Exception as error:
        raise click.ClickException(f"{where} cannot be imported: {type(error).__name__}: {error}") from error


def _import_module(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise click.UsageError(f"there is no module {name!r}") from None
        raise


def _import_file(path: Path) -> ModuleType:
    """A file inside a package is imported as its module, so that its relative imports work."""
    if not path.is_file():
        raise click.UsageError(f"there is no file {str(path)!r}")
    root, parts = path.resolve().parent, [path.stem]
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    sys.path.insert(0, str(root))
    if len(parts) > 1:
        return importlib.import_module(".".join(parts))
    # under a name of its own: a script may be called like a module that is loaded already
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_of_irad_dump"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _offer(module: ModuleType) -> str:
    compiled = [name for name, value in vars(module).items() if hasattr(value, "py_func") and not name.startswith("_")]
    return f": choose from {', '.join(compiled)}" if compiled else ""
