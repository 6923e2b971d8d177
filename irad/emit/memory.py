"""Loads, stores and block moves: tangent and adjoint of each, side by side.

The derivative of memory lies in its shadow. A load's adjoint is added to the shadow of where it read; a store takes the
adjoint that gathered in the shadow of where it wrote, and leaves zero there, since what lay there before has no effect
on anything after the store.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from irad.analysis.needs import clears
from irad.analysis.objects import Object
from irad.analysis.records import Element, Layout
from irad.errors import AmbiguousKind
from irad.ir.build import Builder
from irad.ir.lines import blame
from irad.ir.model import Argument, Block, Call, Function, Load, Store, Value, integer, real, zero
from irad.ir.types import I1, I8, I64, PTR, VOID, Float, FunctionType, size_of
from irad.rules import calls

if TYPE_CHECKING:
    from irad.emit.body import Subject
    from irad.emit.forward import Tangent
    from irad.emit.reverse import Reverse


def moves(call: Call) -> bool:
    """Whether `call` copies or fills memory."""
    return call.callee_name in calls.COPIES or call.callee_name in calls.FILLS


# --- load -----------------------------------------------------------------------------------------------------------


def load_tangent(load: Load, out: Tangent) -> None:
    if load in out.subject.activity:
        dot = out.out.load(out.tangent_type(load), out.shadow(load.pointer), load.align)
        out.set(load, out.mark_shadow(dot, load.pointer))


def load_adjoint(load: Load, bar: Value, out: Reverse) -> None:
    out.add_to_shadow(load, bar)


# --- store ----------------------------------------------------------------------------------------------------------


def _clears(store: Store, subject: Subject) -> bool:
    return clears(store, subject.objects, subject.kinds, subject.activity)


def store_tangent(store: Store, out: Tangent) -> None:
    if not _clears(store, out.subject):
        return
    type = out.subject.kinds.tangent_type(store.value) or store.value.type
    dot = out.dot(store.value)
    stored = out.out.store(zero(type) if dot is None else dot, out.shadow(store.pointer), store.align)
    out.mark_shadow(stored, store.pointer)


def store_adjoint(store: Store, out: Reverse) -> None:
    if not _clears(store, out.subject):
        return
    type = out.subject.kinds.tangent_type(store.value) or store.value.type
    where = out.look_shadow(store.pointer)
    active = store.value in out.subject.activity
    bar = out.mark_shadow(out.out.load(type, where, store.align), store.pointer) if active else None
    if out.part is None or out.part.is_last:
        out.mark_shadow(out.out.store(zero(type), where, store.align), store.pointer)
    if bar is not None:
        out.add(store.value, bar)


# --- scratch arrays -------------------------------------------------------------------------------------------------


def scratch_adjoint(allocation: Call, out: Reverse) -> None:
    """A scratch array's life ends here, going back: its shadow is cleared for the iteration before."""
    if allocation in out.canonical.shadow:
        size = _as_i64(out.out, out.look(allocation.operands[0]))
        where = out.look_shadow(allocation)
        cleared = out.out.call("llvm.memset.p0.i64", VOID, [where, integer(0, I8), size, integer(0, I1)])
        out.mark_shadow(cleared, allocation)


# --- memcpy, memmove, memset ----------------------------------------------------------------------------------------


def element_of(call: Call, subject: Subject) -> Element | None:
    """The elements of the memory that `call` writes; None where it holds no floats or has no shadow.

    Raises
    ------
    AmbiguousKind: it cannot be told which floats lie there, and where.
    """
    kinds, (to, source) = subject.kinds, call.operands[:2]
    objects = subject.objects.pointed(to)
    types = kinds.element(objects)
    if not objects & subject.activity.shadowed:
        return None
    if not types:
        _refuse_unknown(call, objects, subject)
        return None
    if call.callee_name in calls.FILLS:
        return Element.of(min(types, key=str))
    touched = objects | subject.objects.pointed(source)
    layouts = [kinds.records[o] for o in touched if o in kinds.records]
    if layouts and all(_moves_whole(call, layout, layouts[0].element) for layout in layouts):
        return layouts[0].element
    if len(types) > 1:
        why = "memory that may hold both float32 and float64 is copied as a block"
        raise blame(AmbiguousKind(why, hint="copy it element by element, records field by field"), call)
    (type,) = types
    known = all(_moves_aligned(call, layout, type) for layout in layouts) if layouts else not touched & kinds.unaligned
    if not known:
        why = "a part of a record, or a record whose fields are not aligned, is copied as a block"
        raise blame(AmbiguousKind(why, hint="copy it field by field, or make its dtype with align=True"), call)
    return Element.of(type)


def _refuse_unknown(call: Call, objects: Collection[Object], subject: Subject) -> None:
    """Nothing that is known of memory must not pass for no derivative."""
    kinds, contents = subject.kinds, subject.objects.contents
    if any(o in subject.activity.memory and o not in kinds.integers and not contents.get(o) for o in objects):
        why = "memory that carries derivatives is moved as a block, and nothing tells which floats lie in it"
        raise blame(AmbiguousKind(why, hint="mark the function inline='always', or move element by element"), call)


def _moves_whole(call: Call, layout: Layout, element: Element) -> bool:
    """Whether a copy is one of whole elements."""
    starts = all(layout.place(pointer) == 0 for pointer in call.operands[:2])
    return layout.element == element and starts and layout.is_whole(call.operands[2])


def _moves_aligned(call: Call, layout: Layout, type: Float) -> bool:
    """Whether a copy within records that are aligned starts where a float may lie."""
    places = [layout.place(pointer) for pointer in call.operands[:2]]
    return not layout.element.is_packed and all(at is not None and at % size_of(type) == 0 for at in places)


def move_tangent(call: Call, out: Tangent) -> None:
    if element_of(call, out.subject) is None:
        return
    to, source, length = call.operands[:3]
    if call.callee_name in calls.COPIES and _has_shadow(source, out.subject):
        operands = [out.shadow(to), out.shadow(source), out.value(length), integer(0, I1)]
        out.mark_shadow(out.out.call(call.callee_name, VOID, operands), to, source)
    else:
        out.mark_shadow(out.zero_memory(out.shadow(to), _as_i64(out.out, out.value(length))), to)


def move_adjoint(call: Call, out: Reverse) -> None:
    element = element_of(call, out.subject)
    if element is None:
        return
    to, source, length = call.operands[:3]
    size = _as_i64(out.out, out.look(length))
    where = out.look_shadow(to)
    if call.callee_name in calls.COPIES and _has_shadow(source, out.subject):
        out.out.call(copy_adjoint_name(element), VOID, [where, out.look_shadow(source), size])
        out.uses_copy_adjoint.add(element)
    else:
        cleared = out.out.call("llvm.memset.p0.i64", VOID, [where, integer(0, I8), size, integer(0, I1)])
        out.mark_shadow(cleared, to)


def _has_shadow(pointer: Value, subject: Subject) -> bool:
    return bool(subject.objects.pointed(pointer) & subject.activity.shadowed)


def _as_i64(out: Builder, length: Value) -> Value:
    return out.cast("zext", length, I64)


def copy_adjoint_name(element: Element) -> str:
    return f"irad.copy.adjoint.{element}"


def copy_adjoint(element: Element) -> Function:
    """`void f(ptr to, ptr source, i64 bytes)`: source[i] += to[i], to[i] = 0, the adjoint of memmove.

    Each element undoes one step of a copy that never overwrites what it has yet to read; that copy runs upwards when
    `to` lies below `source`, so its adjoint runs downwards then, and upwards otherwise.
    """
    to, source, size = Argument(PTR, "to"), Argument(PTR, "source"), Argument(I64, "bytes")
    function = Function(
        copy_adjoint_name(element), FunctionType(VOID, (PTR, PTR, I64)), [to, source, size], linkage=("internal",)
    )
    entry, loop, done = Block("entry"), Block("loop"), Block("done")
    function.blocks += [entry, loop, done]
    out = Builder(entry)
    count = out.binary("udiv", size, integer(element.size, I64))
    below = out.compare("ult", to, source)
    last = out.binary("sub", count, integer(1, I64))
    out.branch_if(out.compare("eq", count, integer(0, I64)), done, loop)
    out.block = loop
    step = out.phi(I64, "step")
    index = out.select(below, out.binary("sub", last, step), step)
    starts = out.offset(to, index, element.type), out.offset(source, index, element.type)
    for at, type in element.floats:
        align = element.alignment(at, type)
        target, origin = (out.offset(start, at) for start in starts)
        moved = out.load(type, target, align)
        out.store(real(0.0, type), target, align)
        out.store(out.binary("fadd", out.load(type, origin, align), moved), origin, align)
    following = out.binary("add", step, integer(1, I64))
    step.operands, step.blocks = [integer(0, I64), following], [entry, loop]
    out.branch_if(out.compare("eq", following, count), done, loop)
    out.block = done
    out.ret()
    return function
