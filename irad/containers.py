"""What the containers of `numba.typed` have in common in the text that Numba writes for them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from irad.rewrite import ALLOCATE

DECLARED = (
    ALLOCATE.replace("@irad_alloc(", "@irad_list("),
    ALLOCATE.replace("@irad_alloc(", "@irad_tape("),
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)
"""What the bodies of all containers call."""
_COUNTS = "call ptr @irad_alloc(i64 8, i32 16)"
_NEW = re.compile(r"(%[^\s=]+) = call ptr @NRT_MemInfo_alloc_dtor\(i64 8, ptr (%[^\s,)]+|@[^)]+)\)")
_CAST = re.compile(r"bitcast ptr (%[^\s,]+) to ptr")
_SLOT = re.compile(r"alloca (.+?)(?:, align \d+)?(?:, !dbg !\d+)?$")


def definitions(text: str, *gone: str) -> Iterator[str]:
    """The parts of a module, without the functions that are `gone` (as "@name(")."""
    for part in re.split(r"^(?=define |declare )", text, flags=re.MULTILINE):
        head, newline, rest = part.partition("\n")
        if not head.startswith(("define ", "declare ")) or not any(name in head for name in gone):
            yield part
        elif head.startswith("define "):
            yield part[part.index("\n}\n") + 3 :]
        else:
            yield newline + rest


def moved(type: str, to: str, source: str) -> str:
    """Code that moves a value from one place to another.

    As what it is: LLVM would make an integer of a constant float in a block. Records, which are bytes, are blocks.
    """
    if "i8]" in type or "<{" in type:
        return f"  call void @llvm.memcpy.p0.p0.i64(ptr %{to}, ptr %{source}, i64 {sizeof(type)}, i1 false)\n"
    return f"  %{to}.moved = load {type}, ptr %{source}\n  store {type} %{to}.moved, ptr %{to}\n"


def tag(type: str) -> str:
    """A type as a part of a name."""
    return type if type.isalnum() else hashlib.sha256(type.encode()).hexdigest()[:12]


def sizeof(type: str) -> str:
    """The size of a type, as a constant of LLVM."""
    return f"ptrtoint (ptr getelementptr ({type}, ptr null, i32 1) to i64)"


def pointee(pointer: str, body: str) -> str | None:
    """The type of the stack slot of a function that `pointer` points to."""
    made = _made(pointer, body)
    if cast := _CAST.match(made):
        return pointee(cast[1], body)
    slot = _SLOT.match(made)
    return slot[1] if slot else None


def without_meminfos(body: str, destructor: str) -> str:
    """`body` in which what counts the references to a container is memory apart, that holds no pointer to it.

    A container is its meminfo and its address. Nothing but destructors and Python takes the one from the other, and
    which of the two a pointer is, is lost when both lie in another container.
    """
    for made in _NEW.finditer(body):
        name, given = made.groups()
        if f"@{destructor}" in (_made(given, body) or given):
            body = body.replace(made[0], f"{name} = {_COUNTS}")
            body = body.replace(f"call ptr @NRT_MemInfo_data_fast(ptr {name})", _COUNTS)
    return body


def _made(value: str, body: str) -> str:
    """The cast or the stack slot that a value of a function is; empty for others."""
    found = re.search(rf"^  {re.escape(value)} = ((?:bitcast|alloca) .*)$", body, re.MULTILINE)
    return found[1] if found else ""
