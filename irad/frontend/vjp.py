"""Pullbacks as Python objects."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from irad.errors import BadArgumentType
from irad.frontend import arguments, functions
from irad.frontend.arguments import Kernel
from irad.frontend.callable import DerivativeFunction, kernel_of
from irad.frontend.frame import AliasedArguments
from irad.frontend.target import need

_numba: Any = need("numba", "typeof")


def differentiated(kernel: Kernel, kinds: tuple[Any, ...]) -> tuple[int, ...]:
    """The positions of arguments that hold floats, complex numbers, or arrays of these.

    Raises
    ------
    BadArgumentType: a wrong number of arguments, or none that can be differentiated.
    """
    name, count = kernel.name, len(kernel.names)
    if len(kinds) != count:
        raise BadArgumentType(f"vjp: {name} takes {count} arguments, not {len(kinds)}", place=kernel.place)
    wrt = tuple(i for i, kind in enumerate(kinds) if arguments.has_derivative(kind))
    if not wrt:
        raise BadArgumentType(f"vjp: no argument of {name} is a float or an array of floats", place=kernel.place)
    return wrt


class Pullback:
    """Pulls cotangents of a result back to the arguments. Holds the tape until it is garbage."""

    def __init__(self, kernel: Kernel, state: Any, pull: Callable[..., Any], free: Any) -> None:
        self._kernel, self._state, self._pull = kernel, state, pull
        weakref.finalize(self, free, state).atexit = False

    @classmethod
    def start(cls, f: Any, primals: tuple[Any, ...]) -> tuple[Any, Pullback]:
        """Run the augmented function: the result, and the pullback of it."""
        kernel = kernel_of(f)
        kinds = tuple(_numba_type(kernel, primal) for primal in primals)
        wrt = differentiated(kernel, kinds)
        ahead, pull, free = _functions(f, wrt, kinds)
        variant = "fast"
        try:
            result, state = ahead.run("fast", *primals)
        except AliasedArguments:
            variant = "careful"
            result, state = ahead.run("careful", *primals)
        release = free.dispatcher(variant)
        # now: the collector must not start a compilation
        release.compile((_numba.typeof(state),))
        return result, cls(kernel, state, functools.partial(pull.run, variant), release)

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """The cotangent of each argument, None for those without.

        Raises
        ------
        BadArgumentType, BadArgumentValue: `cotangent` has not the structure or shape of the result.
        """
        return self._pull(self._state, cotangent)

    def __repr__(self) -> str:
        return f"<pullback of {self._kernel.name}>"


def _functions(f: Any, wrt: tuple[int, ...], kinds: tuple[Any, ...]) -> tuple[DerivativeFunction, ...]:
    ahead = functions.augmented(f, wrt, protect=True)
    return ahead, functions.pullback(f, wrt, kinds), functions.release(f, wrt, kinds)


def _numba_type(kernel: Kernel, value: Any) -> Any:
    try:
        return _numba.typeof(value)
    except ValueError:
        raise BadArgumentType(f"vjp of {kernel.name}: {value!r} has no Numba type", place=kernel.place) from None
