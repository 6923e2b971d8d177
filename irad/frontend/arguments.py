"""Arguments and results by their Numba types: what may be differentiated, and what shape a derivative takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from irad.errors import BadArgumentType, IradError, Place, Unsupported
from irad.frontend.abi import floats_in, instead
from irad.frontend.boxes import Opened, closed, is_box, is_container, is_instance, opened, owned, suffixes, tuple_like
from irad.frontend.lower import place_of
from irad.frontend.opening import close_value, open_value
from irad.frontend.shadows import Code, View, shadow_type
from irad.frontend.target import need

_types: Any = need(
    "numba.core.types",
    "Array",
    "BaseTuple",
    "Float",
    "Complex",
    "Record",
    "ClassInstanceType",
    "Optional",
    "ListType",
    "DictType",
    "Omitted",
    "unliteral",
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
    """The types inside nested tuples and structures, in order; a type that is neither is its own only part."""
    kind = opened(kind)
    if isinstance(kind, _types.BaseTuple):
        for inner in kind.types:
            yield from parts(inner)
    else:
        yield kind


def sharing_parts(kind: Any) -> Iterator[Any]:
    """The arrays among the parts of a type which may share memory with others: all but the numbers of instances
    and the items of lists."""
    kind = opened(kind)
    if isinstance(kind, _types.BaseTuple):
        for inner in kind.types[owned(kind) :]:
            yield from sharing_parts(inner)
    elif is_array(kind):
        yield kind


def is_float(kind: Any) -> bool:
    return isinstance(kind, _types.Float)


def is_number(kind: Any) -> bool:
    """Whether it is a float or a complex number: a scalar that has a derivative."""
    return isinstance(kind, _types.Float | _types.Complex)


def is_array(kind: Any) -> bool:
    return isinstance(kind, _types.Array)


def has_shadow(kind: Any) -> bool:
    """Whether it is an array whose elements are, or have in them, floats."""
    return is_array(kind) and bool(floats_in(kind.dtype))


def has_derivative(kind: Any) -> bool:
    return any(is_number(part) or has_shadow(part) for part in parts(kind))


def activity(kernel: Kernel, position: int, kind: Any, mode: str) -> str:
    """How an argument that is to be differentiated takes part: "active" or "duplicated", see `pipeline.Request`.

    Raises
    ------
    BadArgumentType: it holds integers only, or nothing.
    Unsupported: it is of another type without floats.
    """
    if not has_derivative(kind):
        raise _no_derivative(kernel, kernel.names[position], kind)
    return "duplicated" if mode == "forward" or any(map(has_shadow, parts(kind))) else "active"


def _no_derivative(kernel: Kernel, name: str, kind: Any) -> IradError:
    inside = list(parts(kind))
    if not inside:
        return BadArgumentType(f"{name} is an empty tuple: there is nothing to differentiate", place=kernel.place)
    elements = (part.dtype if is_array(part) else part for part in inside)
    if all(isinstance(element, _types.Integer | _types.Boolean) for element in elements):
        return BadArgumentType(
            f"{name} is {kind}: integers have no derivative",
            hint="pass floats, or leave the argument out of those that are differentiated",
            place=kernel.place,
        )
    return Unsupported(f"{name} is {kind}, which has no derivative", hint=instead(kind), place=kernel.place)


def derivative_type(kind: Any) -> Any:
    """The type of a fresh derivative with respect to an argument: the same structure, arrays writable, None in the
    place of what has no derivative.

    The derivative by an instance is an instance, with everything in it; by a container, one of the same length or
    keys; that by a single record is an array without dimensions, which owns its memory as a record cannot.
    """
    kind = closed(kind)
    if isinstance(kind, _types.BaseTuple):
        return tuple_like(kind, [derivative_type(inner) for inner in kind.types])
    if isinstance(kind, _types.Record) and has_derivative(kind):
        return opened(kind).types[0]
    if (is_instance(kind) or is_container(kind)) and has_derivative(kind):
        return kind
    if is_box(kind) and has_derivative(kind):
        return _types.Optional(derivative_type(kind.type))
    if has_shadow(kind):
        return shadow_type(kind)
    return kind if is_number(kind) else _types.none


def like(kernel: Kernel, what: str, wanted: Any, given: Any) -> None:
    """Check the type of a tangent, cotangent or shadow against what it belongs to, part by part.

    Arrays may differ in layout, which is seen at run time. Whatever stands for what has no derivative is ignored.

    Raises
    ------
    BadArgumentType: another structure, dtype or rank.
    """
    match closed(wanted):
        case _types.ClassInstanceType() | _types.Optional() | _types.ListType() | _types.DictType():
            if given != wanted:
                raise _unlike(kernel, what, wanted, given)
        case _types.Record():
            if given not in (wanted, derivative_type(wanted)):
                raise _unlike(kernel, what, wanted, given)
        case _types.BaseTuple():
            same = isinstance(given, _types.BaseTuple) and len(given.types) == len(wanted.types)
            if not same:
                raise _unlike(kernel, what, wanted, given)
            for i, (inner, other) in enumerate(zip(wanted.types, given.types, strict=True)):
                like(kernel, f"{what}[{i}]", inner, other)
        case _types.Array() if has_shadow(wanted):
            if not (is_array(given) and given.dtype == wanted.dtype and given.ndim == wanted.ndim):
                raise _unlike(kernel, what, wanted, given)
        case _types.Float():
            if not isinstance(given, _types.Float | _types.Integer):
                raise _unlike(kernel, what, wanted, given)
        case _types.Complex():
            if not isinstance(given, _types.Complex | _types.Float | _types.Integer):
                raise _unlike(kernel, what, wanted, given)
        case _:
            pass


def _unlike(kernel: Kernel, what: str, wanted: Any, given: Any) -> IradError:
    describe = f"an array of {wanted.dtype}, {wanted.ndim}-d" if is_array(wanted) else str(wanted)
    return BadArgumentType(f"{what} of {kernel.name} must be {describe}, not {given}", place=kernel.place)


def given_type(wanted: Any, given: Any) -> Any:
    """The type in which generated code takes what `like` accepted: floats as wanted, arrays as they come."""
    if isinstance(wanted, _types.BaseTuple):
        return tuple_like(given, [given_type(w, g) for w, g in zip(wanted.types, given.types, strict=True)])
    return wanted if is_number(wanted) else given


def paired_types(wanted: Any, kind: Any) -> Iterator[tuple[Any, Any]]:
    """The parts of `wanted`, each with what stands in its place in `kind`, which belongs to it (see `like`)."""
    wanted = opened(wanted)
    if isinstance(wanted, _types.BaseTuple):
        for inner, own in zip(wanted.types, _inside(wanted, kind), strict=True):
            yield from paired_types(inner, own)
    else:
        yield wanted, kind


def _inside(wanted: Any, kind: Any) -> tuple[Any, ...]:
    """The types in what belongs to the tuple type `wanted`; the array that belongs to a record is its only part."""
    return (kind,) if isinstance(wanted, Opened) and is_array(kind) else tuple(opened(kind).types)


def paired(code: Code, name: str, wanted: Any, kind: Any, value: Any) -> Iterator[tuple[Any, View]]:
    """As `paired_types`, with the values."""
    wanted = opened(wanted)
    if isinstance(wanted, _types.BaseTuple):
        inside = _inside(wanted, kind)
        value = open_value(code, kind, value)
        for i, (suffix, inner) in enumerate(suffixes(wanted)):
            part = value if is_array(kind) else code.builder.extract_value(value, i)
            if i < owned(wanted):
                yield inner, View(f"{name}{suffix}", inside[i], part, apart=True)
            else:
                yield from paired(code, f"{name}{suffix}", inner, inside[i], part)
    else:
        yield wanted, View(name, kind, value)


def views(code: Code, name: str, kind: Any, value: Any, want: Callable[[Any], bool] = is_array) -> list[View]:
    """The arrays inside an argument's value, in order."""
    return [view for part, view in paired(code, name, kind, kind, value) if want(part)]


def derivative_views(code: Code, name: str, wanted: Any, kind: Any, value: Any) -> list[View]:
    """The arrays of a tangent, a cotangent or a shadow that belong to arrays with a shadow, in order."""
    return [view for part, view in paired(code, name, wanted, kind, value) if has_shadow(part)]


def derivative_numbers(code: Code, wanted: Any, kind: Any, value: Any) -> list[Any]:
    """The floats of a tangent or cotangent that belong to floats and complex numbers, in order."""
    found: list[Any] = []
    for part, view in paired(code, "", wanted, kind, value):
        if is_number(part):
            found += floats(code, part, code.context.cast(code.builder, view.value, view.kind, part))
    return found


def floats(code: Code, kind: Any, value: Any) -> list[Any]:
    """A float, or the two of a complex number."""
    return list(code.context.get_arg_packer([kind]).as_arguments(code.builder, [value]))


def derivative_of(code: Code, kind: Any, own: Any, numbers: Iterator[Any], arrays: Iterator[Any]) -> Any:
    """A value of type `derivative_type(kind)`, of scalars and of arrays given in order.

    own: the argument's value, opened; what an instance holds and has no derivative comes from there. The value holds
    references of its own.
    """
    if isinstance(kind, Opened):
        return _derivative_of_structure(code, kind, own, numbers, arrays)
    if isinstance(kind, _types.BaseTuple):
        inside = [
            derivative_of(code, inner, code.builder.extract_value(own, i), numbers, arrays)
            for i, inner in enumerate(kind.types)
        ]
        return code.context.make_tuple(code.builder, derivative_type(kind), inside)
    if is_number(kind):
        return next(numbers)
    if not has_shadow(kind):
        return code.context.get_dummy_value()
    return _held(code, kind, next(arrays))


def _held(code: Code, kind: Any, value: Any) -> Any:
    """A value with a reference more, which is given back when something fails."""
    nrt, b = code.context.nrt, code.builder
    nrt.incref(b, kind, value)
    code.on_failure.append(lambda: nrt.decref(b, kind, value))
    return value


def _derivative_of_structure(code: Code, kind: Any, own: Any, numbers: Iterator[Any], arrays: Iterator[Any]) -> Any:
    if derivative_type(kind) == _types.none:
        return code.context.get_dummy_value()
    if isinstance(kind.origin, _types.Record):
        return _held(code, kind.types[0], next(arrays))
    inside = _completed(code, kind, own, numbers, arrays)
    return close_value(code, kind, inside, own)


def _completed(code: Code, kind: Any, own: Any, numbers: Iterator[Any], arrays: Iterator[Any]) -> Any:
    """A value like `own`, of type `kind`, with its floats replaced."""
    if isinstance(kind, _types.BaseTuple):
        inside = [
            _completed(code, inner, code.builder.extract_value(own, i), numbers, arrays)
            for i, inner in enumerate(kind.types)
        ]
        return code.context.make_tuple(code.builder, kind, inside)
    if is_number(kind):
        return next(numbers)
    return next(arrays) if has_shadow(kind) else own


def with_arrays(code: Code, name: str, kind: Any, value: Any, take: Callable[[View], Any]) -> Any:
    """An argument's value, opened, with its arrays replaced by what `take` gives for them."""
    if is_array(kind):
        return take(View(name, kind, value))
    if isinstance(kind, _types.BaseTuple):
        inside: list[Any] = []
        for i, (suffix, inner) in enumerate(suffixes(kind)):
            part = code.builder.extract_value(value, i)
            inside.append(with_arrays(code, f"{name}{suffix}", inner, part, take))
        return code.context.make_tuple(code.builder, kind, inside)
    return value
