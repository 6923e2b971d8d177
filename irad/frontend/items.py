"""Typed lists as values of generated code: their items as an array, new lists, and what a kernel made of one.

The array lies where the items lie, so that what the kernel assigns is in the list at once. A list that has another
length when the kernel ends is described in words of the caller's, and changed by Numba's own functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irad.frontend import boxes, target
from irad.frontend.shadows import Code, View, populated
from irad.frontend.target import need

_types: Any = need("numba.core.types", "BaseTuple", "ListType")
_cgutils: Any = need(
    "numba.core.cgutils", "get_or_insert_function", "alloca_once", "if_unlikely", "is_null", "raw_memcpy", "for_range"
)
_lists: Any = need("numba.typed.listobject", "_add_meminfo", "_list_codegen_set_method_table")
_ir: Any = need("llvmlite.ir", "ArrayType", "FunctionType", "IntType", "VoidType")

_WORD, _STATUS, _POINTER = _ir.IntType(64), _ir.IntType(32), _cgutils.voidptr_t
STAYED, MOVED = 1, 2
"""What the first word of a place says of items whose number has changed; see `irad.emit.runtime.resized`."""


@dataclass(frozen=True)
class Taken:
    """A container that a kernel was given: its name, its Numba type, its value and that opened."""

    code: Code
    name: str
    kind: Any
    value: Any
    opened: Any

    @property
    def data(self) -> Any:
        """Numba's memory of it."""
        return _data(self.code, self.kind, self.value)

    @property
    def place(self) -> Any:
        """The address of the words that tell what it has become, see `irad.emit.runtime.resized`."""
        return self.code.builder.extract_value(self.opened, len(boxes.opened(self.kind).types) - 1)


def open_list(code: Code, kind: Any, value: Any) -> list[Any]:
    """The parts of a list, see `boxes.parts`."""
    data = _data(code, kind, value)
    items = boxes.parts(kind)[0]
    itemsize = _itemsize(code, kind)
    array = populated(code, items.kind, _call(code, "base_ptr", _POINTER, data), [_size(code, data)], itemsize, None)
    return [array, *state(code, kind, value)]


def state(code: Code, kind: Any, value: Any) -> list[Any]:
    """The last parts of a list, see `boxes.parts`: whether it may be changed, and where to tell what it has become."""
    is_mutable = code.builder.sext(_call(code, "is_mutable", _STATUS, _data(code, kind, value)), _WORD)
    if code.context.target_name == target.NAME:
        # a list that the differentiated program has keeps its length, or is refused: see `Compiled.library`
        return [is_mutable, code.word(0)]
    place = _cgutils.alloca_once(code.builder, _ir.ArrayType(_WORD, 3), zfill=True)
    code.builder.store(_cgutils.get_null_value(place.type.pointee), place)
    return [is_mutable, code.builder.ptrtoint(place, _WORD)]


def new_list(code: Code, kind: Any, items: View) -> Any:
    """A list of what is in an array."""
    count = code.fields(items).nitems
    value = empty_list(code, kind, count)
    _copy(code, _base(code, kind, value), code.fields(items).data, count, _itemsize(code, kind))
    set_length(code, kind, value, count)
    return value


def empty_list(code: Code, kind: Any, room: Any) -> Any:
    """A new list with room for so many items."""
    b = code.builder
    made = _cgutils.create_struct_proxy(kind)(code.context, b)
    slot = _cgutils.alloca_once(b, _POINTER, zfill=True)
    status = _call(code, "new", _STATUS, slot, code.word(_itemsize(code, kind)), room)
    with _cgutils.if_unlikely(b, b.icmp_signed("!=", status, _STATUS(0))):
        code.raise_error(MemoryError, "Allocation failed (probably too large).")
    made.data = b.load(slot)
    _lists._list_codegen_set_method_table(code.context, b, made.data, kind.item_type)
    _lists._add_meminfo(code.context, b, made)
    value = made._getvalue()
    code.on_failure.append(lambda: code.context.nrt.decref(b, kind, value))
    return value


def length(code: Code, kind: Any, value: Any) -> Any:
    return _size(code, _data(code, kind, value))


def set_length(code: Code, kind: Any, value: Any, count: Any) -> None:
    """Tell a list that its first `count` items are there; there is room for them."""
    address = _call(code, "size_address", _WORD, _data(code, kind, value))
    code.builder.store(count, code.builder.inttoptr(address, _WORD.as_pointer()))


def get_item(code: Code, kind: Any, value: Any, index: Any) -> Any:
    """An item of a list, borrowed; the index is one of the list's."""
    pointer, model = _item_at(code, kind, value, index), code.context.data_model_manager[kind.item_type]
    return model.from_data(code.builder, code.builder.load(pointer))


def set_item(code: Code, kind: Any, value: Any, index: Any, item: Any) -> None:
    """Put an item, and a reference with it, where none has been; there is room for it."""
    model = code.context.data_model_manager[kind.item_type]
    code.builder.store(model.as_data(code.builder, item), _item_at(code, kind, value, index))


def _item_at(code: Code, kind: Any, value: Any, index: Any) -> Any:
    type = code.context.get_data_type(kind.item_type).as_pointer()
    return code.builder.gep(code.builder.bitcast(_base(code, kind, value), type), [index])


def _base(code: Code, kind: Any, value: Any) -> Any:
    return _call(code, "base_ptr", _POINTER, _data(code, kind, value))


def taken(code: Code, name: str, kind: Any, value: Any, opened: Any) -> Iterator[Taken]:
    """The containers in an argument, from its value and that opened."""
    if boxes.is_container(kind):
        yield Taken(code, name, kind, value, opened)
    elif isinstance(kind, _types.BaseTuple) and not isinstance(kind, boxes.Opened):
        for i, inner in enumerate(kind.types):
            inside = [code.builder.extract_value(each, i) for each in (value, opened)]
            yield from taken(code, f"{name}[{i}]", inner, *inside)


def has_changed(code: Code, one: Taken) -> Any:
    """Whether the kernel left a list with another length, or a dictionary with other keys, or may have."""
    return code.builder.icmp_signed("!=", word(code, one, 0), code.word(0))


def give_back(code: Code, one: Taken) -> None:
    """Make a list of the caller's what the kernel made of it. What it kept its length of, it has already."""
    b, itemsize = code.builder, _itemsize(code, one.kind)
    state = word(code, one, 0)
    with _cgutils.if_unlikely(b, has_changed(code, one)):
        wanted, items = word(code, one, 1), b.inttoptr(word(code, one, 2), _POINTER)
        moved = b.icmp_signed("==", state, code.word(MOVED))
        with _cgutils.if_unlikely(b, b.and_(moved, _cgutils.is_null(b, items))):
            code.raise_error(MemoryError, "Unable to allocate memory to append item")
        with b.if_then(b.icmp_signed("<", wanted, _size(code, one.data))):
            _call(code, "delete_slice", _STATUS, one.data, wanted, _size(code, one.data), code.word(1))
        _grow(code, one, wanted)
        with b.if_then(moved):
            _copy(code, _call(code, "base_ptr", _POINTER, one.data), items, wanted, itemsize)
            free(code, [items])


def free(code: Code, pointers: Sequence[Any]) -> None:
    """Give back memory of `irad.emit.runtime.resized`."""
    kind = _ir.FunctionType(_ir.VoidType(), [_POINTER])
    for pointer in pointers:
        code.builder.call(_cgutils.get_or_insert_function(code.builder.module, kind, "free"), [pointer])


def _grow(code: Code, one: Taken, wanted: Any) -> None:
    b = code.builder
    nothing = _cgutils.alloca_once(b, _ir.ArrayType(_ir.IntType(8), _itemsize(code, one.kind)), zfill=True)
    with _cgutils.for_range(b, b.sub(wanted, _size(code, one.data))):
        status = _call(code, "append", _STATUS, one.data, b.bitcast(nothing, _POINTER))
        with _cgutils.if_unlikely(b, b.icmp_signed("!=", status, _STATUS(0))):
            code.raise_error(MemoryError, "Unable to allocate memory to append item")


def word(code: Code, one: Taken, index: int) -> Any:
    """A word of the place where the kernel tells what it did to a container."""
    words = code.builder.inttoptr(one.place, _WORD.as_pointer())
    return code.builder.load(code.builder.gep(words, [code.word(index)]))


def _data(code: Code, kind: Any, value: Any) -> Any:
    """Numba's memory of a list."""
    return _cgutils.create_struct_proxy(kind)(code.context, code.builder, value=value).data


def _size(code: Code, data: Any) -> Any:
    address = _call(code, "size_address", _WORD, data)
    return code.builder.load(code.builder.inttoptr(address, _WORD.as_pointer()))


def _itemsize(code: Code, kind: Any) -> int:
    return code.context.get_abi_sizeof(code.context.get_data_type(kind.item_type))


def _copy(code: Code, to: Any, source: Any, count: Any, itemsize: int) -> None:
    source = code.builder.bitcast(source, to.type)
    _cgutils.raw_memcpy(code.builder, to, source, count, code.word(itemsize))


def _call(code: Code, name: str, result: Any, *values: Any) -> Any:
    """Call one of the functions in C that Numba's lists are made of."""
    kind = _ir.FunctionType(result, [value.type for value in values])
    function = _cgutils.get_or_insert_function(code.builder.module, kind, f"numba_list_{name}")
    return code.builder.call(function, values)
