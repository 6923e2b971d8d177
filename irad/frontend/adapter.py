"""The LLVM function between a program that takes structures opened (`boxes`) and the kernel that takes them whole.

It puts instances on the stack, where LLVM takes them apart, hands them to the kernel, and writes the numbers in them
back, also when the kernel raises. A list is its header there, over the items where they lie; that the kernel left it
with another length, or other memory, its caller is told (`calls.RESIZED`). That no attribute was given another array
LLVM proves: what is left of the calls in `rebound` tells where it could not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from irad import typed_lists
from irad.frontend import boxes
from irad.frontend.abi import Leaf, leaves
from irad.frontend.layout import instance_type
from irad.frontend.target import need
from irad.ir.types import PTR, Float, Int, Type, size_of
from irad.rules import calls

_types: Any = need("numba.core.types", "BaseTuple", "Record", "Optional")
_RESIZED = (
    f"declare void @{calls.RESIZED}(i64, ptr nocapture, i64, i64) nounwind willreturn "
    "memory(argmem: read, inaccessiblemem: readwrite)"
)
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
    adapter = _Adapter()
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


@dataclass
class _Adapter:
    """The text of the function as it grows, before the call and after it."""

    parameters: list[str] = field(default_factory=list[str])
    passed: list[str] = field(default_factory=list[str])
    before: list[str] = field(default_factory=list[str])
    after: list[str] = field(default_factory=list[str])
    checks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    declared: list[str] = field(default_factory=list[str])
    counted: int = 0

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
        if boxes.is_list(kind.origin):
            return self.list(kind, given)
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
                self.keep(next(rest), f"{path}.{one.name}", given, box, one.offset)
        return ["null", box]  # it has no meminfo, and needs none: nothing is counted, or what is null is not

    def list(self, kind: Any, given: Iterator[_Given]) -> list[str]:
        """The pointers that are a list to the kernel: one that nothing else has, and its header."""
        items, *others = kind.types
        leaf = [next(given) for _ in leaves(items)]
        mutable, place = (next(given).value for _ in others)
        at = next(i for i, one in enumerate(leaf) if one.leaf.role == "data")
        data, size = leaf[at], leaf[at + 1].value
        self.parameters[self.parameters.index(data.typed)] = f"{PTR} noalias {data.value}"
        own, header, frozen, length, memory, longer, other, kept, amount, changed = (self.fresh() for _ in range(10))
        self.before += [f"{own} = alloca i8", f"{header} = alloca [{typed_lists.SIZE} x i8], align 16"]
        self.before.append(f"{frozen} = trunc i64 {mutable} to i32")
        fields = (("i64", size), ("i64", str(data.leaf.itemsize)), ("i64", size), ("i32", frozen), ("ptr", data.value))
        places = [self.fresh() for _ in fields]
        for (type, value), place_of, offset in zip(fields, places, typed_lists.FIELDS, strict=True):
            self.before += [
                f"{place_of} = getelementptr i8, ptr {header}, i64 {offset}",
                f"store {type} {value}, ptr {place_of}",
            ]
        self.after += [
            f"{length} = load i64, ptr {header}",
            f"{memory} = load ptr, ptr {places[-1]}",
            f"{longer} = icmp ne i64 {length}, {size}",
            f"{other} = icmp ne ptr {memory}, {data.value}",
            f"{changed} = or i1 {longer}, {other}",
            f"{kept} = select i1 {other}, ptr {memory}, ptr null",
            f"{amount} = mul i64 {length}, {data.leaf.itemsize}",
            f"br i1 {changed}, label %resized{changed[1:]}, label %settled{changed[1:]}",
            f"resized{changed[1:]}:",
            f"call void @{calls.RESIZED}(i64 {place}, ptr {kept}, i64 {length}, i64 {amount})",
            f"br label %settled{changed[1:]}",
            f"settled{changed[1:]}:",
        ]
        self.declared = [_RESIZED]
        return [own, header]

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
        declared = self.declared
        for i, (path, changes) in enumerate(self.checks.items()):
            found = "false"
            for change in changes:
                either = self.fresh()
                body.append(f"{either} = or i1 {found}, {change}")
                found = either
            symbol = f'void @"irad.rebound {path}"()'
            body += [f"br i1 {found}, label %bad{i}, label %good{i}", f"bad{i}:", f"call {symbol}"]
            body += [f"br label %good{i}", f"good{i}:"]
            declared.append(f"declare {symbol}")
        body.append("ret i32 %status")
        parameters = ", ".join(["ptr noalias %retptr", "ptr noalias %excinfo", *self.parameters])
        head = f"define i32 @{name}.opened({parameters}) {{"
        indented = [line if line.endswith(":") else f"  {line}" for line in body]
        return "\n".join([_without_noalias(text, name), *declared, "", head, *indented, "}", ""])


def _without_noalias(text: str, name: str) -> str:
    """`text` with a kernel that says nothing of its parameters: inlined, that would become scopes of its own."""
    at = text.index(f"@{name}(", text.index("define "))
    while not text.startswith("define ", text.rindex("\n", 0, at) + 1):
        at = text.index(f"@{name}(", at + 1)
    end = text.index("\n", at)
    return text[:at] + text[at:end].replace("noalias ", "") + text[end:]
