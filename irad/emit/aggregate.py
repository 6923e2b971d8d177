"""Derivatives of values that are vectors or structures: sums and parts."""

from __future__ import annotations

from irad.analysis.kinds import has_float
from irad.ir.build import Builder
from irad.ir.model import ExtractValue, InsertValue, Value, is_zero, zero
from irad.ir.types import Array, Float, Struct, Type, Vector


def add(out: Builder, left: Value, right: Value) -> Value:
    """Sum of two derivatives of one type; parts that are not floats are zero."""
    if is_zero(left):
        return right
    if is_zero(right):
        return left
    match left.type:
        case Float() | Vector():
            return out.fadd(left, right)
        case _:
            total: Value = zero(left.type)
            for index, part in enumerate(parts(left.type)):
                if has_float(part):
                    each = add(out, out.extract(left, index, part), out.extract(right, index, part))
                    total = out.insert(total, each, index)
            return total


def parts(type: Type) -> list[Type]:
    """The member types of an aggregate."""
    match type:
        case Struct(fields):
            return list(fields)
        case Array(count, element):
            return [element] * count
        case _:
            return []


def extract(out: Builder, value: Value, indices: tuple[int, ...], type: Type) -> Value:
    return out.append(ExtractValue(type=type, operands=[value], indices=indices))


def insert(out: Builder, into: Value, element: Value, indices: tuple[int, ...]) -> Value:
    return out.append(InsertValue(type=into.type, operands=[into, element], indices=indices))
