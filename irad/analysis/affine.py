"""Addresses as sums: by how much one changes from one iteration of a loop to the next, and how far two lie apart."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from irad.analysis.canonical import Canonical
from irad.analysis.flow import Loop
from irad.ir.model import Binary, Constant, Gep, Phi, Value
from irad.ir.types import PTR, Array, Int, Struct, field_offset, size_of

WIDTH = 64  # integers as wide as addresses: sums wrap around as addresses do


def stride(value: Value, loop: Loop, canonical: Canonical) -> int | None:
    """The constant difference of `value` between iterations of `loop`, pointers in bytes; None where there is none.

    Only for values whose loop is `loop` itself, or that are computed outside it.
    """
    if not canonical.flow.inside(value, loop):
        return 0
    counted = canonical.counted.get(loop)
    match value:
        case Phi():
            if counted is not None and value is counted.counter:
                return 1
            return _of_induction(value, loop, canonical)
        case Gep():
            return _of_address(value, loop, canonical)
        case Binary(operands=[left, right]) if isinstance(value.type, Int) and value.type.bits == WIDTH:
            a, b = stride(left, loop, canonical), stride(right, loop, canonical)
            return None if a is None or b is None else _of_sum(value, a, b)
        case _:
            return None


@dataclass(frozen=True)
class Sum:
    """Multiples of values, and a constant; pointers are in bytes. Integers are as wide as addresses and wrap around."""

    terms: dict[Value, int]
    constant: int

    def scaled(self, factor: int) -> Sum:
        return _sum({v: c * factor for v, c in self.terms.items()}, self.constant * factor)

    def __add__(self, other: Sum) -> Sum:
        terms = Counter(self.terms)
        terms.update(other.terms)
        return _sum(terms, self.constant + other.constant)


def _sum(terms: dict[Value, int], constant: int) -> Sum:
    """A sum whose numbers are signed ones of 64 bits, so that of equal sums there is one form."""
    wrapped = {v: _wrapped(c) for v, c in terms.items()}
    return Sum({v: c for v, c in wrapped.items() if c}, _wrapped(constant))


def _wrapped(number: int) -> int:
    half = 1 << (WIDTH - 1)
    return (number + half) % (1 << WIDTH) - half


def as_sum(value: Value, loop: Loop, canonical: Canonical) -> Sum:
    """`value` as a sum in which every induction of `loop` is expressed by the loop's counter."""
    match value:
        case Constant(literal=int(literal)):
            return _sum({}, literal)
        case Phi() if (step := _of_induction(value, loop, canonical)) is not None:
            counter, start = canonical.counted[loop].counter, canonical.inductions[value].start
            return as_sum(start, loop, canonical) + Sum({counter: step}, 0)
        case Gep() if (steps := _index_sizes(value)) is not None:
            total = as_sum(value.pointer, loop, canonical)
            for index, size in steps:
                total += Sum({}, size) if index is None else as_sum(index, loop, canonical).scaled(size)
            return total
        case Binary(operands=[left, right]) if isinstance(value.type, Int) and value.type.bits == WIDTH:
            return _sum_of_binary(value, left, right, loop, canonical)
        case _:
            return Sum({value: 1}, 0)


def _sum_of_binary(value: Binary, left: Value, right: Value, loop: Loop, canonical: Canonical) -> Sum:
    match value.op, right:
        case "add", _:
            return as_sum(left, loop, canonical) + as_sum(right, loop, canonical)
        case "sub", _:
            return as_sum(left, loop, canonical) + as_sum(right, loop, canonical).scaled(-1)
        case "mul", Constant(literal=int(factor)):
            return as_sum(left, loop, canonical).scaled(factor)
        case "shl", Constant(literal=int(bits)) if 0 <= bits < WIDTH:
            return as_sum(left, loop, canonical).scaled(1 << bits)
        case "or", _ if "disjoint" in value.flags:
            return as_sum(left, loop, canonical) + as_sum(right, loop, canonical)
        case _:
            return Sum({value: 1}, 0)


def _of_induction(phi: Phi, loop: Loop, canonical: Canonical) -> int | None:
    induction = canonical.inductions.get(phi)
    if induction is None or canonical.flow.block_of[phi] is not loop.header:
        return None
    match induction.step:
        case Constant(literal=int(step)):
            step = -step if induction.negative else step
        case _:
            return None
    if phi.type != PTR:
        return step if isinstance(phi.type, Int) and phi.type.bits == WIDTH else None
    advance = induction.advance
    return step * size_of(advance.source) if isinstance(advance, Gep) and len(advance.operands) == 2 else None


def _of_sum(value: Binary, left: int, right: int) -> int | None:
    match value.op, value.operands:
        case "add", _:
            return left + right
        case "sub", _:
            return left - right
        case "mul", [_, Constant(literal=int(factor))]:
            return left * factor
        case "shl", [_, Constant(literal=int(bits))] if 0 <= bits < WIDTH:
            return left << bits
        case "or", _ if "disjoint" in value.flags:
            return left + right
        case _:
            return 0 if left == right == 0 else None


def _of_address(address: Gep, loop: Loop, canonical: Canonical) -> int | None:
    """The base's stride, and each index's times the size of what it steps over."""
    total, steps = stride(address.pointer, loop, canonical), _index_sizes(address)
    for index, size in steps or ():
        step = 0 if index is None else stride(index, loop, canonical)
        if total is None or step is None:
            return None
        total += step * size
    return None if steps is None else total


def _index_sizes(address: Gep) -> list[tuple[Value | None, int]] | None:
    """Each index of `address` with the bytes that it steps over; None and a distance where it selects a field."""
    found: list[tuple[Value | None, int]] = []
    type = address.source
    for position, index in enumerate(address.operands[1:]):
        if position > 0:
            match type, index:
                case Array(_, element), _:
                    type = element
                case Struct(fields), Constant(literal=int(number)):
                    found.append((None, field_offset(type, number)))
                    type = fields[number]
                    continue
                case _:
                    return None
        found.append((index, size_of(type)))
    return found
