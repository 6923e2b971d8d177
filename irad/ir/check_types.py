"""Which types each instruction takes: a function per shape that says what is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from irad.ir.model import (
    Alloca,
    AtomicReadWrite,
    Binary,
    Branch,
    Call,
    Cast,
    Compare,
    CompareExchange,
    Constant,
    ExtractElement,
    ExtractValue,
    Gep,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Shuffle,
    Splat,
    Store,
    Switch,
    Unary,
    Unreachable,
)
from irad.ir.types import FLOAT_BITS, I1, VOID, Array, Float, Int, Named, Ptr, Struct, Type, Vector
from irad.ir.words import BINARY_FLAGS, CAST_FLAGS, CONSTANT_WORDS, PREDICATES

Structs = Mapping[str, Type | None]


def fault(instruction: Instruction, structs: Structs) -> str:
    """What is wrong with the types of `instruction`, empty if nothing is; `structs` are the module's named types."""
    test = _TESTS.get(type(instruction))
    if test is not None:
        return test(instruction)
    if isinstance(instruction, (ExtractValue, InsertValue)):
        return _aggregate(instruction, structs)
    return ""


def fault_of_constant(constant: Constant) -> str:
    """What is wrong with a literal for its type, empty if nothing is."""
    type, literal = constant.type, constant.literal
    match literal:
        case str() if literal in CONSTANT_WORDS:
            fits = type != VOID and (literal != "null" or isinstance(type, Ptr))
        case str() if literal.startswith('c"'):
            fits = isinstance(type, Array)
        case str():
            fits = isinstance(type, Float)
        case bool():
            fits = type == I1
        case int():
            fits = isinstance(type, Int) and type != I1
        case Splat(value=element):
            fits = isinstance(type, Vector) and element.type == type.element
        case elements:
            fits = _holds(type, [e.type for e in elements])
    return "" if fits else f"{literal!r} is no constant of type {type}"


def _holds(type: Type, elements: list[Type]) -> bool:
    match type:
        case Array(count, element) | Vector(count, element):
            return elements == [element] * count
        case Struct(fields):
            return elements == list(fields)
        case _:
            return isinstance(type, Named)


def _scalar(type: Type) -> Type:
    return type.element if isinstance(type, Vector) else type


def _like(type: Type, element: Type) -> Type:
    """`element`, or a vector of it with as many lanes as `type`."""
    return Vector(type.count, element, type.scalable) if isinstance(type, Vector) else element


def _counted(instruction: Instruction, *counts: int) -> str:
    n = len(instruction.operands)
    return "" if n in counts else f"{n} operands"


# --- arithmetic ---


def _binary(i: Binary) -> str:
    if i.op not in BINARY_FLAGS:
        return f"unknown operation {i.op}"
    if len(i.operands) != 2 or any(v.type != i.type for v in i.operands):
        return f"both operands must be {i.type}"
    wanted = Float if i.op[0] == "f" else Int
    return "" if isinstance(_scalar(i.type), wanted) else f"{i.op} of {i.type}"


def _unary(i: Unary) -> str:
    if len(i.operands) != 1 or i.operands[0].type != i.type:
        return f"the operand must be {i.type}"
    if i.op == "freeze":
        return ""
    return "" if i.op == "fneg" and isinstance(_scalar(i.type), Float) else f"{i.op} of {i.type}"


_CASTS: dict[str, tuple[type, type, int]] = {  # from, to, and whether it shrinks (-1), grows (1) or neither (0)
    "trunc": (Int, Int, -1),
    "zext": (Int, Int, 1),
    "sext": (Int, Int, 1),
    "fptrunc": (Float, Float, -1),
    "fpext": (Float, Float, 1),
    "fptoui": (Float, Int, 0),
    "fptosi": (Float, Int, 0),
    "uitofp": (Int, Float, 0),
    "sitofp": (Int, Float, 0),
    "ptrtoint": (Ptr, Int, 0),
    "ptrtoaddr": (Ptr, Int, 0),
    "inttoptr": (Int, Ptr, 0),
    "addrspacecast": (Ptr, Ptr, 0),
}


_NO_BITS = -(1 << 30)


def _cast(i: Cast) -> str:
    if i.op not in CAST_FLAGS or len(i.operands) != 1:
        return f"{i.op} of {len(i.operands)} operands"
    source = i.operands[0].type
    wrong = f"{i.op} from {source} to {i.type}"
    if i.op == "bitcast":
        return "" if _bits(source) == _bits(i.type) != _NO_BITS else wrong
    kind_from, kind_to, change = _CASTS[i.op]
    old, new = _scalar(source), _scalar(i.type)
    if not isinstance(old, kind_from) or not isinstance(new, kind_to) or _like(source, new) != i.type:
        return wrong
    return "" if change == 0 or (_bits(new) - _bits(old)) * change > 0 else wrong


def _bits(type: Type) -> int:
    """Width of a value in a register; negative for pointers, which only pointers equal, and for what has none."""
    match type:
        case Int(bits):
            return bits
        case Float(kind):
            return FLOAT_BITS[kind]
        case Vector(count, element):
            return count * _bits(element)
        case Ptr():
            return -1
        case _:
            return _NO_BITS


def _compare(i: Compare) -> str:
    if len(i.operands) != 2 or i.operands[0].type != i.operands[1].type:
        return "the operands must have the same type"
    type = i.operands[0].type
    if i.predicate not in PREDICATES.get(i.op, ()):
        return f"unknown predicate {i.predicate}"
    wanted = Float if i.op == "fcmp" else (Int, Ptr)
    if not isinstance(_scalar(type), wanted):
        return f"{i.op} of {type}"
    return "" if i.type == _like(type, I1) else f"the result must be {_like(type, I1)}"


def _select(i: Select) -> str:
    if len(i.operands) != 3 or any(v.type != i.type for v in i.operands[1:]):
        return f"both values must be {i.type}"
    return "" if i.operands[0].type in (I1, _like(i.type, I1)) else f"a condition of type {i.operands[0].type}"


def _phi(i: Phi) -> str:
    wrong = next((v.type for v in i.operands if v.type != i.type), None)
    return f"a value of type {wrong} in a phi of {i.type}" if wrong else ""


# --- memory ---


def _alloca(i: Alloca) -> str:
    if not isinstance(i.type, Ptr) or any(not isinstance(v.type, Int) for v in i.operands):
        return "an alloca is a pointer to a number of elements"
    return _counted(i, 0, 1)


def _load(i: Load) -> str:
    if len(i.operands) != 1 or not isinstance(i.operands[0].type, Ptr):
        return "loads through something else than a pointer"
    return "loads nothing" if i.type == VOID else ""


def _store(i: Store) -> str:
    if len(i.operands) != 2 or not isinstance(i.operands[1].type, Ptr):
        return "stores through something else than a pointer"
    return "a store has no value" if i.type != VOID else ""


def _gep(i: Gep) -> str:
    types = [v.type for v in i.operands]
    if not types or not isinstance(_scalar(types[0]), Ptr) or not all(isinstance(_scalar(t), Int) for t in types[1:]):
        return "takes a pointer and integers"
    lanes = next((t for t in types if isinstance(t, Vector)), i.type)
    if any(t != _like(lanes, _scalar(t)) for t in types if isinstance(t, Vector)):
        return "vectors of different length"
    wanted = _like(lanes, _scalar(types[0])) if isinstance(lanes, Vector) else types[0]
    return "" if i.type == wanted else f"the result must be {wanted}"


def _atomic(i: AtomicReadWrite) -> str:
    if len(i.operands) != 2 or not isinstance(i.operands[0].type, Ptr):
        return "takes a pointer and a value"
    return "" if i.operands[1].type == i.type else f"the result must be {i.operands[1].type}"


def _exchange(i: CompareExchange) -> str:
    if len(i.operands) != 3 or not isinstance(i.operands[0].type, Ptr):
        return "takes a pointer and two values"
    old, new = i.operands[1].type, i.operands[2].type
    return "" if old == new and i.type == Struct((old, I1)) else f"exchanges {old} and {new} as {i.type}"


# --- aggregates and vectors ---


def _aggregate(i: ExtractValue | InsertValue, structs: Structs) -> str:
    inserts = isinstance(i, InsertValue)
    if len(i.operands) != 1 + inserts or not i.indices:
        return "an aggregate and indices are wanted"
    inner: Type | None = i.operands[0].type
    for index in i.indices:
        match structs.get(inner.name) if isinstance(inner, Named) else inner:
            case Struct(fields) if 0 <= index < len(fields):
                inner = fields[index]
            case Array(count, element) if 0 <= index < count:
                inner = element
            case _:
                # without its module, a named structure cannot be looked into
                return "" if isinstance(inner, Named) and inner.name not in structs else f"{inner} has no field {index}"
    if inserts and i.type != i.operands[0].type:
        return f"the result must be {i.operands[0].type}"
    given = i.operands[1].type if inserts else i.type
    return "" if given == inner else f"the field is {inner}, not {given}"


def _extract_element(i: ExtractElement) -> str:
    types = [v.type for v in i.operands]
    if len(types) != 2 or not isinstance(types[0], Vector) or not isinstance(types[1], Int):
        return "takes a vector and an integer"
    return "" if i.type == types[0].element else f"the result must be {types[0].element}"


def _insert_element(i: InsertElement) -> str:
    types = [v.type for v in i.operands]
    if len(types) != 3 or not isinstance(types[0], Vector) or not isinstance(types[2], Int):
        return "takes a vector, an element and an integer"
    return "" if i.type == types[0] and types[1] == types[0].element else f"puts {types[1]} into {types[0]}"


def _shuffle(i: Shuffle) -> str:
    types = [v.type for v in i.operands]
    if len(types) != 3 or types[0] != types[1] or not isinstance(types[0], Vector) or not isinstance(types[2], Vector):
        return "takes two vectors of one type and a mask"
    wanted = Vector(types[2].count, types[0].element, types[2].scalable)
    return "" if i.type == wanted else f"the result must be {wanted}"


# --- calls and control ---


def _call(i: Call) -> str:
    if i.argument_attributes and len(i.argument_attributes) != len(i.operands):
        return f"attributes for {len(i.argument_attributes)} of {len(i.operands)} arguments"
    return "" if isinstance(i.callee.type, Ptr) else f"calls a {i.callee.type}"


def _branch(i: Branch) -> str:
    if (len(i.operands), len(i.targets)) not in ((0, 1), (1, 2)):
        return f"{len(i.operands)} conditions for {len(i.targets)} targets"
    return "" if all(v.type == I1 for v in i.operands) else f"branches on {i.operands[0].type}"


def _switch(i: Switch) -> str:
    if len(i.operands) != 1 or not isinstance(i.operands[0].type, Int):
        return "switches on something else than an integer"
    if len(i.targets) != len(i.cases) + 1:
        return f"{len(i.targets)} targets for {len(i.cases)} cases and the default"
    return "" if len(set(i.cases)) == len(i.cases) else "a case stands twice"


_TESTS: dict[type[Instruction], Callable[[Any], str]] = {
    Binary: _binary,
    Unary: _unary,
    Cast: _cast,
    Compare: _compare,
    Select: _select,
    Phi: _phi,
    Alloca: _alloca,
    Load: _load,
    Store: _store,
    Gep: _gep,
    AtomicReadWrite: _atomic,
    CompareExchange: _exchange,
    ExtractElement: _extract_element,
    InsertElement: _insert_element,
    Shuffle: _shuffle,
    Call: _call,
    Branch: _branch,
    Switch: _switch,
    Return: lambda i: _counted(i, 0, 1),
    Unreachable: lambda i: _counted(i, 0),
}
