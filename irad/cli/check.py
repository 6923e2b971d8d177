"""`irad check`: a kernel's derivatives against each other and against differences."""

from __future__ import annotations

import sys

import click

from irad.cli import source
from irad.errors import IradError


@click.command()
@click.argument("target", metavar="FILE.py:KERNEL")
@click.option("--args", "expression", metavar="VALUES", help='Where to check, such as "np.ones(3), 2.0".')
@click.option("--mode", type=click.Choice(["forward", "reverse", "both"]), default="both", show_default=True)
@click.option("--order", type=click.IntRange(1), default=1, show_default=True, help="2 checks the Hessian too.")
@click.option("--wrt", metavar="NAMES", help="What to differentiate: names or positions; else everything of floats.")
@click.option("--rtol", type=float, help="Relative tolerance beyond the error of the differences.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random directions.")
def check(
    target: str, expression: str | None, mode: str, order: int, wrt: str | None, rtol: float | None, seed: int
) -> None:
    """Check a kernel's derivatives at a point, and say of each argument how far they are off.

    The kernel is named as FILE.py:kernel or package.module:kernel. Without --args its module's make_args gives the
    point. The exit code is 0 when everything agrees, 1 when a derivative is wrong or refused.
    """
    module, kernel = source.load(target)
    values = source.values(module, expression)
    if values is None:
        raise click.UsageError("the module has no make_args: give the point by --args")
    names = source.parameters(kernel)
    if len(values) != len(names):
        raise click.UsageError(f"{target} takes {len(names)} arguments ({', '.join(names)}), not {len(values)}")
    where = source.positions(names, wrt, module) if wrt is not None else getattr(module, "WRT", None)
    # here, not above: `irad --help` and a misspelt target do not wait for Numba
    from irad.checking import check_grads  # noqa: PLC0415

    modes = ("forward", "reverse") if mode == "both" else (mode,)
    try:
        report = check_grads(kernel, values, modes, order, where, rtol=rtol, seed=seed)
    except AssertionError as wrong:
        click.echo(str(wrong))
        sys.exit(1)
    except IradError as error:
        click.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(1)
    click.echo(str(report))
