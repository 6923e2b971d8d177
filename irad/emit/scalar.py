"""Operations on values: the tangent and the adjoint of each shape, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irad.emit.aggregate import extract, insert
from irad.errors import MissingRule, Unsupported
from irad.ir.lines import blame
from irad.ir.model import (
    Cast,
    Constant,
    ExtractElement,
    ExtractValue,
    InsertElement,
    InsertValue,
    Instruction,
    Select,
    Unary,
    Value,
    zero,
)
from irad.ir.types import Vector
from irad.rules import linear, scalar

if TYPE_CHECKING:
    from irad.emit.forward import Tangent
    from irad.emit.reverse import Reverse


def rule_of(instruction: Instruction) -> linear.Rule:
    """The row of an operation.

    Raises
    ------
    MissingRule: there is none.
    """
    rule = scalar.rule_of(instruction)
    if rule is None:
        error = MissingRule("no derivative is known for this operation", hint="write it with other operations")
        raise blame(error, instruction)
    return rule


def _moves_bits(instruction: Instruction) -> bool:
    """Freezes, and bit casts between a float and an integer that carries it: the derivative passes unchanged."""
    match instruction:
        case Unary(op="freeze"):
            return True
        case Cast(op="bitcast", operands=[source]):
            return not isinstance(source.type, Vector) and not isinstance(instruction.type, Vector)
        case _:
            return False


def _unsupported(instruction: Instruction) -> Unsupported:
    why = "LLVM has made vectors of this, in a way that is not differentiated"
    return blame(Unsupported(why, hint="write the loop or the tuple arithmetic element by element"), instruction)


def tangent(value: Instruction, out: Tangent) -> Value | None:
    """The tangent of an active value from those of its operands."""
    match value:
        case Select(operands=[condition, if_true, if_false]):
            return out.out.select(out.value(condition), out.dot_or_zero(if_true), out.dot_or_zero(if_false))
        case ExtractValue(operands=[aggregate], indices=indices):
            return extract(out.out, out.dot_or_zero(aggregate), indices, value.type)
        case InsertValue(operands=[aggregate, element], indices=indices):
            into = out.dot_or_zero(aggregate)
            dot = out.dot(element)
            return insert(out.out, into, dot if dot is not None else zero(element.type), indices)
        case ExtractElement(operands=[vector, index]):
            return out.out.append(ExtractElement(type=value.type, operands=[out.dot_or_zero(vector), out.value(index)]))
        case InsertElement(operands=[vector, element, index]):
            operands = [out.dot_or_zero(vector), out.dot_or_zero(element), out.value(index)]
            return out.out.append(InsertElement(type=value.type, operands=operands))
        case _ if _moves_bits(value):
            return out.dot(value.operands[0])
        case _ if isinstance(value, (Cast, Unary)) and scalar.rule_of(value) is None:
            raise _unsupported(value)
        case _:
            operands = [out.value(v) for v in value.operands]
            tangents = [out.dot(v) for v in value.operands]
            guard = value in out.subject.guarded
            return linear.tangent(rule_of(value), operands, out.value(value), tangents, out.out, guard=guard)


def adjoint(value: Instruction, bar: Value, out: Reverse) -> None:
    """Pass the adjoint of an active value on to its operands."""
    build = out.out
    match value:
        case Select(operands=[condition, if_true, if_false]):
            chosen, nothing = out.look(condition), zero(bar.type)
            out.give(if_true, lambda: build.select(chosen, bar, nothing))
            out.give(if_false, lambda: build.select(chosen, nothing, bar))
        case ExtractValue(operands=[aggregate], indices=indices):
            out.give(aggregate, lambda: insert(build, zero(aggregate.type), bar, indices))
        case InsertValue(operands=[aggregate, element], indices=indices):
            out.give(element, lambda: extract(build, bar, indices, element.type))
            out.give(aggregate, lambda: insert(build, bar, zero(element.type), indices))
        case ExtractElement(operands=[vector, index]):
            operands = [zero(vector.type), bar, out.look(index)]
            out.give(vector, lambda: build.append(InsertElement(type=vector.type, operands=operands)))
        case InsertElement(operands=[vector, element, index]):
            at = out.look(index)
            out.give(element, lambda: build.append(ExtractElement(type=element.type, operands=[bar, at])))
            cleared = [bar, zero(element.type), at]
            out.give(vector, lambda: build.append(InsertElement(type=vector.type, operands=cleared)))
        case _ if _moves_bits(value):
            out.give(value.operands[0], lambda: bar)
        case _ if isinstance(value, (Cast, Unary)) and scalar.rule_of(value) is None:
            raise _unsupported(value)
        case _:
            _by_rule(value, bar, out)


def _by_rule(value: Instruction, bar: Value, out: Reverse) -> None:
    rule = rule_of(value)
    wanted = frozenset(i for i, v in enumerate(value.operands) if v in out.subject.activity)
    twin = out.plan.twins.get(value)
    read = linear.reads(rule, wanted, twin is not None)
    known = [i in read or isinstance(v, Constant) for i, v in enumerate(value.operands)]
    operands = [out.look(v) if k else linear.unread(v.type) for k, v in zip(known, value.operands, strict=True)]
    result = out.look(value) if "out" in read else linear.unread(value.type)
    other = out.look(twin) if twin is not None else None
    guard = value in out.subject.guarded
    for i, each in linear.adjoints(rule, operands, result, bar, wanted, out.out, twin=other, guard=guard).items():
        out.add(value.operands[i], each)
