"""Tokens in whatever is compiled with a derivative inside, so that cached callers are not stale either.

A token stands in the constants of the compiled function, which Numba pickles with its code. Unpickling it computes the
fingerprint again and raises OSError when that has changed: Numba takes it for a cache miss.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from irad.frontend.cache import fingerprint, path_of, resolved, root, stable
from irad.frontend.target import need

_cgutils: Any = need("numba.core.cgutils", "add_global_variable", "voidptr_t")


class StaleDerivativeError(OSError):
    """Cached code contains a derivative of a kernel that has changed since."""


class Token:
    """Stands in the constants of compiled code, and refuses to be unpickled when a kernel has changed.

    module, path: where the kernel, or its derivative, is found; an empty path is found nowhere. digest: what it was.
    """

    def __init__(self, module: str, path: str, digest: str) -> None:
        self.module, self.path, self.digest = module, path, digest

    def __reduce__(self) -> tuple[object, ...]:
        return check, (self.module, self.path, self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.module, self.path, self.digest))


def check(module: str, path: str, digest: str) -> Token:
    """The token again.

    Raises
    ------
    StaleDerivativeError: what the token stands for has changed, or is not found.
    """
    try:
        found = resolved(module, path)
        fresh = fingerprint(found) == digest
    except Exception as error:
        raise StaleDerivativeError(f"{module}.{path}: {error}") from None
    if not fresh:
        raise StaleDerivativeError(f"{module}.{path} has changed")
    return Token(module, path, digest)


def leave(context: Any, value: Any) -> None:
    """Put a token for `value`, a kernel or a derivative function, into the function being compiled."""
    if context.target_name != "cpu" or context.environment is None:
        return
    module, path = _path_in(context.environment.globals, value) or path_of(root(value))
    found = resolved(module, path) if path else value
    token = Token(module, path, fingerprint(found))
    if token not in context.environment.consts:
        context.environment.consts.append(token)


def _path_in(names: dict[str, Any], value: Any) -> tuple[str, str] | None:
    """How a module's code refers to `value`: by a global, or as an attribute of a module."""
    module = names.get("__name__")
    if module not in sys.modules or vars(sys.modules[module]) is not names:
        return None
    for name, found in list(names.items()):
        if found is value:
            return module, name
    for name, found in list(names.items()):
        if isinstance(found, types.ModuleType) and not stable(found.__name__):
            for inner, other in list(vars(found).items()):
                if other is value:
                    return module, f"{name}.{inner}"
    return None


def forbid_caching(builder: Any) -> None:
    """Make Numba not cache the code being generated: it contains addresses of this process."""
    name = "numba.dynamic.globals.irad"
    if name not in builder.module.globals:
        marker = _cgutils.add_global_variable(builder.module, _cgutils.voidptr_t, name)
        # weak, so that it stays although nothing reads it
        marker.linkage, marker.initializer = "weak", _cgutils.voidptr_t(None)
