"""Which memory a pointer may point to (a field-insensitive, flow-insensitive points-to analysis, after Andersen 1994).

An object is memory known by where it comes from: an argument, an allocation, a stack slot, a global, or `EXTERNAL`,
all memory reached through a pointer that was loaded from an argument's memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from irad.analysis.fields import Span, float_spans, stored_fields
from irad.analysis.fixpoint import closure, fixpoint
from irad.ir.lines import Lines
from irad.ir.model import (
    Alloca,
    Argument,
    AtomicReadWrite,
    Call,
    Cast,
    CompareExchange,
    Constant,
    ConstantExpression,
    ExtractValue,
    Function,
    Gep,
    Global,
    InsertValue,
    Instruction,
    Load,
    Phi,
    Return,
    Select,
    Store,
    Unary,
    Value,
)
from irad.ir.types import PTR, Array, Float, Ptr, Struct, Type
from irad.rules import calls
from irad.rules.calls import Whole


@dataclass(frozen=True)
class Object:
    """Memory by its origin; `source` is the argument, the allocating instruction, or the global's name.

    site: of memory that comes from a call of a function of the program, the allocation in there.
    """

    kind: str  # argument, heap, stack, global, external, address, exception, opaque
    source: Argument | Instruction | str
    site: Site | None = None

    def __str__(self) -> str:
        if isinstance(self.source, str):
            return f"{self.kind} {self.source}".rstrip()
        return f"{self.kind} %{self.source.name}{self.site or ''}"

    def describe(self, lines: Lines) -> str:
        """Like `str`, with the parameter, or the line of Python, that it comes from."""
        return str(self) if isinstance(self.source, str) else f"{self.kind} {lines.label(self.source)}{self.site or ''}"

    @property
    def allocator(self) -> str:
        """The function that made the memory; empty where none did."""
        if self.site is not None:
            return self.site.allocator
        return self.source.callee_name if isinstance(self.source, Call) else ""


@dataclass(frozen=True)
class Site:
    """An allocation of a function of the program, as its callers know it."""

    function: str
    name: str
    allocator: str

    def __str__(self) -> str:
        return f" of {self.function}: %{self.name}"


EXTERNAL = Object("external", "")
ADDRESS = Object("address", "")  # memory at an address that was computed or is a literal
EXCEPTION = Object("exception", "")  # what describes an exception; code reads it when the call has ended
OPAQUE = Object("opaque", "")  # what is behind a pointer that is handed on and compared, but never followed


Origin = int | Site | Object
"""Memory as a function's callers know it: what a parameter (by position) points to, what the function allocates, or
what is the same everywhere: a global, an address. EXTERNAL is all that is reached from what the parameters point to."""


@dataclass(frozen=True)
class Effect:
    """What a call of a function does with pointers: to what it stores some `into` which memory, or `returns` them.

    floats: where it reads or writes floats in structures that it is given (irad.analysis.fields.Spans).
    """

    into: Mapping[Origin, frozenset[Origin]]
    returns: frozenset[Origin]
    floats: Mapping[int, frozenset[Span]]


@dataclass(frozen=True)
class Objects:
    """`of[p]` are the objects that pointer (or aggregate of pointers) `p` may point to; `contents[o]` those that
    pointers stored in `o` may point to. Arguments in `apart` overlap nothing else. `OPAQUE` stands alone or not at all:
    beside other objects (in an array's structure) it would say nothing, for it is not followed. `stored` is what the
    function itself puts into `contents`."""

    of: dict[Value, frozenset[Object]]
    contents: dict[Object, frozenset[Object]]
    apart: frozenset[Argument]
    wholes: Mapping[str, Whole] = field(default_factory=dict[str, Whole])
    stored: Mapping[Object, frozenset[Object]] = field(default_factory=dict[Object, frozenset[Object]])
    effects: Mapping[str, Effect] = field(default_factory=dict[str, Effect])

    def whole(self, call: Call) -> Whole | None:
        """What is known of a call of a whole operation; None of any other call."""
        return self.wholes.get(call.callee_name)

    def left(self, call: Call) -> dict[Object, frozenset[Float]]:
        """Where a call of a whole operation leaves floats, and of which types."""
        whole = self.wholes[call.callee_name]
        found = {o: whole.values for o in self.pointed(call.operands[0]) if whole.values}
        return found | ({Object("heap", call): whole.arrays} if whole.arrays else {})

    def pointed(self, pointer: Value) -> frozenset[Object]:
        """The objects of a pointer; constants included."""
        known = self.of.get(pointer)
        return _constant_objects(pointer) if known is None else known

    def is_opaque(self, pointer: Value) -> bool:
        """Whether nothing lies behind `pointer` (or an aggregate) that code follows it to."""
        return self.pointed(pointer) == frozenset({OPAQUE})

    def may_overlap(self, a: Object, b: Object) -> bool:
        """Whether two objects may share bytes."""
        if a == b:
            return True
        return self._open(a) and self._open(b)

    def _open(self, o: Object) -> bool:
        """Memory that the caller made and that may be the same as other memory of the caller."""
        if o.kind == "argument":
            return o.source not in self.apart
        return o.kind in ("external", "address")

    def overlapping(self, objects: Iterable[Object], universe: Iterable[Object]) -> set[Object]:
        """Members of `universe` that may share bytes with one of `objects`."""
        mine = list(objects)
        return {o for o in universe if any(self.may_overlap(o, m) for m in mine)}

    def reachable(self, pointers: Iterable[Value]) -> set[Object]:
        """Objects that code given `pointers` can touch."""
        start = {o for p in pointers for o in self.pointed(p)} - {OPAQUE}
        return closure(start, lambda o: self.contents.get(o, frozenset()))

    @property
    def all(self) -> set[Object]:
        found = {o for objects in self.of.values() for o in objects}
        return found | {o for objects in self.contents.values() for o in objects} | set(self.contents)

    def __str__(self) -> str:
        lines = [
            f"%{p.name}: {', '.join(sorted(map(str, objects)))}"
            for p, objects in self.of.items()
            if isinstance(p, (Argument, Instruction)) and objects
        ]
        return "\n".join(lines)


def holds_pointers(type: Type) -> bool:
    """Whether a value of `type` is a pointer or an aggregate with one."""
    match type:
        case Ptr():
            return True
        case Struct(fields):
            return any(holds_pointers(f) for f in fields)
        case Array(_, element):
            return holds_pointers(element)
        case _:
            return False


def _constant_objects(value: Value) -> frozenset[Object]:
    match value:
        case Global(name):
            return frozenset({Object("global", name)})
        case ConstantExpression(op="getelementptr" | "bitcast" | "addrspacecast", operands=operands):
            return _constant_objects(operands[0])
        case ConstantExpression(op="inttoptr"):
            return frozenset({ADDRESS})
        case Constant(literal=tuple(parts)):
            return frozenset(o for part in parts for o in _constant_objects(part))
        case _:
            return frozenset()


class _Solver:
    def __init__(
        self,
        function: Function,
        numbers: frozenset[Argument],
        opaque: frozenset[Argument],
        wholes: Mapping[str, Whole],
        effects: Mapping[str, Effect],
    ) -> None:
        self.wholes, self.effects = wholes, effects
        self.of: dict[Value, set[Object]] = defaultdict(set)
        self.contents: dict[Object, set[Object]] = defaultdict(set)
        self.stored: dict[Object, set[Object]] = defaultdict(set)
        self.users: dict[Value, list[Instruction]] = defaultdict(list)
        self.readers: dict[Object, set[Instruction]] = defaultdict(set)
        for instruction in function.instructions:
            for operand in instruction.operands:
                if isinstance(operand, (Argument, Instruction)):
                    self.users[operand].append(instruction)
        for argument in function.arguments:
            if argument in opaque:
                self.of[argument].add(OPAQUE)
            elif holds_pointers(argument.type):
                own = Object("argument", argument)
                self.of[argument].add(own)
                if argument not in numbers:
                    self.contents[own].add(EXTERNAL)
        self.fields = stored_fields(function)
        self.shown: dict[Store, list[Load]] = defaultdict(list)
        for load, stores in self.fields.items():
            for store in stores:
                self.shown[store].append(load)
        self.numbers = {Object("argument", argument) for argument in numbers}
        # copies of slices, in programs that keep Numba's runtime, end where they are made; exceptions do not
        self.frees = any(isinstance(i, Call) and i.callee_name == "NRT_Free" for i in function.instructions)
        # an integer may be the address of whatever an integer was made of
        self.exposed: set[Object] = set()
        self.made: list[Instruction] = [i for i in function.instructions if isinstance(i, Cast) and i.op == "inttoptr"]
        self.contents[EXTERNAL].add(EXTERNAL)
        self.contents[ADDRESS].add(ADDRESS)

    def get(self, value: Value) -> set[Object]:
        return self.of[value] if isinstance(value, (Argument, Instruction)) else set(_constant_objects(value))

    def flow_into(self, value: Instruction, objects: Iterable[Object]) -> list[Instruction]:
        """Grow the set of `value`; its users are to be visited again when it grew."""
        known = self.of[value]
        before = len(known)
        known.update(objects)
        return self.users[value] if len(known) > before else []

    def put(self, where: Iterable[Object], what: Iterable[Object]) -> list[Instruction]:
        """Pointers to `what` are stored in each of `where`; its readers are to be visited again."""
        again: list[Instruction] = []
        new = set(what)
        for o in where:
            self.stored[o] |= new
            if not new <= self.contents[o]:
                self.contents[o] |= new
                again += self.readers[o]
        return again

    def holds_numbers(self, o: Object) -> bool:
        """Whether other functions put no pointers into `o`."""
        return o in self.numbers or o.allocator in calls.ARRAYS

    def step(self, instruction: Instruction) -> list[Instruction]:
        match instruction:
            case Alloca():
                return self.flow_into(instruction, {Object("stack", instruction)})
            case Gep() | Phi() | Unary(op="freeze") | InsertValue() | ExtractValue():
                if not holds_pointers(instruction.type):
                    return []
                return self.flow_into(instruction, {o for v in instruction.operands for o in self.get(v)})
            case Select() if holds_pointers(instruction.type):
                return self.flow_into(instruction, {o for v in instruction.operands[1:] for o in self.get(v)})
            case Cast(op="ptrtoint" | "ptrtoaddr"):
                self.exposed |= self.get(instruction.operands[0])
                return self.made
            case Cast(op="inttoptr"):
                return self.flow_into(instruction, {ADDRESS} | self.exposed)
            case Cast(op="bitcast" | "addrspacecast") if holds_pointers(instruction.type):
                return self.flow_into(instruction, self.get(instruction.operands[0]))
            case Load() if holds_pointers(instruction.type):
                return self.load(instruction)
            case Store() if holds_pointers(instruction.value.type):
                again = self.put(self.get(instruction.pointer), self.get(instruction.value))
                return [*again, *self.shown.get(instruction, ())]
            case Call():
                return self.call(instruction)
            case AtomicReadWrite() | CompareExchange():
                return []
            case _:
                return []

    def load(self, load: Load) -> list[Instruction]:
        if load in self.fields:
            return self.flow_into(load, {o for store in self.fields[load] for o in self.get(store.value)})
        found: set[Object] = set()
        for o in self.get(load.pointer):
            self.readers[o].add(load)
            found |= self.contents[o] or ({ADDRESS} if o.kind == "global" else set())
        return self.flow_into(load, found)

    def call(self, call: Call) -> list[Instruction]:
        name = call.callee_name
        if name in calls.ALLOCATORS:
            return self.flow_into(call, {Object("heap", call)})
        if name == calls.RAISED and not self.frees:
            return self.flow_into(call, {EXCEPTION})
        if name in calls.COPIES:
            source = {c for o in self.get(call.operands[1]) for c in self.contents[o]}
            for o in self.get(call.operands[1]):
                self.readers[o].add(call)
            return self.put(self.get(call.operands[0]), source)
        if name.startswith("llvm.") or calls.is_inactive(name) or name in calls.SHAPERS:
            return []
        if name in self.wholes:
            fresh = {Object("heap", call)} if self.wholes[name].fresh else set[Object]()
            return self.put(self.get(call.operands[0]), fresh)
        given = {o for v in call.operands for o in self.get(v)}
        reach = closure(given, lambda o: self.contents[o])
        for o in reach:
            self.readers[o].add(call)
        if name in self.effects:
            return self.affect(call, self.effects[name], given)
        again = self.put((o for o in reach if not self.holds_numbers(o)), reach)
        if holds_pointers(call.type):
            again = [*again, *self.flow_into(call, reach | {EXTERNAL})]
        return again

    def affect(self, call: Call, effect: Effect, given: set[Object]) -> list[Instruction]:
        """A call of a function whose effect is known."""
        behind = closure({c for o in given for c in self.contents[o]}, lambda o: self.contents[o])

        def here(origins: Iterable[Origin]) -> set[Object]:
            found: set[Object] = set()
            for origin in origins:
                match origin:
                    case int():
                        found |= self.get(call.operands[origin])
                    case Site():
                        found.add(Object("heap", call, origin))
                    case _:
                        found |= behind if origin == EXTERNAL else {origin}
            return found

        again = [user for where, what in effect.into.items() for user in self.put(here([where]), here(what))]
        return [*again, *self.flow_into(call, here(effect.returns))] if holds_pointers(call.type) else again


def effects_of(functions: Iterable[Function], wholes: Mapping[str, Whole]) -> dict[str, Effect]:
    """What calls of the functions of a program do with pointers."""
    program = {function.name: function for function in functions}
    callers: dict[str, set[str]] = defaultdict(set)
    for function in program.values():
        for call in function.instructions:
            if isinstance(call, Call) and call.callee_name in program:
                callers[call.callee_name].add(function.name)
    found = {  # nothing at first, which grows
        name: Effect({}, frozenset(), {i: frozenset() for i, a in enumerate(function.arguments) if a.type == PTR})
        for name, function in program.items()
    }

    def step(name: str) -> Iterable[str]:
        pointers = objects(program[name], (), wholes=wholes, effects=found)
        effect = _effect(program[name], pointers, float_spans(program[name], spans_of(found)))
        changed = effect != found[name]
        found[name] = effect
        return callers[name] if changed else ()

    fixpoint(program if callers else (), step)
    return found


def spans_of(effects: Mapping[str, Effect]) -> dict[str, Mapping[int, frozenset[Span]]]:
    """Where each function of a program reads or writes floats in the structures that it is given."""
    return {name: effect.floats for name, effect in effects.items()}


def site(o: Object, function: str) -> Site:
    """What memory that `function` allocates is for its callers."""
    assert isinstance(o.source, Instruction)
    return o.site or Site(function, o.source.name, o.allocator)


def _effect(function: Function, pointers: Objects, floats: Mapping[int, frozenset[Span]]) -> Effect:
    position = {argument: i for i, argument in enumerate(function.arguments)}

    def known(o: Object) -> Origin | None:
        match o:
            case Object(kind="argument", source=Argument() as argument):
                return position[argument]
            case Object(kind="heap"):
                return site(o, function.name)
            case _:
                return None if o.kind in ("stack", "opaque") else o  # which end with the function, or are not followed

    def origins(held: Iterable[Object]) -> frozenset[Origin]:
        return frozenset(origin for o in held if (origin := known(o)) is not None)

    into: dict[Origin, frozenset[Origin]] = {}
    for o, held in pointers.stored.items():
        if (where := known(o)) is not None and (what := origins(held)):
            into[where] = into.get(where, frozenset()) | what
    ends = [b.end for b in function.blocks if isinstance(b.end, Return)]
    return Effect(into, origins(o for end in ends for v in end.operands for o in pointers.pointed(v)), floats)


def objects(
    function: Function,
    apart: Iterable[Argument],
    numbers: Iterable[Argument] = (),
    opaque: Iterable[Argument] = (),
    wholes: Mapping[str, Whole] | None = None,
    effects: Mapping[str, Effect] | None = None,
) -> Objects:
    """Points-to sets of every pointer of `function`.

    Arguments in `apart` are promised to overlap no other memory, those in `numbers` to point to no pointers. Those in
    `opaque` are never followed: an access by way of them is refused as one of unknown origin. `wholes` are the whole
    operations that it calls, `effects` those of other functions that it calls; unknown functions may do anything.
    """
    wholes = wholes or {}
    solver = _Solver(function, frozenset(numbers), frozenset(opaque), wholes, effects or {})
    fixpoint(function.instructions, solver.step)
    return Objects(
        of={v: frozenset(s - {OPAQUE} or s) for v, s in solver.of.items()},
        contents={o: frozenset(s - {OPAQUE}) for o, s in solver.contents.items()},
        apart=frozenset(apart),
        wholes=wholes,
        stored={o: frozenset(s - {OPAQUE}) for o, s in solver.stored.items()},
        effects=effects or {},
    )
