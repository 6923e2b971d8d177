"""Integers that cannot be negative, and the tests for a negative index that this decides.

Python counts a negative index from the end, so Numba adds the length where an index is below zero. LLVM proves most
indices non-negative, but not through nested merges (`c += 1` in two loops), nor from the length of an array, which it
takes for any integer. An index that is not linear in the loop counter keeps a loop from vectorising.

Two facts are kept apart. SMALL: from zero to 2^61 or so. Lengths of arrays are small, since their bytes are counted in
an int64; so is what grows from a small value by adding small constants, since no program runs for 2^58 additions.
NONNEGATIVE: from zero to 2^63 - 1; more only follows from what overflows never (`nsw`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import IntEnum

from irad.analysis.fixpoint import fixpoint
from irad.ir.model import (
    Argument,
    Binary,
    Call,
    Cast,
    Compare,
    Constant,
    Function,
    Instruction,
    Phi,
    Select,
    Unary,
    Value,
)
from irad.ir.types import I1, I64, Int


class Range(IntEnum):
    """What is known of an integer; a larger member knows more."""

    ANY = 0
    NONNEGATIVE = 1
    SMALL = 2


STEP = 4  # constants up to this, added 2^58 times, leave a small value small
SMALL_BITS = 32


def decided(function: Function, lengths: Iterable[Argument] = ()) -> dict[Compare, bool]:
    """The comparisons with zero of `function` whose outcome is known; `lengths` are arguments, lengths of arrays."""
    ranges = _Ranges(function, frozenset(lengths))
    found: dict[Compare, bool] = {}
    for compare in function.instructions:
        if isinstance(compare, Compare) and compare.operands[0].type == I64:
            match compare.predicate, compare.operands[1]:
                case ("slt", Constant(literal=0)) | ("sle", Constant(literal=-1)) if ranges.of(compare.operands[0]):
                    found[compare] = False
                case ("sgt", Constant(literal=-1)) | ("sge", Constant(literal=0)) if ranges.of(compare.operands[0]):
                    found[compare] = True
                case _:
                    pass
    return found


class _Ranges:
    """The greatest solution: a value is what its operands make it, and every cycle is given the benefit of the doubt.

    That is sound by induction over the run: a value is computed from values computed before it.
    """

    def __init__(self, function: Function, lengths: frozenset[Argument]) -> None:
        self.lengths = lengths
        self.known: dict[Value, Range] = {}
        users: dict[Value, list[Instruction]] = defaultdict(list)
        integers = [i for i in function.instructions if isinstance(i.type, Int)]
        for instruction in integers:
            self.known[instruction] = Range.SMALL
            for operand in instruction.operands:
                users[operand].append(instruction)

        def step(instruction: Instruction) -> list[Instruction]:
            now = min(self.known[instruction], self.computed(instruction))
            if now == self.known[instruction]:
                return []
            self.known[instruction] = now
            return users[instruction]

        fixpoint(integers, step)

    def of(self, value: Value) -> Range:
        match value:
            case Constant(literal=int(number)) if number >= 0 and value.type != I1:
                return Range.SMALL if number < 1 << SMALL_BITS else Range.NONNEGATIVE
            case Argument() if value in self.lengths:
                return Range.SMALL
            case _:
                return self.known.get(value, Range.ANY)

    def computed(self, instruction: Instruction) -> Range:
        """The range of an instruction from those of its operands."""
        match instruction:
            case Phi():
                return min(map(self.of, instruction.operands))
            case Select(operands=[_, if_true, if_false]):
                return min(self.of(if_true), self.of(if_false))
            case Unary(op="freeze", operands=[operand]):
                return self.of(operand)
            case Cast(op="zext", operands=[operand]):
                small = isinstance(operand.type, Int) and operand.type.bits <= SMALL_BITS
                return Range.SMALL if small else Range.NONNEGATIVE
            case Cast(op="sext", operands=[operand]):
                return self.of(operand)
            case Binary():
                return self.of_binary(instruction)
            case Call():
                return self.of_call(instruction)
            case _:
                return Range.ANY

    def of_binary(self, value: Binary) -> Range:
        left, right = map(self.of, value.operands)
        both = min(left, right)
        match value.op, value.operands[1]:
            case (("add" | "or"), Constant(literal=int(step))) if (
                left is Range.SMALL and 0 <= step <= STEP and value.type == I64
            ):
                return Range.SMALL
            case ("add", _) if both is Range.SMALL and value.type == I64:
                return Range.NONNEGATIVE
            case ("add" | "mul" | "shl", _) if "nsw" in value.flags:
                return min(both, Range.NONNEGATIVE)
            case "and", _:
                return max(left, right)
            case "or", _:
                return min(both, Range.NONNEGATIVE)
            case "sdiv", _:
                return both
            case (("udiv" | "urem" | "lshr" | "srem" | "ashr"), _):
                return left
            case _:
                return Range.ANY

    def of_call(self, call: Call) -> Range:
        ranges = [self.of(v) for v in call.operands[:2]]
        match call.callee_name.split(".")[:2]:
            case ["llvm", "smax"]:
                return max(min(ranges), min(max(ranges), Range.NONNEGATIVE))
            case ["llvm", "smin"]:
                return max(ranges) if min(ranges) else Range.ANY
            case ["llvm", "umin"]:
                return max(ranges)
            case ["llvm", "umax"]:
                return min(ranges)
            case _:
                return Range.ANY
