"""LLVM's types: frozen descriptions, compared by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Int:
    """An integer of `bits` bits."""

    bits: int

    def __str__(self) -> str:
        return f"i{self.bits}"


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point type by LLVM's word: half, bfloat, float, double, x86_fp80, fp128, ppc_fp128."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True, slots=True)
class Ptr:
    """An opaque pointer."""

    space: int = 0

    def __str__(self) -> str:
        return f"ptr addrspace({self.space})" if self.space else "ptr"


@dataclass(frozen=True, slots=True)
class Vector:
    """A SIMD vector."""

    count: int
    element: Type
    scalable: bool = False

    def __str__(self) -> str:
        return f"<{'vscale x ' if self.scalable else ''}{self.count} x {self.element}>"


@dataclass(frozen=True, slots=True)
class Array:
    """An array of a constant length, in memory or as an aggregate value."""

    count: int
    element: Type

    def __str__(self) -> str:
        return f"[{self.count} x {self.element}]"


@dataclass(frozen=True, slots=True)
class Struct:
    """A literal structure."""

    fields: tuple[Type, ...]
    packed: bool = False

    def __str__(self) -> str:
        inside = "{ " + ", ".join(map(str, self.fields)) + " }" if self.fields else "{}"
        return f"<{inside}>" if self.packed else inside


@dataclass(frozen=True, slots=True)
class Named:
    """A structure by its name, `%name`; its fields stand in the module."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Other:
    """A type without values in memory: void, label, metadata, token."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FunctionType:
    """Result and parameter types of a function."""

    result: Type
    parameters: tuple[Type, ...]
    varargs: bool = False

    def __str__(self) -> str:
        return f"{self.result} ({', '.join([*map(str, self.parameters), *(['...'] if self.varargs else [])])})"


Type: TypeAlias = Int | Float | Ptr | Vector | Array | Struct | Named | Other | FunctionType

VOID = Other("void")
METADATA = Other("metadata")
PTR = Ptr()
I1, I8, I16, I32, I64 = Int(1), Int(8), Int(16), Int(32), Int(64)
DOUBLE, SINGLE, HALF = Float("double"), Float("float"), Float("half")

FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "x86_fp80": 80, "fp128": 128, "ppc_fp128": 128}


def size_of(type: Type) -> int:
    """Bytes that a value of `type` takes in memory, padding at its end included (x86-64 and AArch64 rules)."""
    match type:
        case Int(bits):
            return _rounded((bits + 7) // 8, alignment_of(type))
        case Float(kind):
            return _rounded(FLOAT_BITS[kind] // 8, alignment_of(type))
        case Ptr():
            return 8
        case Array(count, element):
            return count * size_of(element)
        case Vector(count, element):
            return _rounded(count * size_of(element), alignment_of(type))
        case Struct():
            return _rounded(_struct_end(type), alignment_of(type))
        case _:
            raise ValueError(f"{type} has no size")


def alignment_of(type: Type) -> int:
    """The natural alignment of `type`, in bytes."""
    match type:
        case Int(bits):
            return min(16, 1 << max(0, (bits + 7) // 8 - 1).bit_length())
        case Float(kind):
            return {"x86_fp80": 16}.get(kind, FLOAT_BITS[kind] // 8)
        case Ptr():
            return 8
        case Array(_, element):
            return alignment_of(element)
        case Vector(count, element):
            return 1 << (count * size_of(element) - 1).bit_length()
        case Struct(fields, packed):
            return 1 if packed else max((alignment_of(f) for f in fields), default=1)
        case _:
            raise ValueError(f"{type} has no alignment")


def field_offset(type: Struct, index: int) -> int:
    """Byte offset of a structure's field."""
    at = 0
    for i, field in enumerate(type.fields):
        at = at if type.packed else _rounded(at, alignment_of(field))
        if i == index:
            return at
        at += size_of(field)
    raise IndexError(index)


def _struct_end(type: Struct) -> int:
    if not type.fields:
        return 0
    last = len(type.fields) - 1
    return field_offset(type, last) + size_of(type.fields[last])


def _rounded(size: int, alignment: int) -> int:
    return (size + alignment - 1) // alignment * alignment
