"""A function under construction that follows a canonical one, block by block."""

from __future__ import annotations

from dataclasses import dataclass

from irad.analysis.activity import Activity, Wanted
from irad.analysis.canonical import Canonical
from irad.analysis.kinds import Kinds
from irad.analysis.memory import Memory
from irad.analysis.needs import shadow_of
from irad.analysis.objects import Objects
from irad.emit.scopes import Scopes
from irad.ir.build import Builder
from irad.ir.model import (
    Argument,
    Block,
    Call,
    Constant,
    Function,
    Global,
    Instruction,
    Load,
    Phi,
    Return,
    Store,
    Terminator,
    Value,
    integer,
    zero,
)
from irad.ir.types import I1, I8, I32, I64, PTR, VOID, FunctionType, Type
from irad.plan import Plan
from irad.rules import calls

OUT_OF_MEMORY = 0x11  # status of a derivative function that could not allocate; the outermost one makes MemoryError


@dataclass(frozen=True)
class Subject:
    """A function and all that is known about it: what an emitter works from.

    `guarded` are operations whose partial must be strong; `plan` is None in forward mode.
    """

    name: str
    canonical: Canonical
    objects: Objects
    kinds: Kinds
    activity: Activity
    memory: Memory
    guarded: frozenset[Instruction]
    wanted: Wanted
    plan: Plan | None
    scopes: Scopes | None = None  # where accesses may be told apart: the root, when nothing calls it

    @property
    def function(self) -> Function:
        return self.canonical.function

    def planned(self) -> Plan:
        """The plan, which reverse mode always has."""
        assert self.plan is not None
        return self.plan

    @property
    def shadow_arguments(self) -> list[Argument]:
        """Arguments that come with a shadow, in order."""
        return [a for a in self.function.arguments if a in self.canonical.shadow_arguments]

    @property
    def active_arguments(self) -> list[Argument]:
        """Arguments with an adjoint or tangent of their own, in order."""
        return [a for a in self.function.arguments if a in self.wanted.values]


@dataclass(frozen=True)
class Slots:
    """Stack slots of a scratch array: its buffer, the bytes of it, and the buffer of its shadow."""

    pointer: Value
    capacity: Value
    shadow: Value


class Body:
    """Builds a function whose blocks follow those of `subject`.

    One source block may become several: `first` and `last` are where it begins and ends. Values are copied in an order
    in which operands come first; phis get their operands at the end.
    """

    def __init__(
        self, subject: Subject, name: str, extra: list[Argument], result: Type, flags: tuple[str, ...]
    ) -> None:
        self.subject = subject
        source = subject.function
        self.arguments = [Argument(a.type, a.name) for a in source.arguments]
        shadows = [Argument(PTR, f"{a.name}.shadow") for a in subject.shadow_arguments]
        self.map: dict[Value, Value] = dict(zip(source.arguments, self.arguments, strict=True))
        for argument, shadow in zip(subject.shadow_arguments, shadows, strict=True):
            self.map[subject.canonical.shadow_arguments[argument]] = shadow
        self.function = make_function(name, [*self.arguments, *shadows, *extra], result)
        self.first = {b: Block(b.name) for b in source.blocks}
        self.last = dict(self.first)
        self.out = Builder(self.first[source.entry], flags)
        self.slots: dict[Call, Slots] = {}
        self.phis: list[tuple[Phi, Phi, dict[Value, Value]]] = []

    # --- values ---

    def value(self, value: Value) -> Value:
        """`value` of the source as the new function has it."""
        return self.map.get(value, value)

    def shadow(self, pointer: Value) -> Value:
        """The shadow of a source pointer, in the new function."""
        return self.value(shadow_of(pointer, self.subject.canonical.shadow))

    def copy(self, instruction: Instruction) -> Instruction:
        """Append a copy of `instruction`."""
        new = instruction.clone(self.value)
        new.metadata = {}
        if isinstance(new, Call):
            new.attributes = tuple(a for a in new.attributes if not a.startswith("#"))
        self.map[instruction] = new
        self.mark_primal(new, instruction)
        return self.out.append(new)

    def mark_primal(self, new: Instruction, source: Instruction) -> None:
        """Say which memory a copied access touches."""
        scopes = self.subject.scopes
        if scopes is None:
            return
        match source:
            case Load() | Store():
                scopes.primal(new, source.operands[-1])
            case Call() if source.callee_name in calls.FILLS:
                scopes.primal(new, source.operands[0])
            case Call() if source.callee_name in calls.COPIES:
                scopes.primal(new, source.operands[0], source.operands[1])
            case _:
                pass

    def begin_phi(self, phi: Phi, type: Type, name: str, operands: dict[Value, Value]) -> Phi:
        """A phi like `phi` whose operand for v will be `operands[v]` (a zero of its type where there is none)."""
        new = Phi(type=type, name=name)
        self.out.block.phis.append(new)
        self.phis.append((phi, new, operands))
        return new

    def finish_phis(self) -> None:
        for source, new, operands in self.phis:
            for value, block in source.incoming():
                if self.first[block] not in self.function.blocks:
                    continue
                known = operands.get(value)
                if known is None:
                    known = value if operands is self.map else zero(new.type)
                new.operands.append(known)
                new.blocks.append(self.last[block])

    # --- blocks ---

    def order(self) -> list[Block]:
        """Blocks of the source that can run, each after those that dominate it."""
        entry = self.subject.function.entry
        seen, done = {entry}, list[Block]()
        stack = [(entry, iter(entry.successors))]
        while stack:
            block, rest = stack[-1]
            target = next((t for t in rest if t not in seen), None)
            if target is None:
                done.append(block)
                stack.pop()
            else:
                seen.add(target)
                stack.append((target, iter(target.successors)))
        return done[::-1]

    def enter(self, block: Block) -> None:
        self.out.block = self.first[block]
        self.function.blocks.append(self.out.block)

    def split(self, name: str) -> Block:
        """A new block after the current one; the caller makes the branch."""
        block = Block(f"{self.out.block.name}.{name}")
        self.function.blocks.append(block)
        return block

    def leave(self, block: Block) -> None:
        """The current block ends as `block` does."""
        self.last[block] = self.out.block
        end = block.end.clone(self.value)
        assert isinstance(end, Terminator)
        end.targets = [self.first[t] for t in end.targets]
        end.metadata = {}
        self.out.block.end = end

    # --- allocation ---

    def allocate(self, size: Value, allocator: str = "irad_tape") -> Value:
        """Memory that lives until the derivative call ends; leaves by the out-of-memory exit where there is none.

        What may be returned comes from `irad_alloc`, all else from `irad_tape`.
        """
        pointer = self.out.call(allocator, PTR, [size, integer(64, I32)])
        failed, fine = self.split("none"), self.split("some")
        self.out.branch_if(self.out.compare("eq", pointer, Constant(PTR, "null")), failed, fine)
        self.out.block = failed
        self.out_of_memory()
        self.out.block = fine
        return pointer

    def out_of_memory(self) -> None:
        """End the current block by an out-of-memory return: as a Numba exception where the function can raise one."""
        excinfo = self.excinfo()
        if excinfo is None or self.subject.function.type.result != I32:
            self.out.ret(integer(OUT_OF_MEMORY, I32))
            return
        self.out.append(Store(operands=[Global("irad.memory_error"), excinfo]))
        self.out.ret(integer(1, I32))

    def excinfo(self) -> Value | None:
        found = [a for a in self.arguments if a.name.startswith("excinfo") and a.type == PTR]
        return found[0] if found else None

    def zero_memory(self, pointer: Value, size: Value) -> Value:
        return self.out.call("llvm.memset.p0.i64", VOID, [pointer, integer(0, I8), size, integer(0, I1)])

    def mark_shadow(self, access: Value, *pointers: Value) -> Value:
        """Say that `access` touches the shadows of `pointers`."""
        if self.subject.scopes is not None:
            self.subject.scopes.shadow(access, *pointers)
        return access

    def mark_tape(self, access: Value) -> Value:
        """Say that `access` touches the tape."""
        if self.subject.scopes is not None:
            self.subject.scopes.tape(access)
        return access

    def shadow_allocation(self, call: Call, allocator: str = "irad_tape") -> None:
        """Zeroed memory for the shadow of an allocation; null where the primal's own failed, which then raises."""
        size = self.value(call.operands[0])
        self.map[call] = pointer = self.allocate(size, allocator)
        self.zero_memory(pointer, size)

    # --- scratch arrays ---

    def begin_scratch(self) -> None:
        """At the entry: the slots that hold the buffers of scratch arrays."""
        for call in self.subject.canonical.scratch.reused:
            slots = Slots(self.out.alloca(PTR), self.out.alloca(I64), self.out.alloca(PTR))
            self.slots[call] = slots
            for slot in (slots.pointer, slots.shadow):
                self.out.store(zero(PTR), slot)
            self.out.store(integer(0, I64), slots.capacity)

    def reuse(self, call: Call, *, shadowed: bool) -> None:
        """A scratch array: its buffer, a new one where the last is too small. `shadowed`: so with its shadow."""
        slots, size = self.slots[call], self.value(call.operands[0])
        capacity = self.out.load(I64, slots.capacity)
        none = self.out.compare("eq", self.out.load(PTR, slots.pointer), zero(PTR))
        small = self.out.binary("or", none, self.out.compare("ugt", size, capacity))
        grow, fine = self.split("larger"), self.split("large")
        self.out.branch_if(small, grow, fine)
        self.out.block = grow
        least = self.out.call("llvm.umax.i64", I64, [size, integer(64, I64)])
        room = self.out.call("llvm.umax.i64", I64, [least, self.out.binary("shl", capacity, integer(1, I64))])
        self.out.store(self.allocate(room), slots.pointer)
        if shadowed:
            shadow = self.allocate(room)
            self.zero_memory(shadow, room)
            self.out.store(shadow, slots.shadow)
            self.new_scratch_shadow(call, shadow)
        self.out.store(room, slots.capacity)
        self.out.branch(fine)
        self.out.block = fine
        self.map[call] = self.out.load(PTR, slots.pointer)
        if shadowed:
            self.map[self.subject.canonical.shadow[call]] = self.out.load(PTR, slots.shadow)

    def new_scratch_shadow(self, call: Call, shadow: Value) -> None:
        """The shadow of a scratch array has a new buffer."""

    # --- calls of differentiated functions ---

    def derivative_call(self, call: Call, name: str, extra: list[Value]) -> Value:
        """Call a derivative of `call`'s function: its arguments, the shadows of those that have one, then `extra`."""
        operands = [self.value(v) for v in call.operands]
        shadow = self.subject.canonical.shadow
        shadows = [self.value(shadow[v]) for v in call.operands if v in shadow]
        status = self.out.call(name, I32, [*operands, *shadows, *extra])
        if call.type == I32:
            self.map[call] = status
        else:
            self.leave_on_failure(status)
        return status

    def leave_on_failure(self, status: Value) -> None:
        """A function that cannot raise may still run out of memory in its derivative."""
        failed, fine = self.split("failed"), self.split("fine")
        self.out.branch_if(self.out.compare("eq", status, integer(0, I32)), fine, failed)
        self.out.block = failed
        self.out_of_memory()
        self.out.block = fine

    def status_return(self, end: Return) -> None:
        """Return the primal's status, or success where the primal returns nothing."""
        value = end.value
        plain = value is None or value.type != I32
        self.out.ret(integer(0, I32) if plain or value is None else self.value(value))


def make_function(
    name: str, arguments: list[Argument], result: Type, linkage: tuple[str, ...] = ("internal",)
) -> Function:
    """A function without blocks yet."""
    return Function(name, FunctionType(result, tuple(a.type for a in arguments)), arguments, linkage=linkage)
