"""Lists of `numba.typed`: Numba's functions in C, in terms of memory, so that the analyses see what lies where.

A list is `NB_List` of Numba's `cext/listobject.h`: size, size of an item, room, whether it may be changed, two methods
that count references, and the items. Lists that the kernel makes are known to nobody else, so what is not observable is
simpler here: items are never given up before the call ends, and room only grows, to twice as much.
"""

from __future__ import annotations

import re

from irad.containers import DECLARED, definitions, moved, pointee, sizeof, tag, without_meminfos
from irad.rewrite import declared

ITEM_SIZE, ROOM, MUTABLE, ITEMS, SIZE = 8, 16, 24, 48, 56
_LEAST_ROOM = 4
_OK, _BAD_INDEX, _IMMUTABLE = 0, -1, -5

_GUARD = f"""{{
  %mutable.at = getelementptr i8, ptr %list, i64 {MUTABLE}
  %mutable = load i32, ptr %mutable.at
  %frozen = icmp eq i32 %mutable, 0
  br i1 %frozen, label %immutable, label %changed
immutable:
  ret i32 {_IMMUTABLE}
changed:
  %size = load i64, ptr %list
  %items.at = getelementptr i8, ptr %list, i64 {ITEMS}
  %items = load ptr, ptr %items.at"""

_IN_RANGE = f"""
  %valid = icmp ult i64 %index, %size
  br i1 %valid, label %found, label %beyond
beyond:
  ret i32 {_BAD_INDEX}
found:"""

_BYTES = f"""
  %bytes.at = getelementptr i8, ptr %list, i64 {ITEM_SIZE}
  %bytes = load i64, ptr %bytes.at"""

_BODIES = f"""
define linkonce_odr i32 @irad.list.new(ptr %out, i64 %bytes, i64 %wanted) alwaysinline {{
  %list = call ptr @irad_list(i64 {SIZE}, i32 16)
  %room = call i64 @llvm.umax.i64(i64 %wanted, i64 {_LEAST_ROOM})
  %all = mul i64 %room, %bytes
  %items = call ptr @irad_tape(i64 %all, i32 16)
  store i64 0, ptr %list
  %bytes.at = getelementptr i8, ptr %list, i64 {ITEM_SIZE}
  store i64 %bytes, ptr %bytes.at
  %room.at = getelementptr i8, ptr %list, i64 {ROOM}
  store i64 %room, ptr %room.at
  %mutable.at = getelementptr i8, ptr %list, i64 {MUTABLE}
  store i32 1, ptr %mutable.at
  %items.at = getelementptr i8, ptr %list, i64 {ITEMS}
  store ptr %items, ptr %items.at
  store ptr %list, ptr %out
  ret i32 {_OK}
}}

define linkonce_odr void @irad.list.set_method_table(ptr %list, ptr %methods) alwaysinline {{
  ret void
}}

define linkonce_odr ptr @irad.list.base_ptr(ptr %list) alwaysinline {{
  %items.at = getelementptr i8, ptr %list, i64 {ITEMS}
  %items = load ptr, ptr %items.at
  ret ptr %items
}}

define linkonce_odr i64 @irad.list.size_address(ptr %list) alwaysinline {{
  %address = ptrtoint ptr %list to i64
  ret i64 %address
}}

define linkonce_odr i32 @irad.list.is_mutable(ptr %list) alwaysinline {{
  %mutable.at = getelementptr i8, ptr %list, i64 {MUTABLE}
  %mutable = load i32, ptr %mutable.at
  ret i32 %mutable
}}

define linkonce_odr void @irad.list.set_is_mutable(ptr %list, i64 %wanted) alwaysinline {{
  %mutable.at = getelementptr i8, ptr %list, i64 {MUTABLE}
  %mutable = trunc i64 %wanted to i32
  store i32 %mutable, ptr %mutable.at
  ret void
}}

define linkonce_odr i32 @irad.list.delitem(ptr %list, i64 %index) alwaysinline {_GUARD}{_IN_RANGE}{_BYTES}
  %shorter = sub i64 %size, 1
  %last = icmp eq i64 %index, %shorter
  br i1 %last, label %done, label %shift
shift:
  %distance = mul i64 %index, %bytes
  %place = getelementptr i8, ptr %items, i64 %distance
  %behind = getelementptr i8, ptr %place, i64 %bytes
  %count = sub i64 %shorter, %index
  %rest = mul i64 %count, %bytes
  call void @llvm.memmove.p0.p0.i64(ptr %place, ptr %behind, i64 %rest, i1 false)
  br label %done
done:
  store i64 %shorter, ptr %list
  ret i32 {_OK}
}}

define linkonce_odr i32 @irad.list.delete_slice(ptr %list, i64 %first, i64 %stop, i64 %step) alwaysinline {_GUARD}
{_BYTES}
  %upwards = icmp sgt i64 %step, 0
  %low = select i1 %upwards, i64 %first, i64 %stop
  %high = select i1 %upwards, i64 %stop, i64 %first
  %none = icmp sge i64 %low, %high
  br i1 %none, label %unchanged, label %measured
unchanged:
  ret i32 {_OK}
measured:
  %down = sub i64 0, %step
  %pace = select i1 %upwards, i64 %step, i64 %down
  %span = sub i64 %high, %low
  %within = sub i64 %span, 1
  %steps = sdiv i64 %within, %pace
  %far = mul i64 %steps, %pace
  %leftmost = sub i64 %first, %far
  %begin = select i1 %upwards, i64 %first, i64 %leftmost
  %end = add i64 %begin, %far
  br label %item
item:
  %from = phi i64 [ %begin, %measured ], [ %following, %next ]
  %to = phi i64 [ %begin, %measured ], [ %kept, %next ]
  %inside = icmp slt i64 %from, %size
  br i1 %inside, label %asked, label %finished
asked:
  %since = sub i64 %from, %begin
  %off = srem i64 %since, %pace
  %hit = icmp eq i64 %off, 0
  %early = icmp sle i64 %from, %end
  %deleted = and i1 %hit, %early
  br i1 %deleted, label %next, label %move
move:
  %to.distance = mul i64 %to, %bytes
  %from.distance = mul i64 %from, %bytes
  %to.place = getelementptr i8, ptr %items, i64 %to.distance
  %from.place = getelementptr i8, ptr %items, i64 %from.distance
  call void @llvm.memmove.p0.p0.i64(ptr %to.place, ptr %from.place, i64 %bytes, i1 false)
  %taken = add i64 %to, 1
  br label %next
next:
  %kept = phi i64 [ %to, %asked ], [ %taken, %move ]
  %following = add i64 %from, 1
  br label %item
finished:
  store i64 %to, ptr %list
  ret i32 {_OK}
}}
"""


def _giving(type: str) -> str:
    """Functions that put an item of a type into a list."""
    bytes, put = sizeof(type), moved(type, "place", "item")
    return f"""
define linkonce_odr i32 @irad.list.setitem.{tag(type)}(ptr %list, i64 %index, ptr %item) alwaysinline {_GUARD}
{_IN_RANGE}
  %distance = mul i64 %index, {bytes}
  %place = getelementptr i8, ptr %items, i64 %distance
{put}  ret i32 {_OK}
}}

define linkonce_odr i32 @irad.list.append.{tag(type)}(ptr %list, ptr %item) alwaysinline {_GUARD}
  %used = mul i64 %size, {bytes}
  %room.at = getelementptr i8, ptr %list, i64 {ROOM}
  %room = load i64, ptr %room.at
  %fits = icmp slt i64 %size, %room
  br i1 %fits, label %ready, label %full
full:
  %twice = shl i64 %room, 1
  %more = call i64 @llvm.umax.i64(i64 %twice, i64 {_LEAST_ROOM})
  %all = mul i64 %more, {bytes}
  %moved = call ptr @irad_tape(i64 %all, i32 16)
  call void @llvm.memcpy.p0.p0.i64(ptr %moved, ptr %items, i64 %used, i1 false)
  store ptr %moved, ptr %items.at
  store i64 %more, ptr %room.at
  br label %ready
ready:
  %start = phi ptr [ %items, %changed ], [ %moved, %full ]
  %place = getelementptr i8, ptr %start, i64 %used
{put}  %longer = add i64 %size, 1
  store i64 %longer, ptr %list
  ret i32 {_OK}
}}
"""


_MORE = (
    *DECLARED,
    "declare i64 @llvm.umax.i64(i64, i64)",
    "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
)

_OTHERS = re.compile(r"@numba_(?:dict|set)_\w+")
_USED = re.compile(r"@numba_list_(\w+)")
_GIVEN = ("append", "setitem")
_KNOWN = {*re.findall(r"@irad\.list\.(\w+)\(", _BODIES), *_GIVEN, "free"}
_DESTRUCTOR = "_numba_list_dtor"
_GIVES_ITEM = re.compile(rf"@numba_list_({'|'.join(_GIVEN)})\(((?:(?:ptr|i64) [^\s,]+, )+ptr (%[^\s,)]+))\)")


def in_memory(text: str) -> str:
    """`text`, as Numba wrote it, with typed lists as memory that it allocates, and without their destructor.

    As it is, when it uses functions of typed containers that are not known here.
    """
    used = set(_USED.findall(text))
    if not used or not used <= _KNOWN or _OTHERS.search(text):
        return text
    types: set[str] = set()
    parts: list[str] = []
    for part in definitions(text, f"@{_DESTRUCTOR}(", *(f"@numba_list_{name}(" for name in _KNOWN)):
        found = {call[0]: pointee(call[3], part) for call in _GIVES_ITEM.finditer(part)}
        if None in found.values():
            return text
        types |= {type for type in found.values() if type}
        given = _GIVES_ITEM.sub(lambda call: f"@irad.list.{call[1]}.{tag(found[call[0]] or '')}({call[2]})", part)  # noqa: B023
        parts.append(without_meminfos(given, _DESTRUCTOR))
    named = "".join(parts).replace("@numba_list_", "@irad.list.").replace(f"@{_DESTRUCTOR}", "null")
    return declared(named, _MORE) + "".join([_BODIES, *map(_giving, sorted(types))])
