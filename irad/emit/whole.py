"""Whole operations: the derivative functions of a function that has a rule, around the functions of that rule.

A rule's functions are compiled as any other (see irad.frontend.whole); what stands here gives them the parameters that
derivative functions have: shadows, a frame, adjoints. Values move one by one, never as blocks of memory, so that the
result can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irad.emit.body import make_function
from irad.emit.calls import bars_type
from irad.emit.entry import Leaf, holds_floats, is_meminfo
from irad.ir.build import Builder
from irad.ir.model import Argument, Block, Constant, Function, Module, Value, integer, zero
from irad.ir.types import I32, I64, PTR, VOID, Array, Float, FunctionType, Int, Type, field_offset, size_of

NULL = Constant(PTR, "null")
META = 4  # leaves between an array's meminfo and its data


@dataclass(frozen=True)
class Callee:
    """A function as Numba compiled it.

    type: of the function. result: leaves of the parts of the tuple that it returns, and memory that holds the tuple.
    """

    name: str
    type: FunctionType
    result: tuple[tuple[Leaf, ...], ...]
    result_type: Type


@dataclass(frozen=True)
class Given:
    """What is asked of a call.

    type: of the operation. arguments, result: leaves. active, shadowed: positions of operands with an adjoint or
    tangent, and with a shadow, as in irad.pipeline.Key. targets: the differentiated leaves of the arguments, by the
    position of a float or of the data of an array; None for each part that is constant.
    """

    type: FunctionType
    arguments: tuple[Leaf, ...]
    result: tuple[Leaf, ...]
    active: tuple[int, ...]
    shadowed: tuple[int, ...]
    targets: tuple[int | None, ...]

    def around(self, position: int) -> list[int]:
        """Positions of all operands of the array whose data pointer is at `position`."""
        start = position - META
        return list(range(start, position + 1 + 2 * self.arguments[position - 2].ndim))


class _Adapter:
    """What the three functions share. `concrete`: there is a heap, which need not keep what the rule leaves behind."""

    def __init__(
        self, name: str, given: Given, callee: Callee, arguments: Sequence[Argument], *, concrete: bool
    ) -> None:
        self.given, self.callee = given, callee
        self.function = make_function(name, list(arguments), I32)
        self.out = Builder(Block("entry"))
        self.function.blocks.append(self.out.block)
        self.result = self.out.alloca(callee.result_type, align=16)
        leaves = [leaf for part in callee.result for leaf in part]
        self.temporaries = _Sweep(self.out, leaves) if concrete else None

    def call(self, excinfo: Value, flat: Sequence[Value]) -> None:
        """Call the rule's function; go on where it succeeded."""
        status = self.out.call(self.callee.name, I32, [self.result, excinfo, *self.converted(flat)])
        failed, fine = Block("failed"), Block("fine")
        self.function.blocks += [failed, fine]
        self.out.branch_if(self.out.succeeded(status), fine, failed)
        self.out.block = failed
        self.out.ret(status)
        self.out.block = fine
        if self.temporaries is not None:
            self.temporaries.end(self.result)

    def converted(self, flat: Sequence[Value]) -> list[Value]:
        """Values as parameters: a boolean is a byte in memory."""
        types = self.callee.type.parameters[2:]
        return [self.as_type(value, type) for value, type in zip(flat, types, strict=True)]

    def as_type(self, value: Value, type: Type) -> Value:
        match value.type, type:
            case Int(have), Int(want) if have != want:
                return self.out.cast("trunc" if have > want else "zext", value, type)
            case _:
                return value

    def load(self, leaf: Leaf) -> Value:
        """A part of what the rule's function returned."""
        return self.out.load(leaf.type, self.out.offset(self.result, leaf.offset))

    def hand_over(self, retptr: Value) -> None:
        """What the operation itself returns, to its caller."""
        for made, leaf in zip(self.callee.result[0], self.given.result, strict=True):
            self.out.store(self.load(made), self.out.offset(retptr, leaf.offset))

    def show(self, shadow: Value, made: Sequence[Leaf]) -> None:
        """Floats, and pointers to arrays, of a derivative into the shadow of the result."""
        for there, own in zip(carriers(self.given.result), carriers(made), strict=True):
            self.out.store(self.load(own), self.out.offset(shadow, there.offset))


class _Sweep:
    """Gives up all arrays made since it began (in the entry block) that are not in a result."""

    def __init__(self, out: Builder, leaves: Sequence[Leaf]) -> None:
        self.out, self.owners = out, [leaf for leaf in leaves if is_meminfo(leaf)]
        self.kept = out.alloca(Array(max(len(self.owners), 1), PTR))
        self.mark = out.call("irad_mark", PTR, [])

    def end(self, result: Value) -> None:
        for i, leaf in enumerate(self.owners):
            owner = self.out.load(PTR, self.out.offset(result, leaf.offset))
            self.out.store(owner, self.out.offset(self.kept, i, PTR))
        self.out.call("irad_sweep", VOID, [self.mark, self.kept, integer(len(self.owners), I64)])


def swept(module: Module, name: str, leaves: Sequence[Leaf]) -> None:
    """Let a whole operation give up all the arrays that it makes, but for its result."""
    body = module.functions[name]
    arguments = [Argument(a.type, a.name) for a in body.arguments]
    function = make_function(name, arguments, I32)
    body.name = f"{name}.body"
    module.functions[name], module.functions[body.name] = function, body
    out = Builder(Block("entry"))
    function.blocks.append(out.block)
    temporaries = _Sweep(out, leaves)
    status = out.call(body.name, I32, arguments)
    failed, fine = Block("failed"), Block("fine")
    function.blocks += [fine, failed]
    out.branch_if(out.succeeded(status), fine, failed)
    out.block = fine
    temporaries.end(arguments[0])
    out.branch(failed)
    out.block = failed
    out.ret(status)


def carriers(leaves: Sequence[Leaf]) -> list[Leaf]:
    """Leaves that carry derivatives: floats, and of float arrays the meminfo and the data."""
    found: list[Leaf] = []
    for i, leaf in enumerate(leaves):
        if leaf.role == "float":
            found.append(leaf)
        elif holds_floats(leaf):
            found += [leaves[i - META], leaf]
    return found


def _operands(given: Given) -> list[Argument]:
    names = ["retptr", "excinfo", *(f"a{i}" for i in range(len(given.type.parameters) - 2))]
    return [Argument(type, name) for type, name in zip(given.type.parameters, names, strict=True)]


def _shadows(given: Given) -> dict[int, Argument]:
    return {i: Argument(PTR, f"shadow.{i}") for i in given.shadowed}


# --- forward --------------------------------------------------------------------------------------------------------


def tangent(name: str, given: Given, callee: Callee, *, concrete: bool) -> Function:
    """`i32 name(operands, shadows, tangents)`; `callee` takes the arguments, then their tangents, and returns
    (result, tangent of the result)."""
    operands, shadows = _operands(given), _shadows(given)
    dots = {i: Argument(operands[i].type, f"dot.{i}") for i in given.active}
    adapter = _Adapter(name, given, callee, [*operands, *shadows.values(), *dots.values()], concrete=concrete)
    flat: list[Value] = list(operands[2:])
    for target in given.targets:
        if target is None:
            flat.append(NULL)
        elif target in dots:
            flat.append(dots[target])
        else:
            flat += [NULL, NULL, *(shadows[i] if i == target else operands[i] for i in given.around(target)[2:])]
    adapter.call(operands[1], flat)
    adapter.hand_over(operands[0])
    if 0 in shadows:
        adapter.show(shadows[0], callee.result[1])
    adapter.out.ret(integer(0, I32))
    return adapter.function


# --- reverse --------------------------------------------------------------------------------------------------------


class Layout:
    """The frame of a call: what the augmented function leaves for the reverse one.

    `residual` and `bar` hold offsets of the leaves of what the rule keeps and of the shadows of the result, `arrays`
    those of the shadows of arguments (the operands of each array from `nitems` on), `result` that of the result's
    shadow. Who owns an array does not matter on the way back: None.
    """

    def __init__(self, given: Given, augmented: Callee) -> None:
        self.size = 0
        self.residual = [self.leaf(leaf) for leaf in augmented.result[1]]
        self.bar = [None if leaf.role == "float" else self.leaf(leaf) for leaf in augmented.result[2]]
        self.arrays: dict[int, list[tuple[int, int]]] = {}
        for target in given.targets:
            if target is not None and target not in given.active:
                positions = given.around(target)[2:]
                self.arrays[target] = [(i, self.take(given.type.parameters[i])) for i in positions]
        self.result = self.take(PTR) if any(leaf.role == "float" for leaf in given.result) else None

    def leaf(self, leaf: Leaf) -> int | None:
        return None if leaf.role == "opaque" else self.take(leaf.type)

    def take(self, type: Type) -> int:
        at = self.size
        self.size += (size_of(type) + 7) // 8 * 8
        return at


def augmented(name: str, given: Given, callee: Callee, *, concrete: bool) -> Function:
    """`i32 name(operands, shadows, frame)`; `callee` returns (result, residual, zeroed shadow of the result)."""
    operands, shadows, frame = _operands(given), _shadows(given), Argument(PTR, "frame")
    adapter = _Adapter(name, given, callee, [*operands, *shadows.values(), frame], concrete=concrete)
    out, layout = adapter.out, Layout(given, callee)
    adapter.call(operands[1], operands[2:])
    adapter.hand_over(operands[0])
    adapter.show(shadows[0], callee.result[2])
    for leaves, places in ((callee.result[1], layout.residual), (callee.result[2], layout.bar)):
        for leaf, at in zip(leaves, places, strict=True):
            if at is not None:
                out.store(adapter.load(leaf), out.offset(frame, at))
    for position, places in layout.arrays.items():
        for i, at in places:
            out.store(shadows[i] if i == position else operands[i], out.offset(frame, at))
    if layout.result is not None:
        out.store(shadows[0], out.offset(frame, layout.result))
    out.ret(integer(0, I32))
    return adapter.function


def reverse(name: str, given: Given, ahead: Callee, callee: Callee, *, concrete: bool) -> Function:
    """`i32 name(frame, bars, excinfo)`.

    `callee` takes the residual, the cotangent of the result and, for each argument, what its cotangent is added to (a
    zero for a float); it returns the cotangents of floats.
    """
    frame, bars, excinfo = (Argument(PTR, word) for word in ("frame", "bars", "excinfo"))
    adapter = _Adapter(name, given, callee, [frame, bars, excinfo], concrete=concrete)
    out, layout = adapter.out, Layout(given, ahead)
    flat = _kept(out, frame, ahead.result[1], layout.residual)
    flat += _seeds(out, frame, given, ahead, layout)
    for target in given.targets:
        if target is None:
            flat.append(NULL)
        elif target in given.active:
            flat.append(zero(given.type.parameters[target]))
        else:
            flat += [NULL, NULL]
            flat += [out.load(given.type.parameters[i], out.offset(frame, at)) for i, at in layout.arrays[target]]
    adapter.call(excinfo, flat)
    made = [leaf for leaf in callee.result[0] if isinstance(leaf.type, Float)]
    fields = bars_type([leaf.type for leaf in made])
    for i, leaf in enumerate(made):
        out.store(adapter.load(leaf), out.offset(bars, field_offset(fields, i)))
    out.ret(integer(0, I32))
    return adapter.function


def _kept(out: Builder, frame: Value, leaves: Sequence[Leaf], places: Sequence[int | None]) -> list[Value]:
    """Leaves as the frame holds them."""
    pairs = zip(leaves, places, strict=True)
    return [zero(leaf.type) if at is None else out.load(leaf.type, out.offset(frame, at)) for leaf, at in pairs]


def _seeds(out: Builder, frame: Value, given: Given, ahead: Callee, layout: Layout) -> list[Value]:
    """The cotangent of the result; floats are taken out of its shadow."""
    found = _kept(out, frame, ahead.result[2], layout.bar)
    if layout.result is None:
        return found
    shadow = out.load(PTR, out.offset(frame, layout.result))
    floats = iter([leaf for leaf in given.result if leaf.role == "float"])
    for i, leaf in enumerate(ahead.result[2]):
        if leaf.role == "float":
            where = out.offset(shadow, next(floats).offset)
            found[i] = out.load(leaf.type, where)
            out.store(zero(leaf.type), where)
    return found
