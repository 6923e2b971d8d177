"""Which SSA values and which memory carry derivatives.

A value is *varied* when it depends on a differentiated input and *useful* when an output depends on it; it is active
when it is both. Memory is judged object by object. Every object that a pointer to active memory may also point to gets
a shadow, active or not, so that one shadow pointer always exists beside each primal pointer that needs one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from irad.analysis.fixpoint import fixpoint
from irad.analysis.flow import Flow
from irad.analysis.kinds import Kinds, has_float
from irad.analysis.objects import Object, Objects, holds_pointers
from irad.analysis.offsets import Offsets
from irad.errors import AmbiguousKind, IradError, MissingRule, Unsupported
from irad.ir.lines import Lines, blame
from irad.ir.model import (
    Argument,
    AtomicReadWrite,
    Binary,
    Call,
    Cast,
    Compare,
    CompareExchange,
    Constant,
    ExtractElement,
    ExtractValue,
    Function,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Shuffle,
    Store,
    Unary,
    Value,
)
from irad.ir.types import Array, Int, Struct, Type, Vector
from irad.rules import calls, scalar


@dataclass(frozen=True)
class Wanted:
    """What is asked of a function: its differentiated inputs and the memory whose derivative after the call counts.

    `values` are float arguments with a tangent or adjoint, `memory` pointer arguments that come with a shadow,
    `outputs` those whose memory is an output. `result` tells whether the returned SSA value is one.
    """

    values: frozenset[Argument]
    memory: frozenset[Argument]
    outputs: frozenset[Argument]
    result: bool = False


@dataclass(frozen=True)
class Activity:
    """`values`: active SSA values. `memory`: active objects. `shadowed`: objects that have shadow memory."""

    values: frozenset[Value]
    memory: frozenset[Object]
    shadowed: frozenset[Object]
    calls: frozenset[Call]  # calls of functions of the module that must be differentiated

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def __str__(self) -> str:
        names = [v.name for v in self.values if isinstance(v, (Argument, Instruction))]
        return "\n".join(
            [
                f"active values: {' '.join(f'%{n}' for n in names)}",
                f"active memory: {', '.join(sorted(map(str, self.memory)))}",
                f"shadowed only: {', '.join(sorted(map(str, self.shadowed - self.memory)))}",
            ]
        )

    def describe(self, lines: Lines) -> str:
        """Like `str`, with lines of Python."""
        said = ["active values", *lines.grouped(self.values)]
        for title, objects in (("active memory", self.memory), ("shadowed only", self.shadowed - self.memory)):
            said += [title, *sorted(f"  {o.describe(lines)}" for o in objects)]
        return "\n".join(said)


DIFFERENTIABLE = (
    Binary,
    Unary,
    Cast,
    Select,
    Phi,
    ExtractValue,
    InsertValue,
    ExtractElement,
    InsertElement,
    Shuffle,
)


def activity(
    function: Function,
    flow: Flow,
    objects: Objects,
    offsets: Offsets,
    kinds: Kinds,
    wanted: Wanted,
    defined: Iterable[str],
    *,
    is_root: bool = True,
) -> Activity:
    """Active values and memory of `function`; `defined` names the functions of the module that have a body.

    is_root: whether Numba's types tell what its arguments are; those of other functions may be structures.

    Raises
    ------
    Unsupported: a float is rebuilt from the bits of an active float, or an active pointer cannot have a shadow.
    MissingRule: an active value goes into a function whose derivative is not known.
    """
    solver = _Solver(function, flow, objects, offsets, kinds, wanted, frozenset(defined), is_root)
    return solver.solve()


class _Solver:
    def __init__(
        self,
        function: Function,
        flow: Flow,
        objects: Objects,
        offsets: Offsets,
        kinds: Kinds,
        wanted: Wanted,
        defined: frozenset[str],
        is_root: bool,
    ) -> None:
        self.is_root = is_root
        self.is_mixed = False  # whether an integer was taken for bits of a float that may be one of its own
        self.objects, self.offsets, self.kinds, self.wanted, self.defined = objects, offsets, kinds, wanted, defined
        self.code = [i for b in flow.order for i in b.instructions]
        self.users: dict[Value, list[Instruction]] = defaultdict(list)
        for instruction in self.code:
            for operand in instruction.operands:
                self.users[operand].append(instruction)
        self.every = objects.all | {o for i in self.code for v in i.operands for o in objects.pointed(v)}
        self.overlap = {o: objects.overlapping([o], self.every) for o in self.every}
        self.touching: dict[Object, list[Instruction]] = defaultdict(list)
        for instruction in self.code:
            for o in self.touched(instruction):
                self.touching[o].append(instruction)
        self.varied: set[Value] = set(wanted.values)
        self.varied_memory: set[Object] = set()
        self.tainted: set[Value] = set()
        self.tainted_memory: set[Object] = set()
        self.useful: set[Value] = set()
        self.useful_memory: set[Object] = set()

    def touched(self, instruction: Instruction) -> set[Object]:
        match instruction:
            case Load() | Store() | AtomicReadWrite() | CompareExchange():
                pointers = [v for v in instruction.operands if holds_pointers(v.type)]
                return {o for p in pointers for o in self.objects.pointed(p)}
            case Call():
                return self.objects.reachable(instruction.operands)
            case _:
                return set()

    def solve(self) -> Activity:
        for argument in self.wanted.memory:
            self.spread(self.objects.pointed(argument), self.varied_memory)
        for argument in self.wanted.outputs:
            # with what it points to when the function returns: the data of a returned array
            reach = self.objects.reachable([argument])
            self.spread((o for o in reach if o.kind not in ("external", "global", "address")), self.useful_memory)
        fixpoint(self.code, self.forward)
        fixpoint(reversed(self.code), self.backward)
        values = frozenset(self.varied & self.useful)
        memory = frozenset(self.varied_memory & self.useful_memory)
        found = self.differentiated_calls(values, memory)
        shadowed = self.shadowed(memory, found)
        # calls first: what an unknown function does to memory is the cause of other complaints
        for instruction in sorted(self.code, key=lambda i: not isinstance(i, Call)):
            self.refuse(instruction, values, shadowed)
        return Activity(values, memory, shadowed, found)

    # --- memory ---

    def spread(self, objects: Iterable[Object], into: set[Object]) -> list[Instruction]:
        """Put `objects` and all that may overlap them into a set; what touches the new ones is visited again."""
        again: list[Instruction] = []
        for o in objects:
            for other in self.overlap.get(o, {o}):
                if other not in into:
                    into.add(other)
                    again += self.touching[other]
        return again

    def is_constant(self, o: Object) -> bool:
        return o.kind in ("global", "address", "exception")

    # --- forward: what depends on the inputs ---

    def forward(self, instruction: Instruction) -> list[Instruction]:
        match instruction:
            case Load():
                return self.vary_load(instruction)
            case Store(operands=[value, pointer]):
                if value in self.varied:
                    return self.spread(self.objects.pointed(pointer), self.varied_memory)
                if value in self.tainted:
                    return self.spread(self.objects.pointed(pointer), self.tainted_memory)
                return []
            case AtomicReadWrite(operands=[pointer, value]):
                if value in self.varied:
                    return self.spread(self.objects.pointed(pointer), self.varied_memory)
                return []
            case Call():
                return self.vary_call(instruction)
            case _ if isinstance(instruction, DIFFERENTIABLE):
                return self.vary_value(instruction)
            case _:
                return self.taint(instruction, instruction.operands)

    def mark(self, value: Instruction) -> list[Instruction]:
        if value in self.varied:
            return []
        self.varied.add(value)
        return self.users[value]

    def taint(self, value: Instruction, operands: Iterable[Value]) -> list[Instruction]:
        """An integer computed from the bits of a varied float."""
        if value in self.tainted or not _has_integer(value.type) or isinstance(value, Compare) or _is_sign(value):
            return []
        if not any(v in self.tainted or (v in self.varied and v in self.kinds.carriers) for v in operands):
            return []
        self.tainted.add(value)
        return self.users[value]

    def vary_load(self, load: Load) -> list[Instruction]:
        source = self.objects.pointed(load.pointer)
        if self.kinds.tangent_type(load) is not None:
            return self.mark(load) if any(o in self.varied_memory for o in source) else []
        if not _has_integer(load.type) or load in self.tainted or self.offsets.is_field(load.pointer):
            return []
        if any(o in self.tainted_memory or (load not in self.kinds.fields and self.holds_bits(o)) for o in source):
            self.tainted.add(load)
            self.is_mixed |= any(map(self.is_handed_over, source))
            return self.users[load]
        return []

    def is_handed_over(self, o: Object) -> bool:
        """Whether `o` may be a structure that a function which is not inlined is given, or returns."""
        calls_it = any(isinstance(i, Call) and i.callee_name in self.defined for i in self.touching[o])
        return calls_it or (not self.is_root and o.kind in ("argument", "external"))

    def holds_bits(self, o: Object) -> bool:
        """Whether an integer read from `o` may be bits of a varied float, or computed from such."""
        return o in self.tainted_memory or (o in self.varied_memory and _all_float(self.kinds, o))

    def vary_value(self, value: Instruction) -> list[Instruction]:
        if self.kinds.tangent_type(value) is None:
            return self.taint(value, value.operands)
        operands = value.operands[1:] if isinstance(value, Select) else value.operands
        bits = self.taint(value, [v for v in operands if v in self.tainted])  # may be merged with an honest copy
        if not any(v in self.varied for v in operands):
            return bits
        return self.mark(value) or bits

    def vary_call(self, call: Call) -> list[Instruction]:
        name = call.callee_name
        if name in calls.COPIES:
            to, source = (self.objects.pointed(p) for p in call.operands[:2])
            again = self.spread(to, self.varied_memory) if any(o in self.varied_memory for o in source) else []
            return again + (self.spread(to, self.tainted_memory) if source & self.tainted_memory else [])
        if self.quiet(call):
            return self.taint(call, call.operands)
        if self.objects.whole(call) is not None:
            return self.vary_whole(call)
        if not self.touches_varied(call):
            return []
        again: list[Instruction] = []
        if self.may_write(name):
            reach = [o for o in self.objects.reachable(call.operands) if not self.is_constant(o)]
            again += self.spread(reach, self.varied_memory)
        if self.kinds.tangent_type(call) is not None:
            again += self.mark(call)
        return again

    def quiet(self, call: Call) -> bool:
        """Calls that carry no derivative: allocation, integer intrinsics, functions marked inactive."""
        name = call.callee_name
        return name in calls.ALLOCATORS | calls.FILLS | calls.SHAPERS or calls.is_inactive(name)

    def may_write(self, name: str) -> bool:
        """Whether a function that is not quiet may take derivatives from one memory to another; so may any unknown."""
        return name in self.defined or scalar.rule_name(name) is None

    def touches_varied(self, call: Call) -> bool:
        if any(v in self.varied for v in call.operands):
            return True
        return any(o in self.varied_memory for o in self.objects.reachable(call.operands))

    def vary_whole(self, call: Call) -> list[Instruction]:
        """A whole operation reads numbers and arrays of numbers, and writes its result."""
        given = call.operands[2:]
        if any(v in self.varied for v in given) or any(o in self.varied_memory for o in self.given_memory(call)):
            return self.spread(self.objects.left(call), self.varied_memory)
        return []

    def given_memory(self, call: Call) -> set[Object]:
        """The arrays that a whole operation reads."""
        return {o for v in call.operands[2:] for o in self.objects.pointed(v) if not self.is_constant(o)}

    # --- backward: what the outputs depend on ---

    def backward(self, instruction: Instruction) -> list[Instruction]:
        match instruction:
            case Return(operands=[value]) if self.wanted.result:
                return self.need([value])
            case Store(operands=[value, pointer]):
                if any(o in self.useful_memory for o in self.objects.pointed(pointer)):
                    return self.need([value])
                return []
            case AtomicReadWrite(operands=[pointer, value]):
                if any(o in self.useful_memory for o in self.objects.pointed(pointer)):
                    return self.need([value])
                return []
            case Load():
                if instruction in self.useful:
                    return self.spread(self.objects.pointed(instruction.pointer), self.useful_memory)
                return []
            case Call():
                return self.need_call(instruction)
            case Select(operands=[_, if_true, if_false]) if instruction in self.useful:
                return self.need([if_true, if_false])
            case _ if instruction in self.useful and isinstance(instruction, DIFFERENTIABLE):
                return self.need(instruction.operands)
            case _:
                return []

    def need(self, values: Iterable[Value]) -> list[Instruction]:
        again: list[Instruction] = []
        for value in values:
            if value not in self.useful and self.kinds.tangent_type(value) is not None:
                self.useful.add(value)
                if isinstance(value, Instruction):
                    again.append(value)
        return again

    def need_call(self, call: Call) -> list[Instruction]:
        name = call.callee_name
        if name in calls.COPIES:
            if any(o in self.useful_memory for o in self.objects.pointed(call.operands[0])):
                return self.spread(self.objects.pointed(call.operands[1]), self.useful_memory)
            return []
        if self.quiet(call):
            return []
        if self.objects.whole(call) is not None:
            if not any(o in self.useful_memory for o in self.objects.left(call)):
                return []
            return [*self.need(call.operands[2:]), *self.spread(self.given_memory(call), self.useful_memory)]
        if self.may_write(name):
            reach = [o for o in self.objects.reachable(call.operands) if not self.is_constant(o)]
            if call not in self.useful and not any(o in self.useful_memory for o in reach):
                return []
            return [*self.need(call.operands), *self.spread(reach, self.useful_memory)]
        return self.need(call.operands) if call in self.useful else []

    # --- shadows ---

    def differentiated_calls(self, values: frozenset[Value], memory: frozenset[Object]) -> frozenset[Call]:
        found: set[Call] = set()
        for call in self.code:
            if isinstance(call, Call) and self.objects.whole(call) is not None:
                if any(o in memory for o in self.objects.left(call)):
                    found.add(call)
            elif isinstance(call, Call) and call.callee_name in self.defined:
                active = any(v in values for v in [call, *call.operands])
                if active or any(o in memory for o in self.objects.reachable(call.operands)):
                    found.add(call)
        return frozenset(found)

    def shadowed(self, memory: frozenset[Object], found: frozenset[Call]) -> frozenset[Object]:
        """Close `memory` under: what a pointer to shadowed memory may also point to; what a differentiated call can
        touch; what overlaps it; memory that holds pointers to it."""
        shadowed = set(memory) | {o for a in self.wanted.memory for o in self.objects.pointed(a)}
        for call in found:
            if self.objects.whole(call) is None:
                shadowed |= {o for o in self.objects.reachable(call.operands) if not self.is_constant(o)}
        groups = [set(objects) for objects in self.objects.of.values() if len(objects) > 1]
        groups += [self.overlap[o] for o in self.every if len(self.overlap[o]) > 1]
        changed = True
        while changed:
            before = len(shadowed)
            for group in groups:
                if group & shadowed:
                    shadowed |= group
            for holder, held in self.objects.contents.items():
                if held & shadowed and holder.kind in ("stack", "heap"):
                    shadowed.add(holder)
            changed = len(shadowed) > before
        return frozenset(shadowed)

    # --- refusals ---

    def refuse(self, instruction: Instruction, values: frozenset[Value], shadowed: frozenset[Object]) -> None:
        match instruction:
            case Cast(op="bitcast", operands=[source]) if source in self.tainted and has_float(instruction.type):
                raise self.bits(instruction)
            case Cast(op="sitofp" | "uitofp", operands=[source]) if instruction in self.useful:
                if source in self.tainted:
                    raise self.bits(instruction)
            case Store(operands=[value, pointer]) if value in self.tainted:
                where = self.objects.pointed(pointer)
                if any(o in self.useful_memory or (o in shadowed and self.kinds.floats.get(o)) for o in where):
                    raise self.bits(instruction)
            case Load() if instruction in self.useful:
                if any(o in self.tainted_memory for o in self.objects.pointed(instruction.pointer)):
                    raise self.bits(instruction)
                if instruction in values:
                    self.refuse_mixture(instruction)
                if _is_lost(instruction.pointer, self.objects):
                    raise _lost(instruction)
            case Store(operands=[value, pointer]) if value in self.varied and _is_lost(pointer, self.objects):
                raise _lost(instruction)
            case AtomicReadWrite(operands=[pointer, _]) | CompareExchange(operands=[pointer, _, _]):
                if any(o in shadowed for o in self.objects.pointed(pointer)):
                    hint = "use parallel=False, or make the update without atomics"
                    raise blame(Unsupported("an atomic update of active memory", hint=hint), instruction)
            case Call() if not self.quiet(instruction) and instruction.callee_name not in self.defined:
                self.refuse_call(instruction, values, shadowed)
            case _:
                pass

    def bits(self, instruction: Instruction) -> IradError:
        error = Unsupported(
            "a float is made by integer arithmetic on the bits of an active float",
            hint="write the operation on floats (abs, copysign, a negation), or pass the value as a constant",
        )
        if self.is_mixed:
            error = Unsupported(
                "a function that is not inlined (a recursive or a large one) is given floats and integers in one "
                "structure, an instance, a list or a dictionary, and which is which is not followed into it",
                hint="give it arrays and numbers as arguments, and return others; or write it as a loop",
            )
        return blame(error, instruction)

    def refuse_mixture(self, load: Load) -> None:
        """Eight bytes that move as an integer may be one double or two floats, whose adjoints add differently."""
        if load in self.kinds.carriers and len(self.kinds.element(self.objects.pointed(load.pointer))) > 1:
            error = AmbiguousKind("memory that may hold both float32 and float64 is copied", hint="use one of them")
            raise blame(error, load)

    def refuse_call(self, call: Call, values: frozenset[Value], shadowed: frozenset[Object]) -> None:
        name = call.callee_name
        if name in calls.COPIES:
            to, source = call.operands[:2]
            lost_source = _is_lost(source, self.objects) and self.objects.pointed(to) & self.useful_memory
            lost_target = _is_lost(to, self.objects) and self.objects.pointed(source) & self.varied_memory
            if lost_source or lost_target:
                raise _lost(call)
        if name in calls.COPIES or name in calls.FILLS:
            return
        known = scalar.rule_name(name) is not None
        touches = any(o in shadowed for o in self.objects.reachable(call.operands))
        active = call in values or (not known and any(v in self.varied for v in call.operands))
        if touches or (active and not known):
            raise _missing(call)


def _all_float(kinds: Kinds, o: Object) -> bool:
    return bool(kinds.floats.get(o))


def _has_integer(type: Type) -> bool:
    """Whether a value of `type` has room for bits of a float as an integer."""
    match type:
        case Int(bits):
            return bits >= 8
        case Vector(_, element) | Array(_, element):
            return _has_integer(element)
        case Struct(fields):
            return any(_has_integer(f) for f in fields)
        case _:
            return False


def _is_sign(value: Value) -> bool:
    """Whether an integer is the highest bit of another one: of the bits of a float, whether that is negative."""
    match value:
        case Binary(op="lshr" | "ashr", type=Int(bits), operands=[_, Constant(literal=int(distance))]):
            return distance == bits - 1
        case _:
            return False


def _is_lost(pointer: Value, objects: Objects) -> bool:
    """Whether a pointer comes from nowhere that we know (it was put into memory as something else than a pointer), or
    from where nobody reads."""
    return not isinstance(pointer, Constant) and (not objects.pointed(pointer) or objects.is_opaque(pointer))


def _lost(instruction: Instruction) -> IradError:
    error = Unsupported(
        "an active value may lie in memory whose origin cannot be traced",
        hint="keep arrays in variables and tuples, not in structures that are copied as bytes",
    )
    return blame(error, instruction)


def _missing(call: Call) -> IradError:
    why, hint = calls.explain_missing(call.callee_name) if call.callee_name else _BY_ADDRESS
    return blame(MissingRule(why, hint=hint), call)


_BY_ADDRESS = (
    "an active value goes into a function that is known by its address alone (of ctypes, in memory, or an argument)",
    "write the function with njit and call it by its name, or call it before and pass its result in",
)
