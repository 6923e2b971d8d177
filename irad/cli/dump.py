"""`irad dump`: one stage of the pipeline for one kernel, as text."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from irad.cli import source
from irad.errors import IradError

STAGES = (
    "lowered",
    "normalized",
    "kinds",
    "activity",
    "memory",
    "needs",
    "plan",
    "emitted",
    "optimized",
    "asm",
)


@click.command()
@click.argument("target", metavar="FILE.py:KERNEL")
@click.option("--sig", metavar="TYPES", help='Argument types, such as "float64[:], float64".')
@click.option("--args", "expression", metavar="VALUES", help='Example arguments, such as "np.ones(3), 2.0".')
@click.option("--mode", type=click.Choice(["forward", "reverse"]), default="reverse", show_default=True)
@click.option("--stage", type=click.Choice(STAGES), default="emitted", show_default=True)
@click.option("--wrt", metavar="NAMES", help="What to differentiate: names or positions; else everything of floats.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file.")
def dump(
    target: str,
    sig: str | None,
    expression: str | None,
    mode: str,
    stage: str,
    wrt: str | None,
    output: Path | None,
) -> None:
    """Print one stage of a kernel's way to its derivative.

    The kernel is named as FILE.py:kernel or package.module:kernel. Without --sig and --args its module's make_args
    gives the argument types.
    """
    if sig is not None and expression is not None:
        raise click.UsageError("give --sig or --args, not both")
    try:
        text = _text(target, sig, expression, mode, stage, wrt)
    except IradError as error:
        click.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(1)
    if output is not None:
        output.write_text(text)
    else:
        click.echo(coloured(text) if _wants_colour() else text, nl=False)


def _text(target: str, sig: str | None, expression: str | None, mode: str, stage: str, wrt: str | None) -> str:
    # here, not above: `irad --help` and a misspelt target do not wait for Numba
    module, kernel = source.load(target)
    from irad.frontend import signature  # noqa: PLC0415

    argtypes = signature.parse(sig) if sig is not None else _types(module, expression)
    names = source.parameters(kernel)
    if len(argtypes) != len(names):
        raise click.UsageError(f"{target} takes {len(names)} arguments ({', '.join(names)}), not {len(argtypes)}")
    activity = signature.activities(argtypes, source.positions(names, wrt, module), mode, names)
    from irad import pipeline  # noqa: PLC0415

    text = pipeline.dump(kernel, argtypes, stage, mode, activity)
    return text if text.endswith("\n") else f"{text}\n"


def _types(module: Any, expression: str | None) -> tuple[Any, ...]:
    from irad.frontend import signature  # noqa: PLC0415

    values = source.values(module, expression)
    if values is None:
        raise click.UsageError("the module has no make_args: give the argument types by --sig or --args")
    return signature.of(values)


# --- colour ---

_TOKEN = re.compile(
    r"(?P<note>(?:;|//|^\s*#).*$)|(?P<string>\"[^\"\n]*\")|(?P<local>%[\w.$-]+)|(?P<symbol>@[\w.$-]+)", re.MULTILINE
)
_STYLE: dict[str, dict[str, Any]] = {
    "note": {"dim": True},
    "string": {"fg": "green"},
    "local": {"fg": "cyan"},
    "symbol": {"fg": "yellow"},
}


def coloured(text: str) -> str:
    """`text` with terminal colours for what LLVM, assembly and facts have in common: notes, values, functions."""
    return _TOKEN.sub(lambda found: click.style(found[0], **_STYLE[found.lastgroup or "note"]), text)


def _wants_colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
