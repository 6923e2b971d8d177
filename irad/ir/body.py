"""The body of a function: its blocks, and names that are used before they are defined."""

from __future__ import annotations

from irad.ir.cursor import name_of
from irad.ir.instructions import Forward, InstructionReader
from irad.ir.model import Block, Call, Function, Phi, Terminator, Value


class BodyReader(InstructionReader):
    """Reads one function's body after the other."""

    def body(self, function: Function) -> None:
        """Fill in `function.blocks`; the cursor stands after the opening brace and ends after the closing one."""
        self.forward, self.blocks, self.undefined = {}, {}, {}
        self._skip_empty()
        entry = "" if self.tokens[self.at][-1] == ":" else str(sum(a.name.isdigit() for a in function.arguments))
        while not self.eat("}"):
            function.blocks.append(self._block(entry))
            entry = ""
            self._skip_empty()
        for token, at in self.undefined.items():
            self.refuse(f"there is no block {token}", at)
        if self.forward:
            self._resolve(function)

    def _skip_empty(self) -> None:
        while self.tokens[self.at] == "\n" or self.tokens[self.at].startswith("#dbg_"):
            self.at += 1

    def _block(self, name: str) -> Block:
        """A labelled block, or the entry block, which needs no label and then is called `name`."""
        if not name and self.tokens[self.at][-1] != ":":
            self.refuse("a label expected")
        block = self._label(name or self.next()[:-1])
        while True:
            self._skip_empty()
            instruction = self.statement()
            if isinstance(instruction, Phi):
                if block.body:
                    self.refuse("a phi stands below other instructions", self.at - 1)
                block.phis.append(instruction)
            elif isinstance(instruction, Terminator):
                block.end = instruction
                return block
            else:
                block.body.append(instruction)

    def _label(self, name: str) -> Block:
        token = "%" + name
        if token in self.blocks and token not in self.undefined:
            self.refuse(f"the block {name} is defined twice", self.at - 1)
        block = self.blocks.setdefault(token, Block(name_of(token)))
        self.undefined.pop(token, None)
        return block

    def _resolve(self, function: Function) -> None:
        """Put what was defined later in the place of what stood for it."""
        for instruction in function.instructions:
            operands = instruction.operands
            for i, operand in enumerate(operands):
                if operand.__class__ is Forward:
                    operands[i] = self._defined(operand)
            if isinstance(instruction, Call):
                instruction.callee = self._defined(instruction.callee)

    def _defined(self, value: Value) -> Value:
        if not isinstance(value, Forward):
            return value
        if value.name not in self.values:
            self.refuse(f"{value.name} is not defined", value.at)
        return self.same_type(self.values[value.name], value.type, value.at)
