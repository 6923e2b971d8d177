"""Argument types from text or from example values, and which of them can carry a derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
from numba import types

from irad.errors import BadArgumentType
from irad.frontend.abi import leaves
from irad.frontend.boxes import opened


def parse(text: str) -> tuple[Any, ...]:
    """The Numba types that `text` lists, such as "float64[:], float64".

    Raises
    ------
    BadArgumentType: `text` is no list of Numba types.
    """
    try:
        found = eval(f"({text.strip().rstrip(',')},)", {"__builtins__": {}}, vars(types))
    except Exception as error:
        raise BadArgumentType(f"{text!r} is no list of Numba types: {error}", hint=_EXAMPLE) from None
    if not all(isinstance(type, types.Type) for type in found):
        raise BadArgumentType(f"{text!r} is no list of Numba types", hint=_EXAMPLE)
    return tuple(found)


_EXAMPLE = 'write for example "float64[:], float64"'


def of(values: Sequence[Any]) -> tuple[Any, ...]:
    """The Numba type of each value.

    Raises
    ------
    BadArgumentType: Numba knows no type for a value.
    """
    found: list[Any] = []
    for i, value in enumerate(values):
        try:
            found.append(numba.typeof(value))
        except ValueError:
            raise BadArgumentType(f"argument {i} is a {type(value).__name__}: Numba has no type for it") from None
    return tuple(found)


def activities(
    argtypes: Sequence[Any], wanted: Sequence[int] | None, mode: str, names: Sequence[str]
) -> tuple[str, ...]:
    """ "const", "active" or "duplicated" for each argument; `wanted` None means everything made of floats.

    Raises
    ------
    BadArgumentType: a wanted argument holds no floats.
    """
    able = [_activity(type, mode) for type in argtypes]
    for i in wanted or ():
        if able[i] == "const":
            raise BadArgumentType(
                f"argument {names[i]} is {argtypes[i]}: it has no derivative",
                hint="differentiate with respect to floats",
            )
    return tuple(word if wanted is None or i in wanted else "const" for i, word in enumerate(able))


def _activity(kind: Any, mode: str) -> str:
    flat = leaves(opened(kind))
    if any(leaf.floats for leaf in flat):
        return "duplicated"
    if not any(leaf.role == "float" for leaf in flat):
        return "const"
    return "duplicated" if mode == "forward" else "active"
