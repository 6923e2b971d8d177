"""From a kernel to its derivative: each arrow of the data flow is one call here, and each stage's result prints."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from irad import llvm
from irad.analysis.accumulation import Accumulation
from irad.analysis.activity import Activity, Wanted, activity
from irad.analysis.aggregates import split_stores
from irad.analysis.canonical import Canonical, canonical, single_return
from irad.analysis.errors import success
from irad.analysis.flow import Flow, flow
from irad.analysis.joint import Joint, joint
from irad.analysis.kinds import Kinds, Parameters, kinds, negations
from irad.analysis.memory import Memory, memory
from irad.analysis.needs import Needs, needs
from irad.analysis.objects import Effect, Object, Objects, Site, effects_of, objects
from irad.analysis.offsets import Offsets
from irad.analysis.parameters import parameters
from irad.analysis.records import Element, Layout
from irad.analysis.reversal import Reversal, reversal
from irad.analysis.scratch import scratch
from irad.analysis.speculation import speculated
from irad.emit import augment, entry, forward, reverse, vectors
from irad.emit.body import Subject
from irad.emit.joint import together
from irad.emit.module import assemble
from irad.emit.runtime import allocating, concretize, without_calls
from irad.emit.scopes import Scopes
from irad.emit.whole import swept
from irad.errors import IradError, Place, Unsupported
from irad.frontend import abi, layout, whole
from irad.frontend.lower import Lowered, lower
from irad.frontend.operations import Derived, completed
from irad.ir.check import check
from irad.ir.lines import Lines, blame
from irad.ir.model import Argument, Call, Constant, Function, Instruction, Load, Module, Value
from irad.ir.read import read
from irad.ir.types import PTR, Float, FunctionType
from irad.ir.write import write
from irad.plan import Plan, plan
from irad.program import argument_leaves, may_approximate, normalized, place_of_kernel
from irad.promise import Tape, Taped, saved, taped
from irad.rules.calls import is_whole

ADJOINT_FLAGS = ("reassoc", "nsz", "contract")


@dataclass(frozen=True)
class Request:
    """What is asked for: the derivative of `dispatcher` for argument types `argtypes` (Numba types).

    mode: "forward", "reverse" (primal and reverse in one call) or "split" (augmented call and pullback).
    activity, per argument: "const"; "active" (floats, and tuples of them; reverse); "duplicated" (arrays, and tuples of
    arrays and floats, have shadows; in forward mode floats have tangents); "shadowed" (only the arrays have).
    aliased: whether array arguments may overlap. strict: no reassociation or contraction in adjoint sums.
    value: whether the result is wanted too (mode "reverse"); where it is not, its memory is not filled.
    fresh: positions of arguments whose shadows begin undefined, and are filled (mode "reverse"; contiguous arrays, not
    `aliased`); to what others hold adjoints are added.
    joint: whether a loop may be reversed while it runs (mode "reverse").
    """

    dispatcher: Any
    argtypes: tuple[Any, ...]
    mode: str
    activity: tuple[str, ...]
    aliased: bool = False
    strict: bool = False
    value: bool = True
    fresh: tuple[int, ...] = ()
    joint: bool = True


@dataclass(frozen=True)
class Key:
    """A derivative that one function of the module owes.

    Positions of arguments: `active` ones, those with a shadow, those that point to memory without pointers, and
    pointers that are handed on without being followed (`Objects`); `passing`, of a whole operation, as in
    irad.analysis.memory.
    """

    function: str
    active: tuple[int, ...]
    shadowed: tuple[int, ...]
    numbers: tuple[int, ...]
    opaque: tuple[int, ...]
    passing: tuple[int, ...] = ()


@dataclass
class Analysed:
    """One function with all facts about it, in the order in which they are found."""

    key: Key
    name: str
    function: Function
    flow: Flow
    objects: Objects
    kinds: Kinds
    activity: Activity
    reversal: Reversal
    canonical: Canonical
    memory: Memory
    needs: Needs | None
    plan: Plan | None
    guarded: frozenset[Instruction]
    wanted: Wanted
    callees: dict[Call, Key] = field(default_factory=dict[Call, Key])

    def subject(self, scopes: Scopes | None = None) -> Subject:
        return Subject(
            self.name,
            self.canonical,
            self.objects,
            self.kinds,
            self.activity,
            self.memory,
            self.guarded,
            self.wanted,
            self.plan,
            scopes,
        )


class Derivation:
    """All stages for one request."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.lowered: Lowered = lower(request.dispatcher, request.argtypes)
        self.result_type = abi.result_type(self.lowered.signature.return_type)
        self.leaves = argument_leaves(self.lowered)
        try:
            self.result = abi.leaves(self.result_type, "return")
            self.text = normalized(self.lowered, self.leaves)
            self.refuse_counted_results()
        except IradError as error:
            raise error.at(place_of_kernel(self.lowered)) from None
        self.functions: dict[Key, Analysed] = {}
        self.operations: dict[Key, Derived] = {}
        self.lines: dict[Key, Lines] = {}
        self.analyse_all()

    def refuse_counted_results(self) -> None:
        """Arrays of a program that counts references are not ours to give away."""
        if self.counts_references and any(leaf.role == "data" for leaf in self.result):
            raise Unsupported(
                "the kernel returns an array, and also has memory that Numba counts (a dictionary of text)",
                hint="write into an array that is an argument; use numbers as keys of dictionaries",
            )

    @property
    def counts_references(self) -> bool:
        """Whether the program needs more of Numba's runtime than arrays, and keeps its calls."""
        return "@NRT_MemInfo_alloc" in self.text

    # --- analysis ---

    @property
    def mode(self) -> str:
        return self.request.mode

    @cached_property
    def root(self) -> Key:
        """The derivative that the entry calls."""
        active: list[int] = []
        shadowed: list[int] = []
        if any(leaf.role == "float" or entry.holds_floats(leaf) for leaf in self.result):
            shadowed.append(0)
        for position, (leaf, what) in enumerate(self.flat(), 2):
            if entry.has_derivative(leaf, what):
                (active if leaf.role == "float" else shadowed).append(position)
        roles = [(position, leaf.role) for position, (leaf, _) in enumerate(self.flat(), 2)]
        numbers, opaque = (tuple(p for p, role in roles if role == wanted) for wanted in ("data", "opaque"))
        return Key(self.lowered.name, tuple(active), tuple(shadowed), numbers, opaque)

    def flat(self) -> list[tuple[abi.Leaf, str]]:
        return [(leaf, what) for group, what in zip(self.leaves, self.request.activity, strict=True) for leaf in group]

    def analyse_all(self) -> None:
        """The root, and every derivative that it needs of other functions."""
        todo = [self.root]
        while todo:
            key = todo.pop()
            if key not in self.functions:
                self.functions[key] = analysed = self.analyse(key)
                for call, callee in analysed.callees.items():
                    if is_whole(callee.function):
                        self.derive_whole(call, callee)
                    else:
                        todo.append(callee)

    def derive_whole(self, call: Call, key: Key) -> None:
        """The derivative functions of a whole operation."""
        if key in self.operations:
            return
        try:
            self.operations[key] = Derived(
                key.function,
                FunctionType(call.type, tuple(v.type for v in call.operands)),
                f"irad.whole.{len(self.operations)}",
                active=key.active,
                shadowed=key.shadowed,
                passing=key.passing,
                forward=self.mode == "forward",
            )
        except IradError as error:
            raise error.at(self.place_of(blame(error, call))) from None

    def analyse(self, key: Key) -> Analysed:
        try:
            return self._analyse(key)
        except IradError as error:
            raise error.at(self.place_of(error, key)) from None

    def _analyse(self, key: Key) -> Analysed:
        module = read(self.text)
        defined = frozenset(n for n, f in module.functions.items() if not f.is_declaration or is_whole(n))
        function = module.functions[key.function]
        self.lines[key] = Lines(module, self.lowered.dispatcher.py_func.__code__.co_filename)
        is_root = key == self.root
        backward = self.mode != "forward"
        single_return(function)
        split_stores(function)
        pointers, distances, held = self.contents(function, key, defined)
        facts = flow(function, success(function))
        wanted = self.wanted(function, key)
        active = activity(function, facts, pointers, distances, held, wanted, defined, is_root=is_root)
        short = scratch(function, facts)
        stack = [o for o in _all_objects(function, pointers) if o.kind == "stack"]
        stable = memory(
            function,
            facts,
            pointers,
            split=self.mode == "split" or not is_root,
            freed=[*stack, *(Object("heap", call) for call in short.reused)],
        )
        back = reversal(facts, active, pointers) if backward else Reversal({}, [])
        guarded = speculated(facts, active)
        canon = canonical(function, module, facts, pointers, active, back, short)
        if not is_root and len(canon.shadow_arguments) > len(key.shadowed):
            error = Unsupported(
                "a function that is not inlined mixes constant and active arrays",
                hint="mark it inline='always', or pass all its arrays as active",
            )
            raise blame(error, function)
        stable = _with_shadows(stable, canon)
        needed = needs(canon, pointers, held, active) if backward else None
        summed = Accumulation(canon.flow, pointers, held, active, canon.scratch)
        fresh = self.fresh(function) if is_root else []
        at_once = self.joint(canon, needed, summed) if is_root and needed is not None else None
        planned = plan(canon, stable, needed, summed, fresh, at_once) if needed is not None else None
        name = f"irad.{_short(key.function)}.{len(self.functions)}"
        result = Analysed(
            key,
            name,
            function,
            canon.flow,
            pointers,
            held,
            active,
            back,
            canon,
            stable,
            needed,
            planned,
            guarded,
            wanted,
        )
        for call in active.calls:
            result.callees[call] = _callee(call, canon, active, pointers, stable)
        return result

    def contents(self, function: Function, key: Key, defined: frozenset[str]) -> tuple[Objects, Offsets, Kinds]:
        """Where the pointers of `function` point to, and what lies there."""
        is_root = key == self.root
        numbers, opaque = ([function.arguments[i] for i in positions] for positions in (key.numbers, key.opaque))
        wholes = {name: whole.operation(name).left for name in defined if is_whole(name)}
        floats, effects = self.program
        pointers = objects(function, self.apart(function, is_root), numbers, opaque, wholes, effects)
        distances = Offsets(function, pointers)
        own = floats.get(key.function, {})
        seeds = {function.arguments[i]: types for i, types in own.items() if isinstance(i, int)}
        layouts = self.record_arrays(function) if is_root else {}
        held = kinds(function, pointers, distances, seeds, layouts, floats)
        if negations(function, held):
            held = kinds(function, pointers, distances, seeds, layouts, floats)
        return pointers, distances, held

    def fresh(self, function: Function) -> list[Argument]:
        """Arguments whose shadows begin undefined. A returned array may be one of them: its seed must not be lost."""
        if any(leaf.role == "data" for leaf in self.result):
            return []
        flags = [i in self.request.fresh for i, group in enumerate(self.leaves) for _ in group]
        found = zip(function.arguments[2:], self.flat(), flags, strict=True)
        return [a for a, (leaf, what), fresh in found if fresh and entry.has_shadow(leaf, what)]

    def joint(self, canon: Canonical, needed: Needs, summed: Accumulation) -> Joint | None:
        """The loop that is reversed while it runs. The seed of a returned array comes too late for that."""
        request, arrays = self.request, any(leaf.role == "data" for leaf in self.result)
        if arrays or request.strict or not request.joint or self.mode != "reverse":
            return None
        groups = enumerate(zip(self.leaves, request.activity, strict=True))
        shadowed = {i for i, (group, what) in groups for leaf in group if entry.has_shadow(leaf, what)}
        return joint(canon, needed, summed, ours=shadowed <= set(request.fresh))

    def apart(self, function: Function, is_root: bool) -> list[Argument]:
        """Pointer arguments that overlap no other memory."""
        if not is_root:
            return list(filter(_is_noalias, function.arguments))
        roles = ["data", "data", *(leaf.role for leaf, _ in self.flat())]
        return [
            a
            for i, (a, role) in enumerate(zip(function.arguments, roles, strict=True))
            if i < 2 or (role == "data" and (_is_noalias(a) or not self.request.aliased))
        ]

    @cached_property
    def program(self) -> tuple[Parameters, Mapping[str, Effect]]:
        """What is known of the functions of the program: the floats in the memory that they are given and make, and
        what they do with pointers."""
        module = read(self.text)
        wholes = [name for name in module.functions if is_whole(name)]
        root = module.functions[self.lowered.name]
        known = self.float_arrays(root)
        given: dict[str, dict[int | Site, frozenset[Float]]] = {
            name: dict(whole.taken(name).items()) for name in wholes
        }
        given[root.name] = {i: known[a] for i, a in enumerate(root.arguments) if a in known}
        defined = [f for f in module.functions.values() if not f.is_declaration and not is_whole(f.name)]
        left = {name: whole.operation(name).left for name in wholes}
        effects = effects_of(defined, left)
        return parameters(defined, given, left, effects), effects

    def float_arrays(self, function: Function) -> dict[Argument, frozenset[Float]]:
        pairs = zip(function.arguments[2:], self.flat(), strict=True)
        return {argument: frozenset(type for _, type in leaf.floats) for argument, (leaf, _) in pairs if leaf.floats}

    def record_arrays(self, function: Function) -> dict[Argument, Layout]:
        """Where the floats lie in arguments that are arrays of records."""
        found: dict[Argument, Layout] = {}
        start = 2
        for group in self.leaves:
            flat = function.arguments[start : start + len(group)]
            for at, leaf in enumerate(group):
                if leaf.floats and leaf.dtype_kind == "other":
                    steps = frozenset(flat[i] for i in (at - 1, *leaf.strides))
                    found[flat[at]] = Layout(Element(leaf.itemsize, leaf.floats), steps)
            start += len(group)
        return found

    def wanted(self, function: Function, key: Key) -> Wanted:
        shadowed = frozenset(function.arguments[i] for i in key.shadowed)
        return Wanted(frozenset(function.arguments[i] for i in key.active), shadowed, shadowed)

    def place_of(self, error: IradError, key: Key | None = None) -> Place | None:
        """The line of what an error is about; where that is not known, of the function in which it arose."""
        if error.place is not None:
            return error.place
        culprits = [error.culprit]
        if key in self.lines:
            culprits.append(self.lines[key].module.functions[key.function])
        places = (lines.place(c) for c in culprits if c is not None for lines in self.lines.values())
        return next((p for p in places if p is not None), None) or place_of_kernel(self.lowered)

    def facts(self, key: Key, stage: str) -> str:
        """The facts of a stage (a field of `Analysed`) about one function, with lines of Python."""
        analysed, lines = self.functions[key], self.lines[key]
        found: Any = getattr(analysed, stage)
        said = "reverse mode alone has this stage" if found is None else found.describe(lines)
        return f"{lines.title(analysed.function)}\n{said}"

    def tape(self) -> Tape:
        """What is on the tapes of all functions."""
        found: dict[tuple[str, str], Taped] = {}
        for key, analysed in self.functions.items():
            if analysed.plan is not None:
                found |= taped(key.function, analysed.plan, self.lines[key])
        return found

    def promise(self) -> str:
        """What this version, for arrays that do not overlap, saves over the one for any; empty where it is no other.

        The other one is planned for that.
        """
        if self.mode == "forward" or not self.checks():
            return ""
        positions = sorted({i for pair in self.checks() for i in pair})
        arrays = [self.flat()[i][0].path.removesuffix(".data") for i in positions]
        try:
            careful = Derivation(replace(self.request, aliased=True))
        except IradError as error:
            return f"without the promise that {' and '.join(arrays)} do not overlap: {error}"
        return saved(arrays, self.tape(), careful.tape())

    # --- emission ---

    @property
    def flags(self) -> tuple[str, ...]:
        return () if self.request.strict else ADJOINT_FLAGS

    @cached_property
    def interface(self) -> entry.Interface:
        return entry.Interface(
            self.leaves,
            self.request.activity,
            self.result,
            layout.struct_type(self.result_type),
            self.checks(),
            self.request.value,
            self.counts_references,
            self.request.fresh,
        )

    def checks(self) -> tuple[tuple[int, int], ...]:
        """Pairs of arrays of which one is written: results depend on whether they overlap."""
        if self.request.aliased:
            return ()
        root = self.functions[self.root]
        pairs = enumerate(zip(self.flat(), root.function.arguments[2:], strict=True))
        data = [i for i, ((leaf, _), argument) in pairs if leaf.role == "data" and not _is_noalias(argument)]
        written = {i for i in data if root.memory.writes.get(Object("argument", root.function.arguments[i + 2]))}
        return tuple((i, j) for i in data for j in data if i < j and (i in written or j in written))

    @cached_property
    def texts(self) -> list[str]:
        """The program, and those of the rules of its whole operations."""
        return [self.text, *dict.fromkeys(text for derived in self.operations.values() for text in derived.texts)]

    @cached_property
    def symbol(self) -> str:
        """A name for the entries that no other derivative has: two caches may meet in one process."""
        asked = self.request  # `joint` makes no difference: the other way is for those who differentiate the code
        content = repr((self.texts, asked.mode, asked.activity, asked.aliased, self.flags, asked.value, asked.fresh))
        return f"irad.{_short(self.lowered.name)}.{hashlib.sha256(content.encode()).hexdigest()[:20]}"

    @cached_property
    def entries(self) -> dict[str, str]:
        """Symbols of the entry functions by their role."""
        roles = ("augmented", "pullback", "release") if self.mode == "split" else (self.mode,)
        return {role: f"{self.symbol}.{role}" for role in roles}

    def module(self, *, concrete: bool) -> Module:
        """The derivative as a module, with or without a run time."""
        try:
            return self._module(concrete=concrete)
        except IradError as error:
            raise error.at(self.place_of(error)) from None

    def _module(self, *, concrete: bool) -> Module:
        adjoints: set[Element] = set()
        functions: list[Function] = []
        scopes = self.scopes()
        for key, analysed in self.functions.items():
            subject = analysed.subject(scopes if key == self.root else None)
            if self.mode == "forward":
                names = {call: f"{self.derived_name(k)}.tangent" for call, k in analysed.callees.items()}
                functions.append(forward.tangent(subject, f"{analysed.name}.tangent", names, self.flags))
            else:
                children = {call: self.child(k) for call, k in analysed.callees.items()}
                if subject.planned().joint is not None:
                    both, used = together(subject, f"{analysed.name}.joint", children, self.flags)
                    functions.append(both)
                    adjoints |= used
                    continue
                functions.append(augment.augmented(subject, f"{analysed.name}.augmented", children))
                back, used = reverse.reverse(subject, f"{analysed.name}.reverse", children, self.flags)
                functions.append(back)
                adjoints |= used
        functions += [
            function for derived in self.operations.values() for function in derived.functions(concrete=concrete)
        ]
        outermost = self.outermost(concrete=concrete)
        inlined = {f"{self.functions[self.root].name}.{part}" for part in ("augmented", "reverse", "tangent", "joint")}
        for function in functions:
            if function.name in inlined and not self.root_is_called:
                function.attributes = ("alwaysinline",)
        errors, _ = abi.memory_error_globals()
        source = read(completed(self.texts) if concrete else llvm.joined(self.texts))
        module = assemble(source, [*functions, *(f for f, _ in outermost)], sorted(adjoints, key=str), errors)
        if scopes is not None:
            module.metadata = scopes.nodes
        if concrete:
            for name in filter(is_whole, allocating(module)):
                swept(module, name, whole.operation(name).result)
            concretize(module, {f.name: heap for f, heap in outermost})
            declared = assemble(source, module.functions.values(), (), errors)
            module.functions = declared.functions
            chosen = vectors.approximable(source, fastmath=may_approximate(self.lowered))
            vectors.offer(module, llvm.vector_symbols(vectors.candidates()), chosen)
        else:
            _drop_frees(module)
        check(module)
        return module

    @cached_property
    def root_is_called(self) -> bool:
        """Whether the kernel is called by itself or by a function that it calls."""
        return any(self.root in analysed.callees.values() for analysed in self.functions.values())

    def scopes(self) -> Scopes | None:
        """Alias scopes for the root; in a recursive function one scope would stand for several memories."""
        if self.root_is_called:
            return None
        root = self.functions[self.root]
        return Scopes(root.objects, _all_objects(root.function, root.objects))

    def with_a_reverse(self) -> Derivation:
        """The same derivative, of the same name, in which no loop is reversed while it runs."""
        plan = self.functions[self.root].plan
        if plan is None or plan.joint is None:
            return self
        other = Derivation(replace(self.request, joint=False))
        other.symbol = self.symbol
        return other

    def derived_name(self, key: Key) -> str:
        return self.operations[key].name if key in self.operations else self.functions[key].name

    def child(self, key: Key) -> augment.Child:
        if key in self.operations:
            name = self.operations[key].name
            return augment.Child(f"{name}.augmented", f"{name}.reverse", self.operations[key].frame_size)
        analysed = self.functions[key]
        assert analysed.plan is not None
        return augment.Child(f"{analysed.name}.augmented", f"{analysed.name}.reverse", analysed.plan.frame_size)

    def outermost(self, *, concrete: bool) -> list[tuple[Function, Value]]:
        root = self.functions[self.root]
        subject, interface, names = root.subject(), self.interface, self.entries
        if self.mode == "forward":
            return [entry.forward(names["forward"], interface, subject, f"{root.name}.tangent", concrete=concrete)]
        ahead, back = f"{root.name}.augmented", f"{root.name}.reverse"
        if subject.plan is not None and subject.plan.joint is not None:
            return [entry.reverse(names["reverse"], interface, subject, f"{root.name}.joint", None, concrete=concrete)]
        if self.mode == "reverse":
            return [entry.reverse(names["reverse"], interface, subject, ahead, back, concrete=concrete)]
        return [
            entry.split_augmented(names["augmented"], interface, subject, ahead, concrete=concrete),
            entry.split_pullback(names["pullback"], interface, subject, back, concrete=concrete),
            entry.split_release(names["release"], concrete=concrete),
        ]


def _drop_frees(module: Module) -> None:
    """Without a run time nothing is freed: a derivative of this code may read the memory again."""
    for function in module.functions.values():
        without_calls(function, "irad_free")
    module.functions.pop("irad_free", None)


def _is_noalias(argument: Argument) -> bool:
    """Whether the text itself promises that nothing else overlaps what an argument points to."""
    return any(word.startswith("noalias") for word in argument.attributes)


def _with_shadows(stable: Memory, canon: Canonical) -> Memory:
    """A shadow pointer that was loaded is as stable as the pointer it is the shadow of."""
    more = {
        shadow: stable.overwritten[original]
        for original, shadow in canon.shadow.items()
        if isinstance(original, Load) and isinstance(shadow, Load) and original in stable.overwritten
    }
    return replace(stable, overwritten={**stable.overwritten, **more})


def _callee(call: Call, canon: Canonical, active: Activity, pointers: Objects, stable: Memory) -> Key:
    def without_pointers(v: Value) -> bool:
        where = pointers.pointed(v)
        return v.type == PTR and bool(where) and not any(pointers.contents.get(o) for o in where)

    def opaque(v: Value) -> bool:
        return pointers.is_opaque(v) or (isinstance(v, Constant) and v.literal == "null")

    return Key(
        call.callee_name,
        tuple(i for i, v in enumerate(call.operands) if v in active.values),
        tuple(i for i, v in enumerate(call.operands) if v in canon.shadow),
        tuple(i for i, v in enumerate(call.operands) if without_pointers(v)),
        tuple(i for i, v in enumerate(call.operands) if opaque(v)),
        stable.passing.get(call, ()),
    )


def _all_objects(function: Function, pointers: Objects) -> set[Object]:
    return pointers.all | {o for i in function.instructions for v in i.operands for o in pointers.pointed(v)}


def _short(symbol: str) -> str:
    """A readable part of a mangled symbol."""
    return "".join(c if c.isalnum() else "_" for c in symbol)[:40]


# --- the derivative -------------------------------------------------------------------------------------------------


@dataclass
class Derivative:
    """The compiled derivative of a request.

    entries: symbols of the entry functions by role; signature: the primal's Numba signature.
    """

    derivation: Derivation

    @property
    def entries(self) -> dict[str, str]:
        return self.derivation.entries

    @property
    def signature(self) -> Any:
        return self.derivation.lowered.signature

    @cached_property
    def abstract(self) -> str:
        """LLVM text to be differentiated again: the reverse by itself, which has loops as the primal has."""
        return write(self.derivation.with_a_reverse().module(concrete=False))

    @cached_property
    def concrete(self) -> str:
        """Optimised LLVM text, to be linked into Numba's."""
        return llvm.optimize(self.emitted, list(self.entries.values()))

    @cached_property
    def emitted(self) -> str:
        """LLVM text as irad writes it."""
        with _without_full_collections():
            return write(self.derivation.module(concrete=True))


def derive(request: Request) -> Derivative:
    """The derivative that `request` asks for.

    Raises
    ------
    IradError: the kernel uses what cannot be differentiated, naming the line.
    """
    with _without_full_collections():
        return Derivative(Derivation(request))


@contextmanager
def _without_full_collections() -> Generator[None]:
    """Python's garbage collector leaves old objects alone: so many are made here that it would look through all those
    of the process again and again, which took a tenth of the time for a large kernel."""
    kept = gc.get_threshold()
    gc.set_threshold(*kept[:2], 1 << 30)
    try:
        yield
    finally:
        gc.set_threshold(*kept)


STAGES = ("lowered", "normalized", "kinds", "activity", "memory", "needs", "plan", "emitted", "optimized", "asm")


def dump(kernel: Any, argtypes: tuple[Any, ...], stage: str, mode: str, activity: tuple[str, ...]) -> str:
    """One stage as text; stages are those of `STAGES`, `activity` as in `Request`."""
    if stage == "lowered":
        return lower(kernel, argtypes).text
    derivative = derive(Request(kernel, argtypes, mode, activity))
    derivation = derivative.derivation
    if stage == "normalized":
        return derivation.text
    if stage in ("kinds", "activity", "memory", "needs", "plan"):
        said = [derivation.facts(key, stage) for key in derivation.functions]
        promise = derivation.promise() if stage == "plan" else ""
        return "\n\n".join([*said, promise] if promise else said) + "\n"
    if stage == "emitted":
        return derivative.emitted
    return derivative.concrete if stage == "optimized" else llvm.assembly(derivative.concrete)
