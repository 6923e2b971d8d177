"""Structures that are stored whole: a store of every field takes their place.

LLVM takes such stores apart itself, except where the structure has padding (a float32 before an array, a boolean after
one). Without them no store holds floats and pointers at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import gcd

from irad.ir.build import Builder
from irad.ir.model import Block, Constant, ExtractValue, Function, InsertValue, Instruction, Store, Value, zero
from irad.ir.types import Array, Struct, Type, alignment_of, field_offset, size_of

Path = tuple[int, ...]


def split_stores(function: Function) -> None:
    """Store structures field by field, and drop what put them together."""
    split: list[Value] = []
    for block in function.blocks:
        old, block.body = block.body, []
        for instruction in old:
            if isinstance(instruction, Store) and isinstance(instruction.value.type, Struct) and not instruction.flags:
                _by_field(instruction, Builder(block))
                split.append(instruction.value)
            else:
                block.body.append(instruction)
    if split:
        _drop_unused(split, function)


def _by_field(store: Store, builder: Builder) -> None:
    builder.debug = store.metadata.get("!dbg", "")
    align = store.align or alignment_of(store.value.type)
    for path, type, offset in _leaves(store.value.type):
        value = _part(store.value, path, type, builder)
        builder.store(value, builder.offset(store.pointer, offset), gcd(offset, align))


def _leaves(type: Type, path: Path = (), at: int = 0) -> Iterator[tuple[Path, Type, int]]:
    """The scalars in a value of `type`: where, what, and how many bytes from its start."""
    match type:
        case Struct(fields):
            for i, inner in enumerate(fields):
                yield from _leaves(inner, (*path, i), at + field_offset(type, i))
        case Array(count, inner):
            for i in range(count):
                yield from _leaves(inner, (*path, i), at + i * size_of(inner))
        case _:
            yield path, type, at


def _part(value: Value, path: Path, type: Type, builder: Builder) -> Value:
    """The scalar at `path` of an aggregate: what was put there, where that can be seen."""
    while path:
        match value:
            case InsertValue(operands=[_, inner], indices=indices) if path[: len(indices)] == indices:
                value, path = inner, path[len(indices) :]
            case InsertValue(operands=[outer, _]):
                value = outer
            case Constant(literal=tuple(parts)):
                value, path = parts[path[0]], path[1:]
            case Constant(literal="zeroinitializer"):
                return zero(type)
            case Constant(literal=literal):
                return Constant(type, literal)
            case _:
                return builder.append(ExtractValue(type=type, operands=[value], indices=path))
    return value


def _drop_unused(values: list[Value], function: Function) -> None:
    """Remove those of `values`, and of what they are made of, that nothing uses."""
    uses = Counter(operand for user in function.instructions for operand in user.operands)
    dead: set[Instruction] = set()
    while values:
        value = values.pop()
        if isinstance(value, InsertValue) and not uses[value] and value not in dead:
            dead.add(value)
            uses.subtract(value.operands)
            values += value.operands
    _remove(dead, function.blocks)


def _remove(dead: set[Instruction], blocks: list[Block]) -> None:
    for block in blocks:
        block.body = [i for i in block.body if i not in dead]
