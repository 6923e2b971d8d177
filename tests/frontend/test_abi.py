"""Leaves against Numba's own argument packer and LLVM's own layout of its return types."""

from __future__ import annotations

import pickle
import re
from collections import namedtuple
from typing import Any

import llvmlite.ir as ll
import numba
import numpy as np
import pytest
from numba import njit, types
from numba.core.datamodel import ArgPacker, default_manager
from numba.core.registry import cpu_target

from irad.errors import Unsupported
from irad.frontend import abi, layout
from irad.frontend.lower import lower
from irad.ir.types import DOUBLE, I64, PTR, Int
from irad.llvm import verify


@njit
def _identity(x):
    return x


def _label(kind: object) -> str:
    """A type's name without addresses: workers of one test run must agree on it."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(kind))


F8, F4, I4, B = types.float64, types.float32, types.int32, types.boolean
Pair = namedtuple("Pair", "a b")
RECORD = numba.from_dtype(np.dtype([("x", "f8"), ("n", "i4")], align=True))
KINDS = [
    F8,
    F4,
    types.int8,
    types.uint64,
    B,
    types.complex128,
    types.Tuple((B, types.complex64, F8)),
    types.Tuple((B, types.unicode_type, types.NPDatetime("s"))),
    types.none,
    types.Omitted(3.0),
    types.literal(3),
    types.literal(True),
    types.UniTuple(F8, 3),
    types.UniTuple(types.UniTuple(F4, 2), 3),
    types.Tuple((F8, B, types.Array(F4, 2, "A"), types.int16, B)),
    types.Tuple((B, types.Tuple((B, types.uint8, F4)), F8)),
    numba.typeof(Pair(1, (2.0, True))),
    types.Tuple(()),
    types.StarArgTuple((F8, I4)),
    types.StarArgUniTuple(F8, 2),
    types.Tuple((types.none, types.literal(2), F8)),
    types.Array(F8, 1, "C"),
    types.Array(F4, 3, "F"),
    types.Array(F8, 1, "C", readonly=True),
    types.Array(types.complex128, 0, "C"),
    types.Array(RECORD, 1, "C"),
    types.UniTuple(types.Array(B, 1, "A"), 2),
    numba.typeof(_identity),
]


@pytest.mark.parametrize("kind", KINDS, ids=_label)
def test_leaves_follow_numbas_packer(kind: Any) -> None:
    expected = [str(layout.converted(t)) for t in ArgPacker(default_manager, [kind]).argument_types]
    assert [str(leaf.type) for leaf in abi.leaves(kind)] == expected


@pytest.mark.parametrize("kind", KINDS, ids=_label)
def test_offsets_follow_llvms_layout(kind: Any) -> None:
    returned = default_manager.lookup(kind).get_return_type()
    assert [leaf.offset for leaf in abi.leaves(kind)] == list(_offsets(returned, 0))


def _offsets(kind: Any, at: int) -> Any:
    match kind:
        case ll.LiteralStructType():
            for i, element in enumerate(kind.elements):
                yield from _offsets(element, at + kind.get_element_offset(cpu_target.target_context.target_data, i))
        case ll.ArrayType():
            for i in range(kind.count):
                yield from _offsets(
                    kind.element, at + i * kind.element.get_abi_size(cpu_target.target_context.target_data)
                )
        case _:
            yield at


def test_leaves_are_the_parameters_of_the_compiled_function() -> None:
    kinds = (F8, types.Tuple((B, types.Array(F4, 2, "F"))), I4)
    lowered = lower(lambda x, t, n: x + n, kinds)
    head = re.search(rf"^define i32 @{lowered.name}\((.*)\)", lowered.text, re.MULTILINE)
    assert head
    parameters = [p.split()[0] for p in head[1].split(", ")]
    assert parameters == ["ptr", "ptr", *(str(leaf.type) for kind in kinds for leaf in abi.leaves(kind))]


def test_roles_and_paths_of_scalars() -> None:
    leaves = abi.leaves(types.Tuple((F8, types.Tuple((I4, B)), types.none)), "t")
    assert [(leaf.path, leaf.role) for leaf in leaves] == [
        ("t[0]", "float"),
        ("t[1][0]", "integer"),
        ("t[1][1]", "integer"),
        ("t[2]", "opaque"),
    ]
    assert abi.leaves(B)[0].type == Int(8)


@pytest.mark.parametrize(
    ("dtype", "kind", "itemsize"),
    [(F8, "float", 8), (F4, "float", 4), (I4, "integer", 4), (B, "integer", 1), (types.complex64, "complex", 8),
     (RECORD, "other", 16), (types.NPDatetime("s"), "other", 8)],
)  # fmt: skip
@pytest.mark.parametrize("readonly", [False, True])
def test_arrays(dtype: Any, kind: str, itemsize: int, readonly: bool) -> None:
    leaves = abi.leaves(types.Tuple((F8, types.Array(dtype, 2, "A", readonly=readonly))), "x")
    data = leaves[5]
    assert (data.path, data.role, data.type, data.offset) == ("x[1].data", "data", PTR, 8 + 32)
    assert (data.dtype_kind, data.itemsize, data.ndim, data.readonly) == (kind, itemsize, 2, readonly)
    assert (data.shape, data.strides) == ((6, 7), (8, 9))
    assert [leaves[i].path for i in (*data.shape, *data.strides)] == [
        "x[1].shape[0]", "x[1].shape[1]", "x[1].strides[0]", "x[1].strides[1]"
    ]  # fmt: skip
    assert [leaf.role for leaf in leaves[1:5]] == ["opaque", "opaque", "integer", "integer"]
    assert all(leaf.type == I64 for leaf in leaves[6:])


@pytest.mark.parametrize(
    "kind",
    [
        types.Optional(F8),
        RECORD,
        types.ListType(F8),
        types.Tuple((F8, types.List(F8))),
    ],
    ids=str,
)
def test_other_types_are_refused_by_name(kind: Any) -> None:
    with pytest.raises(Unsupported) as caught:
        abi.leaves(kind, "y")
    named = kind.types[1] if isinstance(kind, types.BaseTuple) else kind
    assert f"is of Numba type {named}" in str(caught.value)
    assert str(caught.value).startswith("y[1]" if named is not kind else "y ")


def test_struct_type_of_a_scalar_is_the_scalar() -> None:
    assert layout.struct_type(F8) == DOUBLE
    assert str(layout.struct_type(types.Tuple((F8, B)))) == "{ double, i8 }"


def test_memory_error_is_numbas_own_record() -> None:
    text, symbol = abi.memory_error_globals()
    verify(text + f"define void @f(ptr %excinfo) {{\n  store ptr {symbol}, ptr %excinfo\n  ret void\n}}\n")
    numbas = lower(lambda n: np.empty(n).size, (types.int64,)).text
    data, record = _record(text, symbol)
    for candidate in re.findall(r"^(@\.const\.picklebuf\.\S+) =", numbas, re.MULTILINE):
        if b"MemoryError" in _record(numbas, candidate)[0]:
            assert pickle.loads(data) == pickle.loads(_record(numbas, candidate)[0])
            assert re.sub(r"@[^,]+", "@", record) == re.sub(r"@[^,]+", "@", _record(numbas, candidate)[1])
            return
    pytest.fail("Numba raises no MemoryError")


def _record(text: str, symbol: str) -> tuple[bytes, str]:
    """The pickled bytes that an exception record points to, and the record."""
    record = re.search(rf"^{re.escape(symbol)} = internal constant (.*)$", text, re.MULTILINE)
    assert record
    named = re.search(r"ptr (@\S+), i32", record[1])
    assert named
    data = re.search(rf'^{re.escape(named[1])} = internal constant \[\d+ x i8\] c"(.*)"', text, re.MULTILINE)
    assert data
    raw = re.sub(rb"\\([0-9A-F]{2})", lambda m: bytes.fromhex(m[1].decode()), data[1].encode())
    return raw, record[1]
