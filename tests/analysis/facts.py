"""Every analysis of one function of LLVM text, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from irad.analysis.accumulation import Accumulation
from irad.analysis.activity import Activity, Wanted, activity
from irad.analysis.canonical import Canonical, canonical, single_return
from irad.analysis.errors import Success, success
from irad.analysis.flow import Flow, Loop, flow
from irad.analysis.kinds import Kinds, kinds, negations
from irad.analysis.memory import Memory, memory
from irad.analysis.needs import Needs, needs
from irad.analysis.objects import Object, Objects, objects
from irad.analysis.offsets import Offsets
from irad.analysis.reversal import Reversal, reversal
from irad.analysis.scratch import Scratch, scratch
from irad.analysis.speculation import speculated
from irad.ir.check import check
from irad.ir.model import Argument, Block, Function, Instruction, Value
from irad.ir.read import read
from irad.ir.types import DOUBLE, Float, FunctionType
from irad.plan import Plan, plan

DECLARE = """
declare double @llvm.sin.f64(double)
declare double @llvm.exp.f64(double)
declare noalias ptr @irad_alloc(i64, i32 allocalign)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @unknown(ptr)
"""


class Facts:
    """Facts about the first function of `text`.

    Parameters
    ----------
    active: names of float arguments that are differentiated.
    shadowed: names of pointer arguments that come with a shadow; `outputs` (all of them by default) those whose
        memory is an output.
    apart: names of pointer arguments that overlap nothing; None for all of them.
    numbers, opaque: names of those that point to no pointers, and of those that are never followed.
    floats: element types of the memory of pointer arguments, by name.
    """

    def __init__(
        self,
        text: str,
        active: Iterable[str] = (),
        shadowed: Iterable[str] = (),
        outputs: Iterable[str] | None = None,
        apart: Iterable[str] | None = None,
        floats: dict[str, Float] | None = None,
        split: bool = False,
        result: bool = False,
        numbers: Iterable[str] = (),
        opaque: Iterable[str] = (),
    ) -> None:
        self.module = read(text if "\ndeclare" in text else text + DECLARE)
        self.function: Function = next(f for f in self.module.functions.values() if not f.is_declaration)
        check(self.function)
        single_return(self.function)
        self.split = split
        shadowed = tuple(shadowed)
        self.seeds = {self.argument(n): {t} for n, t in (floats or dict.fromkeys(shadowed, DOUBLE)).items()}
        pointers = [a.name for a in self.function.arguments if str(a.type) == "ptr"]
        self.apart = [self.argument(n) for n in (pointers if apart is None else apart)]
        self.numbers, self.opaque = list(map(self.argument, numbers)), list(map(self.argument, opaque))
        self.wanted = Wanted(
            frozenset(map(self.argument, active)),
            frozenset(map(self.argument, shadowed)),
            frozenset(map(self.argument, shadowed if outputs is None else outputs)),
            result,
        )

    # --- by name ---

    def argument(self, name: str) -> Argument:
        return next(a for a in self.function.arguments if a.name == name)

    def __getitem__(self, name: str) -> Value:
        everything = [*self.function.arguments, *self.function.instructions]
        return next(v for v in everything if v.name == name)

    def block(self, name: str) -> Block:
        return next(b for b in self.function.blocks if b.name == name)

    def loop(self, header: str) -> Loop:
        return next(loop for loop in self.flow.loops if loop.header.name == header)

    def object(self, text: str) -> Object:
        """An object by its text: `argument %x`, `heap %a`, `stack %s`, `global g`, `external`, `address`."""
        kind, _, name = text.partition(" ")
        return Object(kind, self[name[1:]] if name.startswith("%") else name)  # type: ignore[arg-type]

    # --- the facts ---

    @cached_property
    def success(self) -> Success:
        return success(self.function)

    @cached_property
    def flow(self) -> Flow:
        return flow(self.function, self.success)

    @cached_property
    def objects(self) -> Objects:
        return objects(self.function, self.apart, self.numbers, self.opaque)

    @cached_property
    def offsets(self) -> Offsets:
        return Offsets(self.function, self.objects)

    @cached_property
    def kinds(self) -> Kinds:
        found = kinds(self.function, self.objects, self.offsets, self.seeds)
        return (
            kinds(self.function, self.objects, self.offsets, self.seeds) if negations(self.function, found) else found
        )

    @cached_property
    def activity(self) -> Activity:
        defined = [n for n, f in self.module.functions.items() if not f.is_declaration]
        held = self.kinds  # may rewrite the function: before `flow` looks at it
        return activity(self.function, self.flow, self.objects, self.offsets, held, self.wanted, defined)

    @cached_property
    def memory(self) -> Memory:
        ended = [o for o in self.objects.all if o.kind == "stack" or o.source in self.scratch.reused]
        return memory(self.function, self.flow, self.objects, split=self.split, freed=ended)

    @cached_property
    def scratch(self) -> Scratch:
        return scratch(self.function, self.flow)

    def forward_only(self) -> None:
        """Leave out what only reverse mode has."""
        self.reversal = Reversal({}, [])

    @cached_property
    def reversal(self) -> Reversal:
        return reversal(self.flow, self.activity, self.objects)

    @cached_property
    def guarded(self) -> frozenset[Instruction]:
        return speculated(self.flow, self.activity)

    @cached_property
    def canonical(self) -> Canonical:
        """Canonical form; the function is changed, so the other analyses are made first."""
        before = self.memory, self.reversal, self.guarded
        assert before
        made = canonical(
            self.function, self.module, self.flow, self.objects, self.activity, self.reversal, self.scratch
        )
        function = self.function
        arguments = [*function.arguments, *made.shadow_arguments.values()]
        type = FunctionType(function.type.result, tuple(a.type for a in arguments))
        check(Function(function.name, type, arguments, function.blocks))
        return made

    @cached_property
    def needs(self) -> Needs:
        return needs(self.canonical, self.objects, self.kinds, self.activity)

    @cached_property
    def plan(self) -> Plan:
        return plan(self.canonical, self.memory, self.needs, self.accumulation)

    @cached_property
    def accumulation(self) -> Accumulation:
        return Accumulation(self.flow, self.objects, self.kinds, self.activity, self.scratch)


def names(values: Iterable[Value | Block]) -> set[str]:
    """The names of values or blocks."""
    return {v.name for v in values if isinstance(v, (Argument, Instruction, Block))}


def body(code: str, parameters: str = "ptr %x, i64 %n, double %a", result: str = "void") -> str:
    """A function of `code`."""
    return f"define {result} @f({parameters}) {{\n{code}\n}}\n"
