"""Calls of functions of the module: tangent, augmented and adjoint calls, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irad.analysis.canonical import FRAME, SHADOW
from irad.errors import Unsupported
from irad.ir.lines import blame
from irad.ir.model import Call, Value
from irad.ir.types import I32, VOID, Struct, Type, field_offset

if TYPE_CHECKING:
    from irad.emit.augment import Augmented
    from irad.emit.body import Body, Subject
    from irad.emit.forward import Tangent
    from irad.emit.reverse import Reverse


def is_shadow(call: Call) -> bool:
    return call.callee_name == SHADOW


def is_frame(call: Call) -> bool:
    return call.callee_name == FRAME


def require_status(call: Call) -> None:
    """Functions that return a status or nothing can be differentiated as calls (Numba's all do)."""
    if call.type not in (I32, VOID):
        error = Unsupported(
            "a call that returns a value directly is not differentiated", hint="mark the helper inline='always'"
        )
        raise blame(error, call)


def tangent(call: Call, out: Tangent) -> None:
    require_status(call)
    dots = [out.dot_or_zero(v) for v in active_operands(call, out)]
    out.derivative_call(call, out.derivative_name(call), dots)


def augment(call: Call, out: Augmented) -> None:
    require_status(call)
    frame = out.value(out.subject.canonical.frames[call])
    out.derivative_call(call, out.children[call].augmented, [frame])


def adjoint(call: Call, out: Reverse) -> None:
    child = out.children[call]
    frame = out.look(out.subject.canonical.frames[call])
    operands = active_operands(call, out)
    layout = bars_type([out.tangent_type(v) for v in operands])
    bars = out.stack_slot(layout)
    out.return_failure(out.out.call(child.reverse, I32, [frame, bars, out.excinfo]))
    for i, operand in enumerate(operands):
        where = out.out.offset(bars, field_offset(layout, i))
        out.add(operand, out.out.load(layout.fields[i], where))


def active_operands(call: Call, out: Body | Reverse) -> list[Value]:
    """Operands that carry an adjoint or tangent of their own into the call, in order."""
    return active_values(call, out.subject)


def active_values(call: Call, subject: Subject) -> list[Value]:
    return [v for v in call.operands if v in subject.activity]


def bars_type(types: list[Type]) -> Struct:
    """The structure in which a reverse function leaves the adjoints of its active arguments."""
    return Struct(tuple(types))
