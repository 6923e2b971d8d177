"""Instructions: one method per shape, each read like the grammar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from irad.ir import words
from irad.ir.cursor import Cursor, name_of
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
    ExtractElement,
    ExtractValue,
    Fence,
    Gep,
    InlineAssembly,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    MetadataOperand,
    Phi,
    Return,
    Select,
    Shuffle,
    Store,
    Switch,
    Unary,
    Unreachable,
    Value,
)
from irad.ir.types import I1, METADATA, PTR, VOID, Array, Named, Ptr, Struct, Type, Vector


@dataclass(eq=False, slots=True)
class Forward(Argument):
    """Stands for a value that is defined further down; `at` is the token that names it."""

    at: int = 0


class InstructionReader(Cursor):
    """Reads instructions; `values` and `blocks` hold what the function has named so far, by token."""

    values: dict[str, Value]
    forward: dict[str, Forward]
    blocks: dict[str, Block]
    undefined: dict[str, int]  # blocks that were named and have not come yet: the token that names them

    def statement(self) -> Instruction:
        """One line: result, instruction, metadata."""
        token = self.next()
        result = token if token[0] == "%" else ""
        if result:
            self.want("=")
            token = self.next()
        reader = _READERS.get(token)
        if reader is None:
            self.refuse(f"unknown instruction {token!r}", self.at - 1)
        instruction = reader(self, token)
        if result:
            if result in self.values or instruction.type is VOID:
                self.refuse(f"{result} is defined twice or holds nothing", self.at - 1)
            instruction.name = name_of(result)
            self.values[result] = instruction
        while self.eat(","):
            key = self.next()
            if key[0] != "!":
                self.refuse(f"unknown word {key!r}", self.at - 1)
            instruction.metadata[key] = self.metadata_reference()
        if not self.eat("\n"):
            self.refuse(f"unknown word {self.tokens[self.at]!r}")
        return instruction

    # --- values and blocks ---

    def local(self, token: str, type: Type) -> Value:
        known = self.values.get(token)
        if known is None:
            known = self.forward.get(token)
        if known is None:
            known = self.forward[token] = Forward(type, token, at=self.at - 1)
        return self.same_type(known, type, self.at - 1)

    def same_type(self, value: Value, type: Type, at: int) -> Value:
        if value.type is not type and value.type != type:
            self.refuse(f"{self.tokens[at]} is {value.type}, not {type}", at)
        return value

    def target(self) -> Block:
        """A block by its token."""
        token = self.next()
        if token not in self.blocks:
            if token[0] != "%":
                self.refuse(f"a block expected where {token!r} stands", self.at - 1)
            self.blocks[token] = Block(name_of(token))
            self.undefined[token] = self.at - 1
        return self.blocks[token]

    def label(self) -> Block:
        self.want("label")
        return self.target()

    # --- arithmetic ---

    def binary(self, op: str) -> Instruction:
        flags = self.flags(words.BINARY_FLAGS[op])
        type = self.type()
        left = self.value(type)
        self.want(",")
        return Binary(op=op, type=type, operands=[left, self.value(type)], flags=flags)

    def fneg(self, op: str) -> Instruction:
        flags = self.flags(words.FAST_MATH)
        value = self.typed()
        return Unary(op=op, type=value.type, operands=[value], flags=flags)

    def freeze(self, op: str) -> Instruction:
        value = self.typed()
        return Unary(op=op, type=value.type, operands=[value])

    def cast(self, op: str) -> Instruction:
        flags = self.flags(words.CAST_FLAGS[op])
        value = self.typed()
        self.want("to")
        return Cast(op=op, type=self.type(), operands=[value], flags=flags)

    def compare(self, op: str) -> Instruction:
        flags = self.flags(words.COMPARE_FLAGS[op])
        predicate = self.one_of(words.PREDICATES[op], "predicate")
        type = self.type()
        left = self.value(type)
        self.want(",")
        result = Vector(type.count, I1, type.scalable) if isinstance(type, Vector) else I1
        operands = [left, self.value(type)]
        return Compare(op=op, predicate=predicate, type=result, operands=operands, flags=flags)

    def select(self, op: str) -> Instruction:
        flags = self.flags(words.FAST_MATH)
        operands = self.several(3)
        return Select(type=operands[1].type, operands=operands, flags=flags)

    def phi(self, op: str) -> Instruction:
        flags = self.flags(words.FAST_MATH)
        type = self.type()
        phi = Phi(type=type, flags=flags)
        while True:
            self.want("[")
            phi.operands.append(self.value(type))
            self.want(",")
            phi.blocks.append(self.target())
            self.want("]")
            if not self._another():
                return phi

    def several(self, count: int) -> list[Value]:
        """Typed values with commas between."""
        values = [self.typed()]
        for _ in range(count - 1):
            self.want(",")
            values.append(self.typed())
        return values

    def _another(self) -> bool:
        """Step over a comma, unless metadata follows it."""
        if self.tokens[self.at] != "," or self.tokens[self.at + 1][0] == "!":
            return False
        self.at += 1
        return True

    # --- memory ---

    def alloca(self, op: str) -> Instruction:
        type = self.type()
        operands: list[Value] = []
        align = space = 0
        while self._another():
            if self.eat("align"):
                align = self.integer()
            elif self.tokens[self.at] == "addrspace":
                space = self.address_space()
            else:
                operands.append(self.typed())
        return Alloca(type=Ptr(space) if space else PTR, operands=operands, allocated=type, align=align)

    def load(self, op: str) -> Instruction:
        atomic = self.eat("atomic")
        flags = self.flags(words.ACCESS_FLAGS)
        type = self.type()
        self.want(",")
        pointer = self.typed()
        ordering = self.ordering() if atomic else ""
        return Load(type=type, operands=[pointer], flags=flags, atomic=ordering, align=self.alignment())

    def store(self, op: str) -> Instruction:
        atomic = self.eat("atomic")
        flags = self.flags(words.ACCESS_FLAGS)
        operands = self.several(2)
        ordering = self.ordering() if atomic else ""
        return Store(operands=operands, flags=flags, atomic=ordering, align=self.alignment())

    def alignment(self) -> int:
        """`, align n`, zero where it is not written."""
        if self.tokens[self.at] != "," or self.tokens[self.at + 1] != "align":
            return 0
        self.at += 2
        return self.integer()

    def ordering(self) -> str:
        return self.one_of(words.ORDERINGS, "memory ordering")

    def getelementptr(self, op: str) -> Instruction:
        flags = self.flags(words.GEP_FLAGS)
        source = self.type()
        operands: list[Value] = []
        while self._another():
            operands.append(self.typed())
        if not operands:
            self.refuse("a getelementptr without a base")
        type = operands[0].type
        vectors = [v.type for v in operands if isinstance(v.type, Vector)]
        if vectors and not isinstance(type, Vector):
            type = Vector(vectors[0].count, type, vectors[0].scalable)
        return Gep(type=type, operands=operands, source=source, flags=flags)

    def atomicrmw(self, op: str) -> Instruction:
        flags = self.flags(words.ACCESS_FLAGS)
        operation = self.one_of(words.ATOMIC_OPERATIONS, "atomic operation")
        operands = self.several(2)
        return AtomicReadWrite(
            type=operands[1].type,
            op=operation,
            operands=operands,
            flags=flags,
            ordering=self.ordering(),
            align=self.alignment(),
        )

    def cmpxchg(self, op: str) -> Instruction:
        flags = self.flags(words.EXCHANGE_FLAGS)
        operands = self.several(3)
        return CompareExchange(
            type=Struct((operands[1].type, I1)),
            operands=operands,
            flags=flags,
            ordering=f"{self.ordering()} {self.ordering()}",
            align=self.alignment(),
        )

    def fence(self, op: str) -> Instruction:
        return Fence(ordering=self.ordering())

    # --- aggregates and vectors ---

    def extractvalue(self, op: str) -> Instruction:
        aggregate = self.typed()
        indices = self.indices()
        return ExtractValue(type=self.field_type(aggregate.type, indices), operands=[aggregate], indices=indices)

    def insertvalue(self, op: str) -> Instruction:
        operands = self.several(2)
        return InsertValue(type=operands[0].type, operands=operands, indices=self.indices())

    def indices(self) -> tuple[int, ...]:
        found: list[int] = []
        while self._another():
            found.append(self.integer())
        return tuple(found)

    def field_type(self, type: Type, indices: tuple[int, ...]) -> Type:
        """The type that `indices` lead to within the aggregate `type`."""
        for index in indices:
            match self.structs.get(type.name) if isinstance(type, Named) else type:
                case Struct(fields) if index < len(fields):
                    type = fields[index]
                case Array(count, element) if index < count:
                    type = element
                case _:
                    self.refuse(f"{type} has no field {index}", self.at - 1)
        return type

    def extractelement(self, op: str) -> Instruction:
        operands = self.several(2)
        return ExtractElement(type=self.vector(operands[0]).element, operands=operands)

    def insertelement(self, op: str) -> Instruction:
        operands = self.several(3)
        return InsertElement(type=operands[0].type, operands=operands)

    def shufflevector(self, op: str) -> Instruction:
        operands = self.several(3)
        first, mask = self.vector(operands[0]), self.vector(operands[2])
        return Shuffle(type=Vector(mask.count, first.element, mask.scalable), operands=operands)

    def vector(self, value: Value) -> Vector:
        if not isinstance(value.type, Vector):
            self.refuse(f"a vector expected, not {value.type}", self.at - 1)
        return value.type

    # --- calls ---

    def call(self, op: str) -> Instruction:
        tail = "" if op == "call" else op
        if tail:
            self.want("call")
        flags = self.flags(words.FAST_MATH)
        convention = self.convention()
        return_attributes = self.parameter_attributes()
        result = self.type()
        function_type = self.function_type(result) if self.tokens[self.at] == "(" else None
        callee = self.callee()
        operands, argument_attributes = self.call_arguments()
        return Call(
            type=result,
            callee=callee,
            function_type=function_type,
            operands=operands,
            tail=tail,
            convention=convention,
            flags=flags,
            return_attributes=return_attributes,
            argument_attributes=argument_attributes,
            attributes=self.attributes(words.FUNCTION_WORDS, words.FUNCTION_CALLS),
            bundles=self.bundles(),
        )

    def callee(self) -> Value:
        if self.tokens[self.at] != "asm":
            return self.value(PTR)
        start = self.at
        self.at += 1
        self.flags(words.ASSEMBLY_FLAGS)
        template, constraints = self.next(), self.at
        self.want(",")
        if template[0] != '"' or self.next()[0] != '"':
            self.refuse("inline assembly is two strings", constraints)
        return InlineAssembly(" ".join(self.tokens[start:constraints]) + ", " + self.tokens[constraints + 1])

    def call_arguments(self) -> tuple[list[Value], list[tuple[str, ...]]]:
        operands: list[Value] = []
        attributes: list[tuple[str, ...]] = []
        self.want("(")
        while not self.eat(")"):
            if operands:
                self.want(",")
            type = self.type()
            attributes.append(self.parameter_attributes())
            metadata = type is METADATA
            operands.append(MetadataOperand(self.metadata_reference(), METADATA) if metadata else self.value(type))
        return operands, attributes

    def bundles(self) -> str:
        """Operand bundles as text. One that names a value of the function could not follow it when it is renamed."""
        if self.tokens[self.at] != "[":
            return ""
        start = self.at
        while self.tokens[self.at] not in ("]", "\n"):
            self.at += 1
            if self.tokens[self.at][0] == "%":
                self.refuse("an operand bundle that names a local value")
        self.want("]")
        return " ".join(self.tokens[start : self.at])

    # --- terminators ---

    def branch(self, op: str) -> Instruction:
        if self.tokens[self.at] == "label":
            return Branch(targets=[self.label()])
        condition = self.typed()
        self.want(",")
        if_true = self.label()
        self.want(",")
        return Branch(operands=[condition], targets=[if_true, self.label()])

    def switch(self, op: str) -> Instruction:
        value = self.typed()
        self.want(",")
        switch = Switch(operands=[value], targets=[self.label()])
        self.want("[")
        while True:
            while self.eat("\n"):
                pass
            if self.eat("]"):
                return switch
            case = self.typed()
            if not isinstance(case, Constant) or not isinstance(case.literal, int):
                self.refuse("a switch on something else than integers", self.at - 1)
            self.want(",")
            switch.cases.append(case.literal)
            switch.targets.append(self.label())

    def ret(self, op: str) -> Instruction:
        type = self.type()
        return Return(operands=[] if type is VOID else [self.value(type)])

    def unreachable(self, op: str) -> Instruction:
        return Unreachable()


_READERS: dict[str, Callable[[InstructionReader, str], Instruction]] = {
    **dict.fromkeys(words.BINARY_FLAGS, InstructionReader.binary),
    **dict.fromkeys(words.CAST_FLAGS, InstructionReader.cast),
    **dict.fromkeys(("icmp", "fcmp"), InstructionReader.compare),
    **dict.fromkeys(("call", "tail", "musttail", "notail"), InstructionReader.call),
    "fneg": InstructionReader.fneg,
    "freeze": InstructionReader.freeze,
    "select": InstructionReader.select,
    "phi": InstructionReader.phi,
    "alloca": InstructionReader.alloca,
    "load": InstructionReader.load,
    "store": InstructionReader.store,
    "getelementptr": InstructionReader.getelementptr,
    "atomicrmw": InstructionReader.atomicrmw,
    "cmpxchg": InstructionReader.cmpxchg,
    "fence": InstructionReader.fence,
    "extractvalue": InstructionReader.extractvalue,
    "insertvalue": InstructionReader.insertvalue,
    "extractelement": InstructionReader.extractelement,
    "insertelement": InstructionReader.insertelement,
    "shufflevector": InstructionReader.shufflevector,
    "br": InstructionReader.branch,
    "switch": InstructionReader.switch,
    "ret": InstructionReader.ret,
    "unreachable": InstructionReader.unreachable,
}
