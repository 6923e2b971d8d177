"""Derivatives compiled once a signature, and the code that calls their entry points."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from irad.errors import IradError, Unsupported
from irad.frontend import target, tokens
from irad.frontend.abi import result_type
from irad.frontend.lower import place_of
from irad.frontend.shadows import Code
from irad.frontend.target import need
from irad.rules.calls import RESIZED

_cgutils: Any = need("numba.core.cgutils", "get_or_insert_function", "alloca_once", "if_unlikely", "voidptr_t")
_callconv: Any = need("numba.core.callconv", "CPUCallConv._get_return_status", "excinfo_ptr_t")
_ir: Any = need("llvmlite.ir", "FunctionType", "IntType", "PointerType")

_STATUS = _ir.IntType(32)


class Derivative(Protocol):
    """What the pipeline makes of a request.

    abstract: LLVM text for callers that are differentiated in turn. concrete: optimised text for Numba's cpu target.
    entries: role ("forward", "reverse", "augmented", "pullback", "release") to symbol. signature: of the primal.
    """

    @property
    def abstract(self) -> str: ...
    @property
    def concrete(self) -> str: ...
    @property
    def entries(self) -> dict[str, str]: ...
    @property
    def signature(self) -> Any: ...


@dataclass(frozen=True)
class Query:
    """Which derivative: the fields of the pipeline's request."""

    dispatcher: Any
    argtypes: tuple[Any, ...]
    mode: str
    activity: tuple[str, ...]
    aliased: bool = False
    strict: bool = False
    value: bool = True
    fresh: tuple[int, ...] = ()


class Compiled:
    """A derivative with the libraries that callers link; they are kept alive with it."""

    def __init__(self, query: Query, derivative: Derivative) -> None:
        self.query, self.derivative = query, derivative
        self._libraries: dict[bool, Any] = {}

    @property
    def result(self) -> Any:
        """The Numba type of what the kernel returns; not None, see `may_be_none`."""
        return result_type(self.derivative.signature.return_type)

    @property
    def may_be_none(self) -> bool:
        """Whether the kernel may return either a value or None."""
        return self.result is not self.derivative.signature.return_type

    @property
    def duplicated(self) -> tuple[int, ...]:
        """Positions of the arguments that take shadows (in forward mode: tangents)."""
        return tuple(i for i, how in enumerate(self.query.activity) if how in ("duplicated", "shadowed"))

    @property
    def active(self) -> tuple[int, ...]:
        """Positions of the arguments whose floats have adjoints (in forward mode: tangents)."""
        return tuple(i for i, how in enumerate(self.query.activity) if how in ("active", "duplicated"))

    @property
    def has_addresses(self) -> bool:
        """Whether the code holds addresses of this process: of large global arrays, of ctypes functions."""
        return re.search(r"inttoptr \(?i64 \d{5,} to ptr", self.derivative.concrete) is not None

    @property
    def resizes(self) -> bool:
        """Whether the kernel may change the length or the keys of a container that it is given."""
        return f"@{RESIZED}(" in self.derivative.concrete

    def library(self, *, raw: bool) -> Any:
        """The code library to link into a caller; `raw` for a caller that is lowered to be differentiated.

        Raises
        ------
        IradError: the pipeline refuses late.
        """
        with target.lock:
            if raw not in self._libraries:
                self._libraries[raw] = _attempted(lambda: self._linked(raw))
            return _or_raise(self._libraries[raw])

    def _linked(self, raw: bool) -> Any:
        if raw and f"@{RESIZED}(" in self.derivative.abstract:
            raise Unsupported(
                f"{self.query.dispatcher.py_func.__name__} changes, or may change, the length or the keys of a "
                "container that it is given; that is differentiated once, not twice",
                hint="let the kernel change a copy of it",
                place=place_of(self.query.dispatcher),
            )
        text = self.derivative.abstract if raw else self.derivative.concrete
        return target.link(text, f"irad.{self.query.mode}", raw=raw)


_derive: Callable[[Query], Derivative] | None = None
_memo: dict[Query, Compiled | IradError] = {}


def use(derive: Callable[[Query], Derivative]) -> None:
    """Derivatives come from `derive` from now on. Called once, by `irad.api`; and by tests."""
    global _derive  # noqa: PLW0603
    _derive = derive
    _memo.clear()


def compiled(query: Query, *, raw: bool) -> Compiled:
    """The derivative that `query` asks for, made on first use. What failed once fails again at once.

    raw: as in `Compiled.library`, which is made too.

    Raises
    ------
    IradError: whatever the pipeline refuses.
    """
    assert _derive is not None
    derive = _derive
    with target.lock:
        if query not in _memo:
            _memo[query] = _attempted(lambda: Compiled(query, derive(query)))
        found = _or_raise(_memo[query])
        found.library(raw=raw)
    return found


def _attempted(make: Callable[[], Any]) -> Any:
    """What `make` makes, or its error."""
    try:
        return make()
    except IradError as error:
        return error.with_traceback(None)


def _or_raise(found: Any) -> Any:
    if isinstance(found, IradError):
        raise copy.copy(found)
    return found


# --- calling --------------------------------------------------------------------------------------------------------


class Outcome:
    """Memory for what an entry point tells its caller: its status and the exception behind it."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.status = _cgutils.alloca_once(code.builder, _STATUS)
        self.excinfo = _cgutils.alloca_once(code.builder, _callconv.excinfo_ptr_t)

    def set(self, status: Any) -> None:
        self.code.builder.store(status, self.status)

    def equals(self, status: int) -> Any:
        builder = self.code.builder
        return builder.icmp_signed("==", builder.load(self.status), _STATUS(status))

    def propagate(self) -> None:
        """Return to the caller's caller when the status is an exception."""
        code, convention = self.code, self.code.context.call_conv
        loaded = code.builder.load(self.status), code.builder.load(self.excinfo)
        status = convention._get_return_status(code.builder, *loaded)
        with _cgutils.if_unlikely(code.builder, status.is_error):
            code.drop()
            convention.return_status_propagate(code.builder, status)


def call(code: Code, version: Compiled, role: str, arguments: Sequence[Any]) -> Any:
    """Call an entry point, linking its library. Returns its LLVM result; all pointers are passed as `ptr`."""
    raw = code.context.target_name == target.NAME
    code.context.active_code_library.add_linking_library(version.library(raw=raw))
    if not raw and version.has_addresses:
        tokens.forbid_caching(code.builder)
    flat = [_untyped(code, value) for value in arguments]
    result = _ir.VoidType() if role == "release" else _STATUS
    kind = _ir.FunctionType(result, [value.type for value in flat])
    entry = _cgutils.get_or_insert_function(code.builder.module, kind, version.derivative.entries[role])
    return code.builder.call(entry, flat)


def flattened(code: Code, kinds: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Arguments as Numba passes them."""
    return list(code.context.get_arg_packer(kinds).as_arguments(code.builder, values))


def _untyped(code: Code, value: Any) -> Any:
    return code.builder.bitcast(value, _cgutils.voidptr_t) if isinstance(value.type, _ir.PointerType) else value
