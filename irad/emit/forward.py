"""Forward mode: one function that computes each value and, beside it, its tangent."""

from __future__ import annotations

from irad.emit import calls as call_rules
from irad.emit import memory as memory_rules
from irad.emit import scalar as scalar_rules
from irad.emit.body import Body, Subject
from irad.ir.model import Alloca, Argument, Call, Function, Instruction, Load, Phi, Return, Store, Value, integer, zero
from irad.ir.types import I32, I64, Type, size_of


class Tangent(Body):
    """The tangent function: arguments, shadows of pointer arguments, tangents of active float arguments.

    It returns the primal's status, or 0 for a function that cannot raise.
    """

    def __init__(self, subject: Subject, name: str, names: dict[Call, str], flags: tuple[str, ...]) -> None:
        tangents = [
            Argument(subject.kinds.tangent_type(a) or a.type, f"{a.name}.dot") for a in subject.active_arguments
        ]
        super().__init__(subject, name, tangents, I32, flags)
        self.names = names
        self.dots: dict[Value, Value] = dict(zip(subject.active_arguments, tangents, strict=True))

    def build(self) -> Function:
        """The finished function."""
        for block in self.order():
            self.enter(block)
            for phi in block.phis:
                self.phi(phi)
            if block is self.subject.function.entry:
                self.begin_scratch()
            # what ends in an exception has no tangents, nor shadows to keep them in
            succeeds = block in self.subject.canonical.flow.idom
            for instruction in block.body:
                (self.instruction if succeeds else self.copy)(instruction)
            if isinstance(block.end, Return):
                self.last[block] = self.out.block
                self.status_return(block.end)
            else:
                self.leave(block)
        self.finish_phis()
        return self.function

    def phi(self, phi: Phi) -> None:
        self.map[phi] = self.begin_phi(phi, phi.type, phi.name, self.map)
        if phi in self.subject.activity:
            self.dots[phi] = self.begin_phi(phi, self.tangent_type(phi), f"{phi.name}.dot", self.dots)

    def instruction(self, instruction: Instruction) -> None:
        subject = self.subject
        match instruction:
            case Call() if instruction in subject.activity.calls:
                call_rules.tangent(instruction, self)
            case Call() if call_rules.is_frame(instruction):
                pass  # only reverse mode has a tape
            case Call() if instruction in subject.canonical.scratch.reused:
                self.reuse(instruction, shadowed=instruction in subject.canonical.shadow)
            case Call() if instruction in self.map:  # the shadow of a scratch array
                self.zero_memory(self.value(instruction), self.value(instruction.operands[0]))
            case Call() if call_rules.is_shadow(instruction):
                self.shadow_allocation(instruction, "irad_alloc")  # the tangent of a returned array
            case Alloca():
                self.copy(instruction)
                if instruction in subject.canonical.shadow.values():
                    self.zero_memory(self.value(instruction), integer(size_of(instruction.allocated), I64))
            case Load():
                self.copy(instruction)
                memory_rules.load_tangent(instruction, self)
            case Store():
                self.copy(instruction)
                memory_rules.store_tangent(instruction, self)
            case Call() if memory_rules.moves(instruction):
                self.copy(instruction)
                memory_rules.move_tangent(instruction, self)
            case _:
                self.copy(instruction)
                if instruction in subject.activity:
                    self.set(instruction, scalar_rules.tangent(instruction, self))

    # --- tangents ---

    def tangent_type(self, value: Value) -> Type:
        type = self.subject.kinds.tangent_type(value)
        assert type is not None
        return type

    def dot(self, value: Value) -> Value | None:
        """The tangent of a source value; None where it is zero."""
        return self.dots.get(value)

    def dot_or_zero(self, value: Value) -> Value:
        return self.dots.get(value) or zero(self.tangent_type(value))

    def set(self, value: Value, dot: Value | None) -> None:
        if dot is not None:
            self.dots[value] = dot

    def derivative_name(self, call: Call) -> str:
        return self.names[call]


def tangent(subject: Subject, name: str, names: dict[Call, str], flags: tuple[str, ...] = ()) -> Function:
    """The tangent function of `subject`, called `name`; `names` are those of the tangents of its calls.

    Parameters: the primal's arguments; a shadow for each of `subject.shadow_arguments`; a tangent for each of
    `subject.active_arguments`. It returns a status.
    """
    return Tangent(subject, name, names, flags).build()
