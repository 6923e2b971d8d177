"""How values of Numba types lie in memory."""

from __future__ import annotations

from typing import Any

from irad.errors import Unsupported
from irad.frontend.target import need
from irad.ir.types import DOUBLE, HALF, SINGLE, Array, Int, Ptr, Struct, Type, field_offset, size_of

_models: Any = need("numba.core.datamodel", "default_manager.lookup").default_manager
_ir: Any = need("llvmlite.ir", "PointerType", "IntType", "DoubleType", "FloatType", "HalfType", "LiteralStructType")


def struct_type(kind: Any) -> Type:
    """How a value of Numba type `kind` lies in memory when a function returns it.

    Raises
    ------
    Unsupported: Numba has no representation of `kind`.
    """
    try:
        return converted(_models.lookup(kind).get_return_type())
    except (NotImplementedError, KeyError):
        raise Unsupported(f"Numba has no native representation of the type {kind}") from None


def instance_type(kind: Any) -> Struct:
    """The memory of an instance of the jitclass `kind`: its attributes in order.

    Raises
    ------
    Unsupported: Numba has no representation of an attribute.
    """
    try:
        layout = converted(_models.lookup(kind.get_data_type()).get_data_type())
    except (NotImplementedError, KeyError):
        raise Unsupported(f"Numba has no native representation of an attribute of {kind}") from None
    assert isinstance(layout, Struct)
    return layout


def memory_type(kind: Any) -> Type:
    """How a value of Numba type `kind` lies in an array or a container."""
    return converted(_models.lookup(kind).get_data_type())


def member_offset(type: Type, index: int) -> int:
    """Where a member of an aggregate begins, in bytes."""
    match type:
        case Struct():
            return field_offset(type, index)
        case Array(_, element):
            return index * size_of(element)
        case _:
            raise AssertionError(type)


def converted(type: Any) -> Type:
    match type:
        case _ir.IntType():
            return Int(type.width)
        case _ir.DoubleType():
            return DOUBLE
        case _ir.FloatType():
            return SINGLE
        case _ir.HalfType():
            return HALF
        case _ir.PointerType():
            return Ptr()
        case _ir.ArrayType():
            return Array(type.count, converted(type.element))
        case _ir.LiteralStructType():
            return Struct(tuple(converted(t) for t in type.elements), packed=type.packed)
        case _:
            raise NotImplementedError(type)
