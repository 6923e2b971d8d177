"""By how much a value changes from one iteration of a loop to the next."""

from __future__ import annotations

from irad.analysis.canonical import Canonical
from irad.analysis.flow import Loop
from irad.ir.model import Binary, Constant, Gep, Phi, Value
from irad.ir.types import PTR, Array, Int, Struct, size_of

WIDTH = 64  # integers as wide as addresses: sums wrap around as addresses do


def stride(value: Value, loop: Loop, canonical: Canonical) -> int | None:
    """The constant difference of `value` between iterations of `loop`, pointers in bytes; None where there is none.

    Only for values whose loop is `loop` itself, or that are computed outside it.
    """
    if not canonical.flow.inside(value, loop):
        return 0
    counted = canonical.counted.get(loop)
    match value:
        case Phi():
            if counted is not None and value is counted.counter:
                return 1
            return _of_induction(value, loop, canonical)
        case Gep():
            return _of_address(value, loop, canonical)
        case Binary(operands=[left, right]) if isinstance(value.type, Int) and value.type.bits == WIDTH:
            a, b = stride(left, loop, canonical), stride(right, loop, canonical)
            return None if a is None or b is None else _of_sum(value, a, b)
        case _:
            return None


def _of_induction(phi: Phi, loop: Loop, canonical: Canonical) -> int | None:
    induction = canonical.inductions.get(phi)
    if induction is None or canonical.flow.block_of[phi] is not loop.header:
        return None
    match induction.step:
        case Constant(literal=int(step)):
            step = -step if induction.negative else step
        case _:
            return None
    if phi.type != PTR:
        return step if isinstance(phi.type, Int) and phi.type.bits == WIDTH else None
    advance = induction.advance
    return step * size_of(advance.source) if isinstance(advance, Gep) and len(advance.operands) == 2 else None


def _of_sum(value: Binary, left: int, right: int) -> int | None:
    match value.op, value.operands:
        case "add", _:
            return left + right
        case "sub", _:
            return left - right
        case "mul", [_, Constant(literal=int(factor))]:
            return left * factor
        case "shl", [_, Constant(literal=int(bits))] if 0 <= bits < WIDTH:
            return left << bits
        case "or", _ if "disjoint" in value.flags:
            return left + right
        case _:
            return 0 if left == right == 0 else None


def _of_address(address: Gep, loop: Loop, canonical: Canonical) -> int | None:
    """The base's stride, and each index's times the size of what it steps over."""
    total = stride(address.pointer, loop, canonical)
    type = address.source
    for position, index in enumerate(address.operands[1:]):
        step = stride(index, loop, canonical)
        if total is None or step is None:
            return None
        if position > 0:
            match type, index:
                case Array(_, element), _:
                    type = element
                case Struct(fields), Constant(literal=int(number)):
                    type = fields[number]
                    continue
                case _:
                    return None
        total += step * size_of(type)
    return total
