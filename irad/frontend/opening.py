"""Structures as values of generated code: opened to their parts, and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from irad.errors import BadArgumentValue
from irad.frontend import boxes, entries, items, listed
from irad.frontend.abi import floats_in
from irad.frontend.boxes import Opened, opened
from irad.frontend.shadows import Code, View
from irad.frontend.target import need

_types: Any = need("numba.core.types", "BaseTuple", "Record", "UniTuple", "Optional")
_cgutils: Any = need("numba.core.cgutils", "if_unlikely", "is_null", "raw_memcpy", "alloca_once")
_jitclass: Any = need("numba.experimental.jitclass.base", "imp_dtor", "_mangle_attr")


def open_value(code: Code, kind: Any, value: Any) -> Any:
    """A value of type `kind` as one of type `opened(kind)`. References are borrowed."""
    if isinstance(kind, Opened) or opened(kind) == kind:
        return value
    if isinstance(kind, _types.BaseTuple):
        inside = [open_value(code, inner, code.builder.extract_value(value, i)) for i, inner in enumerate(kind.types)]
    elif isinstance(kind, _types.Optional):
        inside = _optional(code, kind, value)
    elif isinstance(kind, _types.Record):
        inside = [_record(code, opened(kind).types[0], value, None)]
    elif boxes.is_array_list(kind):
        inside = listed.open_list(code, kind, value)
    elif boxes.is_list(kind):
        inside = items.open_list(code, kind, value)
    elif boxes.is_dict(kind):
        inside = entries.open_dict(code, kind, value)
    else:
        inside = _attributes(code, kind, value)
    return code.context.make_tuple(code.builder, opened(kind), inside)


def _optional(code: Code, kind: Any, value: Any) -> list[Any]:
    """The value, nothing but zeros where it is None, and whether it is there."""
    given = code.context.make_helper(code.builder, kind, value=value)
    nothing = _cgutils.get_null_value(given.data.type)
    return [code.builder.select(given.valid, given.data, nothing), given.valid]


def _attributes(code: Code, kind: Any, value: Any) -> list[Any]:
    instance = code.context.make_helper(code.builder, kind, value=value)
    memory = _memory(code, kind, instance.data)
    inside = [_record(code, opened(kind).types[0], instance.data, instance.meminfo)]
    for one in boxes.attributes(kind):
        if not one.is_number:
            held = _get(memory, one.name)
            _refuse_nothing(code, one, held)
            inside.append(open_value(code, one.kind, held))
    return inside


def _refuse_nothing(code: Code, attribute: boxes.Attribute, value: Any) -> None:
    """An attribute that was never set holds an empty array, but no instance."""
    if boxes.is_instance(attribute.kind):
        inner = code.context.make_helper(code.builder, attribute.kind, value=value)
        why = f"the attribute {attribute.name} of an instance was never set"
        error = BadArgumentValue(why, hint="give it an instance in the constructor")
        code.refuse_if(_cgutils.is_null(code.builder, inner.data), error)


def _record(code: Code, kind: Any, data: Any, meminfo: Any) -> Any:
    """An array without dimensions over memory."""
    made = code.context.make_array(kind)(code.context, code.builder)
    itemsize = code.word(code.context.get_abi_sizeof(code.context.get_data_type(kind.dtype)))
    data = code.builder.bitcast(data, made.data.type)
    code.context.populate_array(made, data=data, shape=(), strides=(), itemsize=itemsize, meminfo=meminfo)
    return made._getvalue()


def close_value(code: Code, kind: Opened, value: Any, own: Any = None) -> Any:
    """A new structure of the parts in `value`, of type `kind`; it holds references of its own.

    Or what may be None, with a reference where it is there.

    own: where numbers that are no floats come from, opened too; from `value` where it is not given. A record lies on
    the stack of the function that is generated.
    """
    b, context, origin = code.builder, code.context, kind.origin
    if isinstance(origin, _types.Optional):
        return _option(code, origin, *(b.extract_value(value, i) for i in (0, 1)))
    if boxes.is_copied(origin):
        arrays = [View("", kind.types[i], b.extract_value(value, i)) for i in (0, 1)]
        return (
            entries.new_dict(code, origin, arrays) if boxes.is_dict(origin) else listed.new_list(code, origin, *arrays)
        )
    first = View("", kind.types[0], b.extract_value(value, 0))
    if boxes.is_list(origin):
        return items.new_list(code, origin, first)
    source = code.fields(first)
    if isinstance(origin, _types.Record):
        memory = _cgutils.alloca_once(b, context.get_data_type(origin))
        _cgutils.raw_memcpy(b, memory, source.data, source.nitems, source.itemsize)
        return memory
    instance = _new(code, origin)
    memory, floats = _memory(code, origin, instance.data), _memory(code, origin, source.data)
    others = floats if own is None else _memory(code, origin, _data(code, kind, own))
    at = 1
    for one in boxes.attributes(origin):
        if one.is_number:
            found = _get(floats if _have_floats(one.kind) else others, one.name)
        else:
            inside = [each if each is None else b.extract_value(each, at) for each in (value, own)]
            found = _whole(code, kind.types[at], *inside)
            at += 1
        setattr(memory, _jitclass._mangle_attr(one.name), found)
    return instance._getvalue()


def _option(code: Code, kind: Any, data: Any, valid: Any) -> Any:
    made = code.context.make_helper(code.builder, kind)
    made.data, made.valid = data, valid
    value = made._getvalue()
    code.context.nrt.incref(code.builder, kind, value)
    code.on_failure.append(lambda: code.context.nrt.decref(code.builder, kind, value))
    return value


def _have_floats(kind: Any) -> bool:
    """Whether numbers of this type are floats, or made of floats."""
    return bool(floats_in(kind.dtype if isinstance(kind, _types.UniTuple) else kind))


def _whole(code: Code, kind: Any, value: Any, own: Any) -> Any:
    """What an attribute is given, with a reference for it."""
    if isinstance(kind, Opened):
        before = len(code.on_failure)
        made = close_value(code, kind, value, own)
        del code.on_failure[before:]  # the instance that it is put into has it from here on
        return made
    code.context.nrt.incref(code.builder, kind, value)
    return value


def _new(code: Code, kind: Any) -> Any:
    """A new instance with nothing in it, whose constructor has not run."""
    b, context = code.builder, code.context
    type = context.get_data_type(kind.get_data_type())
    size = code.word(context.get_abi_sizeof(type))
    destructor = _jitclass.imp_dtor(context, b.module, kind)
    meminfo = context.nrt.meminfo_alloc_dtor_unchecked(b, size, destructor)
    with _cgutils.if_unlikely(b, _cgutils.is_null(b, meminfo)):
        code.raise_error(MemoryError, "Allocation failed (probably too large).")
    instance = context.make_helper(b, kind)
    instance.meminfo = b.bitcast(meminfo, instance.meminfo.type)
    instance.data = b.bitcast(context.nrt.meminfo_data(b, meminfo), instance.data.type)
    b.store(_cgutils.get_null_value(type), b.bitcast(instance.data, type.as_pointer()))
    value = instance._getvalue()
    # what was begun is given back when a part of it cannot be allocated
    code.on_failure.append(lambda: context.nrt.decref(b, kind, value))
    return instance


def _memory(code: Code, kind: Any, data: Any) -> Any:
    """Numba's proxy of the attributes that lie at `data`."""
    layout = kind.get_data_type()
    pointer = code.context.get_data_type(layout).as_pointer()
    return code.context.make_data_helper(code.builder, layout, ref=code.builder.bitcast(data, pointer))


def _get(memory: Any, name: str) -> Any:
    return getattr(memory, _jitclass._mangle_attr(name))


def _data(code: Code, kind: Opened, value: Any) -> Any:
    return code.fields(View("", kind.types[0], code.builder.extract_value(value, 0))).data


def instances(code: Code, kind: Any, value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The instances in an opened value: their names and where they lie."""
    if isinstance(kind, _types.BaseTuple):
        if isinstance(kind, Opened) and boxes.is_instance(kind.origin):
            yield name, code.builder.ptrtoint(_data(code, kind, value), code.word(0).type)
        for i, (suffix, inner) in enumerate(boxes.suffixes(kind)):
            yield from instances(code, inner, code.builder.extract_value(value, i), f"{name}{suffix}")
