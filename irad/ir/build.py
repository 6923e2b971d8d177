"""Append instructions to a block; `Expr` is a value with arithmetic, so that a rule reads like its formula."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from irad.ir.model import (
    Alloca,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    Constant,
    ExtractValue,
    Gep,
    Global,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Switch,
    Unary,
    Unreachable,
    Value,
    integer,
    is_zero,
    real,
)
from irad.ir.types import I1, I8, I64, PTR, Float, Int, Type, Vector

T = TypeVar("T", bound=Instruction)


class Builder:
    """A cursor at the end of `block`.

    `flags` go on every floating-point instruction it makes; `debug` is the `!dbg` reference that new instructions
    carry, empty for none.
    """

    def __init__(self, block: Block, flags: tuple[str, ...] = ()) -> None:
        self.block = block
        self.flags = flags
        self.debug = ""

    def append(self, instruction: T) -> T:
        """Put `instruction` at the end of the block's body."""
        if self.debug and "!dbg" not in instruction.metadata:
            instruction.metadata["!dbg"] = self.debug
        self.block.body.append(instruction)
        return instruction

    # --- arithmetic ---

    def binary(self, op: str, left: Value, right: Value, flags: tuple[str, ...] = ()) -> Value:
        """An arithmetic instruction; integer operations on two constants are folded."""
        match left, right:
            case (Constant(type=Int(bits), literal=int(a)), Constant(literal=int(b))) if op in _FOLD:
                return integer(_wrapped(_FOLD[op](a, b), bits), left.type)
            case (_, Constant(literal=0)) if op in ("add", "sub") and isinstance(left.type, Int):
                return left
            case (Constant(literal=0), _) if op == "add" and isinstance(left.type, Int):
                return right
            case (_, Constant(literal=1)) if op == "mul" and isinstance(left.type, Int):
                return left
            case (Constant(literal=1), _) if op == "mul" and isinstance(left.type, Int):
                return right
            case _:
                pass
        if op.startswith("f"):
            flags = flags or self.flags
        return self.append(Binary(op=op, type=left.type, operands=[left, right], flags=flags))

    def fadd(self, left: Value, right: Value) -> Value:
        """left + right, where a literal zero adds nothing."""
        if is_zero(left):
            return right
        if is_zero(right):
            return left
        return self.binary("fadd", left, right)

    def fneg(self, value: Value) -> Value:
        return self.append(Unary(op="fneg", type=value.type, operands=[value], flags=self.flags))

    def cast(self, op: str, value: Value, type: Type) -> Value:
        return value if value.type == type else self.append(Cast(op=op, type=type, operands=[value]))

    def compare(self, predicate: str, left: Value, right: Value) -> Value:
        element = left.type.element if isinstance(left.type, Vector) else left.type
        op = "fcmp" if isinstance(element, Float) else "icmp"
        kind = Vector(left.type.count, I1) if isinstance(left.type, Vector) else I1
        return self.append(Compare(op=op, predicate=predicate, type=kind, operands=[left, right]))

    def select(self, condition: Value, if_true: Value, if_false: Value) -> Value:
        if if_true is if_false:
            return if_true
        return self.append(Select(type=if_true.type, operands=[condition, if_true, if_false]))

    # --- memory ---

    def alloca(self, type: Type, align: int = 0) -> Value:
        return self.append(Alloca(type=PTR, allocated=type, align=align))

    def load(self, type: Type, pointer: Value, align: int = 0) -> Value:
        return self.append(Load(type=type, operands=[pointer], align=align))

    def store(self, value: Value, pointer: Value, align: int = 0) -> Store:
        return self.append(Store(operands=[value, pointer], align=align))

    def offset(self, pointer: Value, offset: Value | int, element: Type = I8) -> Value:
        """`pointer` moved by `offset` elements (bytes unless `element` says otherwise)."""
        index = integer(offset, I64) if isinstance(offset, int) else offset
        if is_zero(index):
            return pointer
        return self.append(Gep(type=PTR, source=element, operands=[pointer, index]))

    # --- aggregates ---

    def extract(self, aggregate: Value, index: int, type: Type) -> Value:
        return self.append(ExtractValue(type=type, operands=[aggregate], indices=(index,)))

    def insert(self, aggregate: Value, element: Value, index: int) -> Value:
        return self.append(InsertValue(type=aggregate.type, operands=[aggregate, element], indices=(index,)))

    # --- calls and control ---

    def call(self, name: str, result: Type, arguments: Sequence[Value], attributes: tuple[str, ...] = ()) -> Value:
        """Call `@name`; the module must declare it (see `declare`)."""
        flags = self.flags if isinstance(result, Float) else ()
        return self.append(
            Call(
                type=result,
                callee=Global(name),
                operands=list(arguments),
                argument_attributes=[() for _ in arguments],
                attributes=attributes,
                flags=flags,
            )
        )

    def phi(self, type: Type, name: str = "") -> Phi:
        """An empty phi of the block; give it its operands later."""
        phi = Phi(type=type, name=name)
        self.block.phis.append(phi)
        return phi

    def branch(self, target: Block) -> None:
        self.block.end = Branch(targets=[target])

    def succeeded(self, status: Value) -> Value:
        """Whether one of Numba's statuses means success: 0, or -2 for a result that is None."""
        plain, none = (self.compare("eq", status, integer(code, status.type)) for code in (0, -2))
        return self.binary("or", plain, none)

    def branch_if(self, condition: Value, if_true: Block, if_false: Block) -> None:
        self.block.end = Branch(operands=[condition], targets=[if_true, if_false])

    def switch(self, value: Value, default: Block, cases: Sequence[tuple[int, Block]]) -> None:
        self.block.end = Switch(
            operands=[value], targets=[default, *(b for _, b in cases)], cases=[n for n, _ in cases]
        )

    def ret(self, value: Value | None = None) -> None:
        self.block.end = Return(operands=[] if value is None else [value])

    def unreachable(self) -> None:
        self.block.end = Unreachable()

    def expr(self, value: Value) -> Expr:
        return Expr(value, self)


@dataclass(frozen=True, slots=True)
class Expr:
    """A float (or vector of floats) in the function being built, with arithmetic that appends instructions.

    Rules are written in these operations and no others, so that a spy can stand in for the operands and find out
    what a rule reads (see irad.rules.linear).
    """

    value: Value
    out: Builder

    def lit(self, other: Expr | float) -> Expr:
        """`other` as an expression of my type."""
        return other if isinstance(other, Expr) else Expr(real(other, self.value.type), self.out)

    def _binary(self, op: str, left: Expr | float, right: Expr | float) -> Expr:
        return Expr(self.out.binary(op, self.lit(left).value, self.lit(right).value), self.out)

    def __add__(self, other: Expr | float) -> Expr:
        return self._binary("fadd", self, other)

    def __radd__(self, other: float) -> Expr:
        return self._binary("fadd", other, self)

    def __sub__(self, other: Expr | float) -> Expr:
        return self._binary("fsub", self, other)

    def __rsub__(self, other: float) -> Expr:
        return self._binary("fsub", other, self)

    def __mul__(self, other: Expr | float) -> Expr:
        return self._binary("fmul", self, other)

    def __rmul__(self, other: float) -> Expr:
        return self._binary("fmul", other, self)

    def __truediv__(self, other: Expr | float) -> Expr:
        return self._binary("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Expr:
        return self._binary("fdiv", other, self)

    def __neg__(self) -> Expr:
        return Expr(self.out.fneg(self.value), self.out)

    def compare(self, predicate: str, other: Expr | float) -> Expr:
        """`fcmp predicate`: the result is an i1 expression for `where`."""
        return Expr(self.out.compare(predicate, self.value, self.lit(other).value), self.out)

    def where(self, if_true: Expr | float, if_false: Expr | float, like: Expr) -> Expr:
        """Me (an i1) choosing between two floats of the type of `like`."""
        chosen = self.out.select(self.value, like.lit(if_true).value, like.lit(if_false).value)
        return Expr(chosen, self.out)

    def call(self, name: str, *others: Expr | float) -> Expr:
        """An LLVM float intrinsic (`sqrt`, `copysign`, ...) by its bare name, on my type."""
        arguments = [self.value, *(self.lit(o).value for o in others)]
        return Expr(self.out.call(f"llvm.{name}.{suffix(self.value.type)}", self.value.type, arguments), self.out)

    def libm(self, name: str, *others: Expr | float) -> Expr:
        """A libm function by its double-precision name (`erf`; `erff` is called for float)."""
        arguments = [self.value, *(self.lit(o).value for o in others)]
        single = isinstance(self.value.type, Float) and self.value.type.kind == "float"
        return Expr(self.out.call(name + "f" * single, self.value.type, arguments), self.out)

    @property
    def type(self) -> Type:
        return self.value.type


def suffix(type: Type) -> str:
    """How LLVM writes `type` in an intrinsic's name: f64, f32, v4f64, i64, p0."""
    match type:
        case Float("double"):
            return "f64"
        case Float("float"):
            return "f32"
        case Float("half"):
            return "f16"
        case Int(bits):
            return f"i{bits}"
        case Vector(count, element):
            return f"v{count}{suffix(element)}"
        case _:
            return "p0"


_FOLD: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value
