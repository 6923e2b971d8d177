"""Arguments and results by their Numba types: what may be differentiated, and what shape a derivative takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from irad.errors import BadArgumentType, IradError, Place, Unsupported
from irad.frontend.lower import place_of
from irad.frontend.shadows import Code, View, shadow_type
from irad.frontend.target import need

_types: Any = need(
    "numba.core.types", "Array", "BaseTuple", "BaseNamedTuple", "NamedTuple", "Float", "Complex", "Omitted", "unliteral"
)
_typeof: Any = need("numba.core.typing.typeof", "typeof").typeof


@dataclass(frozen=True)
class Kernel:
    """A kernel and the names of its parameters, for messages."""

    dispatcher: Any
    names: tuple[str, ...]

    @property
    def place(self) -> Place:
        return place_of(self.dispatcher)

    @property
    def name(self) -> str:
        return self.dispatcher.py_func.__name__


def plain(kind: Any) -> Any:
    """The type of the value itself: no literal, no default left out."""
    return _typeof(kind.value) if isinstance(kind, _types.Omitted) else _types.unliteral(kind)


def parts(kind: Any) -> Iterator[Any]:
    """The types inside nested tuples, in order; a type that is no tuple is its own only part."""
    if isinstance(kind, _types.BaseTuple):
        for inner in kind.types:
            yield from parts(inner)
    else:
        yield kind


def is_float(kind: Any) -> bool:
    return isinstance(kind, _types.Float)


def is_array(kind: Any) -> bool:
    return isinstance(kind, _types.Array)


def is_float_array(kind: Any) -> bool:
    return is_array(kind) and is_float(kind.dtype)


def only_arrays(kind: Any) -> bool:
    """Whether `kind` is an array of floats or a tuple of such: what may be given shadows."""
    return all(map(is_float_array, parts(kind))) and next(parts(kind), None) is not None


def only_floats(kind: Any) -> bool:
    return all(map(is_float, parts(kind))) and next(parts(kind), None) is not None


def activity(kernel: Kernel, position: int, kind: Any, mode: str) -> str:
    """How an argument that is to be differentiated takes part: "active" or "duplicated".

    Raises
    ------
    BadArgumentType: it holds integers, or nothing.
    Unsupported: it is complex, mixes floats with arrays in reverse mode, or is of another type.
    """
    inside, name = list(parts(kind)), kernel.names[position]
    for part in inside:
        _differentiable(kernel, name, kind, part)
    if not inside:
        raise BadArgumentType(f"{name} is an empty tuple: there is nothing to differentiate", place=kernel.place)
    if mode == "forward" or only_arrays(kind):
        return "duplicated"
    if only_floats(kind):
        return "active"
    raise Unsupported(
        f"{name} mixes floats and arrays in one tuple, {kind}",
        hint="pass the floats and the arrays as two arguments",
        place=kernel.place,
    )


def _differentiable(kernel: Kernel, name: str, kind: Any, part: Any) -> None:
    element = part.dtype if is_array(part) else part
    of = "" if part is kind else f" in {kind}"
    if is_float(element):
        return
    if isinstance(element, _types.Complex):
        raise Unsupported(
            f"{name} is complex ({part}{of}): complex arguments are not differentiated yet",
            hint="pass real and imaginary parts as two arguments",
            place=kernel.place,
        )
    if isinstance(element, _types.Integer | _types.Boolean):
        raise BadArgumentType(
            f"{name} is {part}{of}: integers have no derivative",
            hint="pass floats, or leave the argument out of those that are differentiated",
            place=kernel.place,
        )
    raise Unsupported(f"{name} is {part}{of}, which has no derivative", place=kernel.place)


def derivative_type(kind: Any) -> Any:
    """The type of a fresh derivative with respect to an argument: the same structure, arrays writable."""
    if isinstance(kind, _types.BaseTuple):
        return _tuple_like(kind, [derivative_type(inner) for inner in kind.types])
    return shadow_type(kind) if is_array(kind) else kind


def _tuple_like(kind: Any, inside: list[Any]) -> Any:
    """A tuple type of parts `inside`, of the named class of `kind` if it has one."""
    if isinstance(kind, _types.BaseNamedTuple):
        return _types.BaseTuple.from_types(inside, kind.instance_class)
    return _types.BaseTuple.from_types(inside)


def like(kernel: Kernel, what: str, wanted: Any, given: Any) -> None:
    """Check the type of a tangent, cotangent or shadow against what it belongs to, part by part.

    Arrays may differ in layout, which is seen at run time. Whatever stands for an integer is ignored.

    Raises
    ------
    BadArgumentType: another structure, dtype or rank.
    """
    match wanted:
        case _types.BaseTuple():
            same = isinstance(given, _types.BaseTuple) and len(given.types) == len(wanted.types)
            if not same:
                raise _unlike(kernel, what, wanted, given)
            for i, (inner, other) in enumerate(zip(wanted.types, given.types, strict=True)):
                like(kernel, f"{what}[{i}]", inner, other)
        case _types.Array() if is_float_array(wanted):
            if not (is_array(given) and given.dtype == wanted.dtype and given.ndim == wanted.ndim):
                raise _unlike(kernel, what, wanted, given)
        case _types.Float():
            if not isinstance(given, _types.Float | _types.Integer):
                raise _unlike(kernel, what, wanted, given)
        case _:
            pass


def _unlike(kernel: Kernel, what: str, wanted: Any, given: Any) -> IradError:
    describe = f"an array of {wanted.dtype}, {wanted.ndim}-d" if is_array(wanted) else str(wanted)
    return BadArgumentType(f"{what} of {kernel.name} must be {describe}, not {given}", place=kernel.place)


def given_type(wanted: Any, given: Any) -> Any:
    """The type in which generated code takes what `like` accepted: floats as wanted, arrays as they come."""
    if isinstance(wanted, _types.BaseTuple):
        return _tuple_like(given, [given_type(w, g) for w, g in zip(wanted.types, given.types, strict=True)])
    return wanted if is_float(wanted) else given


def views(code: Code, name: str, kind: Any, value: Any, want: Callable[[Any], bool] = is_array) -> list[View]:
    """The arrays inside an argument's value, in order."""
    if isinstance(kind, _types.BaseTuple):
        found: list[View] = []
        for i, inner in enumerate(kind.types):
            found += views(code, f"{name}[{i}]", inner, code.builder.extract_value(value, i), want)
        return found
    return [View(name, kind, value)] if want(kind) else []


def floats(code: Code, kind: Any, value: Any) -> list[Any]:
    """The floats inside an argument's value, in order."""
    if isinstance(kind, _types.BaseTuple):
        inside = (floats(code, k, code.builder.extract_value(value, i)) for i, k in enumerate(kind.types))
        return [v for values in inside for v in values]
    return [value] if is_float(kind) else []


def rebuild(code: Code, kind: Any, take: Callable[[Any], Any]) -> Any:
    """A value of type `kind` whose parts are what `take` gives for their types, in order."""
    if isinstance(kind, _types.BaseTuple):
        return code.context.make_tuple(code.builder, kind, [rebuild(code, inner, take) for inner in kind.types])
    return take(kind)


def with_arrays(code: Code, name: str, kind: Any, value: Any, take: Callable[[View], Any]) -> Any:
    """An argument's value with its arrays replaced by what `take` gives for them."""
    if is_array(kind):
        return take(View(name, kind, value))
    if isinstance(kind, _types.BaseTuple):
        inside: list[Any] = []
        for i, inner in enumerate(kind.types):
            part = code.builder.extract_value(value, i)
            inside.append(with_arrays(code, f"{name}[{i}]", inner, part, take))
        return code.context.make_tuple(code.builder, kind, inside)
    return value
