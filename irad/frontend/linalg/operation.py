"""How a function of NumPy becomes a whole operation around Numba's own implementation of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from irad.frontend import whole
from irad.frontend.rulebook import is_floats, overload
from irad.frontend.source import defined, unannotated
from irad.frontend.target import need

_types: Any = need("numba.core.types", "Array", "BaseTuple", "Float")


def original(name: str, typed: Callable[..., Any]) -> Any:
    """A function that our target compiles as Numba does; `typed` is what Numba overloads with."""
    signature = unannotated(inspect.signature(typed))
    stub = defined(name, signature, "raise NotImplementedError", {"__name__": __name__})
    overload(stub, typed)
    return stub


def wrapped(name: str, typed: Callable[..., Any], **rule: Any) -> Any:
    """Numba's implementation as a whole operation with this rule (see `whole.make`)."""
    signature = unannotated(inspect.signature(typed))
    names = {"__name__": __name__, "original": original(f"{name}_of_numba", typed)}
    return whole.make(defined(name, signature, f"return original({', '.join(signature.parameters)})", names), **rule)


def replace(
    function: Any,
    operation: Any,
    typed: Callable[..., Any],
    arrays: int = 1,
    element: Callable[[Any], bool] = is_floats,
) -> None:
    """Let our target compile calls of `function` as calls of `operation`, given arrays of floats.

    arrays: how many of the first arguments these are. element: what they are arrays of, where not of floats.

    typed: what Numba overloads `function` with, for all other types.
    """
    signature = unannotated(inspect.signature(typed))
    body = f"return operation({', '.join(signature.parameters)})"

    def chosen(*kinds: Any) -> Any:
        if not all(map(element, kinds[:arrays])):
            return typed(*kinds)
        if typed(*kinds) is None:
            return None
        return defined(operation.py_func.__name__, signature, body, {"__name__": __name__, "operation": operation})

    chosen.__signature__ = signature  # type: ignore[attr-defined]
    overload(function, chosen)
