"""Our dataclasses to LLVM's text. Names are made unique; values and blocks without one are numbered as LLVM does."""

from __future__ import annotations

import re
from collections.abc import Iterable

from irad.errors import InvalidIR
from irad.ir.model import (
    Alloca,
    Argument,
    AtomicReadWrite,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    CompareExchange,
    Constant,
    ConstantExpression,
    ExtractElement,
    ExtractValue,
    Fence,
    Function,
    Gep,
    Global,
    InlineAssembly,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    MetadataOperand,
    Module,
    Phi,
    Return,
    Select,
    Shuffle,
    Splat,
    Store,
    Switch,
    Terminator,
    Unary,
    Unreachable,
    Value,
    integer,
)
from irad.ir.types import VOID, Array, Ptr, Struct, Type
from irad.ir.words import CAST_FLAGS

_BARE_NAME = re.compile(r"[-$._A-Za-z][-$.\w]*", re.ASCII)
_WORDS: dict[type[Instruction], str] = {
    Select: "select",
    ExtractElement: "extractelement",
    InsertElement: "insertelement",
    Shuffle: "shufflevector",
    ExtractValue: "extractvalue",
    InsertValue: "insertvalue",
}


def write(module: Module) -> str:
    """The module as text that LLVM reads."""
    writer = _Writer()
    opaque = "opaque"
    parts = [
        "\n".join(module.header),
        "\n".join(f"{name} = type {type or opaque}" for name, type in module.structs.items()),
        "\n".join(module.comdats),
        "\n".join(f"{_global(v.name)} = {v.text}" for v in module.variables.values()),
        *(writer.function(f) for f in module.functions.values()),
        "\n".join(f"attributes {name} = {text}" for name, text in module.attribute_groups.items()),
        "\n".join(f"{name} = {text}" for name, text in module.metadata.items()),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def write_function(function: Function) -> str:
    """One function as text, `define` or `declare`."""
    return _Writer().function(function)


def text_of(instruction: Instruction) -> str:
    """One instruction as text, for messages: its operands by the names that they carry now, `%?` for none."""
    writer = _Writer()
    try:
        return writer.line(instruction)
    except (InvalidIR, ValueError):  # a malformed one, which the message is about
        return f"{type(instruction).__name__} of {writer.operands(instruction.operands) or 'nothing'}"


def _quoted(name: str) -> str:
    """`name` as it stands after a sigil."""
    if _BARE_NAME.fullmatch(name):
        return name
    raw = name.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in raw) + '"'


def _global(name: str) -> str:
    return "@" + _quoted(name)


class _Writer:
    """Writes functions; `names` holds the locals of the one being written."""

    def __init__(self) -> None:
        self.names: dict[Value | Block, str] = {}
        self.types: dict[Type, str] = {}

    # --- names ---

    def name(self, function: Function) -> None:
        """Choose a name for every argument, block and result: its own where it is free, a number where it has none."""
        names: dict[Value | Block, str] = {}
        taken: set[str] = set()
        tried: dict[str, int] = {}  # by name, the last number behind it: one name may be that of thousands of values
        number = 0
        for thing in _locals(function):
            name = thing.name
            if not name or name.isdigit():
                names[thing] = f"%{number}"
                number += 1
                continue
            own = name
            while name in taken:
                tried[own] = tried.get(own, 0) + 1
                name = f"{own}.{tried[own]}"
            taken.add(name)
            names[thing] = "%" + _quoted(name)
        self.names = names

    def local(self, thing: Value | Block) -> str:
        """The chosen name, or, outside a function, the one it carries."""
        known = self.names.get(thing)
        if known is not None:
            return known
        assert isinstance(thing, (Argument, Instruction, Block))
        return "%" + (thing.name if thing.name.isdigit() else _quoted(thing.name) if thing.name else "?")

    # --- functions ---

    def function(self, function: Function) -> str:
        self.name(function)
        declared = function.is_declaration
        arguments = [self.parameter(a, declared) for a in function.arguments]
        if function.type.varargs:
            arguments.append("...")
        metadata = [f"{key} {text}" for key, text in function.metadata.items()]
        result = self.type(function.type.result)
        head = " ".join([*function.linkage, result, f"{_global(function.name)}({', '.join(arguments)})"])
        if declared:
            return " ".join(["declare", *metadata, head, *function.attributes])
        lines = [" ".join(["define", head, *function.attributes, *metadata, "{"])]
        for block in function.blocks:
            lines.append(f"{self.local(block)[1:]}:")
            lines.extend("  " + self.line(i) for i in block.instructions)
        return "\n".join([*lines, "}"])

    def parameter(self, argument: Argument, declared: bool) -> str:
        parts = [self.type(argument.type), *argument.attributes]
        return " ".join(parts if declared else [*parts, self.local(argument)])

    # --- values ---

    def type(self, type: Type) -> str:
        text = self.types.get(type)
        if text is None:
            text = self.types[type] = str(type)
        return text

    def typed(self, value: Value) -> str:
        return f"{self.type(value.type)} {self.value(value)}"

    def value(self, value: Value) -> str:
        """`value` without its type."""
        match value:
            case Instruction() | Argument():
                return self.local(value)
            case Constant():
                return self.constant(value)
            case Global():
                return _global(value.name)
            case MetadataOperand() | InlineAssembly():
                return value.text
            case ConstantExpression():
                return self.expression(value)

    def constant(self, constant: Constant) -> str:
        match constant.literal:
            case str(text):
                return text
            case bool(truth):
                return "true" if truth else "false"
            case int(number):
                return str(number)
            case Splat(value=element):
                return f"splat ({self.typed(element)})"
            case elements:
                inside = ", ".join(map(self.typed, elements))
                match constant.type:
                    case Array():
                        return f"[{inside}]"
                    case Struct(packed=packed):
                        return f"<{{ {inside} }}>" if packed else f"{{ {inside} }}" if elements else "{}"
                    case _:
                        return f"<{inside}>"

    def expression(self, expression: ConstantExpression) -> str:
        inside = ", ".join(map(self.typed, expression.operands))
        if expression.source is not None:
            inside = f"{self.type(expression.source)}, {inside}"
        elif expression.op in CAST_FLAGS:
            inside = f"{inside} to {self.type(expression.type)}"
        return " ".join([expression.op, *expression.flags, f"({inside})"])

    def operands(self, values: Iterable[Value]) -> str:
        return ", ".join(map(self.typed, values))

    # --- instructions ---

    def line(self, instruction: Instruction) -> str:
        """The instruction with result and metadata."""
        text = self.instruction(instruction)
        if instruction.type is not VOID and instruction.type != VOID:
            text = f"{self.local(instruction)} = {text}"
        for key, value in instruction.metadata.items():
            text += f", {key} {value}"
        return text

    def instruction(self, instruction: Instruction) -> str:
        flags = "".join(f"{f} " for f in instruction.flags)
        match instruction:
            case Binary(op=op, operands=[left, right]):
                return f"{op} {flags}{self.typed(left)}, {self.value(right)}"
            case Load() | Store() | Gep():
                return self.memory(instruction, flags)
            case Compare(op=op, predicate=predicate, operands=[left, right]):
                return f"{op} {flags}{predicate} {self.typed(left)}, {self.value(right)}"
            case Cast(op=op, operands=[value]):
                return f"{op} {flags}{self.typed(value)} to {self.type(instruction.type)}"
            case Unary(op=op, operands=[value]):
                return f"{op} {flags}{self.typed(value)}"
            case Phi():
                arms = (f"[ {self.value(v)}, {self.local(b)} ]" for v, b in instruction.incoming())
                return f"phi {flags}{self.type(instruction.type)} {', '.join(arms)}"
            case Call():
                return self.call(instruction)
            case Terminator():
                return self.terminator(instruction)
            case ExtractValue(indices=indices) | InsertValue(indices=indices):
                steps = ", ".join(map(str, indices))
                return f"{_WORDS[type(instruction)]} {self.operands(instruction.operands)}, {steps}"
            case _ if type(instruction) in _WORDS:
                return f"{_WORDS[type(instruction)]} {flags}{self.operands(instruction.operands)}"
            case _:
                return self.memory(instruction, flags)

    def memory(self, instruction: Instruction, flags: str) -> str:
        operands = self.operands(instruction.operands)
        match instruction:
            case Load(align=align, atomic=atomic):
                text = f"load {'atomic ' * bool(atomic)}{flags}{self.type(instruction.type)}, {operands}"
                return _aligned(f"{text} {atomic}" if atomic else text, align)
            case Store(align=align, atomic=atomic):
                text = f"store {'atomic ' * bool(atomic)}{flags}{operands}"
                return _aligned(f"{text} {atomic}" if atomic else text, align)
            case Gep(source=source):
                return f"getelementptr {flags}{self.type(source)}, {operands}"
            case Alloca(allocated=allocated, align=align):
                text = _aligned(", ".join([f"alloca {self.type(allocated)}", *filter(None, [operands])]), align)
                space = instruction.type.space if isinstance(instruction.type, Ptr) else 0
                return f"{text}, addrspace({space})" if space else text
            case AtomicReadWrite(op=op, ordering=ordering, align=align):
                return _aligned(f"atomicrmw {flags}{op} {operands} {ordering}", align)
            case CompareExchange(ordering=ordering, align=align):
                return _aligned(f"cmpxchg {flags}{operands} {ordering}", align)
            case Fence(ordering=ordering):
                return f"fence {ordering}"
            case _:
                raise InvalidIR(f"no text for {type(instruction).__name__} of this shape")

    def call(self, call: Call) -> str:
        attributes = call.argument_attributes or [()] * len(call.operands)
        arguments = (
            " ".join([self.type(v.type), *words, self.value(v)])
            for v, words in zip(call.operands, attributes, strict=True)
        )
        head = [call.tail, "call", *call.flags, call.convention, *call.return_attributes]
        target = f"{self.type(call.function_type or call.type)} {self.value(call.callee)}({', '.join(arguments)})"
        return " ".join(filter(None, [*head, target, *call.attributes, call.bundles]))

    def terminator(self, end: Terminator) -> str:
        labels = [f"label {self.local(b)}" for b in end.targets]
        match end:
            case Branch():
                return "br " + ", ".join([*map(self.typed, end.operands), *labels])
            case Switch(operands=[value], cases=cases):
                arms = "\n".join(
                    f"    {self.typed(integer(n, value.type))}, {label}"
                    for n, label in zip(cases, labels[1:], strict=True)
                )
                return f"switch {self.typed(value)}, {labels[0]} [\n{arms}\n  ]"
            case Return(operands=operands):
                return f"ret {self.operands(operands) or 'void'}"
            case Unreachable():
                return "unreachable"
            case _:
                raise InvalidIR(f"no text for {type(end).__name__} of this shape")


def _aligned(text: str, align: int) -> str:
    return f"{text}, align {align}" if align else text


def _locals(function: Function) -> Iterable[Argument | Block | Instruction]:
    """Everything that has a name, in the order of the text, which is how LLVM numbers."""
    yield from function.arguments
    for block in function.blocks:
        yield block
        yield from (i for i in block.instructions if i.type != VOID)
