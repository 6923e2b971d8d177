"""Structures that are arguments (jitclass instances, single records, typed lists, what may be None), and what they are
opened to.

A program takes an instance opened: its numbers as an array of one record that lies where they lie, and each attribute
that holds more than numbers (an array, another instance) as an argument of its own; a record as an array without
dimensions; what may be None as the value and whether it is there; a typed list as the array of its items, whether it
may be changed, and a place for what it has become when it has another length (`irad.frontend.items`).
`irad.frontend.adapter` puts them together again for the kernel, so that nothing behind it knows of structures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from irad.frontend.layout import instance_type, member_offset, memory_type
from irad.frontend.target import need
from irad.ir.types import field_offset, size_of

_types: Any = need(
    "numba.core.types",
    *("Array", "BaseTuple", "BaseNamedTuple", "Tuple", "UniTuple", "Record", "ClassInstanceType", "Type", "Optional"),
    *(
        "Float",
        "Complex",
        "Integer",
        "Boolean",
        "NPDatetime",
        "NPTimedelta",
        "int64",
        "UnicodeType",
        "ListType",
        "DictType",
    ),
)
_models: Any = need("numba.core.datamodel.models", "TupleModel")
_datamodel: Any = need("numba.core.datamodel", "register_default", "default_manager.lookup")
_numpy: Any = need("numba.np.numpy_support", "as_dtype", "from_dtype")
_NUMBERS: tuple[Any, ...] = (
    *(_types.Float, _types.Complex, _types.Integer, _types.Boolean),
    *(_types.NPDatetime, _types.NPTimedelta),
)
_HALF = 16


class Opened(_types.Tuple):
    """Numba's type of an opened structure: a tuple of its parts (see `parts`).

    origin: the type of the structure.
    """

    def __new__(cls, origin: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, origin: Any) -> None:
        self.origin = origin
        self.types = tuple(part.kind for part in parts(origin))
        self.count = len(self.types)
        _types.Type.__init__(self, f"opened({origin})")

    @property
    def key(self) -> Any:
        return self.origin

    def __unliteral__(self) -> Any:
        """Itself, where a tuple would make a plain one."""
        return self


@_datamodel.register_default(Opened)
class _Model(_models.TupleModel): ...


@dataclass(frozen=True)
class Part:
    """A part of a structure: what to append to the structure's name for it, and its type, opened."""

    suffix: str
    kind: Any


@dataclass(frozen=True)
class Attribute:
    """An attribute of a jitclass: its name, type and place in bytes, and whether it is a number (or several)."""

    name: str
    kind: Any
    offset: int
    is_number: bool


def is_box(kind: Any) -> bool:
    """Whether it is a structure that is opened."""
    if isinstance(kind, _types.Optional):
        return isinstance(kind.type, (*_NUMBERS, _types.Array))
    if is_list(kind):
        return _is_plain_item(kind.item_type) or is_array_list(kind)
    if is_dict(kind):
        return _is_number(kind.value_type) and _is_number(kind.key_type) and not _has_float(kind.key_type)
    return isinstance(kind, _types.ClassInstanceType | _types.Record)


def is_list(kind: Any) -> bool:
    return isinstance(kind, _types.ListType)


def is_array_list(kind: Any) -> bool:
    """Whether it is a list of arrays of numbers, which are opened to one array."""
    if not (is_list(kind) and isinstance(kind.item_type, _types.Array)):
        return False
    array = kind.item_type
    return array.mutable and array.aligned and _is_number(array.dtype)


def words_of(kind: Any) -> int:
    """How many words describe an array of an opened list: where it lies, in bytes, then its shape and its strides."""
    return 1 + 2 * kind.item_type.ndim


def is_copied(kind: Any) -> bool:
    """Whether it is a container that is opened to a copy."""
    return is_array_list(kind) or (is_dict(kind) and is_box(kind))


def is_dict(kind: Any) -> bool:
    return isinstance(kind, _types.DictType)


def is_constant_dict(kind: Any) -> bool:
    """Whether it is a dictionary of numbers that is not opened, for its keys are text or floats: it stays as Numba has
    it, and carries no derivative."""
    keys = isinstance(kind.key_type, _types.UnicodeType) or _is_number(kind.key_type)
    return is_dict(kind) and keys and _is_number(kind.value_type) and not is_box(kind)


def is_container(kind: Any) -> bool:
    """Whether it is a list or a dictionary that is opened."""
    return (is_list(kind) or is_dict(kind)) and is_box(kind)


def holds_containers(kind: Any) -> bool:
    """Whether a container that is opened is, or is in, an argument of this type."""
    return any(map(holds_containers, kind.types)) if isinstance(kind, _types.BaseTuple) else is_container(kind)


def is_instance(kind: Any) -> bool:
    return isinstance(kind, _types.ClassInstanceType)


def owned(kind: Any) -> int:
    """How many of the first parts of an opened structure lie in memory that nothing but the structure refers to."""
    if not isinstance(kind, Opened):
        return 0
    if is_copied(kind.origin):
        return 4 if is_dict(kind.origin) else 2
    return int(is_instance(kind.origin) or is_list(kind.origin))


def opened(kind: Any) -> Any:
    """The type in which the program takes an argument of type `kind`: structures opened, those in tuples too."""
    if is_box(kind):
        return Opened(kind)
    if isinstance(kind, _types.BaseTuple) and not isinstance(kind, Opened):
        inside = [opened(inner) for inner in kind.types]
        return kind if inside == list(kind.types) else tuple_like(kind, inside)
    return kind


def closed(kind: Any) -> Any:
    """The type that `opened` was given."""
    if isinstance(kind, Opened):
        return kind.origin
    if isinstance(kind, _types.BaseTuple):
        inside = [closed(inner) for inner in kind.types]
        return kind if inside == list(kind.types) else tuple_like(kind, inside)
    return kind


def tuple_like(kind: Any, inside: list[Any]) -> Any:
    """A tuple type of parts `inside`, of the named class of `kind` if it has one."""
    if isinstance(kind, _types.BaseNamedTuple):
        return _types.BaseTuple.from_types(inside, kind.instance_class)
    return _types.BaseTuple.from_types(inside)


def suffixes(kind: Any) -> Iterator[tuple[str, Any]]:
    """The types in a tuple type, each with what to append to the tuple's name for it."""
    if isinstance(kind, Opened):
        yield from ((part.suffix, part.kind) for part in parts(kind.origin))
    else:
        yield from ((f"[{i}]", inner) for i, inner in enumerate(kind.types))


def parts(kind: Any) -> tuple[Part, ...]:
    """What a structure is opened to."""
    if isinstance(kind, _types.Optional):
        return Part("", kind.type), Part(" is not None", _types.boolean)
    if isinstance(kind, _types.Record):
        return (Part("", _types.Array(kind, 0, "C")),)
    if is_array_list(kind):
        arrays = _types.Array(kind.item_type.dtype, 1, "C"), _types.Array(_types.int64, 1, "C")
        words = Part(".is_mutable", _types.intp), Part(".became", _types.intp)
        return Part("", arrays[0]), Part(".shapes", arrays[1]), *words
    if is_list(kind):
        items = _types.Array(_item(kind.item_type), 1, "C")
        return Part("", items), Part(".is_mutable", _types.intp), Part(".became", _types.intp)
    if is_dict(kind):
        words = _types.Array(_types.int64, 1, "C")
        arrays = (("", _numbers(kind.value_type)), (".keys", _numbers(kind.key_type)), (".hashes", words))
        return *(Part(*each) for each in arrays), Part(".table", words), Part(".became", _types.intp)
    others = [one for one in attributes(kind) if not one.is_number]
    inside = [Part(f".{one.name}", Opened(one.kind) if is_instance(one.kind) else one.kind) for one in others]
    return (Part("", _types.Array(_record(kind), 0, "C")), *inside)


def attributes(kind: Any) -> tuple[Attribute, ...]:
    """The attributes of a jitclass instance, as they lie in memory."""
    layout = instance_type(kind)
    return tuple(
        Attribute(name, inner, field_offset(layout, i), _is_number(inner))
        for i, (name, inner) in enumerate(kind.struct.items())
    )


def _is_number(kind: Any) -> bool:
    """Whether it is a number or a tuple of numbers of one type, which a record can hold."""
    one = kind.dtype if isinstance(kind, _types.UniTuple) and kind.count else kind
    return isinstance(one, _NUMBERS) and not (isinstance(one, _types.Float) and one.bitwidth == _HALF)


def _record(kind: Any) -> Any:
    """The numbers of a jitclass instance as a record of the instance's own layout."""
    numbers = [one for one in attributes(kind) if one.is_number]
    fields = {one.name: (_format(one.kind), one.offset) for one in numbers} or {"none": (np.dtype(np.int8), 0)}
    formats, offsets = zip(*fields.values(), strict=True)
    names = list(fields)
    layout: Any = {
        "names": names,
        "formats": formats,
        "offsets": offsets,
        "itemsize": max(size_of(instance_type(kind)), 1),
    }
    return _numpy.from_dtype(np.dtype(layout))


def _format(kind: Any) -> Any:
    if isinstance(kind, _types.UniTuple):
        return np.dtype((_numpy.as_dtype(kind.dtype), (kind.count,)))
    return np.dtype(_numpy.as_dtype(kind))


def _has_float(kind: Any) -> bool:
    return isinstance(kind.dtype if isinstance(kind, _types.UniTuple) else kind, _types.Float | _types.Complex)


def _numbers(kind: Any) -> Any:
    """The type of an array of such numbers; tuples of them are its rows."""
    return _types.Array(kind.dtype, 2, "C") if isinstance(kind, _types.UniTuple) else _types.Array(kind, 1, "C")


def _is_plain_item(kind: Any) -> bool:
    """Whether items of this type are numbers, or tuples of numbers."""
    return all(map(_is_number, kind.types)) if isinstance(kind, _types.BaseTuple) else _is_number(kind)


def _item(kind: Any) -> Any:
    """The type of the elements of an array over the items of a list; a tuple is a record of its layout."""
    if not isinstance(kind, _types.BaseTuple):
        return kind
    layout = memory_type(kind)
    fields: Any = {
        "names": [f"f{i}" for i in range(len(kind.types))] or ["none"],
        "formats": [_format(inner) for inner in kind.types] or [np.int8],
        "offsets": [member_offset(layout, i) for i in range(len(kind.types))] or [0],
        "itemsize": max(size_of(layout), 1),
    }
    return _numpy.from_dtype(np.dtype(fields))
