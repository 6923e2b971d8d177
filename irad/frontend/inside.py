"""The public functions inside njit code, where they are resolved while Numba types the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irad.errors import BadArgumentType
from irad.frontend import annotations, functions, target
from irad.frontend.annotations import ANNOTATIONS, WITH_SHADOW
from irad.frontend.arguments import plain
from irad.frontend.callable import DerivativeFunction, kernel_of
from irad.frontend.pulled import bind
from irad.frontend.target import need
from irad.frontend.vjp import differentiated

_types: Any = need(
    "numba.core.types", "Dispatcher", "Literal", "Omitted", "BaseTuple", "BaseNamedTuple", "StarArgTuple", "none"
)
_extending: Any = need("numba.extending", "overload")


def register(makers: Sequence[Callable[..., Any]], jvp: Any, vjp: Any, autodiff: Any) -> None:
    """Make the public functions known to Numba. `makers`: those that turn a kernel into a derivative function."""
    for maker in makers:
        _make_overload(maker)
    for function, typed in ((jvp, typed_jvp), (vjp, typed_vjp), (autodiff, _autodiff_overload())):
        # inlined, the kernel's address is gone, which a caller with cache=True could not keep
        _extending.overload(function, jit_options={"forceinline": True})(typed)


def _make_overload(maker: Callable[..., Any]) -> None:
    options = [name for name in ("cache", "strict", "holomorphic") if name in (maker.__kwdefaults__ or {})]
    text = f"def impl(f, argnums=0, {', '.join(f'{name}=False' for name in options)}):\n    return made\n"

    def typed(f: Any, argnums: Any, *flags: Any) -> Any:
        given = {name: constant(maker.__name__, name, flag) for name, flag in zip(options, flags, strict=True)}
        made = maker(kernel_behind(maker.__name__, f), constant(maker.__name__, "argnums", argnums), **given)
        return _defined(text, made=made)

    parameters = ", ".join(f"{name}=False" for name in options)
    source = f"def overloaded(f, argnums=0, {parameters}):\n    return typed(f, argnums, {', '.join(options)})\n"
    _extending.overload(maker, prefer_literal=True)(_defined(source, "overloaded", typed=typed))


def _defined(text: str, name: str = "impl", **names: Any) -> Any:
    namespace: dict[str, Any] = {"__name__": __name__, **names}
    exec(text, namespace)
    return namespace[name]


def kernel_behind(function: str, kind: Any) -> Any:
    """The kernel that a Numba type stands for.

    Raises
    ------
    BadArgumentType: it is no function that Numba knows at compile time.
    """
    if not isinstance(kind, _types.Dispatcher):
        raise BadArgumentType(f"{function} in njit code takes a function that is global or in a closure, not {kind}")
    return target.original(kind.dispatcher)


def constant(function: str, name: str, kind: Any) -> Any:
    """The value of an argument that must be known at compile time.

    Raises
    ------
    BadArgumentType: it is not.
    """
    match kind:
        case _types.Omitted():
            return kind.value
        case _types.Literal():
            return kind.literal_value
        case _types.BaseTuple():
            return tuple(constant(function, name, inner) for inner in kind.types)
        case bool() | int() | str() | tuple():
            return kind
        case _:
            raise BadArgumentType(f"{name} of {function} in njit code has to be a constant, not {kind}")


def typed_jvp(f: Any, primals: Any, tangents: Any) -> Any:
    """The implementation of `irad.jvp` for arguments of these Numba types."""
    kernel = kernel_behind("jvp", f)
    lengths = [len(kind.types) if isinstance(kind, _types.BaseTuple) else None for kind in (primals, tangents)]
    if lengths[0] is None or lengths[0] != lengths[1]:
        raise BadArgumentType("jvp takes a tuple of primals and a tuple of tangents of the same length")
    wrt = tuple(i for i, kind in enumerate(tangents.types) if kind != _types.none)
    given = [f"primals[{i}]" for i in range(len(primals.types))] + [f"tangents[{i}]" for i in wrt]
    text = f"def impl(f, primals, tangents):\n    return call({', '.join(given)})\n"
    return _defined(text, call=functions.tangent(kernel, wrt, given=False))


def typed_vjp(f: Any, *primals: Any) -> Any:
    """The implementation of `irad.vjp` for arguments of these Numba types."""
    kernel = kernel_behind("vjp", f)
    kinds = tuple(primals[0]) if len(primals) == 1 and isinstance(primals[0], _types.StarArgTuple) else primals
    wrt = differentiated(kernel_of(kernel), tuple(map(plain, kinds)))
    given = ", ".join(f"primals[{i}]" for i in range(len(kinds)))
    text = f"def impl(f, *primals):\n    out, state = ahead({given})\n    return out, bind(state)\n"
    return _defined(text, ahead=functions.augmented(kernel, wrt, protect=True), bind=bind(kernel, wrt))


for _typed in (typed_jvp, typed_vjp):
    # Numba compares the parameters, annotations included, with those of the implementation
    _typed.__annotations__ = {}

_MOST = 32
_PARAMETERS = f"mode, f, {', '.join(f'a{i}=None' for i in range(_MOST))}, seed=1.0"
"""Numba has no keyword-only parameters after `*args`, so there is a fixed number of optional ones."""


def _autodiff(mode: Any, f: Any, given: Sequence[Any]) -> Any:
    kernel, forward = kernel_behind("autodiff", f), annotations.is_forward(mode)
    kinds = [kind for kind in given if kind is not None and not isinstance(kind, _types.Omitted)]
    words = [k.instance_class if isinstance(k, _types.BaseNamedTuple) else None for k in kinds]
    words = [word if word in ANNOTATIONS else None for word in words]
    call: DerivativeFunction = annotations.annotated(forward, kernel, words)
    passed = [f"a{i}.value" for i in range(len(words))]
    passed += [f"a{i}.shadow" for i, word in enumerate(words) if word in WITH_SHADOW]
    passed += [] if forward else ["seed"]
    return _defined(f"def impl({_PARAMETERS}):\n    return call({', '.join(passed)})\n", call=call)


def _autodiff_overload() -> Any:
    names = ", ".join(f"a{i}" for i in range(_MOST))
    text = f"def overloaded({_PARAMETERS}):\n    return typed(mode, f, ({names}))\n"
    return _defined(text, "overloaded", typed=_autodiff)
