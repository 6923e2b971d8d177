"""Typed lists of arrays as values of generated code: the arrays as one, new lists, and what a kernel made of one.

The arrays of a list are copied, each with its strides, into one array when the list is opened, and what the kernel
wrote there back when it ends. So nothing may share memory with them, which is tested; and the list itself is to keep
the arrays that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from irad.errors import BadArguments
from irad.frontend import boxes, items, shadows, target
from irad.frontend.items import Taken
from irad.frontend.shadows import ALIGNMENT, Code, View
from irad.frontend.target import need

_cgutils: Any = need("numba.core.cgutils", "alloca_once_value", "for_range", "loop_nest")
_ir: Any = need("llvmlite.ir", "IntType")

_BYTE = _ir.IntType(8)


def open_list(code: Code, kind: Any, value: Any) -> list[Any]:
    """The parts of a list, see `boxes.parts`. The arrays are temporaries of `code`."""
    b, (flat_part, words_part, *_) = code.builder, boxes.parts(kind)
    count, total = items.length(code, kind, value), _counter(code)
    per_item = boxes.words_of(kind)
    words = _made(code, words_part.kind, b.mul(count, code.word(per_item)))
    with each(code, kind, value) as (index, array):
        where, start = shadows.extent(code, array), b.mul(index, code.word(per_item))
        told = [b.add(b.load(total), where.offset), *(w for sizes in code.sizes(array) for w in sizes)]
        for i, word in enumerate(told):
            b.store(word, shadows.element(code, words, [b.add(start, code.word(i))]))
        # each at an address that its alignment divides
        size = b.add(b.sub(where.high, where.low), code.word(ALIGNMENT - 1))
        b.store(b.add(b.load(total), b.and_(size, code.word(-ALIGNMENT))), total)
    flat = _made(code, flat_part.kind, b.udiv(b.load(total), code.word(_width(code, flat_part.kind))))
    with each(code, kind, value) as (index, array):
        shadows.copy(code, array, inside(code, kind, flat, words, index))
    return [flat.value, words.value, *items.state(code, kind, value)]


def new_list(code: Code, kind: Any, flat: View, words: View) -> Any:
    """A list of new arrays, with what lies in one that is opened."""
    b = code.builder
    count = b.udiv(code.fields(words).nitems, code.word(boxes.words_of(kind)))
    value = items.empty_list(code, kind, count)
    with _cgutils.for_range(b, count) as loop:
        own = inside(code, kind, flat, words, loop.index)
        array = View("", own.kind, shadows.separate(code, own))
        shadows.copy(code, own, array)
        items.set_item(code, kind, value, loop.index, array.value)
        items.set_length(code, kind, value, b.add(loop.index, code.word(1)))
    return value


def like(code: Code, kind: Any, own: Any, value: Any, error: BadArguments) -> Any:
    """A list opened as one that is opened already (`own`), whose arrays have the same shapes.

    Raises, at run time, `error`: there are more or fewer arrays, or of other shapes.
    """
    opened, b = boxes.opened(kind), code.builder
    flat, words, *others = (View("", part, b.extract_value(own, i)) for i, part in enumerate(opened.types))
    count = b.udiv(code.fields(words).nitems, code.word(boxes.words_of(kind)))
    code.refuse_if(b.icmp_signed("!=", count, items.length(code, kind, value)), error)
    made = _made(code, flat.kind, code.fields(flat).nitems)
    with each(code, kind, value) as (index, array):
        place = inside(code, kind, made, words, index)
        code.refuse_if(shadows.unlike(code, place, array, strides=False), error)
        shadows.copy(code, array, place)
    return code.context.make_tuple(b, opened, [made.value, words.value, *(other.value for other in others)])


def put_back(code: Code, kind: Any, value: Any, opened: Any) -> None:
    """Write what lies in an opened list into the arrays of the list."""
    with _pairs(code, kind, value, opened) as (own, array):
        shadows.copy(code, own, array)


def give_back(code: Code, one: Taken, error: BadArguments, *, resizes: bool) -> None:
    """Write what the kernel changed in the arrays of a list of the caller's into them.

    Raises, at run time, `error`: the list that the kernel left has other arrays; `resizes` tells whether it may.
    """
    if code.context.target_name == target.NAME:
        # to compare a value with the one before it would hide the slope of those that are equal
        put_back(code, one.kind, one.value, one.opened)
        return
    if resizes:
        code.refuse_if(items.has_changed(code, one), error)
    with _pairs(code, one.kind, one.value, one.opened) as (own, array):
        _update(code, own, array)


def refuse_shared(
    code: Code, one: Taken, arrays: Iterable[View], lists: Iterable[Taken], bad: Callable[[str], BadArguments]
) -> None:
    """Refuse, at run time, arrays of a list that overlap themselves, each other, or others of the call."""
    wheres = [(other.name, shadows.extent(code, other)) for other in arrays]

    def refuse(here: shadows.Extent, there: shadows.Extent, name: str) -> None:
        code.refuse_if(shadows.overlap(code, here, there), bad(f"an array in {one.name} shares memory with {name}"))

    with each(code, one.kind, one.value) as (index, array):
        code.refuse_if(shadows.overlaps_itself(code, array), bad(f"an array in {one.name} overlaps itself in memory"))
        here = shadows.extent(code, array)
        with each(code, one.kind, one.value, index) as (_, other):
            refuse(here, shadows.extent(code, other), "another one there")
        for taken in lists:
            with each(code, taken.kind, taken.value) as (_, other):
                refuse(here, shadows.extent(code, other), f"one in {taken.name}")
        for name, where in wheres:
            refuse(here, where, name)


@contextmanager
def each(code: Code, kind: Any, value: Any, count: Any = None) -> Generator[tuple[Any, View]]:
    """Code for every array of a list, or for the first `count`: its index and itself."""
    with _cgutils.for_range(code.builder, items.length(code, kind, value) if count is None else count) as loop:
        yield loop.index, View("", kind.item_type, items.get_item(code, kind, value, loop.index))


def inside(code: Code, kind: Any, flat: View, words: View, index: Any) -> View:
    """An array of a list that is opened, in the place where it lies."""
    b, context, ndim = code.builder, code.context, kind.item_type.ndim
    start = b.mul(index, code.word(boxes.words_of(kind)))
    told = [b.load(shadows.element(code, words, [b.add(start, code.word(i))])) for i in range(boxes.words_of(kind))]
    made = context.make_array(kind.item_type)(context, b)
    data = b.gep(b.bitcast(code.fields(flat).data, _BYTE.as_pointer()), [told[0]])
    context.populate_array(
        made,
        data=b.bitcast(data, made.data.type),
        shape=told[1 : 1 + ndim],
        strides=told[1 + ndim :],
        itemsize=code.word(_width(code, flat.kind)),
        meminfo=None,
    )
    return View("", kind.item_type, made._getvalue())


@contextmanager
def _pairs(code: Code, kind: Any, value: Any, opened: Any) -> Generator[tuple[View, View]]:
    """Code for every array of a list that is opened: as it lies there, and the list's own."""
    flat, words = (View("", boxes.opened(kind).types[i], code.builder.extract_value(opened, i)) for i in (0, 1))
    with each(code, kind, value) as (index, array):
        yield inside(code, kind, flat, words, index), array


def _update(code: Code, source: View, target: View) -> None:
    """Write the elements of `source` that differ in their bits into `target`."""
    b, bits = code.builder, _ir.IntType(8 * _width(code, source.kind)).as_pointer()
    with _cgutils.loop_nest(b, code.sizes(source)[0], intp=code.word(0).type) as indices:
        new, old = (b.bitcast(shadows.element(code, view, indices), bits) for view in (source, target))
        with b.if_then(b.icmp_unsigned("!=", b.load(new), b.load(old))):
            b.store(b.load(new), old)


def _made(code: Code, kind: Any, count: Any) -> View:
    """A new array of zeros, a temporary."""
    value = shadows.zeros(code, kind, [count], _width(code, kind))
    code.temporaries.append((kind, value))
    return View("", kind, value)


def _width(code: Code, kind: Any) -> int:
    """The size of an element of an array type."""
    return code.context.get_abi_sizeof(code.context.get_data_type(kind.dtype))


def _counter(code: Code) -> Any:
    slot = _cgutils.alloca_once_value(code.builder, code.word(0))
    code.builder.store(code.word(0), slot)
    return slot
