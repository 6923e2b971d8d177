"""Numba's calling convention: values of Numba types as the flat LLVM parameters of a compiled function.

A function is `i32 @f(ptr retptr, ptr excinfo, <leaves of the arguments>)`. Status 0 is success, -2 success returning
None; anything else is an exception, described by what `*excinfo` points to.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from irad.errors import Unsupported
from irad.frontend.boxes import is_constant_dict, suffixes
from irad.frontend.layout import member_offset, struct_type
from irad.frontend.target import need
from irad.ir.types import DOUBLE, I64, PTR, SINGLE, Array, Float, Struct, Type, size_of

_types: Any = need(
    "numba.core.types",
    *(
        "BaseTuple",
        "Array",
        "Literal",
        "Omitted",
        "NoneType",
        "Boolean",
        "Complex",
        "Record",
        "NestedArray",
        "Dispatcher",
    ),
    *("DictType", "UnicodeType", "NPDatetime", "NPTimedelta", "EnumMember", "Optional"),
    *("NumPyRandomGeneratorType", "NumPyRandomBitGeneratorType"),
)
_serialize: Any = need("numba.core.serialize", "dumps")
_numpy: Any = need("numba.np.numpy_support", "as_dtype")

ALIASED = 0x1AD1
"""Status of a derivative that has not run: its arguments overlap in a way that this version does not allow."""


NONE = -2
"""Status of a call that succeeded and returned None."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One LLVM parameter of a flattened value.

    path: where it is, `x`, `x[1]`, `x.data`. role: "float", "integer", "data" (of an array) or "opaque".
    type: of the parameter. offset: bytes into the value's in-memory return representation.

    Of a "data" leaf: dtype_kind ("float", "integer", "complex", "other"), itemsize in bytes, the floats in an element
    (`floats_in`), ndim, readonly, and the indices of the leaves that hold its shape and its strides (in bytes).
    """

    path: str
    role: str
    type: Type
    offset: int
    dtype_kind: str = ""
    itemsize: int = 0
    floats: tuple[tuple[int, Float], ...] = ()
    ndim: int = 0
    readonly: bool = False
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


def leaves(kind: Any, name: str = "x") -> tuple[Leaf, ...]:
    """A value of Numba type `kind`, flattened in the order of Numba's argument packer; `name` begins the paths.

    Floats, complex numbers (two floats each), integers, booleans, dates, members of enumerations, text,
    random generators, arrays, tuples of them, None and omitted defaults, literals, functions.

    Raises
    ------
    Unsupported: another type, named.
    """
    flat = _Flattened()
    flat.add(kind, name, struct_type(kind), 0)
    return tuple(flat.leaves)


def result_type(kind: Any) -> Any:
    """The Numba type of what a function of return type `kind` leaves in memory when it does not return None."""
    return kind.type if isinstance(kind, _types.Optional) else kind


def memory_error_globals() -> tuple[str, str]:
    """LLVM constants that describe Numba's MemoryError of a failed allocation, and the symbol to store to `*excinfo`.

    In the form of Numba's own exception records: a pickle of (class, arguments, location) and its SHA-1.
    """
    pickled = _serialize.dumps((MemoryError, ("Allocation failed (probably too large).",), None))
    symbol = "@irad.memory_error"
    record = f"{{ ptr {symbol}.data, i32 {len(pickled)}, ptr {symbol}.sha1, ptr null, i32 0 }}"
    text = "\n".join(
        [
            f"{symbol}.data = internal constant {_bytes(pickled)}",
            f"{symbol}.sha1 = internal constant {_bytes(hashlib.sha1(pickled).digest())}",
            f"{symbol} = internal constant {{ ptr, i32, ptr, ptr, i32 }} {record}",
        ]
    )
    return text + "\n", symbol


def _bytes(data: bytes) -> str:
    escaped = "".join("\\" + format(byte, "02X") for byte in data)
    return f'[{len(data)} x i8] c"{escaped}"'


# --- flattening -----------------------------------------------------------------------------------------------------


@dataclass
class _Flattened:
    leaves: list[Leaf] = field(default_factory=list[Leaf])

    def add(self, kind: Any, path: str, type: Type, offset: int) -> None:
        """Append the leaves of one value that lies at `offset`."""
        match kind:
            case _types.Literal() if isinstance(kind.literal_type, _types.Integer | _types.Boolean):
                self._leaf(path, "integer", type, offset)
            case _types.Integer() | _types.Boolean() | _types.NPDatetime() | _types.NPTimedelta():
                self._leaf(path, "integer", type, offset)
            case _types.Float():
                self._leaf(path, "float", type, offset)
            case _types.Complex():
                for i, name in enumerate(("real", "imag")):
                    self._leaf(f"{path}.{name}", "float", *_member(type, i, offset))
            case _types.NoneType() | _types.Dispatcher():
                self._leaf(path, "opaque", type, offset)
            case _types.EnumMember():
                self.add(kind.dtype, f"{path}.value", type, offset)
            case _types.UnicodeType() | _types.NumPyRandomGeneratorType() | _types.NumPyRandomBitGeneratorType():
                self._structure(path, type, offset, _TEXT if isinstance(kind, _types.UnicodeType) else ())
            case _types.DictType() if is_constant_dict(kind):
                self._structure(path, type, offset)
            case _types.Omitted():
                pass
            case _types.Array():
                self._array(kind, path, type, offset)
            case _types.BaseTuple():
                for i, (suffix, inner) in enumerate(suffixes(kind)):
                    self.add(inner, f"{path}{suffix}", *_member(type, i, offset))
            case _:
                raise Unsupported(
                    f"{path} is of Numba type {kind}, which irad does not differentiate",
                    hint=instead(kind),
                )

    def _structure(self, path: str, type: Type, offset: int, names: tuple[str, ...] = ()) -> None:
        """Numbers and pointers that carry no derivative."""
        for i, part in enumerate(_fields(type)):
            name = f"{path}.{names[i] if names else i}"
            if isinstance(part, Struct):
                self._structure(name, *_member(type, i, offset))
            else:
                self._leaf(name, "opaque" if part == PTR else "integer", *_member(type, i, offset))

    def _leaf(self, path: str, role: str, type: Type, offset: int) -> None:
        self.leaves.append(Leaf(path, role, type, offset))

    def _array(self, kind: Any, path: str, type: Type, offset: int) -> None:
        names = ("meminfo", "parent", "nitems", "itemsize", "data", "shape", "strides")
        at = [_member(type, i, offset)[1] for i in range(len(names))]
        roles = ("opaque", "opaque", "integer", "integer")
        for name, role, where in zip(names, roles, at, strict=False):
            self._leaf(f"{path}.{name}", role, PTR if role == "opaque" else I64, where)
        first = len(self.leaves) + 1
        shape, strides = (tuple(range(n, n + kind.ndim)) for n in (first, first + kind.ndim))
        data = Leaf(
            f"{path}.data",
            "data",
            PTR,
            at[4],
            dtype_kind=_dtype_kind(kind.dtype),
            itemsize=_numpy.as_dtype(kind.dtype).itemsize,
            floats=floats_in(kind.dtype),
            ndim=kind.ndim,
            readonly=not kind.mutable,
            shape=shape,
            strides=strides,
        )
        self.leaves.append(data)
        for name, where in zip(names[5:], at[5:], strict=True):
            for i in range(kind.ndim):
                self._leaf(f"{path}.{name}[{i}]", "integer", I64, where + 8 * i)


def floats_in(dtype: Any) -> tuple[tuple[int, Float], ...]:
    """The floats in an element of an array of Numba type `dtype`: where each lies, in bytes, and its type."""
    match dtype:
        case _types.Record():
            fields = sorted(dtype.fields.values(), key=lambda each: each.offset)
            return tuple((each.offset + at, one) for each in fields for at, one in floats_in(each.type))
        case _types.NestedArray():
            size = _numpy.as_dtype(dtype.dtype).itemsize
            return tuple((n * size + at, one) for n in range(dtype.nitems) for at, one in floats_in(dtype.dtype))
        case _types.Float(bitwidth=64) | _types.Complex(bitwidth=128):
            one = DOUBLE
        case _types.Float(bitwidth=32) | _types.Complex(bitwidth=64):
            one = SINGLE
        case _:
            return ()
    return tuple((at, one) for at in range(0, dtype.bitwidth // 8, size_of(one)))


_TEXT = ("data", "length", "kind", "is_ascii", "hash", "meminfo", "parent")
"""The parts of a string; its meminfo goes to the caller as that of an array does."""


def _fields(type: Type) -> tuple[Type, ...]:
    assert isinstance(type, Struct)
    return type.fields


def instead(kind: Any) -> str:
    """What to pass in the place of a value of a type that is refused."""
    return _INSTEAD.get(kind.__class__.__name__, "use floats, complex numbers, integers, arrays, and tuples of them")


_INSTEAD = {
    "FunctionType": "pass an njit function from Python, or call the function by its name",
    "ListType": "give it numbers, tuples of numbers, or writable arrays of numbers; make others in the kernel",
    "List": "pass a numba.typed.List of numbers, or an array",
    "DictType": "give it integers, or tuples of them, as keys and numbers as values; make others in the kernel",
    "Record": "use an array of records",
    "ClassInstanceType": "use its attributes, in a tuple",
}


def _dtype_kind(dtype: Any) -> str:
    match dtype:
        case _types.Float():
            return "float"
        case _types.Integer() | _types.Boolean():
            return "integer"
        case _types.Complex():
            return "complex"
        case _:
            return "other"


def _member(type: Type, index: int, offset: int) -> tuple[Type, int]:
    """The type and offset of a member of an aggregate that lies at `offset`."""
    match type:
        case Struct(fields):
            inside = fields[index]
        case Array(_, element):
            inside = element
        case _:
            raise AssertionError(type)
    return inside, offset + member_offset(type, index)
