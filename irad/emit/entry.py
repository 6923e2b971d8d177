"""The entry functions: what Numba code calls to run a derivative.

An entry checks that its arguments do not overlap where its version was promised that, makes the memory that the caller
does not give (the shadow of the return value, shadows of workspaces, the frame), calls the derivative functions, seeds
and collects, hands returned arrays to the caller, and gives up everything else, whatever happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from irad.emit.arrays import Code, View, accumulate, extent, overlap
from irad.emit.body import OUT_OF_MEMORY, Subject, make_function
from irad.emit.runtime import ADOPT, HEAP, RELEASE
from irad.errors import Unsupported
from irad.ir.build import Builder
from irad.ir.model import Argument, Block, Constant, Function, Global, Value, integer
from irad.ir.types import I1, I8, I32, I64, PTR, VOID, Array, Float, FunctionType, Type, size_of
from irad.plan import Place, Range

ALIASED = 0x1AD1
NULL = Constant(PTR, "null")


class Leaf(Protocol):
    """One LLVM parameter of a value of a Numba type (see irad.frontend.abi)."""

    @property
    def path(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def type(self) -> Type: ...
    @property
    def offset(self) -> int: ...
    @property
    def dtype_kind(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def floats(self) -> tuple[tuple[int, Float], ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def readonly(self) -> bool: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Interface:
    """The calling convention of a kernel, from its Numba types.

    `arguments` holds the leaves of each argument, `activity` what is asked of it (as in `pipeline.Request`), `result`
    the leaves of the return value and `result_type` its layout in memory. `checks` are pairs of LLVM arguments (by
    position) that must not overlap. `value`: whether a reverse entry leaves the result. `counted`: whether the program
    counts references by itself, so that its result belongs to the caller already. `fresh`: positions
    of arguments whose shadows begin undefined (mode "reverse").
    """

    arguments: tuple[tuple[Leaf, ...], ...]
    activity: tuple[str, ...]
    result: tuple[Leaf, ...]
    result_type: Type
    checks: tuple[tuple[int, int], ...]
    value: bool = True
    counted: bool = False
    fresh: tuple[int, ...] = ()

    def flat(self) -> list[tuple[Leaf, str]]:
        """Every leaf with its argument's activity, in the order of the LLVM parameters after retptr and excinfo."""
        return [(leaf, what) for group, what in zip(self.arguments, self.activity, strict=True) for leaf in group]

    @property
    def has_shadow(self) -> bool:
        """Whether the return value has a derivative."""
        return any(leaf.role == "float" or holds_floats(leaf) for leaf in self.result)


def holds_floats(leaf: Leaf) -> bool:
    """Whether it is the data of an array whose elements are, or have in them, floats."""
    return bool(leaf.floats)


def has_shadow(leaf: Leaf, what: str) -> bool:
    """Whether a leaf of an argument with activity `what` is the data of an array that comes with a shadow."""
    return holds_floats(leaf) and has_derivative(leaf, what)


def has_derivative(leaf: Leaf, what: str) -> bool:
    """Whether a leaf of an argument with activity `what` comes with a derivative of its own or with a shadow."""
    if leaf.role == "float":
        return what in ("active", "duplicated")
    return holds_floats(leaf) and what in ("duplicated", "shadowed")


class Entry:
    """What the entries of all modes share."""

    def __init__(
        self, name: str, interface: Interface, subject: Subject, extra: list[Argument], concrete: bool
    ) -> None:
        self.interface, self.subject, self.concrete = interface, subject, concrete
        primal = [Argument(a.type, a.name) for a in subject.function.arguments]
        self.retptr: Value = primal[0]
        self.excinfo, self.flat = primal[1], primal[2:]
        self.function = make_function(name, [*primal, *extra], I32, linkage=())
        self.out = Builder(Block("entry"))
        self.function.blocks.append(self.out.block)
        self.code = Code(self.function, self.out)
        self.heap: Value = NULL
        self.supplied: Sequence[Value] = ()  # shadows that the caller gives

    # --- memory ---

    def open_heap(self) -> None:
        self.heap = self.zeroed(HEAP)

    def close_heap(self) -> None:
        if self.concrete:
            self.out.call(RELEASE, VOID, [self.heap])

    def zeroed(self, type: Type) -> Value:
        """Zeroed stack memory."""
        slot = self.out.alloca(type, align=16)
        self.fill_zero(slot, integer(size_of(type), I64))
        return slot

    def fill_zero(self, pointer: Value, size: Value) -> None:
        self.out.call("llvm.memset.p0.i64", VOID, [pointer, integer(0, I8), size, integer(0, I1)])

    def allocate(self, size: Value, failed: Block) -> Value:
        pointer = self.out.call("irad_alloc", PTR, [size, integer(64, I32)])
        fine = self.code.block("some")
        self.out.branch_if(self.out.compare("eq", pointer, NULL), failed, fine)
        self.out.block = fine
        return pointer

    # --- arguments ---

    def check(self) -> None:
        """Return ALIASED before anything has run, when arrays overlap that must not."""
        if not self.interface.checks:
            return
        found: Value = integer(0, I1)
        for one, other in self.interface.checks:
            crossing = overlap(self.out, self.argument_view(one), self.argument_view(other))
            found = self.out.binary("or", found, crossing)
        bad, fine = self.code.block("aliased"), self.code.block("apart")
        self.out.branch_if(found, bad, fine)
        self.out.block = bad
        self.out.ret(integer(ALIASED, I32))
        self.out.block = fine

    def argument_view(self, position: int) -> View:
        """The array whose data pointer is LLVM argument `position` (counted after retptr and excinfo)."""
        start = 0
        for group in self.interface.arguments:
            if position < start + len(group):
                leaf = group[position - start]
                return View(
                    self.flat[position],
                    [self.flat[start + i] for i in leaf.shape],
                    [self.flat[start + i] for i in leaf.strides],
                    leaf.itemsize,
                )
            start += len(group)
        raise IndexError(position)

    def shadows(self, given: Sequence[Value], result_shadow: Value, failed: Block) -> list[Value]:
        """A shadow for every pointer argument that needs one: the caller's, the return value's, or a fresh one for an
        array that is not differentiated but that active data passes through (a workspace)."""
        self.supplied = given
        supplied = iter(given)
        by_position: dict[int, Value] = {}
        for position, (leaf, what) in enumerate(self.interface.flat()):
            if has_shadow(leaf, what):
                by_position[position] = next(supplied)
        arguments = self.subject.function.arguments
        shadows: list[Value] = []
        self.workspaces: list[tuple[Value, Value]] = []
        for argument in self.subject.shadow_arguments:
            position = arguments.index(argument) - 2
            if position == -2:
                shadows.append(result_shadow)
            elif position in by_position:
                shadows.append(by_position[position])
            else:
                shadows.append(self.workspace(position, failed))
        return shadows

    def workspace(self, position: int, failed: Block) -> Value:
        leaf = self.interface.flat()[position][0] if position >= 0 else None
        if leaf is None or leaf.role != "data":
            what = f"{leaf.path}, which" if leaf is not None else "memory that"
            raise Unsupported(
                f"active data passes through {what} is not an array of the kernel",
                hint="keep active values in arrays of floats",
            )
        view = self.argument_view(position)
        low, high = extent(self.out, view)
        size = self.out.binary("sub", high, low)
        buffer = self.allocate(size, failed)
        self.fill_zero(buffer, size)
        self.workspaces.append((buffer, size))
        return self.out.offset(buffer, self.out.binary("sub", integer(0, I64), low))

    def fresh_shadows(self) -> Iterator[tuple[Value, Value, Range | None]]:
        """The shadows of arguments, their bytes, and where the augmented function will note what the reverse stores."""
        arguments, ranges = self.subject.function.arguments, self.subject.planned().ranges
        supplied, fresh = iter(self.supplied), self.interface.fresh
        flags = [i in fresh for i, group in enumerate(self.interface.arguments) for _ in group]
        for position, ((leaf, what), is_fresh) in enumerate(zip(self.interface.flat(), flags, strict=True)):
            if not has_shadow(leaf, what):
                continue
            shadow = next(supplied)
            if is_fresh:
                size = self.out.binary("mul", self.flat[position - 2], integer(leaf.itemsize, I64))
                yield shadow, size, ranges.get(arguments[position + 2])

    def clear(self, frame: Value) -> None:
        """Before the augmented function: zero the shadows, or say that nothing of them will be stored, which holds
        where the primal does not come to the loop in question."""
        for shadow, size, range in self.fresh_shadows():
            if range is None:
                self.fill_zero(shadow, size)
            else:
                for place in (range.low, range.high):
                    self.out.store(integer(0, I64), self.out.offset(frame, place.offset))

    def clear_outside(self, frame: Value) -> None:
        """After the augmented function: zero what the reverse will not store before it reads it."""
        for shadow, size, range in self.fresh_shadows():
            if range is not None:
                low, high = (self.loaded_end(frame, place, size) for place in (range.low, range.high))
                self.fill_zero(shadow, low)
                self.fill_zero(self.out.offset(shadow, high), self.out.binary("sub", size, high))

    def loaded_end(self, frame: Value, place: Place, size: Value) -> Value:
        """The end of a range, at most `size`: a primal that reads out of bounds must not make this write there."""
        end = self.out.load(I64, self.out.offset(frame, place.offset))
        bounded = self.out.call("llvm.smax.i64", I64, [end, integer(0, I64)])
        return self.out.call("llvm.smin.i64", I64, [bounded, size])

    # --- results ---

    def result_view(self, memory: Value, leaf: Leaf, data: Value | None = None) -> View:
        """An array of the return value that lies at `memory`; `data` replaces its data pointer."""
        leaves = self.interface.result
        pointer = data if data is not None else self.out.load(PTR, self.out.offset(memory, leaf.offset))
        shape = [self.out.load(I64, self.out.offset(self.retptr, leaves[i].offset)) for i in leaf.shape]
        strides = [self.out.load(I64, self.out.offset(self.retptr, leaves[i].offset)) for i in leaf.strides]
        return View(pointer, shape, strides, leaf.itemsize)

    def adopt(self, memory: Value) -> None:
        """Hand the arrays and strings of a return value to the caller."""
        if not self.concrete or self.interface.counted:
            return
        owners = [a for a, (leaf, _) in zip(self.flat, self.interface.flat(), strict=True) if is_meminfo(leaf)]
        for leaf in self.interface.result:
            if not is_meminfo(leaf):
                continue
            slot = self.out.offset(memory, leaf.offset)
            value = self.out.load(PTR, slot)
            foreign: Value = integer(0, I1)
            for owner in owners:
                foreign = self.out.binary("or", foreign, self.out.compare("eq", value, owner))
            self.out.call(ADOPT, VOID, [slot, foreign])

    # --- endings ---

    def end(self, status: Value, failed: Block) -> None:
        """After the primal ran: go on where it succeeded; the other block has ended."""
        good = self.out.succeeded(status)
        fine, bad, raised = self.code.block("succeeded"), self.code.block("failed"), self.code.block("raised")
        self.out.branch_if(good, fine, bad)
        self.out.block = bad
        self.out.branch_if(self.out.compare("eq", status, integer(OUT_OF_MEMORY, I32)), failed, raised)
        self.out.block = raised
        self.close_heap()
        self.out.ret(status)
        self.out.block = fine

    def out_of_memory(self, failed: Block) -> None:
        """Write the block that raises MemoryError."""
        if not any(failed in b.end.targets for b in self.function.blocks):
            return
        self.function.blocks.append(failed)
        self.out.block = failed
        self.out.store(Global("irad.memory_error"), self.excinfo)
        self.close_heap()
        self.out.ret(integer(1, I32))


def is_meminfo(leaf: Leaf) -> bool:
    return leaf.role == "opaque" and leaf.path.endswith(".meminfo")


# --- forward --------------------------------------------------------------------------------------------------------


def forward(
    name: str, interface: Interface, subject: Subject, tangent: str, *, concrete: bool
) -> tuple[Function, Value]:
    """`i32 name(retptr, excinfo, primal..., retdot, tangents...)`, in the parameter order of `forward_parameters`."""
    retdot = Argument(PTR, "retdot")
    dots: list[Argument] = []
    for position, (leaf, what) in enumerate(interface.flat()):
        if has_derivative(leaf, what):
            dots.append(Argument(leaf.type, f"dot.{position}"))
    entry = Entry(name, interface, subject, [], concrete)
    reorder(entry.function, [entry.retptr, retdot, entry.excinfo, *entry.flat, *dots])
    out = entry.out
    entry.open_heap()
    entry.check()
    failed = Block("out.of.memory")
    if interface.has_shadow:
        entry.fill_zero(retdot, integer(size_of(interface.result_type), I64))
    pointers = [d for d in dots if d.type == PTR]
    shadows = entry.shadows(pointers, retdot, failed)
    floats = dict(_float_leaves(interface, dots))
    values = [floats[subject.function.arguments.index(a) - 2] for a in subject.active_arguments]
    status = out.call(tangent, I32, [entry.retptr, entry.excinfo, *entry.flat, *shadows, *values])
    entry.end(status, failed)
    _finish_tangent(entry, retdot, failed)
    entry.adopt(entry.retptr)
    entry.adopt(retdot)
    entry.close_heap()
    out.ret(status)
    entry.out_of_memory(failed)
    return entry.function, entry.heap


def reorder(function: Function, arguments: Sequence[Value]) -> None:
    """Give a function other parameters."""
    arguments = [a for a in arguments if isinstance(a, Argument)]
    function.arguments = arguments
    function.type = FunctionType(function.type.result, tuple(a.type for a in arguments))


def _float_leaves(interface: Interface, dots: list[Argument]) -> list[tuple[int, Argument]]:
    rest = iter(dots)
    found: list[tuple[int, Argument]] = []
    for position, (leaf, what) in enumerate(interface.flat()):
        if has_derivative(leaf, what):
            dot = next(rest)
            if leaf.role == "float":
                found.append((position, dot))
    return found


def _finish_tangent(entry: Entry, retdot: Value, failed: Block) -> None:
    """Complete the tangent of the return value: integers and text as in the primal, arrays with memory of their own."""
    out = entry.out
    arrays = {_prefix(leaf) for leaf in entry.interface.result if leaf.role == "data"}
    for leaf in entry.interface.result:
        if leaf.role == "integer" or (leaf.role == "opaque" and _prefix(leaf) not in arrays):
            value = out.load(leaf.type, out.offset(entry.retptr, leaf.offset))
            out.store(value, out.offset(retdot, leaf.offset))
        elif leaf.role == "opaque" and not is_meminfo(leaf):
            out.store(NULL, out.offset(retdot, leaf.offset))
    for leaf in entry.interface.result:
        if leaf.role == "data":
            _own_array(entry, leaf, retdot, failed)


def _own_array(entry: Entry, leaf: Leaf, retdot: Value, failed: Block) -> None:
    """Where the tangent of a returned array is memory of somebody else (a view of an argument), or missing because the
    array is constant: make a copy, or zeros."""
    out = entry.out
    meta_slot = out.offset(retdot, _meminfo_of(entry.interface, leaf).offset)
    data_slot = out.offset(retdot, leaf.offset)
    foreign, done = entry.code.block("foreign"), entry.code.block("owned")
    out.branch_if(out.compare("eq", out.load(PTR, meta_slot), NULL), foreign, done)
    out.block = foreign
    low, high = extent(out, entry.result_view(entry.retptr, leaf))
    size = out.binary("sub", high, low)
    buffer = entry.allocate(size, failed)
    data = out.load(PTR, data_slot)
    copy, clear, placed = entry.code.block("copy"), entry.code.block("clear"), entry.code.block("placed")
    out.branch_if(out.compare("eq", data, NULL), clear, copy)
    out.block = copy
    out.call("llvm.memcpy.p0.p0.i64", VOID, [buffer, out.offset(data, low), size, integer(0, I1)])
    out.branch(placed)
    out.block = clear
    entry.fill_zero(buffer, size)
    out.branch(placed)
    out.block = placed
    out.store(buffer, meta_slot)
    out.store(out.offset(buffer, out.binary("sub", integer(0, I64), low)), data_slot)
    out.branch(done)
    out.block = done


def _prefix(leaf: Leaf) -> str:
    """What the paths of the parts of one array or string begin with."""
    return leaf.path.rpartition(".")[0]


def _meminfo_of(interface: Interface, data: Leaf) -> Leaf:
    return next(leaf for leaf in interface.result if leaf.path == f"{_prefix(data)}.meminfo")


# --- reverse --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seeds:
    """Parameters for the cotangent of the return value: a float each, and for arrays a whole flattened array."""

    arguments: list[Argument]

    @staticmethod
    def of(interface: Interface) -> Seeds:
        found: list[Argument] = []
        for n, leaf in enumerate(interface.result):
            if leaf.role == "float":
                found.append(Argument(leaf.type, f"seed.{n}"))
            elif holds_floats(leaf):
                words = ["meminfo", "parent", "nitems", "itemsize", "data"]
                words += [f"{w}{i}" for w in ("shape", "stride") for i in range(leaf.ndim)]
                types = [PTR, PTR, I64, I64, PTR, *[I64] * (2 * leaf.ndim)]
                found += [Argument(t, f"seed.{n}.{w}") for w, t in zip(words, types, strict=True)]
        return Seeds(found)

    def put(self, entry: Entry, shadow: Value) -> None:
        """Add the seeds to the shadow of the return value."""
        rest = iter(self.arguments)
        for leaf in entry.interface.result:
            if leaf.role == "float":
                entry.out.store(next(rest), entry.out.offset(shadow, leaf.offset))
            elif holds_floats(leaf):
                head = [next(rest) for _ in range(5)]
                shape = [next(rest) for _ in range(leaf.ndim)]
                strides = [next(rest) for _ in range(leaf.ndim)]
                self.put_array(entry, leaf, shadow, View(head[4], shape, strides, leaf.itemsize))

    def put_array(self, entry: Entry, leaf: Leaf, shadow: Value, seed: View) -> None:
        out = entry.out
        data = out.load(PTR, out.offset(shadow, leaf.offset))
        some, done = entry.code.block("seed"), entry.code.block("seeded")
        out.branch_if(out.compare("ne", data, NULL), some, done)  # a constant array has no shadow
        out.block = some
        accumulate(entry.code, seed, entry.result_view(shadow, leaf, data), leaf.floats)
        out.branch(done)
        out.block = done


def _shadow_parameters(interface: Interface) -> list[Argument]:
    return [
        Argument(PTR, f"shadow.{position}")
        for position, (leaf, what) in enumerate(interface.flat())
        if has_shadow(leaf, what)
    ]


def reverse(
    name: str, interface: Interface, subject: Subject, augmented: str, backward: str | None, *, concrete: bool
) -> tuple[Function, Value]:
    """`i32 name(retptr, excinfo, primal..., shadows..., seeds..., bars)`: primal and reverse in one call.

    Where `augmented` does both (see irad.emit.joint) there is no `backward`, and the seeds, all floats, come before it.
    A result that is not wanted goes to memory that nobody reads: what only it needs is not computed.
    """
    supplied, seeds, bars = _shadow_parameters(interface), Seeds.of(interface), Argument(PTR, "bars")
    entry = Entry(name, interface, subject, [*supplied, *seeds.arguments, bars], concrete)
    out = entry.out
    entry.open_heap()
    shadow = entry.zeroed(interface.result_type) if interface.has_shadow else NULL
    frame = out.alloca(Array(max(subject.planned().frame_size, 16), I8), align=16)
    result = entry.retptr if interface.value else out.alloca(interface.result_type, align=16)
    entry.check()
    failed = Block("out.of.memory")
    shadows = entry.shadows(supplied, shadow, failed)
    if interface.fresh:
        entry.clear(frame)
    given = [result, entry.excinfo, *entry.flat, *shadows, frame]
    if backward is None:
        seeds.put(entry, shadow)
        status = out.call(augmented, I32, [*given, bars])
        entry.end(status, failed)
    else:
        status = out.call(augmented, I32, given)
        entry.end(status, failed)
        if interface.fresh:
            entry.clear_outside(frame)
        seeds.put(entry, shadow)
        entry.end(out.call(backward, I32, [frame, bars, entry.excinfo]), failed)
    if interface.value:
        entry.adopt(entry.retptr)
    entry.close_heap()
    out.ret(status)
    entry.out_of_memory(failed)
    return entry.function, entry.heap


# --- split ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TapeLayout:
    """The block that lives from the augmented call to the release: heap list, workspaces, shadow of the result, its
    geometry (the shadow may not hold it: reversing what fills the result clears the shadow), frame."""

    workspaces: int
    result: int
    frame: int

    def at_workspace(self, index: int) -> int:
        return size_of(HEAP) + 16 * index

    @property
    def at_result(self) -> int:
        return _rounded(size_of(HEAP) + 16 * self.workspaces)

    @property
    def at_geometry(self) -> int:
        return self.at_result + _rounded(self.result)

    @property
    def at_frame(self) -> int:
        return self.at_geometry + _rounded(self.result)

    @property
    def size(self) -> int:
        return self.at_frame + _rounded(self.frame)


def _rounded(size: int) -> int:
    return (size + 63) // 64 * 64


def _tape_layout(interface: Interface, subject: Subject) -> TapeLayout:
    count = sum(argument is not subject.function.arguments[0] for argument in subject.shadow_arguments)
    result = size_of(interface.result_type) if interface.has_shadow else 0
    return TapeLayout(count, result, subject.planned().frame_size)


def split_augmented(
    name: str, interface: Interface, subject: Subject, augmented: str, *, concrete: bool
) -> tuple[Function, Value]:
    """`i32 name(retptr, excinfo, tape_out, primal..., shadows...)`: runs the primal and leaves a tape."""
    given, tape_out = _shadow_parameters(interface), Argument(PTR, "tape_out")
    entry = Entry(name, interface, subject, [], concrete)
    reorder(entry.function, [entry.retptr, entry.excinfo, tape_out, *entry.flat, *given])
    layout = _tape_layout(interface, subject)
    out = entry.out
    entry.open_heap()
    out.store(NULL, tape_out)
    entry.check()
    failed = Block("out.of.memory")
    tape = entry.allocate(integer(layout.size, I64), failed)
    entry.fill_zero(tape, integer(layout.size, I64))
    shadow = out.offset(tape, layout.at_result) if interface.has_shadow else NULL
    shadows = entry.shadows(given, shadow, failed)
    for index, (buffer, size) in enumerate(entry.workspaces):
        where = out.offset(tape, layout.at_workspace(index))
        out.store(buffer, where)
        out.store(size, out.offset(where, 8))
    frame = out.offset(tape, layout.at_frame)
    status = out.call(augmented, I32, [entry.retptr, entry.excinfo, *entry.flat, *shadows, frame])
    entry.end(status, failed)
    entry.adopt(entry.retptr)
    _copy(out, tape, entry.heap, size_of(HEAP))
    for leaf in interface.result:
        if holds_floats(leaf):
            _keep_geometry(entry, leaf, tape, layout)
    out.store(tape, tape_out)
    out.ret(status)
    entry.out_of_memory(failed)
    return entry.function, entry.heap


def _copy(out: Builder, to: Value, source: Value, size: int) -> None:
    out.call("llvm.memcpy.p0.p0.i64", VOID, [to, source, integer(size, I64), integer(0, I1)])


def _keep_geometry(entry: Entry, leaf: Leaf, tape: Value, layout: TapeLayout) -> None:
    """Shape and strides of a returned array go onto the tape: the pullback reads them there."""
    out = entry.out
    for i in (*leaf.shape, *leaf.strides):
        offset = entry.interface.result[i].offset
        value = out.load(I64, out.offset(entry.retptr, offset))
        out.store(value, out.offset(tape, layout.at_geometry + offset))


def split_pullback(
    name: str, interface: Interface, subject: Subject, backward: str, *, concrete: bool
) -> tuple[Function, Value]:
    """`i32 name(excinfo, tape, primal..., shadows..., seeds..., bars)`: may be called several times for one tape."""
    given, seeds = _shadow_parameters(interface), Seeds.of(interface)
    tape, bars = Argument(PTR, "tape"), Argument(PTR, "bars")
    entry = Entry(name, interface, subject, [], concrete)
    reorder(entry.function, [entry.excinfo, tape, *entry.flat, *given, *seeds.arguments, bars])
    layout = _tape_layout(interface, subject)
    out = entry.out
    shadow = out.offset(tape, layout.at_result)
    entry.retptr = out.offset(tape, layout.at_geometry)
    for index in range(layout.workspaces):
        where = out.offset(tape, layout.at_workspace(index))
        entry.fill_zero(out.load(PTR, where), out.load(I64, out.offset(where, 8)))
    seeds.put(entry, shadow)
    out.ret(out.call(backward, I32, [out.offset(tape, layout.at_frame), bars, entry.excinfo]))
    return entry.function, tape


def split_release(name: str, *, concrete: bool) -> tuple[Function, Value]:
    """`void name(tape)`: gives up the tape and everything that it refers to."""
    tape = Argument(PTR, "tape")
    function = make_function(name, [tape], VOID, linkage=())
    out = Builder(Block("entry"))
    function.blocks.append(out.block)
    heap = out.alloca(HEAP, align=16)
    _copy(out, heap, tape, size_of(HEAP))
    if concrete:
        out.call(RELEASE, VOID, [heap])
    out.ret()
    return function, heap
