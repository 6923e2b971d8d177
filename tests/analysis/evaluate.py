"""Integer code of a block, evaluated: enough for trip counts."""

from __future__ import annotations

from irad.ir.model import Binary, Call, Cast, Compare, Constant, Select, Value
from irad.ir.types import Int

OPS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "udiv": lambda a, b: a // b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}


def signed(value: int, bits: int) -> int:
    """The two's complement reading of an unsigned number."""
    return value - (1 << bits) if value >> (bits - 1) else value


def holds(predicate: str, left: int, right: int, bits: int) -> bool:
    """Whether `icmp predicate` of two unsigned numbers is true."""
    if predicate.startswith("s"):
        left, right = signed(left, bits), signed(right, bits)
    return {"e": left == right, "n": left != right}.get(predicate[0], False) or {
        "lt": left < right,
        "le": left <= right,
        "gt": left > right,
        "ge": left >= right,
    }.get(predicate[1:], False)


def evaluate(value: Value, known: dict[Value, int]) -> int:
    """The unsigned number that `value` is, where arguments are as `known`."""
    if value in known:
        return known[value]
    assert isinstance(value.type, Int)
    mask = (1 << value.type.bits) - 1
    match value:
        case Constant(literal=int(number)):
            return int(number) & mask
        case Binary(op=op, operands=[left, right]):
            return OPS[op](evaluate(left, known), evaluate(right, known)) & mask
        case Cast(op="sext", operands=[source]):
            assert isinstance(source.type, Int)
            return signed(evaluate(source, known), source.type.bits) & mask
        case Cast(op="zext" | "trunc", operands=[source]):
            return evaluate(source, known) & mask
        case Compare(predicate=predicate, operands=[left, right]):
            assert isinstance(left.type, Int)
            return int(holds(predicate, evaluate(left, known), evaluate(right, known), left.type.bits))
        case Select(operands=[condition, if_true, if_false]):
            return evaluate(if_true if evaluate(condition, known) else if_false, known)
        case Call(callee_name=name, operands=[left, right]):
            pair = [evaluate(left, known), evaluate(right, known)]
            key = (lambda n: signed(n, 64)) if name.startswith("llvm.s") else None
            return (max if "max" in name else min)(pair, key=key)
        case _:
            raise AssertionError(value)
