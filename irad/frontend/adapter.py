"""The LLVM function between a program that takes structures opened (`boxes`) and the kernel that takes them whole.

It puts instances on the stack, where LLVM takes them apart, hands them to the kernel, and writes the numbers in them
back, also when the kernel raises. A list is its header there, over the items where they lie; that the kernel left it
with another length, or other memory, its caller is told (`calls.RESIZED`). That no attribute was given another array
LLVM proves: what is left of the calls in `rebound` tells where it could not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from irad import typed_dicts, typed_lists
from irad.errors import Unsupported
from irad.frontend import boxes
from irad.frontend.abi import Leaf, leaves
from irad.frontend.layout import instance_type, memory_type
from irad.frontend.target import need
from irad.ir.types import PTR, Float, Int, Struct, Type, field_offset, size_of
from irad.rewrite import ALLOCATE, declared
from irad.rules import calls

_types: Any = need("numba.core.types", "BaseTuple", "Record", "Optional")
_RESIZED = (
    f"declare void @{calls.RESIZED}(i64, ptr nocapture, i64, i64) nounwind willreturn "
    "memory(argmem: read, inaccessiblemem: readwrite)"
)
_ITEMS = ALLOCATE.replace("@irad_alloc(", "@irad_tape(")
_EXCHANGES = re.compile(r"@numba_list_(?:setitem|delitem|delete_slice)\(")
_REBOUND = re.compile(r'call void @"irad\.rebound ([^"]+)"\(\)')


def takes_structures(kinds: Sequence[Any]) -> bool:
    """Whether arguments of these types are taken opened."""
    return any(boxes.opened(kind) != kind for kind in kinds)


def adapted(text: str, name: str, kinds: Sequence[Any], names: Sequence[str]) -> tuple[str, str]:
    """`text` with a function that takes the arguments of `@name`, of Numba types `kinds`, opened; and its name.

    Raises
    ------
    Unsupported: an argument has a part of a type that irad does not take.
    """
    adapter = _Adapter(may_exchange=_EXCHANGES.search(text) is not None)
    for kind, argument in zip(kinds, names, strict=True):
        given = [_Given(leaf, adapter.parameter(leaf)) for leaf in leaves(boxes.opened(kind), argument)]
        adapter.hand_over(boxes.opened(kind), argument, iter(given))
    return adapter.joined(text, name), f"{name}.opened"


def rebound(text: str) -> str:
    """An attribute to which the program, in normal form, may give another array; empty where there is none."""
    found = _REBOUND.search(text)
    return found[1] if found else ""


@dataclass(frozen=True)
class _Given:
    """A leaf of an opened argument and the LLVM value that is given for it."""

    leaf: Leaf
    value: str

    @property
    def typed(self) -> str:
        return f"{self.leaf.type} {self.value}"


@dataclass(frozen=True)
class _Memory:
    """An array as LLVM values: its data and its length, and the size of an element in bytes."""

    data: str
    size: str
    itemsize: int


@dataclass
class _Adapter:
    """The text of the function as it grows, before the call and after it.

    may_exchange: whether the program has functions that put other items into a list than it had.
    """

    parameters: list[str] = field(default_factory=list[str])
    passed: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])
    checks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    declared: list[str] = field(default_factory=list[str])
    counted: int = 0
    may_exchange: bool = False

    def parameter(self, leaf: Leaf) -> str:
        name = f"%arg.{len(self.parameters)}"
        self.parameters.append(f"{leaf.type} {name}")
        return name

    def fresh(self) -> str:
        self.counted += 1
        return f"%v{self.counted}"

    def hand_over(self, kind: Any, path: str, given: Iterator[_Given]) -> None:
        """Pass an argument of the kernel's."""
        if isinstance(kind, boxes.Opened) and not isinstance(kind.origin, _types.Optional):
            self.passed += [f"{PTR} {value}" for value in self.whole(kind, path, given)]
        elif isinstance(kind, _types.BaseTuple):
            for suffix, inner in boxes.suffixes(kind):
                self.hand_over(inner, f"{path}{suffix}", given)
        else:
            self.passed += [next(given).typed for _ in leaves(kind)]

    def whole(self, kind: Any, path: str, given: Iterator[_Given]) -> list[str]:
        """The pointers that are a structure to the kernel."""
        if boxes.is_array_list(kind.origin):
            return self.list_of_arrays(kind, given)
        if boxes.is_list(kind.origin):
            return self.list(kind, given)
        if boxes.is_dict(kind.origin):
            return self.dictionary(kind, given)
        record, *others = kind.types
        numbers = [next(given) for _ in leaves(record)]
        data = next(one for one in numbers if one.leaf.role == "data").value
        if isinstance(kind.origin, _types.Record):
            return [data]
        # the numbers of an instance lie in memory that no array shares
        at = self.parameters.index(f"{PTR} {data}")
        self.parameters[at] = f"{PTR} noalias {data}"
        box = f"%box{len(self.before)}"
        self.before.append(f"{box} = alloca [{size_of(instance_type(kind.origin))} x i8], align 16")
        rest = iter(others)
        for one in boxes.attributes(kind.origin):
            if one.is_number:
                for leaf in leaves(one.kind):
                    self.move(leaf, data, box, one.offset + leaf.offset, self.before)
                    self.move(leaf, box, data, one.offset + leaf.offset, self.after)
            else:
                _refuse_dictionary(one.kind, f"{path}.{one.name}")
                self.keep(next(rest), f"{path}.{one.name}", given, box, one.offset)
        return ["null", box]  # it has no meminfo, and needs none: nothing is counted, or what is null is not

    def array(self, kind: Any, given: Iterator[_Given]) -> _Memory:
        """An array that nothing else of the call shares memory with."""
        leaf = [next(given) for _ in leaves(kind)]
        at = next(i for i, one in enumerate(leaf) if one.leaf.role == "data")
        data, length = leaf[at], leaf[at + 1]
        self.parameters[self.parameters.index(data.typed)] = f"{PTR} noalias {data.value}"
        return _Memory(data.value, length.value, data.leaf.itemsize)

    def list(self, kind: Any, given: Iterator[_Given]) -> list[str]:
        """The pointers that are a list to the kernel: one that nothing else has, and its header."""
        items = self.array(kind.types[0], given)
        mutable, place = (next(given).value for _ in kind.types[1:])
        own, header = self.list_header(items, mutable)
        length, memory = self.load("i64", header, 0), self.load(PTR, header, typed_lists.ITEMS)
        moved, kept = self.fresh(), self.fresh()
        self.after.append(f"{moved} = icmp ne ptr {memory}, {items.data}")
        self.after.append(f"{kept} = select i1 {moved}, ptr {memory}, ptr null")
        found = self.differs([("i64", length, items.size), (PTR, memory, items.data)])
        self.tell(found, place, [(kept, length, items.itemsize)])
        return [own, header]

    def list_header(self, items: _Memory, mutable: str) -> tuple[str, str]:
        """The header of a list of these items that has no room for more, see `header`."""
        frozen = self.fresh()
        self.before.append(f"{frozen} = trunc i64 {mutable} to i32")
        fields = [(0, "i64", items.size), (typed_lists.ITEM_SIZE, "i64", str(items.itemsize))]
        fields += [(typed_lists.ROOM, "i64", items.size), (typed_lists.MUTABLE, "i32", frozen)]
        return self.header(typed_lists.SIZE, [*fields, (typed_lists.ITEMS, PTR, items.data)])

    def list_of_arrays(self, kind: Any, given: Iterator[_Given]) -> list[str]:
        """The pointers that are a list of arrays to the kernel; the arrays lie in one, as the words tell.

        The kernel is to leave the arrays in their places. That it has is tested where it has functions to do otherwise.
        """
        origin = kind.origin
        flat, words = (self.array(inner, given) for inner in kind.types[:2])
        mutable, place = (next(given).value for _ in kind.types[2:])
        count, size, data = self.fresh(), self.fresh(), self.fresh()
        layout = memory_type(origin.item_type)
        self.before += [
            f"{count} = udiv i64 {words.size}, {boxes.words_of(origin)}",
            f"{size} = mul i64 {count}, {size_of(layout)}",
            f"{data} = call ptr @irad_tape(i64 {size}, i32 16)",
        ]
        items = _Memory(data, count, size_of(layout))
        self.each(count, self.before, lambda i: self.put_array(origin.item_type, flat, words, items, i))
        own, header = self.list_header(items, mutable)
        length, memory = self.load("i64", header, 0), self.load(PTR, header, typed_lists.ITEMS)
        found = self.differs([("i64", length, count), (PTR, memory, data)])
        if self.may_exchange:
            changed = self.fresh()
            self.before += [f"{changed} = alloca i1", f"store i1 false, ptr {changed}"]
            self.after.append(f"store i1 {found}, ptr {changed}")
            self.each(count, self.after, lambda i: self.compare_array(origin.item_type, flat, words, items, i, changed))
            found = self.fresh()
            self.after.append(f"{found} = load i1, ptr {changed}")
        self.tell(found, place, [("null", length, 0)])
        self.declared.append(_ITEMS)
        return [own, header]

    def each(self, count: str, lines: list[str], body: Callable[[str], None]) -> None:
        """A loop over the numbers below `count`; `body` appends to the same lines, and has no branches."""
        i, more, following = self.fresh(), self.fresh(), self.fresh()
        start, test, step, done = (f"{word}{i[2:]}" for word in ("before", "test", "step", "done"))
        lines += [f"br label %{start}", f"{start}:", f"br label %{test}", f"{test}:"]
        lines += [f"{i} = phi i64 [ 0, %{start} ], [ {following}, %{step} ]", f"{more} = icmp ult i64 {i}, {count}"]
        lines += [f"br i1 {more}, label %{step}, label %{done}", f"{step}:"]
        body(i)
        lines += [f"{following} = add nuw nsw i64 {i}, 1", f"br label %{test}", f"{done}:"]

    def put_array(self, kind: Any, flat: _Memory, words: _Memory, items: _Memory, index: str) -> None:
        """Make an item of a list: an array, as Numba has it."""
        data, *told = self.told(kind, flat, words, index, self.before)
        number = "1"
        for length in told[: kind.ndim]:
            product = self.fresh()
            self.before.append(f"{product} = mul i64 {number}, {length}")
            number = product
        values = ["null", "null", number, str(flat.itemsize), data, *told]
        for (offset, type), value in zip(_array_fields(kind), values, strict=True):
            at = self.item_field(items, index, offset, self.before)
            self.before.append(f"store {type} {value}, ptr {at}")

    def compare_array(self, kind: Any, flat: _Memory, words: _Memory, items: _Memory, index: str, changed: str) -> None:
        """Note in `changed` whether an item of a list is another array than it was."""
        told, pairs = self.told(kind, flat, words, index, self.after), list[tuple[object, str, str]]()
        for (offset, type), value in zip(_array_fields(kind)[_DATA:], told, strict=True):
            at, found = self.item_field(items, index, offset, self.after), self.fresh()
            self.after.append(f"{found} = load {type}, ptr {at}")
            pairs.append((type, found, value))
        known, either, other = self.fresh(), self.fresh(), self.differs(pairs)
        self.after += [f"{known} = load i1, ptr {changed}", f"{either} = or i1 {known}, {other}"]
        self.after.append(f"store i1 {either}, ptr {changed}")

    def told(self, kind: Any, flat: _Memory, words: _Memory, index: str, lines: list[str]) -> list[str]:
        """What the words tell of an array: its data, its shape and its strides."""
        first, values = self.fresh(), list[str]()
        lines.append(f"{first} = mul i64 {index}, {1 + 2 * kind.ndim}")
        for i in range(1 + 2 * kind.ndim):
            at, place, value = self.fresh(), self.fresh(), self.fresh()
            lines += [f"{at} = add i64 {first}, {i}", f"{place} = getelementptr i64, ptr {words.data}, i64 {at}"]
            lines.append(f"{value} = load i64, ptr {place}")
            values.append(value)
        data = self.fresh()
        lines.append(f"{data} = getelementptr i8, ptr {flat.data}, i64 {values[0]}")
        return [data, *values[1:]]

    def item_field(self, items: _Memory, index: str, offset: int, lines: list[str]) -> str:
        distance, place, at = self.fresh(), self.fresh(), self.fresh()
        lines += [
            f"{distance} = mul i64 {index}, {items.itemsize}",
            f"{place} = getelementptr i8, ptr {items.data}, i64 {distance}",
            f"{at} = getelementptr i8, ptr {place}, i64 {offset}",
        ]
        return at

    def dictionary(self, kind: Any, given: Iterator[_Given]) -> list[str]:
        """The pointers that are a dictionary to the kernel: one that nothing else has, and its header.

        It has no room for another entry: where one is added all memory is new, and where not, no entry was deleted and
        made again.
        """
        values, keys, hashes, table = (self.array(inner, given) for inner in kind.types[:4])
        place = next(given).value
        origin, count = kind.origin, hashes.size
        sizes = [size_of(memory_type(inner)) for inner in (origin.key_type, origin.value_type)]
        words = {"used": count, "entries": count, "usable": "0", "size": table.size}
        words |= {"key.size": str(sizes[0]), "value.size": str(sizes[1])}
        memory = {"indices": table.data, "hashes": hashes.data, "keys": keys.data, "values": values.data}
        fields = [(typed_dicts.AT[name], "i64", value) for name, value in words.items()]
        fields += [(typed_dicts.AT[name], PTR, value) for name, value in memory.items()]
        own, header = self.header(typed_dicts.SIZE, fields)
        used, entries = (self.load("i64", header, typed_dicts.AT[name]) for name in ("used", "entries"))
        found = {name: self.load(PTR, header, typed_dicts.AT[name]) for name in ("hashes", "keys", "values")}
        blocks = zip(found.values(), (8, *sizes), strict=True)
        changes = [("i64", used, count), (PTR, found["hashes"], hashes.data)]
        self.tell(self.differs(changes), place, [(pointer, entries, size) for pointer, size in blocks])
        return [own, header]

    def header(self, size: int, fields: Sequence[tuple[int, object, str]]) -> tuple[str, str]:
        """What stands for a container: a pointer that no other has, and its header, of (offset, type, value)."""
        own, header = self.fresh(), self.fresh()
        self.before += [f"{own} = alloca i8", f"{header} = alloca [{size} x i8], align 16"]
        for offset, type, value in fields:
            at = self.fresh()
            self.before.append(f"{at} = getelementptr i8, ptr {header}, i64 {offset}")
            self.before.append(f"store {type} {value}, ptr {at}")
        return own, header

    def load(self, type: object, header: str, offset: int) -> str:
        """What a field of a header holds after the call."""
        at, value = self.fresh(), self.fresh()
        self.after.append(f"{at} = getelementptr i8, ptr {header}, i64 {offset}")
        self.after.append(f"{value} = load {type}, ptr {at}")
        return value

    def differs(self, pairs: Sequence[tuple[object, str, str]]) -> str:
        """Whether, after the call, the values of a pair differ; of (type, one, other)."""
        found = "false"
        for type, now, then in pairs:
            differs, either = self.fresh(), self.fresh()
            self.after.append(f"{differs} = icmp ne {type} {now}, {then}")
            self.after.append(f"{either} = or i1 {found}, {differs}")
            found = either
        return found

    def tell(self, found: str, place: str, blocks: Sequence[tuple[str, str, int]]) -> None:
        """Tell the caller of `blocks` (pointer, number of items, size of one), if `found` is true."""
        changed, settled = f"changed{found[1:]}", f"settled{found[1:]}"
        self.after += [f"br i1 {found}, label %{changed}, label %{settled}", f"{changed}:"]
        for i, (pointer, count, size) in enumerate(blocks):
            words, amount = self.fresh(), self.fresh()
            self.after += [
                f"{words} = add i64 {place}, {24 * i}",
                f"{amount} = mul i64 {count}, {size}",
                f"call void @{calls.RESIZED}(i64 {words}, ptr {pointer}, i64 {count}, i64 {amount})",
            ]
        self.after += [f"br label %{settled}", f"{settled}:"]
        self.declared.append(_RESIZED)

    def move(self, leaf: Leaf, source: str, target: str, offset: int, lines: list[str]) -> None:
        """Copy a number from one memory to another."""
        there, value, here = self.fresh(), self.fresh(), self.fresh()
        lines += [
            f"{there} = getelementptr i8, ptr {source}, i64 {offset}",
            f"{value} = load {leaf.type}, ptr {there}",
            f"{here} = getelementptr i8, ptr {target}, i64 {offset}",
            f"store {leaf.type} {value}, ptr {here}",
        ]

    def keep(self, kind: Any, path: str, given: Iterator[_Given], box: str, offset: int) -> None:
        """Put what an attribute holds into an instance, and check afterwards that it is still there."""
        if isinstance(kind, boxes.Opened):
            for i, value in enumerate(self.whole(kind, path, given)):
                self.put(PTR, value, path, box, offset + 8 * i)
            return
        for leaf in leaves(kind):
            self.put(leaf.type, next(given).value, path, box, offset + leaf.offset)

    def put(self, type: Type, value: str, path: str, box: str, offset: int) -> None:
        here, there, found, bits, changed = (self.fresh() for _ in range(5))
        self.before += [f"{here} = getelementptr i8, ptr {box}, i64 {offset}", f"store {type} {value}, ptr {here}"]
        if isinstance(type, Float):
            self.before.append(f"{bits} = bitcast {type} {value} to i{8 * size_of(type)}")
            type, value = Int(8 * size_of(type)), bits
        self.after += [
            f"{there} = getelementptr i8, ptr {box}, i64 {offset}",
            f"{found} = load {type}, ptr {there}",
            f"{changed} = icmp ne {type} {value}, {found}",
        ]
        self.checks.setdefault(path, []).append(changed)

    def joined(self, text: str, name: str) -> str:
        """`text` with the function, and what it calls."""
        passed = ", ".join(["ptr %retptr", "ptr %excinfo", *self.passed])
        body = [*self.before, f"%status = call i32 @{name}({passed})", *self.after]
        symbols = dict.fromkeys(self.declared)
        for i, (path, changes) in enumerate(self.checks.items()):
            found = "false"
            for change in changes:
                either = self.fresh()
                body.append(f"{either} = or i1 {found}, {change}")
                found = either
            symbol = f'void @"irad.rebound {path}"()'
            body += [f"br i1 {found}, label %bad{i}, label %good{i}", f"bad{i}:", f"call {symbol}"]
            body += [f"br label %good{i}", f"good{i}:"]
            symbols[f"declare {symbol}"] = None
        body.append("ret i32 %status")
        parameters = ", ".join(["ptr noalias %retptr", "ptr noalias %excinfo", *self.parameters])
        head = f"define i32 @{name}.opened({parameters}) {{"
        indented = [line if line.endswith(":") else f"  {line}" for line in body]
        return "\n".join([declared(_without_noalias(text, name), symbols), head, *indented, "}", ""])


_DATA = 4  # of the fields of an array, that which points to its elements


def _array_fields(kind: Any) -> list[tuple[int, Type]]:
    """The offset and type of each field of an array: who owns it, number and size of elements, data, shape, strides."""
    layout = memory_type(kind)
    assert isinstance(layout, Struct)
    fixed = [(field_offset(layout, i), type) for i, type in enumerate(layout.fields[: _DATA + 1])]
    sizes = [field_offset(layout, _DATA + 1) + 8 * i for i in range(2 * kind.ndim)]
    return [*fixed, *((at, Int(64)) for at in sizes)]


def _refuse_dictionary(kind: Any, path: str) -> None:
    """The derivative by an instance has a place for every attribute: one that is constant would look like others."""
    if isinstance(kind, _types.BaseTuple):
        for i, inner in enumerate(kind.types):
            _refuse_dictionary(inner, f"{path}[{i}]")
    elif boxes.is_dict(kind):
        why = f"{path} is of Numba type {kind}, and an attribute"
        raise Unsupported(why, hint="pass the dictionary as an argument of its own")


def _without_noalias(text: str, name: str) -> str:
    """`text` with a kernel that says nothing of its parameters: inlined, that would become scopes of its own."""
    at = text.index(f"@{name}(", text.index("define "))
    while not text.startswith("define ", text.rindex("\n", 0, at) + 1):
        at = text.index(f"@{name}(", at + 1)
    end = text.index("\n", at)
    return text[:at] + text[at:end].replace("noalias ", "") + text[end:]
