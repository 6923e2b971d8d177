"""The command `irad`: what the pipeline makes of a kernel, stage by stage, and whether it is right."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

import click

from irad.__about__ import __version__
from irad.cli.check import check
from irad.cli.dump import dump
from irad.errors import IradError


def versions() -> str:
    """The versions that decide what code irad makes: its own, and those of Numba, llvmlite and LLVM."""
    return "\n".join(
        [f"irad {__version__}", *(f"{name} {_installed(name)}" for name in ("numba", "llvmlite")), *_llvm()]
    )


def _installed(package: str) -> str:
    try:
        return installed(package)
    except PackageNotFoundError:
        return "not found"


def _llvm() -> list[str]:
    # here, not above: on an untested LLVM this import is refused, and the versions are what its user must see
    try:
        from irad import llvm  # noqa: PLC0415
        from irad.emit import vectors  # noqa: PLC0415
    except IradError as refusal:
        return [f"LLVM refused: {refusal}"]
    found = llvm.vector_symbols(vectors.candidates())
    said = f"libmvec, {len(found)} functions" if found else "none: no libmvec.so.1, loops call libm number by number"
    return [f"LLVM {'.'.join(map(str, llvm.VERSION))}", f"vector mathematics {said}"]


def _print_versions(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(versions())
        context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_versions,
    help="Print the versions of irad, numba, llvmlite and LLVM.",
)
def main() -> None:
    """Derivatives of Numba kernels: look at how they are made, and check them."""


main.add_command(check)
main.add_command(dump)
