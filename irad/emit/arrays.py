"""Code over strided arrays, for the entry functions: extents, overlap, sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from irad.analysis.records import Element
from irad.ir.build import Builder
from irad.ir.model import Block, Function, Phi, Value, integer
from irad.ir.types import I1, I64, Float


@dataclass(frozen=True)
class View:
    """A strided array: `data` points to its first element; strides are in bytes, as in NumPy."""

    data: Value
    shape: Sequence[Value]
    strides: Sequence[Value]
    itemsize: int


@dataclass
class Code:
    """A function being written, and the builder at its end."""

    function: Function
    out: Builder

    def block(self, name: str) -> Block:
        block = Block(f"{name}.{len(self.function.blocks)}")
        self.function.blocks.append(block)
        return block


def extent(out: Builder, view: View) -> tuple[Value, Value]:
    """(low, high): the array's bytes lie in [data + low, data + high); equal where the array is empty."""
    low: Value = integer(0, I64)
    high: Value = integer(view.itemsize, I64)
    empty: Value = integer(0, I1)
    nothing = integer(0, I64)
    for count, stride in zip(view.shape, view.strides, strict=True):
        reach = out.binary("mul", out.binary("sub", count, integer(1, I64)), stride)
        low = out.binary("add", low, out.call("llvm.smin.i64", I64, [reach, nothing]))
        high = out.binary("add", high, out.call("llvm.smax.i64", I64, [reach, nothing]))
        empty = out.binary("or", empty, out.compare("sle", count, nothing))
    return out.select(empty, nothing, low), out.select(empty, nothing, high)


def overlap(out: Builder, one: View, other: View) -> Value:
    """i1: whether the extents of two arrays share a byte."""
    (a_low, a_high), (b_low, b_high) = extent(out, one), extent(out, other)
    a_start, a_end = out.offset(one.data, a_low), out.offset(one.data, a_high)
    b_start, b_end = out.offset(other.data, b_low), out.offset(other.data, b_high)
    crossing = out.binary("and", out.compare("ult", a_start, b_end), out.compare("ult", b_start, a_end))
    some = out.binary("and", out.compare("ne", a_low, a_high), out.compare("ne", b_low, b_high))
    return out.binary("and", crossing, some)


def accumulate(code: Code, source: View, target: View, floats: Sequence[tuple[int, Float]]) -> None:
    """target += source, element by element; the shape is the target's, `floats` where they lie in an element."""

    def add(source_at: Value, target_at: Value) -> None:
        out = code.out
        for at, type in floats:
            where = out.offset(target_at, at)
            align = Element(target.itemsize, tuple(floats)).alignment(at, type)
            added = out.load(type, out.offset(source_at, at), align)
            out.store(out.binary("fadd", out.load(type, where, align), added), where, align)

    _over(code, source, target, add)


def _over(code: Code, one: View, other: View, body: Callable[[Value, Value], None]) -> None:
    """Nested loops over all elements of two arrays of one shape."""
    out = code.out
    heads: list[tuple[Block, Phi, Block]] = []
    one_at, other_at = one.data, other.data
    done = Block("done")
    for axis, count in enumerate(other.shape):
        before = out.block
        head, inside, after = code.block("head"), code.block("inside"), Block("after")
        out.branch(head)
        out.block = head
        index = out.phi(I64, "index")
        index.operands, index.blocks = [integer(0, I64)], [before]
        out.branch_if(out.compare("slt", index, count), inside, after)
        out.block = inside
        one_at = out.offset(one_at, out.binary("mul", index, one.strides[axis]))
        other_at = out.offset(other_at, out.binary("mul", index, other.strides[axis]))
        heads.append((head, index, after))
    body(one_at, other_at)
    for head, index, after in reversed(heads):
        index.operands.append(out.binary("add", index, integer(1, I64)))
        index.blocks.append(out.block)
        out.branch(head)
        code.function.blocks.append(after)
        out.block = after
    code.function.blocks.append(done)
    out.branch(done)
    out.block = done
