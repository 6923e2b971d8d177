"""Canonical form: what the reverse function wants to know becomes ordinary instructions of the primal (design D14).

Loop counters from zero, last iterations, arrival indices at merges and shadow pointers are written into the function,
so that the plan treats them like any value and the emitter has no special cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from irad.analysis.activity import Activity
from irad.analysis.flow import Flow, Loop
from irad.analysis.kinds import has_float
from irad.analysis.objects import Object, Objects, holds_pointers
from irad.analysis.reversal import Reversal
from irad.analysis.scratch import Scratch
from irad.errors import Unsupported
from irad.ir.build import Builder
from irad.ir.lines import blame
from irad.ir.model import (
    Alloca,
    Argument,
    Binary,
    Block,
    Branch,
    Call,
    Cast,
    Compare,
    Constant,
    ConstantExpression,
    ExtractValue,
    Function,
    Gep,
    Global,
    InsertValue,
    Instruction,
    Load,
    Module,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Value,
    integer,
)
from irad.ir.types import I8, I32, I64, PTR, VOID, Int, Ptr, Type, size_of
from irad.rules import calls

SHADOW = "irad.shadow"  # allocates zeroed memory; the emitter expands it
FRAME = "irad.frame"  # memory for the tape of a differentiated call; the emitter expands it


def single_return(function: Function) -> None:
    """Make `function` return at one place."""
    exits = [b for b in function.blocks if isinstance(b.end, Return)]
    if len(exits) == 1:
        return
    joint = Block("irad.return")
    function.blocks.append(joint)
    if function.type.result == VOID:
        joint.end = Return()
    else:
        phi = Phi(type=function.type.result, name="irad.status")
        joint.phis.append(phi)
        joint.end = Return(operands=[phi])
        for block in exits:
            phi.operands.append(block.end.operands[0])
            phi.blocks.append(block)
    for block in exits:
        block.end = Branch(targets=[joint], metadata=dict(block.end.metadata))


def predecessors(function: Function) -> dict[Block, list[Block]]:
    """Distinct predecessors of every block, error edges included."""
    found: dict[Block, list[Block]] = {b: [] for b in function.blocks}
    for block in function.blocks:
        for target in block.successors:
            found[target].append(block)
    return found


# --- inductions and trip counts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Induction:
    """A header phi that is `start + k * step` in iteration k; `advance` is the instruction that adds the step."""

    start: Value
    step: Value
    advance: Instruction
    negative: bool = False  # the step is subtracted


@dataclass(frozen=True)
class Counted:
    """A loop that runs backwards. `counter` counts from zero; `last` is the index of the last iteration where it is
    known in the preheader, else None; `exit_last[b]` is it at an exit block `b`; `ends` are, where `last` is known, the
    induction that the loop ends by, and what it is compared with."""

    counter: Phi
    last: Value | None
    exit_last: dict[Block, Value]
    ends: tuple[Phi, Value] | None


@dataclass(frozen=True)
class Canonical:
    """A function in canonical form and the meaning of what was added.

    `shadow` maps a pointer to its shadow; `arrival[b]` tells by its value which of `reversal.back[b]` the primal came
    from; `inductions` also hold for shadow pointers.
    """

    function: Function
    flow: Flow
    reversal: Reversal
    counted: dict[Loop, Counted]
    inductions: dict[Phi, Induction]
    arrival: dict[Block, Value]
    shadow: dict[Value, Value]
    shadow_arguments: dict[Argument, Argument]
    frames: dict[Call, Call]
    scratch: Scratch

    def fixed_shadow(self, value: Value) -> bool:
        """Whether `value` is the shadow of a scratch array, one buffer for all iterations."""
        return any(self.shadow.get(call) is value for call in self.scratch.simple)

    def last(self, loop: Loop, exit: Block) -> Value:
        """The last iteration's index of `loop`, as known at the exit block `exit`."""
        counted = self.counted[loop]
        return counted.last if counted.last is not None else counted.exit_last[exit]


def canonical(
    function: Function,
    module: Module,
    flow: Flow,
    objects: Objects,
    activity: Activity,
    reversal: Reversal,
    scratch: Scratch,
) -> Canonical:
    """Write counters, last iterations, arrival indices and shadow pointers into `function`."""
    before = predecessors(function)
    shadows = _Shadows(function, module, flow, objects, activity)
    shadows.run()
    flow = replace(flow, block_of={i: b for b in function.blocks for i in b.instructions})
    inductions: dict[Phi, Induction] = {}
    for loop in reversal.loops:
        inductions |= _inductions(loop, flow)
    counted: dict[Loop, Counted] = {}
    for loop in reversal.loops:
        counted[loop] = _count(loop, flow, inductions, before)
    arrival = {b: _arrival(b, reversal.back[b], flow, before) for b in reversal.merges(flow)}
    flow = replace(flow, block_of={i: b for b in function.blocks for i in b.instructions})
    return Canonical(
        function, flow, reversal, counted, inductions, arrival, shadows.of, shadows.arguments, shadows.frames, scratch
    )


def _inductions(loop: Loop, flow: Flow) -> dict[Phi, Induction]:
    found: dict[Phi, Induction] = {}
    for phi in loop.header.phis:
        start, following = phi.value_from(loop.preheader), phi.value_from(loop.latch)
        match following:
            case Binary(op="add", operands=[left, right]) if left is phi and not flow.inside(right, loop):
                found[phi] = Induction(start, right, following)
            case Binary(op="add", operands=[left, right]) if right is phi and not flow.inside(left, loop):
                found[phi] = Induction(start, left, following)
            case Binary(op="sub", operands=[left, right]) if left is phi and not flow.inside(right, loop):
                found[phi] = Induction(start, right, following, negative=True)
            case Gep(operands=[base, index]) if base is phi and not flow.inside(index, loop):
                found[phi] = Induction(start, index, following)
            case _:
                pass
    return found


def _count(loop: Loop, flow: Flow, inductions: dict[Phi, Induction], before: dict[Block, list[Block]]) -> Counted:
    counter = Phi(type=I64, name=f"count.{loop.header.name}", operands=[integer(0, I64)], blocks=[loop.preheader])
    loop.header.phis.append(counter)
    following = Binary(op="add", type=I64, name=f"count.next.{loop.header.name}", operands=[counter, integer(1, I64)])
    following.flags = ("nuw", "nsw")
    loop.latch.body.append(following)
    counter.operands.append(following)
    counter.blocks.append(loop.latch)
    last, ends = _last_iteration(loop, flow, inductions)
    if isinstance(last, Instruction) and not last.name:
        last.name = f"last.{loop.header.name}"
    exit_last: dict[Block, Value] = {}
    if last is None:
        for block in dict.fromkeys(outside for _, outside in loop.exits):
            phi = Phi(type=I64, name=f"last.{loop.header.name}")
            for source in _edges(block, before):
                phi.operands.append(counter if source in loop.blocks else integer(0, I64))
                phi.blocks.append(source)
            block.phis.append(phi)
            exit_last[block] = phi
    return Counted(counter, last, exit_last, ends)


_NEGATED = {
    "eq": "ne",
    "ne": "eq",
    "ugt": "ule",
    "ule": "ugt",
    "uge": "ult",
    "ult": "uge",
    "sgt": "sle",
    "sle": "sgt",
    "sge": "slt",
    "slt": "sge",
}
_SWAPPED = {
    "ugt": "ult",
    "ult": "ugt",
    "uge": "ule",
    "ule": "uge",
    "sgt": "slt",
    "slt": "sgt",
    "sge": "sle",
    "sle": "sge",
}


def _last_iteration(
    loop: Loop, flow: Flow, inductions: dict[Phi, Induction]
) -> tuple[Value | None, tuple[Phi, Value] | None]:
    """Index of the last iteration, computed in the preheader, and the induction and bound that it follows from; None
    where the exit test is of no known shape."""
    if len(loop.exits) != 1:
        return None, None
    leaving, outside = loop.exits[0]
    match leaving.end:
        case Branch(operands=[Compare(op="icmp") as test]):
            pass
        case _:
            return None, None
    if _may_leave_elsewhere(leaving, loop, flow):
        return None, None
    predicate = test.predicate if leaving.end.targets[1] is outside else _NEGATED[test.predicate]
    left, right = test.operands
    if flow.inside(right, loop) and not flow.inside(left, loop):
        left, right, predicate = right, left, _SWAPPED.get(predicate, predicate)
    if flow.inside(right, loop) or not isinstance(left.type, Int):
        return None, None
    for phi, induction in inductions.items():
        if phi in loop.header.phis and left in (phi, induction.advance):
            last = _solve(loop, induction, left is induction.advance, predicate, right)
            return last, (phi, right) if last is not None else None
    return None, None


def _may_leave_elsewhere(leaving: Block, loop: Loop, flow: Flow) -> bool:
    """Whether an iteration can pass without running the exit test (then counting tests does not count iterations)."""
    return not flow.dominates(leaving, loop.latch)


def _solve(loop: Loop, induction: Induction, advanced: bool, predicate: str, bound: Value) -> Value | None:
    """The first k for which `start + (k + advanced) * step <predicate> bound` fails, an i64."""
    match induction.step:
        case Constant(type=Int(bits), literal=int(step)) if step != 0 and bits in (32, 64):
            step = -step if induction.negative else step
        case _:
            return None
    towards = {"l": 1, "g": -1}.get(predicate[1], 0)
    if (predicate != "ne" and towards * step <= 0) or _may_wrap(induction, step, bits, predicate):
        return None
    out = Builder(loop.preheader)
    if predicate == "ne":
        last = _until_equal(out, induction.start, bound, step, advanced)
    else:
        last = _while_ordered(out, induction.start, bound, step, advanced, predicate)
    return out.cast("zext", last, I64)


def _may_wrap(induction: Induction, step: int, bits: int, predicate: str) -> bool:
    """Whether the loop may step over its bound and run on to the other end of the integers. With 64 bits and a small
    step that would take years."""
    promises = {"ne": {"nsw", "nuw"}}.get(predicate, {"nsw"} if predicate[0] == "s" else {"nuw"})
    return abs(step) > 1 and not promises & set(induction.advance.flags) and (bits < 64 or abs(step) >= 1 << 16)


def _until_equal(out: Builder, start: Value, bound: Value, step: int, advanced: bool) -> Value:
    distance = out.binary("sub", *((bound, start) if step > 0 else (start, bound)))
    if abs(step) > 1:
        distance = out.binary("udiv", distance, integer(abs(step), distance.type))
    if advanced:
        distance = out.binary("sub", distance, integer(1, distance.type))
    # computed outside its guard it can be negative: zero then
    return out.call("llvm.smax.i64", I64, [distance, integer(0, I64)]) if distance.type == I64 else distance


def _while_ordered(out: Builder, start: Value, bound: Value, step: int, advanced: bool, predicate: str) -> Value:
    """The bound is neither passed at once, nor is the distance to it, taken as unsigned, more than it is."""
    type = start.type
    first = out.binary("add", start, integer(step, type)) if advanced else start
    inside = out.compare(predicate, first, bound)
    steps = out.binary("sub", *((bound, first) if step > 0 else (first, bound)))
    inclusive = predicate.endswith("e")
    if abs(step) > 1:
        steps = steps if inclusive else out.binary("sub", steps, integer(1, type))
        steps = out.binary("udiv", steps, integer(abs(step), type))
    if inclusive or abs(step) > 1:
        steps = out.binary("add", steps, integer(1, type))
    return out.select(inside, steps, integer(0, type))


# --- arrival --------------------------------------------------------------------------------------------------------


def _arrival(block: Block, ways: list[Block], flow: Flow, before: dict[Block, list[Block]]) -> Value:
    decided = _decided(block, ways, flow, before)
    if decided is not None:
        condition, true_way = decided
        select = Select(
            type=I8,
            name=f"from.{block.name}",
            operands=[condition, integer(true_way, I8), integer(1 - true_way, I8)],
        )
        block.body.insert(0, select)
        return select
    if len(ways) > 127:
        error = Unsupported("a merge of more than 127 branches", hint="split the kernel into functions")
        raise blame(error, block)
    phi = Phi(type=I8, name=f"from.{block.name}")
    for source in _edges(block, before):
        phi.operands.append(integer(ways.index(source) if source in ways else 0, I8))
        phi.blocks.append(source)
    block.phis.append(phi)
    return phi


def _decided(block: Block, ways: list[Block], flow: Flow, before: dict[Block, list[Block]]) -> tuple[Value, int] | None:
    """The condition that chose between two ways, and the way taken where it is true: it can be recomputed."""
    top = flow.idom[block]
    end = top.end
    if len(ways) != 2 or not isinstance(end, Branch) or end.condition is None:
        return None
    if flow.loop_of[top] is not flow.loop_of[block] or end.targets[0] is end.targets[1]:
        return None

    if not _guarded(block, top, before):
        return None

    def leads(target: Block, way: Block) -> bool:
        if target is block:
            return way is top
        return target in flow.idom and before[target] == [top] and flow.dominates(target, way)

    for true_way in (0, 1):
        if leads(end.targets[0], ways[true_way]) and leads(end.targets[1], ways[1 - true_way]):
            return end.condition, true_way
    return None


def _guarded(block: Block, top: Block, before: dict[Block, list[Block]]) -> bool:
    """Whether every way to `block`, those of errors too, passes through `top`: its values are known in `block` then."""
    seen, stack = {top, block}, [block]
    while stack:
        ways = before[stack.pop()]
        if not ways:
            return False
        stack += [b for b in ways if b not in seen]
        seen.update(ways)
    return True


def _edges(block: Block, before: dict[Block, list[Block]]) -> list[Block]:
    """Where `block` is entered from, once for every edge: a switch may have several."""
    return [source for source in before[block] for target in source.end.targets if target is block]


# --- shadows --------------------------------------------------------------------------------------------------------


class _Shadows:
    """Writes a shadow beside every pointer that may point to shadowed memory."""

    def __init__(self, function: Function, module: Module, flow: Flow, objects: Objects, activity: Activity) -> None:
        self.function, self.module, self.flow = function, module, flow
        self.objects, self.activity = objects, activity
        self.of: dict[Value, Value] = {}
        self.arguments: dict[Argument, Argument] = {}
        self.frames: dict[Call, Call] = {}
        self.globals: dict[str, Value] = {}
        self.current: Instruction | None = None  # whose shadow is being written

    def run(self) -> None:
        for argument in self.function.arguments:
            if self.wants(argument):
                shadow = Argument(PTR, f"{argument.name}.shadow")
                self.of[argument] = self.arguments[argument] = shadow
        made: list[tuple[Instruction, Instruction]] = []
        for block in self.flow.order:
            made += self.phis(block)
            self.body(block)
        for original, shadow in made:
            assert isinstance(original, Phi) and isinstance(shadow, Phi)
            self.current = original
            for value, source in original.incoming():
                shadow.operands.append(self.shadow(value) if source in self.flow.idom else Constant(PTR, "null"))
                shadow.blocks.append(source)

    def wants(self, value: Value) -> bool:
        return holds_pointers(value.type) and bool(self.objects.pointed(value) & self.activity.shadowed)

    def phis(self, block: Block) -> list[tuple[Instruction, Instruction]]:
        made: list[tuple[Instruction, Instruction]] = []
        for phi in list(block.phis):
            if self.wants(phi):
                shadow = Phi(type=phi.type, name=f"{phi.name}.shadow")
                block.phis.append(shadow)
                self.of[phi] = shadow
                made.append((phi, shadow))
        return made

    def body(self, block: Block) -> None:
        old, block.body = block.body, []
        for instruction in old:
            if isinstance(instruction, Call) and instruction in self.activity.calls:
                frame = Call(type=PTR, name=f"{instruction.name}.frame", callee=Global(FRAME))
                self.frames[instruction] = frame
                block.body.append(frame)
            block.body.append(instruction)
            self.current = instruction
            block.body.extend(self.after(instruction))

    def after(self, instruction: Instruction) -> list[Instruction]:
        """Shadow instructions that follow `instruction`."""
        match instruction:
            case Store(operands=[value, pointer]) if holds_pointers(value.type) and self.wants(pointer):
                if has_float(value.type):
                    raise self.unsupported(instruction, "pointers and floats are stored together")
                mirrored = self.shadow(value) if self.wants(value) else _nowhere(value.type)
                return [Store(operands=[mirrored, self.shadow(pointer)], metadata=dict(instruction.metadata))]
            case Call() if instruction.callee_name in calls.COPIES:
                return self.copy(instruction)
            case _ if self.wants(instruction):
                shadow = self.make(instruction)
                shadow.name = f"{instruction.name}.shadow"
                shadow.metadata = {k: v for k, v in instruction.metadata.items() if k == "!dbg"}
                self.of[instruction] = shadow
                return [shadow]
            case _:
                return []

    def make(self, value: Instruction) -> Instruction:
        match value:
            case Gep() | Select() | Unary(op="freeze") | ExtractValue():
                return value.clone(self.shadow_or_same)
            case InsertValue():
                return value.clone(self.shadow_or_same)
            case Load():
                if has_float(value.type):
                    raise self.unsupported(value, "pointers and floats are loaded together")
                return Load(type=value.type, operands=[self.shadow(value.pointer)], align=value.align)
            case Alloca():
                if value.operands or self.flow.loop_of[self.flow.block_of[value]] is not None:
                    raise self.unsupported(value, "active data lies in stack memory of a size that varies")
                return value.clone()
            case Call() if value.callee_name in calls.ALLOCATORS:
                return Call(type=PTR, callee=Global(SHADOW), operands=list(value.operands))
            case Cast():
                raise self.unsupported(value, "an address computed from an integer points to active memory")
            case _:
                raise self.unsupported(value, "a pointer to active memory comes out of a call")

    def copy(self, call: Call) -> list[Instruction]:
        """Pointers that a memcpy moves are moved in the shadow as well; floats there belong to the adjoint."""
        to, source = call.operands[:2]
        moved = {c for o in self.objects.pointed(source) for c in self.objects.contents.get(o, frozenset())}
        if not (moved & self.activity.shadowed) or not self.wants(to):
            return []
        kinds = {o for o in self.objects.pointed(source) | self.objects.pointed(to) if o in self.activity.memory}
        if kinds:
            why = (
                "pointers and floats are copied together, as far as can be told (lists are not followed into recursion)"
            )
            raise self.unsupported(call, why)
        shadow = call.clone()
        shadow.operands[:2] = [self.shadow(to), self.shadow(source)]
        return [shadow]

    def shadow_or_same(self, value: Value) -> Value:
        return self.shadow(value) if holds_pointers(value.type) else value

    def shadow(self, value: Value) -> Value:
        """The shadow of a pointer."""
        known = self.of.get(value)
        if known is not None:
            return known
        match value:
            case Constant(literal="null" | "undef" | "poison" | "zeroinitializer"):
                return value
            case _ if self.objects.is_opaque(value):
                return _nowhere(value.type)
            case Global(name):
                return self.global_shadow(name)
            case ConstantExpression(op="getelementptr"):
                base = self.shadow(value.operands[0])
                moved = Gep(
                    type=PTR, source=value.source or I8, operands=[base, *value.operands[1:]], name="constant.shadow"
                )
                self.at_entry(moved)
                self.of[value] = moved
                return moved
            case _:
                raise self.unsupported(value, "memory at a fixed address is merged with active memory")

    def global_shadow(self, name: str) -> Value:
        """A constant table that is merged with active arrays gets a zeroed shadow nobody reads."""
        variable = self.module.variables.get(name)
        if variable is None or variable.value_type is None:
            raise self.unsupported(Global(name), "a global of unknown size is merged with active memory")
        if name not in self.globals:
            size = integer(size_of(variable.value_type), I64)
            call = Call(type=PTR, name="global.shadow", callee=Global(SHADOW), operands=[size, integer(32, I32)])
            self.at_entry(call)
            self.globals[name] = call
        return self.globals[name]

    def at_entry(self, instruction: Instruction) -> None:
        self.function.entry.body.insert(len(self.globals), instruction)

    def unsupported(self, value: Value, why: str) -> Unsupported:
        error = Unsupported(why, hint="keep active and constant data in separate arrays")
        culprit = value if isinstance(value, Instruction) else self.current
        return blame(error, culprit) if culprit is not None else error


def _nowhere(type: Type) -> Constant:
    """The shadow of a pointer, or of a structure with pointers, that has none."""
    return Constant(type, "null" if isinstance(type, Ptr) else "zeroinitializer")


def shadowed_arguments(objects: Objects, shadowed: Iterable[Object], arguments: Iterable[Argument]) -> list[Argument]:
    """Pointer arguments that need a shadow."""
    inside = frozenset(shadowed)
    return [a for a in arguments if holds_pointers(a.type) and objects.pointed(a) & inside]
