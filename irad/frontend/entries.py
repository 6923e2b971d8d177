"""Typed dictionaries as values of generated code: their entries as arrays, new ones, and what a kernel made of one.

Numba keeps hash, key and value of an entry together, in a table of its own; a program that is differentiated keeps each
in an array (`irad.typed_dicts`). So entries are copied when a dictionary is opened, and values back when the kernel
ends. What does so is njit code, which Numba compiles once for each type of dictionary.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.errors import BadArguments
from irad.frontend import boxes, target
from irad.frontend.items import Taken, free, has_changed, word
from irad.frontend.lower import dispatcher_of
from irad.frontend.shadows import Code, View, populated
from irad.frontend.source import defined, parameters
from irad.frontend.target import need
from irad.typed_dicts import EMPTY

_types: Any = need("numba.core.types", "Tuple", "UniTuple", "boolean", "none")
_typing: Any = need("numba.core.typing", "signature")
_cgutils: Any = need("numba.core.cgutils", "alloca_once", "if_unlikely", "is_null", "voidptr_t")
_numpy: Any = need("numba.np.numpy_support", "as_dtype")
_typed: Any = need("numba.typed", "Dict")
_base: Any = need("numba.core.base", "BaseContext.compile_subroutine", "BaseContext.call_internal_no_propagate")
_ir: Any = need("llvmlite.ir", "ArrayType", "IntType")

_WORD = _ir.IntType(64)
_WORDS = 9
"""Of the place for a dictionary that has other keys: three for each array, see `irad.emit.runtime.resized`."""

_OPENED = """\
count = len(d)
values, keys = np.empty({values}, value_type), np.empty({keys}, key_type)
hashes = np.empty(count, np.int64)
size = 8
while size * 2 // 3 < count:
    size *= 2
table = np.full(size, EMPTY, np.int64)
i = 0
for key, value in d.items():
    {put_key}
    {put_value}
    hashes[i] = hash(key)
    slot = hashes[i] & (size - 1)
    while table[slot] != EMPTY:
        slot = (slot + 1) & (size - 1)
    table[slot] = i
    i += 1
return values, keys, hashes, table
"""
_MADE = """\
d = Dict.empty(key_kind, value_kind)
for i in range(keys.shape[0]):
    d[{key}] = {value}
return d
"""
_GATHERED = """\
values = np.empty_like(like)
found = len(d) == keys.shape[0]
for i in range(keys.shape[0]):
    if {key} in d:
        value = d[{key}]
        {put_value}
    else:
        found = False
return found, values
"""
_SCATTERED = """\
for i in range(keys.shape[0]):
    d[{key}] = {value}
"""
_UPDATED = """\
i = 0
for key, value in d.items():
    if not (value == {value} and {value_is_one}):
        d[key] = {value}
    i += 1
"""
_RESTORED = """\
d.clear()
for i in range(keys.shape[0]):
    if hashes[i] != EMPTY:
        d[{key}] = {value}
"""
"""Bodies of functions of dictionaries and arrays of their entries."""


@functools.cache
def _function(name: str, body: str, names: tuple[str, ...], kind: Any) -> Any:
    """A function for one type of dictionary."""
    fields: dict[str, str] = {}
    for array, one in (("keys", kind.key_type), ("values", kind.value_type)):
        each = array[:-1]
        if isinstance(one, _types.UniTuple):
            fields[array] = f"(count, {one.count})"
            fields[each] = f"({''.join(f'{array}[i, {j}], ' for j in range(one.count))})"
            fields[f"put_{each}"] = "; ".join(f"{array}[i, {j}] = {each}[{j}]" for j in range(one.count)) or "pass"
        else:
            fields[array], fields[each], fields[f"put_{each}"] = "count", f"{array}[i]", f"{array}[i] = {each}"
    scalar = isinstance(kind.value_type, _types.Float | _types.Integer)
    fields["value_is_one"] = "value != 0" if scalar else "False"  # zeros that are equal may differ in sign
    space: dict[str, Any] = {"np": np, "EMPTY": EMPTY, "Dict": _typed.Dict, "__name__": __name__}
    space |= {"key_kind": kind.key_type, "value_kind": kind.value_type}
    space |= {"key_type": _dtype(kind.key_type), "value_type": _dtype(kind.value_type)}
    return defined(f"irad_{name}", parameters(*names), body.format_map(fields), space)


def _dtype(kind: Any) -> Any:
    return np.dtype(_numpy.as_dtype(kind.dtype if isinstance(kind, _types.UniTuple) else kind))


def open_dict(code: Code, kind: Any, value: Any) -> list[Any]:
    """The parts of a dictionary, see `boxes.parts`. The arrays are temporaries of `code`."""
    *arrays, _ = (part.kind for part in boxes.parts(kind))
    made = _run(code, _function("opened", _OPENED, ("d",), kind), _types.Tuple(arrays), [kind], [value])
    inside = [code.builder.extract_value(made, i) for i in range(len(arrays))]
    code.temporaries += zip(arrays, inside, strict=True)
    if code.context.target_name == target.NAME:
        # a dictionary that the differentiated program has keeps its keys, or is refused: see `Compiled.library`
        return [*inside, code.word(0)]
    place = _cgutils.alloca_once(code.builder, _ir.ArrayType(_WORD, _WORDS), zfill=True)
    code.builder.store(_cgutils.get_null_value(place.type.pointee), place)
    return [*inside, code.builder.ptrtoint(place, _WORD)]


def new_dict(code: Code, kind: Any, arrays: Sequence[View]) -> Any:
    """A dictionary of an array of values and one of keys."""
    values, keys = arrays
    function = _function("made", _MADE, ("keys", "values"), kind)
    made = _run(code, function, kind, [keys.kind, values.kind], [keys.value, values.value])
    code.on_failure.append(lambda: code.context.nrt.decref(code.builder, kind, made))
    return made


def like(code: Code, kind: Any, own: Any, value: Any, error: BadArguments) -> Any:
    """A dictionary opened, its entries in the order of one that is opened already (`own`), which has the same keys.

    Raises, at run time, `error`: its keys are others.
    """
    opened, b = boxes.opened(kind), code.builder
    values, keys, *others = (View("", part, b.extract_value(own, i)) for i, part in enumerate(opened.types))
    function = _function("gathered", _GATHERED, ("d", "keys", "like"), kind)
    result = _types.Tuple([_types.boolean, values.kind])
    made = _run(code, function, result, [kind, keys.kind, values.kind], [value, keys.value, values.value])
    code.temporaries.append((values.kind, b.extract_value(made, 1)))
    code.refuse_if(b.not_(code.context.cast(b, b.extract_value(made, 0), _types.boolean, _types.boolean)), error)
    inside = [b.extract_value(made, 1), keys.value, *(other.value for other in others)]
    return code.context.make_tuple(b, opened, inside)


def put_back(code: Code, kind: Any, value: Any, opened: Any) -> None:
    """Write the values of a dictionary that was opened into it; it has the keys that it had."""
    arrays = boxes.opened(kind).types
    values, keys = (code.builder.extract_value(opened, i) for i in (0, 1))
    function = _function("scattered", _SCATTERED, ("d", "keys", "values"), kind)
    _run(code, function, _types.none, [kind, arrays[1], arrays[0]], [value, keys, values])


def give_back(code: Code, one: Taken, *, resizes: bool) -> None:
    """Make a dictionary of the caller's what the kernel made of it; whether it may have other keys is `resizes`."""
    b, arrays = code.builder, boxes.opened(one.kind).types
    if code.context.target_name == target.NAME:
        # to compare a value with the one before it would hide the slope of those that are equal
        put_back(code, one.kind, one.value, one.opened)
        return
    update = _function("updated", _UPDATED, ("d", "values"), one.kind)
    if not resizes:
        _run(code, update, _types.none, [one.kind, arrays[0]], [one.value, b.extract_value(one.opened, 0)])
        return
    with b.if_else(has_changed(code, one), likely=False) as (changed, same):
        with changed:
            _restore(code, one)
        with same:
            _run(code, update, _types.none, [one.kind, arrays[0]], [one.value, b.extract_value(one.opened, 0)])


def _restore(code: Code, one: Taken) -> None:
    """The dictionary anew, of the entries that the kernel left, in their order."""
    b = code.builder
    values, keys, hashes = boxes.opened(one.kind).types[:3]
    pointers = [b.inttoptr(word(code, one, 3 * i + 2), _cgutils.voidptr_t) for i in range(3)]
    failed = code.any([_cgutils.is_null(b, pointer) for pointer in pointers])
    with _cgutils.if_unlikely(b, failed):
        free(code, pointers)
        code.raise_error(MemoryError, "Unable to allocate memory for a dictionary")
    count, given = word(code, one, 1), list[Any]()
    kinds = (hashes, keys, values)
    widths = [getattr(inner, "count", 1) for inner in (one.kind.key_type, one.kind.value_type)]
    for kind, pointer, width in zip(kinds, pointers, (1, *widths), strict=True):
        shape = [count, code.word(width)][: kind.ndim]
        itemsize = code.context.get_abi_sizeof(code.context.get_data_type(kind.dtype))
        given.append(populated(code, kind, pointer, shape, itemsize, None))
    function = _function("restored", _RESTORED, ("d", "hashes", "keys", "values"), one.kind)
    _run(code, function, _types.none, [one.kind, *kinds], [one.value, *given])
    free(code, pointers)


def _run(code: Code, function: Any, result: Any, kinds: Sequence[Any], values: Sequence[Any]) -> Any:
    """Call njit code; an exception that it raises leaves, and drops what is held."""
    context, b, signature = code.context, code.builder, _typing.signature(result, *kinds)
    compiled = _compiled(code, function, signature)
    status, returned = context.call_internal_no_propagate(b, compiled.fndesc, signature, values)
    with _cgutils.if_unlikely(b, status.is_error):
        code.drop()
        context.call_conv.return_status_propagate(b, status)
    return returned


def _compiled(code: Code, function: Any, signature: Any) -> Any:
    """A function compiled for the target of the code around, and linked into it."""
    if code.context.target_name != target.NAME:
        return code.context.compile_subroutine(code.builder, function, signature)
    twin = target.twin(dispatcher_of(function))
    twin.compile(tuple(signature.args))
    compiled = twin.overloads[tuple(signature.args)]
    code.context.active_code_library.add_linking_library(compiled.library)
    return compiled
