"""The Numba and LLVM versions that irad is tested with. Others are refused: an untested one can be silently wrong."""

from __future__ import annotations

from irad.errors import InvalidIR

TESTED_NUMBA = ("0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
TESTED_LLVM = (20, 22)


def check_numba(version: str) -> None:
    """Refuse a Numba outside the tested minor versions.

    Raises
    ------
    InvalidIR: naming the tested versions.
    """
    if ".".join(version.split(".")[:2]) not in TESTED_NUMBA:
        raise InvalidIR(
            f"irad is not tested with numba {version}",
            hint=f"install numba {TESTED_NUMBA[0]} to {TESTED_NUMBA[-1]}",
        )


def check_llvm(version: tuple[int, ...]) -> None:
    """Refuse an LLVM whose text and passes irad was not tested with.

    Raises
    ------
    InvalidIR: naming the tested versions.
    """
    if version[0] not in TESTED_LLVM:
        raise InvalidIR(
            f"irad is not tested with LLVM {'.'.join(map(str, version))}",
            hint=f"tested are LLVM {' and '.join(map(str, TESTED_LLVM))}, that is, "
            f"numba {TESTED_NUMBA[0]} to {TESTED_NUMBA[-1]} with the llvmlite they ask for",
        )
