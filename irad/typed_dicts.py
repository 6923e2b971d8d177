"""Dictionaries of `numba.typed`: Numba's functions in C, in terms of memory, as lists are in `irad.typed_lists`.

Nobody but the kernel knows a dictionary that it makes, so that its memory is our own: keys, values and hashes in the
order of insertion, and a table of places in these. Each is an allocation, so that floats are alone where they lie. The
table grows when that of Numba's `cext/dictobject.c` does, for an iteration ends there.
"""

from __future__ import annotations

import re

from irad.containers import DECLARED, definitions, moved, pointee, sizeof, tag, without_meminfos
from irad.rewrite import declared

_FIELDS = ("used", "entries", "usable", "size", "indices", "hashes", "keys", "values", "key.size", "value.size")
AT = {name: 8 * i for i, name in enumerate(_FIELDS)}
SIZE = 8 * len(_FIELDS)
_POINTERS = {"indices", "hashes", "keys", "values"}
EMPTY, _DELETED = -1, -2  # in the table; an entry that is deleted has the hash -1, which no key has
_LEAST = 8  # D_MINSIZE
_OK, _REPLACED, _MUTATED, _EXHAUSTED, _NO_ITEM = 0, 1, -2, -3, -4


def _place(*names: str) -> str:
    return "".join(f"  %{name}.at = getelementptr i8, ptr %dict, i64 {AT[name]}\n" for name in names)


def _read(*names: str) -> str:
    types = ((name, "ptr" if name in _POINTERS else "i64") for name in names)
    return _place(*names) + "".join(f"  %{name} = load {type}, ptr %{name}.at\n" for name, type in types)


def _step(field: str, by: int) -> str:
    """A count of the dictionary, which was read, goes up or down."""
    return f"  %{field}.next = add i64 %{field}, {by}\n  store i64 %{field}.next, ptr %{field}.at\n"


def _element(name: str, array: str, index: str) -> str:
    """The place of a word in the table or among the hashes."""
    return f"  %{name}.at = getelementptr i64, ptr %{array}, i64 %{index}\n"


def _item(name: str, array: str, index: str, size: str) -> str:
    """The place of a key or a value."""
    return (
        f"  %{name}.far = mul i64 %{index}, {size}\n  %{name}.place = getelementptr i8, ptr %{array}, i64 %{name}.far\n"
    )


def _probe(wanted: int | str, found: str) -> str:
    """From the slot of `%hash` on, go to one that holds `wanted`; `%slot.at` is where it is, in the block `found`."""
    return f"""  %mask = sub i64 %size, 1
  %first = and i64 %hash, %mask
  br label %probe
probe:
  %slot = phi i64 [ %first, %start ], [ %slot.next, %onwards ]
{_element("slot", "indices", "slot")}  %held = load i64, ptr %slot.at
  %here = icmp eq i64 %held, {wanted}
  br i1 %here, label %{found}, label %onwards
onwards:
  %slot.more = add i64 %slot, 1
  %slot.next = and i64 %slot.more, %mask
  br label %probe
{found}:
"""


_BODIES = f"""
define linkonce_odr void @irad.dict.tables(ptr %dict, i64 %size, i64 %key.size, i64 %value.size) alwaysinline {{
{_place("usable", "size", "indices", "hashes", "keys", "values")}  %twice = shl i64 %size, 1
  %room = udiv i64 %twice, 3
  store i64 %room, ptr %usable.at
  store i64 %size, ptr %size.at
  %indices.bytes = shl i64 %size, 3
  %indices = call ptr @irad_tape(i64 %indices.bytes, i32 16)
  call void @llvm.memset.p0.i64(ptr align 16 %indices, i8 -1, i64 %indices.bytes, i1 0)
  %hashes.bytes = shl i64 %room, 3
  %hashes = call ptr @irad_tape(i64 %hashes.bytes, i32 16)
  %keys.bytes = mul i64 %room, %key.size
  %keys = call ptr @irad_tape(i64 %keys.bytes, i32 16)
  %values.bytes = mul i64 %room, %value.size
  %values = call ptr @irad_tape(i64 %values.bytes, i32 16)
  store ptr %indices, ptr %indices.at
  store ptr %hashes, ptr %hashes.at
  store ptr %keys, ptr %keys.at
  store ptr %values, ptr %values.at
  ret void
}}

define linkonce_odr i32 @irad.dict.new_sized(ptr %out, i64 %wanted, i64 %key.size, i64 %value.size) alwaysinline {{
  %dict = call ptr @irad_list(i64 {SIZE}, i32 16)
{_place("used", "entries", "key.size", "value.size")}  store i64 0, ptr %used.at
  store i64 0, ptr %entries.at
  store i64 %key.size, ptr %key.size.at
  store i64 %value.size, ptr %value.size.at
  %half = ashr i64 %wanted, 1
  %load = add i64 %wanted, %half
  %zeros = call i64 @llvm.ctlz.i64(i64 %load, i1 0)
  %bits = sub i64 64, %zeros
  %power = shl i64 1, %bits
  %small = icmp slt i64 %wanted, 6
  %size = select i1 %small, i64 {_LEAST}, i64 %power
  call void @irad.dict.tables(ptr %dict, i64 %size, i64 %key.size, i64 %value.size)
  store ptr %dict, ptr %out
  ret i32 {_OK}
}}

define linkonce_odr void @irad.dict.set_method_table(ptr %dict, ptr %methods) alwaysinline {{
  ret void
}}

define linkonce_odr i64 @irad.dict.length(ptr %dict) alwaysinline {{
{_read("used")}  ret i64 %used
}}

define linkonce_odr void @irad.dict.enter(ptr %dict, i64 %hash, i64 %at) alwaysinline {{
start:
{_read("size", "indices")}{_probe(EMPTY, "found")}  store i64 %at, ptr %slot.at
  ret void
}}

define linkonce_odr void @irad.dict.leave(ptr %dict, i64 %hash, i64 %at) alwaysinline {{
start:
{_read("size", "indices")}{_probe("%at", "found")}  store i64 {_DELETED}, ptr %slot.at
  ret void
}}

define linkonce_odr i32 @irad.dict.delitem(ptr %dict, i64 %hash, i64 %at) alwaysinline {{
{_read("used", "hashes")}  call void @irad.dict.leave(ptr %dict, i64 %hash, i64 %at)
{_step("used", -1)}{_element("hash", "hashes", "at")}  store i64 {EMPTY}, ptr %hash.at
  ret i32 {_OK}
}}

define linkonce_odr void @irad.dict.iter(ptr %state, ptr %dict) alwaysinline {{
{_read("used", "indices")}  store ptr %dict, ptr %state
  %indices.then = getelementptr i8, ptr %state, i64 8
  store ptr %indices, ptr %indices.then
  %used.then = getelementptr i8, ptr %state, i64 16
  store i64 %used, ptr %used.then
  %next = getelementptr i8, ptr %state, i64 24
  store i64 0, ptr %next
  ret void
}}

define linkonce_odr i32 @irad.dict.iter_next(ptr %state, ptr %key, ptr %value) alwaysinline {{
start:
  %dict = load ptr, ptr %state
{_read("used", "entries", "indices", "hashes", "keys", "values", "key.size", "value.size")}\
  %indices.then = getelementptr i8, ptr %state, i64 8
  %indices.old = load ptr, ptr %indices.then
  %used.then = getelementptr i8, ptr %state, i64 16
  %used.old = load i64, ptr %used.then
  %same.table = icmp eq ptr %indices, %indices.old
  %same.used = icmp eq i64 %used, %used.old
  %same = and i1 %same.table, %same.used
  %next = getelementptr i8, ptr %state, i64 24
  %begin = load i64, ptr %next
  br i1 %same, label %entry, label %mutated
mutated:
  ret i32 {_MUTATED}
entry:
  %at = phi i64 [ %begin, %start ], [ %onwards, %asked ]
  %inside = icmp slt i64 %at, %entries
  br i1 %inside, label %asked, label %exhausted
exhausted:
  store i64 %at, ptr %next
  ret i32 {_EXHAUSTED}
asked:
{_element("hash", "hashes", "at")}  %hash = load i64, ptr %hash.at
  %onwards = add i64 %at, 1
  %deleted = icmp eq i64 %hash, {EMPTY}
  br i1 %deleted, label %entry, label %found
found:
  store i64 %onwards, ptr %next
{_item("key", "keys", "at", "%key.size")}  store ptr %key.place, ptr %key
{_item("value", "values", "at", "%value.size")}  store ptr %value.place, ptr %value
  ret i32 {_OK}
}}
"""


def _find(key: str) -> str:
    """The function that looks for a key: -1, or which entry it is."""
    return f"""
define linkonce_odr i64 @irad.dict.find.{tag(key)}(ptr %dict, ptr %key, i64 %hash) alwaysinline {{
start:
{_read("size", "indices", "hashes", "keys")}  %mask = sub i64 %size, 1
  %first = and i64 %hash, %mask
  br label %probe
probe:
  %slot = phi i64 [ %first, %start ], [ %slot.next, %onwards ]
{_element("slot", "indices", "slot")}  %held = load i64, ptr %slot.at
  %empty = icmp eq i64 %held, {EMPTY}
  br i1 %empty, label %none, label %taken
none:
  ret i64 {EMPTY}
taken:
  %deleted = icmp slt i64 %held, 0
  br i1 %deleted, label %onwards, label %hashed
hashed:
{_element("other", "hashes", "held")}  %other = load i64, ptr %other.at
  %alike = icmp eq i64 %other, %hash
  br i1 %alike, label %compared, label %onwards
compared:
{_item("held.key", "keys", "held", sizeof(key))}{_compared(key)}  br i1 %equal, label %found, label %onwards
found:
  ret i64 %held
onwards:
  %slot.more = add i64 %slot, 1
  %slot.next = and i64 %slot.more, %mask
  br label %probe
}}
"""


def _taking(pair: str, key: str, value: str) -> str:
    """Functions that take keys and values of these types."""
    return "".join(part(pair, key, value) for part in (_grow, _lookup, _insert, _popitem))


def _grow(pair: str, key: str, value: str) -> str:
    """The function that makes larger tables and moves the entries there, without those that were deleted."""
    k, v = sizeof(key), sizeof(value)
    return f"""
define linkonce_odr void @irad.dict.grow.{pair}(ptr %dict) alwaysinline {{
start:
{_read("used", "entries", "usable", "hashes", "keys", "values")}  %wanted = mul i64 %used, 3
  %below = sub i64 %wanted, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %below, i1 0)
  %bits = sub i64 64, %zeros
  %power = shl i64 1, %bits
  %small = icmp sle i64 %wanted, {_LEAST}
  %size = select i1 %small, i64 {_LEAST}, i64 %power
  call void @irad.dict.tables(ptr %dict, i64 %size, i64 {k}, i64 {v})
  %new.keys = load ptr, ptr %keys.at
  %new.values = load ptr, ptr %values.at
  %new.hashes = load ptr, ptr %hashes.at
  br label %entry
entry:
  %from = phi i64 [ 0, %start ], [ %from.next, %next ]
  %to = phi i64 [ 0, %start ], [ %to.next, %next ]
  %inside = icmp slt i64 %from, %entries
  br i1 %inside, label %asked, label %done
asked:
{_element("hash", "hashes", "from")}  %hash = load i64, ptr %hash.at
  %deleted = icmp eq i64 %hash, {EMPTY}
  br i1 %deleted, label %next, label %move
move:
{_element("new", "new.hashes", "to")}  store i64 %hash, ptr %new.at
{_item("old.key", "keys", "from", k)}{_item("new.key", "new.keys", "to", k)}\
{moved(key, "new.key.place", "old.key.place")}\
{_item("old.value", "values", "from", v)}{_item("new.value", "new.values", "to", v)}\
{moved(value, "new.value.place", "old.value.place")}\
  call void @irad.dict.enter(ptr %dict, i64 %hash, i64 %to)
  %moved = add i64 %to, 1
  br label %next
next:
  %to.next = phi i64 [ %to, %asked ], [ %moved, %move ]
  %from.next = add i64 %from, 1
  br label %entry
done:
  store i64 %to, ptr %entries.at
  %room = load i64, ptr %usable.at
  %left = sub i64 %room, %to
  store i64 %left, ptr %usable.at
  ret void
}}
"""


def _lookup(pair: str, key: str, value: str) -> str:
    """The function that copies the value of a key; which entry it is, or -1."""
    v = sizeof(value)
    return f"""
define linkonce_odr i64 @irad.dict.lookup.{pair}(ptr %dict, ptr %key, i64 %hash, ptr %out) alwaysinline {{
  %at = call i64 @irad.dict.find.{tag(key)}(ptr %dict, ptr %key, i64 %hash)
  %none = icmp slt i64 %at, 0
  br i1 %none, label %done, label %found
found:
{_read("values")}{_item("value", "values", "at", v)}{moved(value, "out", "value.place")}  br label %done
done:
  ret i64 %at
}}
"""


def _insert(pair: str, key: str, value: str) -> str:
    """The function that puts a value under a key, new or not; a status."""
    k, v = sizeof(key), sizeof(value)
    return f"""
define linkonce_odr i32 @irad.dict.insert.{pair}(ptr %dict, ptr %key, i64 %hash, ptr %new, ptr %old) alwaysinline {{
start:
  %known = call i64 @irad.dict.find.{tag(key)}(ptr %dict, ptr %key, i64 %hash)
{_read("usable", "entries")}  %missing = icmp slt i64 %known, 0
  br i1 %missing, label %added, label %put
added:
  %full = icmp sle i64 %usable, 0
  br i1 %full, label %grow, label %enter
grow:
  call void @irad.dict.grow.{pair}(ptr %dict)
  br label %enter
enter:
  %last = load i64, ptr %entries.at
  call void @irad.dict.enter(ptr %dict, i64 %hash, i64 %last)
{_read("used", "hashes", "keys")}{_element("hash", "hashes", "last")}  store i64 %hash, ptr %hash.at
{_item("key", "keys", "last", k)}{moved(key, "key.place", "key")}{_step("used", 1)}\
  %usable.now = load i64, ptr %usable.at
  %usable.less = sub i64 %usable.now, 1
  store i64 %usable.less, ptr %usable.at
  %entries.more = add i64 %last, 1
  store i64 %entries.more, ptr %entries.at
  br label %put
put:
  %at = phi i64 [ %known, %start ], [ %last, %enter ]
  %status = phi i32 [ {_REPLACED}, %start ], [ {_OK}, %enter ]
{_read("values")}{_item("value", "values", "at", v)}{moved(value, "value.place", "new")}  ret i32 %status
}}
"""


def _popitem(pair: str, key: str, value: str) -> str:
    """The function that takes out what was put in last; a status."""
    k, v = sizeof(key), sizeof(value)
    return f"""
define linkonce_odr i32 @irad.dict.popitem.{pair}(ptr %dict, ptr %key, ptr %value) alwaysinline {{
start:
{_read("used", "entries", "hashes", "keys", "values")}  %nothing = icmp eq i64 %used, 0
  br i1 %nothing, label %none, label %entry
none:
  ret i32 {_NO_ITEM}
entry:
  %above = phi i64 [ %entries, %start ], [ %at, %entry ]
  %at = sub i64 %above, 1
{_element("hash", "hashes", "at")}  %hash = load i64, ptr %hash.at
  %deleted = icmp eq i64 %hash, {EMPTY}
  br i1 %deleted, label %entry, label %last
last:
  call void @irad.dict.leave(ptr %dict, i64 %hash, i64 %at)
{_item("held", "keys", "at", k)}{moved(key, "key", "held.place")}\
{_item("given", "values", "at", v)}{moved(value, "value", "given.place")}  store i64 %at, ptr %entries.at
{_step("used", -1)}  ret i32 {_OK}
}}
"""


_MORE = (
    *DECLARED,
    "declare i64 @llvm.ctlz.i64(i64, i1)",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
)
_DESTRUCTOR = "_numba_dict_dtor"
_TYPED = {"lookup": (1, 3), "insert": (1, 3), "popitem": (1, 2)}  # where their key and their value are
_USED = re.compile(r"@numba_dict_(\w+)")
_KNOWN = {*re.findall(r"@irad\.dict\.(\w+)\(", _BODIES), *_TYPED, "free"}
_CALL = re.compile(rf"@numba_dict_({'|'.join(_TYPED)})\(([^)]*)\)")
_POINTER = re.compile(r"ptr (?:[a-z]+ )*(%[^\s,]+)$")
_WORDS = re.compile(r"(?:\[(\d+) x )?(i64|i32|i16|i8|double|float)\]?$")
_NUMBER = {"double": "i64", "float": "i32"}


def in_memory(text: str) -> str:
    """`text`, as Numba wrote it, with typed dictionaries as memory that it allocates, and without their destructor.

    As it is, when their keys are not numbers or tuples of like numbers.
    """
    used = set(_USED.findall(text))
    if not used or not used <= _KNOWN:
        return text
    found: dict[str, tuple[str, str]] = {}
    parts: list[str] = []
    for part in definitions(text, f"@{_DESTRUCTOR}(", *(f"@numba_dict_{name}(" for name in _KNOWN)):
        for call in _CALL.finditer(part):
            kinds = _types(call, part)
            if kinds is None or _WORDS.match(kinds[0]) is None:
                return text
            found[_pair(kinds)] = kinds
        parts.append(without_meminfos(_CALL.sub(lambda call: _named(call, part), part), _DESTRUCTOR))  # noqa: B023
    named = "".join(parts).replace("@numba_dict_", "@irad.dict.").replace(f"@{_DESTRUCTOR}", "null")
    keys = sorted({key for key, _ in found.values()})
    bodies = [_BODIES, *map(_find, keys), *(_taking(pair, *kinds) for pair, kinds in found.items())]
    return declared(named, _MORE) + "".join(bodies)


def _types(call: re.Match[str], body: str) -> tuple[str, str] | None:
    """The types of the key and the value that a call is given; None where they are not seen."""
    given = call[2].split(", ")
    pointers = [_POINTER.search(given[at]) for at in _TYPED[call[1]]]
    types = [pointee(pointer[1], body) if pointer else None for pointer in pointers]
    key, value = types
    return None if key is None or value is None else (key, value)


def _named(call: re.Match[str], body: str) -> str:
    kinds = _types(call, body)
    assert kinds is not None
    return f"@irad.dict.{call[1]}.{_pair(kinds)}({call[2]})"


def _pair(kinds: tuple[str, str]) -> str:
    return f"{tag(kinds[0])}.{tag(kinds[1])}"


def _compared(key: str) -> str:
    """Code that compares two keys, numbers or arrays of numbers, bit by bit as Numba does."""
    found = _WORDS.match(key)
    assert found
    count, word = int(found[1] or 1), _NUMBER.get(found[2], found[2])
    lines: list[str] = []
    for i in range(count):
        for name in ("held.key.place", "key"):
            lines += [
                f"  %{name}.{i} = getelementptr {word}, ptr %{name}, i64 {i}",
                f"  %{name}.word.{i} = load {word}, ptr %{name}.{i}",
            ]
        lines.append(f"  %same.{i} = icmp eq {word} %held.key.place.word.{i}, %key.word.{i}")
        before = f"%all.{i - 1}" if i else "true"
        lines.append(f"  %{'equal' if i == count - 1 else f'all.{i}'} = and i1 {before}, %same.{i}")
    return "\n".join([*lines, ""])
