"""The words of `irad.autodiff`: two modes, and the ways for an argument to take part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from irad.errors import BadArgumentType
from irad.frontend import functions
from irad.frontend.callable import DerivativeFunction, kernel_of
from irad.frontend.target import need

_types: Any = need("numba.core.types", "Opaque")
_imputils: Any = need("numba.core.imputils", "lower_constant")
_models: Any = need("numba.core.datamodel.models", "OpaqueModel")
_datamodel: Any = need("numba.core.datamodel", "register_default")


class Const(NamedTuple):
    """An argument of `autodiff` that carries no derivative."""

    value: Any


class Active(NamedTuple):
    """A float argument of `autodiff` in reverse mode, whose adjoint is returned."""

    value: Any


class Duplicated(NamedTuple):
    """An argument of `autodiff` with its shadow: an array with its adjoint, or anything with its tangent."""

    value: Any
    shadow: Any


class Filled(NamedTuple):
    """An array argument of `autodiff` in reverse mode with its shadow, into which the adjoint is written, whatever it
    held: as `Duplicated` of a shadow of zeros, and faster. It is undefined where the kernel raises."""

    value: Any
    shadow: Any


ANNOTATIONS = (Const, Active, Duplicated, Filled)
WITH_SHADOW = (Duplicated, Filled)


class ModeType(_types.Opaque):
    """Numba's type of a mode; each mode has its own."""


class Mode:
    """Forward or reverse: `irad.Forward`, `irad.Reverse`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.type: Any = ModeType(f"irad.{name}")

    @property
    def _numba_type_(self) -> Any:
        return self.type

    def __repr__(self) -> str:
        return f"irad.{self.name}"

    def __reduce__(self) -> str:
        return self.name


Forward = Mode("Forward")
Reverse = Mode("Reverse")


def annotated(forward: bool, f: Any, words: Sequence[type | None]) -> DerivativeFunction:
    """The function behind an `autodiff` call, by the annotation of each argument (None: it has none).

    It takes the arguments' values, the shadows of the duplicated ones and, in reverse mode, the seed.

    Raises
    ------
    BadArgumentType: an argument without annotation, a wrong number of them, or one that the mode does not have.
    """
    kernel = kernel_of(f)
    if len(words) != len(kernel.names):
        raise BadArgumentType(
            f"autodiff: {kernel.name} takes {len(kernel.names)} arguments, not {len(words)}", place=kernel.place
        )
    for name, word in zip(kernel.names, words, strict=True):
        if word is None:
            hint = "write irad.Const(x), irad.Active(x), irad.Duplicated(x, shadow) or irad.Filled(x, shadow)"
            raise BadArgumentType(f"autodiff: {name} has no annotation", hint=hint, place=kernel.place)
        if forward and word in (Active, Filled):
            hint, what = "write irad.Duplicated(x, x_dot)", word.__name__
            raise BadArgumentType(f"autodiff: {name} cannot be {what} in forward mode", hint=hint, place=kernel.place)
    wrt = tuple(i for i, word in enumerate(words) if word is not Const)
    if forward:
        return functions.tangent(f, wrt, given=True)
    shadowed, filled = (tuple(i for i, word in enumerate(words) if word in those) for those in (WITH_SHADOW, (Filled,)))
    return functions.adjoint(f, wrt, shadowed, filled)


def is_forward(mode: Any) -> bool:
    """Whether a mode, or the Numba type of one, is forward.

    Raises
    ------
    BadArgumentType: it is neither forward nor reverse.
    """
    found = mode.type if isinstance(mode, Mode) else mode
    if found not in (Forward.type, Reverse.type):
        raise BadArgumentType(f"the mode is irad.Forward or irad.Reverse, not {mode!r}")
    return found == Forward.type


@_datamodel.register_default(ModeType)
class _Model(_models.OpaqueModel): ...


@_imputils.lower_constant(ModeType)
def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_dummy_value()
