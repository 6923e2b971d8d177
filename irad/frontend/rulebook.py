"""What stands in the functions around a rule's functions (see irad.frontend.whole), for our target alone."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from irad.errors import Unsupported
from irad.frontend import target
from irad.frontend.source import defined, parameters
from irad.frontend.target import need

_extending: Any = need("numba.extending", "overload", "register_jitable", "intrinsic")
_types: Any = need("numba.core.types", "Array", "BaseTuple", "Float", "Complex", "none")
_numpy: Any = importlib.import_module("numpy")
_as_strided: Any = _numpy.lib.stride_tricks.as_strided


def fitted(out: Any, dot: Any) -> Any:
    """The tangent `dot` in the structure, types and layouts of the result `out`."""
    raise NotImplementedError


def cleared(out: Any) -> Any:
    """Zeros in the structure of `out`; None for what has no derivative."""
    raise NotImplementedError


def held(residual: Any, sources: Any) -> Any:
    """`residual` with copies of the arrays in it that share memory with an array in `sources`."""
    raise NotImplementedError


def dense(dot: Any, argument: Any) -> Any:
    """`dot`, or zeros like the argument where that is constant and holds floats."""
    raise NotImplementedError


def added(into: Any, bar: Any) -> Any:
    """Add a cotangent to what is there; return that of a float, in the type of `into`."""
    raise NotImplementedError


def clear(cotangent: Any) -> None:
    """Set every array in `cotangent` to zero."""
    raise NotImplementedError


def install() -> None:
    """Make the functions above known to Numba, for our target."""
    pairs = ((fitted, _fitted), (cleared, _cleared), (held, _held), (dense, _dense), (added, _added), (clear, _clear))
    for stub, typed in (*pairs, (_blank, _blank_typed)):
        overload(stub, typed)


def overload(stub: Any, typed: Callable[..., Any]) -> None:
    """Let calls of `stub`, in code for our target, be implemented by what `typed` makes of the arguments' types."""

    def unannotated(function: Any) -> Any:
        # Numba compares the parameters, annotations included, of the two
        if function is not None:
            function.__annotations__ = {}
        return function

    @functools.wraps(typed)
    def quiet(*args: Any) -> Any:
        return unannotated(typed(*args))

    quiet.__signature__ = inspect.signature(unannotated(typed))  # type: ignore[attr-defined]
    _extending.overload(stub, target=target.NAME)(quiet)


def _each(function: Any, names: str, count: int, given: Callable[[int], str]) -> Any:
    """An implementation for tuples: `function` of each part."""
    parts = "".join(f"f({given(i)}), " for i in range(count))
    return defined("each", parameters(*names.split()), f"return ({parts})", {"__name__": __name__, "f": function})


def _is_number(kind: Any) -> bool:
    return isinstance(kind, _types.Float | _types.Complex)


def _scalar(kind: Any) -> Any:
    return getattr(_numpy, kind.name)


def is_floats(kind: Any) -> bool:
    """Whether `kind` is an array of floats."""
    return isinstance(kind, _types.Array) and isinstance(kind.dtype, _types.Float)


def is_numbers(kind: Any) -> bool:
    """Whether `kind` is an array of floats or of complex numbers."""
    return isinstance(kind, _types.Array) and _is_number(kind.dtype)


def _fitted(out: Any, dot: Any) -> Any:
    if isinstance(out, _types.BaseTuple):
        given = (lambda i: f"out[{i}], None") if dot == _types.none else (lambda i: f"out[{i}], dot[{i}]")
        return _each(fitted, "out dot", len(out.types), given)
    if dot == _types.none:
        return lambda out, dot: cleared(out)
    if _is_number(out):
        scalar = _scalar(out)
        return lambda out, dot: scalar(dot)
    if not is_numbers(out):
        return lambda out, dot: None

    def implementation(out: Any, dot: Any) -> Any:
        if out.shape != dot.shape:
            raise ValueError("the tangent that a rule gives has another shape than the result")
        made = _blank(out)
        made[...] = dot
        return made

    return implementation


def _cleared(out: Any) -> Any:
    if isinstance(out, _types.BaseTuple):
        return _each(cleared, "out", len(out.types), lambda i: f"out[{i}]")
    if _is_number(out):
        scalar = _scalar(out)
        return lambda out: scalar(0.0)
    if not is_numbers(out):
        return lambda out: None
    return lambda out: _blank(out)


def _held(residual: Any, sources: Any) -> Any:
    if isinstance(residual, _types.BaseTuple):
        return _each(held, "residual sources", len(residual.types), lambda i: f"residual[{i}], sources")
    found = list(_arrays("sources", sources))
    if not isinstance(residual, _types.Array) or not found:
        return lambda residual, sources: residual
    shared = " or ".join(f"overlapping(residual, {source})" for source in found)
    body = f"if {shared}:\n    return retyped(copied(residual), residual)\nreturn residual"
    names = {"__name__": __name__, "overlapping": _overlapping, "retyped": _retyped}
    names["copied"] = _copied_fortran if residual.layout == "F" else _copied
    return defined("hold", parameters("residual", "sources"), body, names)


def _arrays(path: str, kind: Any) -> Iterator[str]:
    """Expressions for the arrays inside a value."""
    if isinstance(kind, _types.BaseTuple):
        for i, inner in enumerate(kind.types):
            yield from _arrays(f"{path}[{i}]", inner)
    elif isinstance(kind, _types.Array):
        yield path


def _dense(dot: Any, argument: Any) -> Any:
    if isinstance(argument, _types.BaseTuple):
        given = (lambda i: f"None, argument[{i}]") if dot == _types.none else (lambda i: f"dot[{i}], argument[{i}]")
        return _each(dense, "dot argument", len(argument.types), given)
    if dot == _types.none and is_numbers(argument):
        return lambda dot, argument: _numpy.zeros(argument.shape, argument.dtype)
    if dot == _types.none and isinstance(argument, _types.Float):
        return lambda dot, argument: cleared(argument)
    return lambda dot, argument: dot


def _added(into: Any, bar: Any) -> Any:
    if into == _types.none:
        return lambda into, bar: None
    if bar == _types.none:
        raise Unsupported(
            "the pullback of a rule gives no cotangent for an argument that is differentiated",
            hint="let it return one for every float and every array of floats",
        )
    if isinstance(into, _types.BaseTuple):
        return _each(added, "into bar", len(into.types), lambda i: f"into[{i}], bar[{i}]")
    if isinstance(into, _types.Float):
        scalar = _scalar(into)
        return lambda into, bar: scalar(bar)

    def implementation(into: Any, bar: Any) -> None:
        if into.shape != bar.shape:
            raise ValueError("the cotangent that a pullback gives has another shape than the argument")
        into += bar

    return implementation


def _clear(cotangent: Any) -> Any:
    if isinstance(cotangent, _types.BaseTuple):
        return _each(clear, "cotangent", len(cotangent.types), lambda i: f"cotangent[{i}]")
    if not isinstance(cotangent, _types.Array):
        return lambda cotangent: None

    def implementation(cotangent: Any) -> None:
        cotangent[...] = 0

    return implementation


# --- memory ---------------------------------------------------------------------------------------------------------


@_extending.register_jitable
def _extent(array: Any) -> Any:
    """First byte of an array, and the one after its last."""
    low = high = _numpy.intp(array.ctypes.data)
    for i in range(array.ndim):
        reach = (array.shape[i] - 1) * array.strides[i]
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high + array.itemsize


@_extending.register_jitable
def _overlapping(one: Any, other: Any) -> Any:
    if one.size == 0 or other.size == 0:
        return False
    low, high = _extent(one)
    start, end = _extent(other)
    return low < end and start < high


def _blank(out: Any) -> Any:
    """A zeroed array of the same type, shape and strides, in memory of its own."""
    raise NotImplementedError


def _blank_typed(out: Any) -> Any:
    if out.layout in "CF":
        return lambda out: _numpy.zeros_like(out)

    def implementation(out: Any) -> Any:
        low, high = _extent(out)
        start = (_numpy.intp(out.ctypes.data) - low) // out.itemsize
        memory = _numpy.zeros(max((high - low) // out.itemsize, start + 1), out.dtype)
        return _retyped(_as_strided(memory[start:], out.shape, out.strides), out)

    return implementation


@_extending.register_jitable
def _copied(array: Any) -> Any:
    return array.copy()


@_extending.register_jitable
def _copied_fortran(array: Any) -> Any:
    made = _numpy.empty_like(array)
    made[...] = array
    return made


@_extending.intrinsic
def _retyped(typingctx: Any, array: Any, like: Any) -> Any:
    """`array` as Numba would know it if it had the type of `like`: their representations are the same."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        context.nrt.incref(builder, signature.args[0], values[0])
        return values[0]

    return like(array, like), emit
