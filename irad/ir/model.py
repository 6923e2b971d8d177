"""The IR: one dataclass per instruction shape.

Descriptions (types, constants, global references) are frozen and compared by value. Things (arguments, instructions,
blocks, functions) are compared by identity, so that facts about them are dicts keyed by the thing; analyses never
attach anything here. Names carry no meaning: the writer makes them unique.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Self, TypeAlias

from irad.ir.types import I1, PTR, VOID, Array, Float, FunctionType, Int, Struct, Type, Vector

# --- values ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal.

    `literal` is an int (integers), a bool (i1), a str for words LLVM writes as they stand (`null`, `undef`, `poison`,
    `zeroinitializer`, `none`, floating-point literals in decimal or hexadecimal form, `c"..."` strings), a tuple of
    values (aggregates), or a `Splat`.
    """

    type: Type
    literal: int | bool | str | tuple[Value, ...] | Splat

    @property
    def number(self) -> float:
        """The value of a floating-point literal."""
        text = self.literal
        assert isinstance(self.type, Float) and isinstance(text, str)
        if text == "zeroinitializer":
            return 0.0
        if text.startswith("0x"):
            return float(struct.unpack(">d", bytes.fromhex(text[2:].zfill(16)))[0])
        return float(text)


@dataclass(frozen=True, slots=True)
class Splat:
    """A vector constant whose elements are all `value`."""

    value: Value


@dataclass(frozen=True, slots=True)
class ConstantExpression:
    """An operation on constants; `source` is a GEP's element type, `type` a cast's target."""

    type: Type
    op: str
    operands: tuple[Value, ...]
    flags: tuple[str, ...] = ()
    source: Type | None = None


@dataclass(frozen=True, slots=True)
class Global:
    """A reference to `@name`, a function or a variable."""

    name: str
    type: Type = PTR


@dataclass(frozen=True, slots=True)
class MetadataOperand:
    """Metadata passed to a call, as text."""

    text: str
    type: Type = field(default=VOID)


@dataclass(frozen=True, slots=True)
class InlineAssembly:
    """An `asm` callee, as text."""

    text: str
    type: Type = PTR


@dataclass(eq=False, slots=True)
class Argument:
    """A parameter of a function."""

    type: Type
    name: str
    attributes: tuple[str, ...] = ()


@dataclass(eq=False, slots=True, kw_only=True)
class Instruction:
    """What all instructions have. `type` is VOID where there is no result; `name` then is empty."""

    type: Type = VOID
    name: str = ""
    operands: list[Value] = field(default_factory=list["Value"])
    flags: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict[str, str])

    def clone(self, change: Callable[[Value], Value] | None = None) -> Self:
        """A new instruction of the same shape, its operands passed through `change`."""
        operands = [change(v) for v in self.operands] if change else list(self.operands)
        return replace(self, operands=operands, metadata=dict(self.metadata))


Value: TypeAlias = Constant | ConstantExpression | Global | MetadataOperand | InlineAssembly | Argument | Instruction

# --- instructions ---------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True, kw_only=True)
class Binary(Instruction):
    """add sub mul sdiv udiv srem urem shl lshr ashr and or xor fadd fsub fmul fdiv frem"""

    op: str


@dataclass(eq=False, slots=True, kw_only=True)
class Unary(Instruction):
    """fneg freeze"""

    op: str


@dataclass(eq=False, slots=True, kw_only=True)
class Cast(Instruction):
    """trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast addrspacecast ptrtoaddr"""

    op: str


@dataclass(eq=False, slots=True, kw_only=True)
class Compare(Instruction):
    """icmp fcmp; `predicate` is LLVM's word."""

    op: str
    predicate: str


@dataclass(eq=False, slots=True, kw_only=True)
class Select(Instruction):
    """condition, value if true, value if false"""


@dataclass(eq=False, slots=True, kw_only=True)
class Phi(Instruction):
    """operands[i] flows in from blocks[i]."""

    blocks: list[Block] = field(default_factory=list["Block"])

    def incoming(self) -> Iterator[tuple[Value, Block]]:
        return zip(self.operands, self.blocks, strict=True)

    def value_from(self, block: Block) -> Value:
        return self.operands[self.blocks.index(block)]


@dataclass(eq=False, slots=True, kw_only=True)
class Alloca(Instruction):
    """Stack memory; operands is empty or holds the number of elements."""

    allocated: Type
    align: int = 0


@dataclass(eq=False, slots=True, kw_only=True)
class Load(Instruction):
    """operands: [pointer]. `atomic` is the ordering with what precedes it (`monotonic`), empty for plain loads."""

    align: int = 0
    atomic: str = ""

    @property
    def pointer(self) -> Value:
        return self.operands[0]


@dataclass(eq=False, slots=True, kw_only=True)
class Store(Instruction):
    """operands: [value, pointer]."""

    align: int = 0
    atomic: str = ""

    @property
    def value(self) -> Value:
        return self.operands[0]

    @property
    def pointer(self) -> Value:
        return self.operands[1]


@dataclass(eq=False, slots=True, kw_only=True)
class Gep(Instruction):
    """getelementptr: operands are the base and the indices; `source` is the element type they walk."""

    source: Type

    @property
    def pointer(self) -> Value:
        return self.operands[0]


@dataclass(eq=False, slots=True, kw_only=True)
class Call(Instruction):
    """operands are the arguments. Attributes are kept as text; `convention` is e.g. `fastcc`; `tail` e.g. `tail`."""

    callee: Value
    function_type: FunctionType | None = None
    tail: str = ""
    convention: str = ""
    return_attributes: tuple[str, ...] = ()
    argument_attributes: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    attributes: tuple[str, ...] = ()
    bundles: str = ""

    @property
    def callee_name(self) -> str:
        """The called function's name, empty for an indirect call."""
        return self.callee.name if isinstance(self.callee, Global) else ""


@dataclass(eq=False, slots=True, kw_only=True)
class ExtractValue(Instruction):
    indices: tuple[int, ...]


@dataclass(eq=False, slots=True, kw_only=True)
class InsertValue(Instruction):
    indices: tuple[int, ...]


@dataclass(eq=False, slots=True, kw_only=True)
class ExtractElement(Instruction):
    """vector, index"""


@dataclass(eq=False, slots=True, kw_only=True)
class InsertElement(Instruction):
    """vector, element, index"""


@dataclass(eq=False, slots=True, kw_only=True)
class Shuffle(Instruction):
    """first, second, mask (a constant)"""


@dataclass(eq=False, slots=True, kw_only=True)
class AtomicReadWrite(Instruction):
    """operands: [pointer, value]"""

    op: str
    ordering: str
    align: int = 0


@dataclass(eq=False, slots=True, kw_only=True)
class CompareExchange(Instruction):
    """operands: [pointer, expected, new]"""

    ordering: str
    align: int = 0


@dataclass(eq=False, slots=True, kw_only=True)
class Fence(Instruction):
    ordering: str


# --- terminators ----------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True, kw_only=True)
class Terminator(Instruction):
    """Ends a block; `targets` are its successors, in order."""

    targets: list[Block] = field(default_factory=list["Block"])


@dataclass(eq=False, slots=True, kw_only=True)
class Branch(Terminator):
    """operands is [] (one target) or [condition] (true target, false target)."""

    @property
    def condition(self) -> Value | None:
        return self.operands[0] if self.operands else None


@dataclass(eq=False, slots=True, kw_only=True)
class Switch(Terminator):
    """operands: [value]; targets[0] is the default, targets[1:] go with `cases`."""

    cases: list[int] = field(default_factory=list[int])


@dataclass(eq=False, slots=True, kw_only=True)
class Return(Terminator):
    """operands is [] for `ret void`."""

    @property
    def value(self) -> Value | None:
        return self.operands[0] if self.operands else None


@dataclass(eq=False, slots=True, kw_only=True)
class Unreachable(Terminator):
    pass


# --- structure ------------------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Block:
    name: str
    phis: list[Phi] = field(default_factory=list[Phi])
    body: list[Instruction] = field(default_factory=list[Instruction])
    end: Terminator = field(default_factory=lambda: Unreachable())

    @property
    def instructions(self) -> Iterator[Instruction]:
        yield from self.phis
        yield from self.body
        yield self.end

    @property
    def successors(self) -> list[Block]:
        """Distinct successors, in the terminator's order."""
        return list(dict.fromkeys(self.end.targets))


@dataclass(eq=False, slots=True)
class Function:
    """`blocks` is empty for a declaration. Attribute fields are text as LLVM writes it."""

    name: str
    type: FunctionType
    arguments: list[Argument]
    blocks: list[Block] = field(default_factory=list[Block])
    linkage: tuple[str, ...] = ()  # everything between define/declare and the result type: internal, fastcc, noalias...
    attributes: tuple[str, ...] = ()  # after the parameter list: unnamed_addr, #0, section..., personality...
    metadata: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    @property
    def is_declaration(self) -> bool:
        return not self.blocks

    @property
    def instructions(self) -> Iterator[Instruction]:
        for block in self.blocks:
            yield from block.instructions


@dataclass(eq=False, slots=True)
class Variable:
    """A global variable: `text` is what follows `@name = `; `value_type` and `constant` are read off it."""

    name: str
    text: str
    value_type: Type | None = None
    constant: bool = False
    initializer: Value | None = None


@dataclass(eq=False, slots=True)
class Module:
    """`functions` holds definitions and declarations, in the order of the text."""

    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    structs: dict[str, Type | None] = field(default_factory=dict[str, "Type | None"])
    attribute_groups: dict[str, str] = field(default_factory=dict[str, str])
    metadata: dict[str, str] = field(default_factory=dict[str, str])  # "!12" -> "distinct !{...}"
    header: list[str] = field(default_factory=list[str])  # source_filename, target datalayout, target triple
    comdats: list[str] = field(default_factory=list[str])


# --- short forms ----------------------------------------------------------------------------------------------------


def integer(value: int, type: Type) -> Constant:
    """An integer constant (`i1` becomes true/false)."""
    return Constant(type, bool(value) if type == I1 else value)


def real(value: float, type: Type) -> Constant:
    """A floating-point constant of `type` (or a vector of it), rounded to that type, in LLVM's hexadecimal form."""
    if isinstance(type, Vector):
        return Constant(type, Splat(real(value, type.element)))
    assert isinstance(type, Float) and type.kind in ("double", "float"), type
    if type.kind == "float":
        value = float(struct.unpack(">f", struct.pack(">f", value))[0])
    return Constant(type, "0x" + struct.pack(">d", value).hex().upper())


def zero(type: Type) -> Constant:
    """The zero of any first-class type."""
    match type:
        case Float() | Vector(element=Float()):
            return real(0.0, type)
        case Int():
            return integer(0, type)
        case Array() | Struct() | Vector():
            return Constant(type, "zeroinitializer")
        case _:
            return Constant(type, "null")


def is_zero(value: Value) -> bool:
    """Whether `value` is literally a zero of a float, integer, pointer or aggregate type (-0.0 is not)."""
    match value:
        case Constant(type=Float(), literal=str(text)) if text not in ("undef", "poison"):
            return struct.pack(">d", value.number) == bytes(8)
        case Constant(literal=Splat(value=inner)):
            return is_zero(inner)
        case Constant(literal=literal):
            return literal == "zeroinitializer" or literal == "null" or (literal == 0 and not isinstance(literal, str))
        case _:
            return False


def references(value: Value) -> set[str]:
    """Names of the globals that a constant refers to."""
    match value:
        case Global(name):
            return {name}
        case ConstantExpression(operands=operands):
            return {n for v in operands for n in references(v)}
        case Constant(literal=tuple(parts)):
            return {n for v in parts for n in references(v)}
        case _:
            return set()
