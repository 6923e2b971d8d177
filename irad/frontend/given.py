"""Shadows that the caller owns, and what they must be like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from irad.errors import BadArgumentType
from irad.frontend import arguments, shadows
from irad.frontend.arguments import Kernel
from irad.frontend.frame import Frame
from irad.frontend.shadows import View


def check_shadow_types(kernel: Kernel, given: Iterable[tuple[str, Any, Any]]) -> None:
    """Shadows are written to. `given` are their names, the types of what they belong to, and their own.

    Raises
    ------
    BadArgumentType: a read-only one.
    """
    for name, own, kind in given:
        pairs = arguments.paired_types(own, kind)
        if any(arguments.has_shadow(part) and not shadow.mutable for part, shadow in pairs):
            raise BadArgumentType(f"{name} is read-only: a shadow is written to", place=kernel.place)


def check_shadows(frame: Frame, own: Sequence[View], given: Sequence[View]) -> None:
    """Emit the checks of shadows against the arrays that they belong to.

    Same shape and strides; no overlap with any argument; shadows overlap exactly as their arrays do.
    """
    code, b = frame.code, frame.code.builder
    wheres = {view.name: shadows.extent(code, view) for view in frame.all_arrays()}
    ends = [shadows.extent(code, view) for view in given]
    for view, shadow, end in zip(own, given, ends, strict=True):
        frame.refuse_self_overlap(view)
        why = f"the shadow of {view.name} has another shape, or other strides, than {view.name}"
        code.refuse_if(shadows.unlike(code, view, shadow, strides=True), frame.bad(why, "make both the same"))
        found = code.any([shadows.overlap(code, end, where) for where in wheres.values()])
        code.refuse_if(found, frame.bad(f"the shadow of {view.name} shares memory with an argument"))
    names = {view.name for view in own}
    for view in frame.all_arrays(arguments.has_shadow):
        if view.name not in names:
            found = code.any([shadows.overlap(code, wheres[view.name], wheres[name]) for name in names])
            why = f"{view.name} is constant, but shares memory with an argument that is differentiated"
            code.refuse_if(found, frame.bad(why, f"give {view.name} a shadow too, or pass a copy of it"))
    for i, one in enumerate(own):
        for j in range(i):
            other = own[j]
            shared = shadows.overlap(code, wheres[one.name], wheres[other.name])
            apart = b.sub(*(b.ptrtoint(code.fields(v).data, code.word(0).type) for v in (one, other)))
            shadows_apart = b.sub(*(b.ptrtoint(code.fields(given[k]).data, apart.type) for k in (i, j)))
            moved = b.and_(shared, b.icmp_signed("!=", apart, shadows_apart))
            merged = b.and_(b.not_(shared), shadows.overlap(code, ends[i], ends[j]))
            pair = f"{other.name} and {one.name}"
            why = f"the shadows of {pair} must share memory exactly as {pair} do"
            code.refuse_if(b.or_(moved, merged), frame.bad(why))
