"""Bugs planted in irad, to see that the tests can fail. Each is switched on by a test alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from irad import pipeline
from irad.analysis import canonical
from irad.analysis.objects import Objects
from irad.emit import augment, body, reverse
from irad.emit import calls as call_rules
from irad.emit import memory as memory_rules
from irad.emit import scalar as scalar_rules
from irad.ir.build import Builder
from irad.ir.model import integer, zero
from irad.rules import calls


@dataclass(frozen=True)
class Mutant:
    """A bug: `plant` puts it into irad; `first` is the kernel of the suite that is tried first."""

    plant: Callable[[pytest.MonkeyPatch], None]
    first: str


MUTANTS: dict[str, Mutant] = {}


def mutant(first: str) -> Callable[[Callable[[pytest.MonkeyPatch], None]], Callable[[pytest.MonkeyPatch], None]]:
    """Take a function that plants a bug into `MUTANTS`."""

    def keep(plant: Callable[[pytest.MonkeyPatch], None]) -> Callable[[pytest.MonkeyPatch], None]:
        MUTANTS[plant.__name__] = Mutant(plant, first)
        return plant

    return keep


# --- memory ---------------------------------------------------------------------------------------------------------


@mutant("overwritten")
def drops_a_save(patch: pytest.MonkeyPatch) -> None:
    """A load that is overwritten counts as one that can be repeated."""
    real = pipeline.memory

    def memory(*args: Any, **kws: Any) -> Any:
        found = real(*args, **kws)
        first = next((load for load, witness in found.overwritten.items() if witness is not None), None)
        return replace(found, overwritten={k: v for k, v in found.overwritten.items() if k is not first})

    patch.setattr(pipeline, "memory", memory)


@mutant("read only")
def ignores_split_mode(patch: pytest.MonkeyPatch) -> None:
    """The caller is taken not to write between augmented call and pullback."""
    real = pipeline.memory
    patch.setattr(pipeline, "memory", lambda *args, **kws: real(*args, **{**kws, "split": False}))


@mutant("shifted")
def ignores_an_alias(patch: pytest.MonkeyPatch) -> None:
    """Arguments never overlap."""
    patch.setattr(Objects, "may_overlap", lambda self, a, b: a == b)


@mutant("overwritten")
def does_not_clear_after_a_store(patch: pytest.MonkeyPatch) -> None:
    """A store's adjoint leaves the shadow as it is."""

    def store_adjoint(store: Any, out: Any) -> None:
        if store.value in out.subject.activity:
            where = out.look_shadow(store.pointer)
            out.add(store.value, out.out.load(out.subject.kinds.tangent_type(store.value), where))

    patch.setattr(memory_rules, "store_adjoint", store_adjoint)


@mutant("overwritten")
def keeps_the_tangent_under_a_constant(patch: pytest.MonkeyPatch) -> None:
    """A constant stored over active memory leaves the old tangent there."""
    real = memory_rules.store_tangent

    def store_tangent(store: Any, out: Any) -> None:
        if store.value in out.subject.activity:
            real(store, out)

    patch.setattr(memory_rules, "store_tangent", store_tangent)


@mutant("read only")
def overwrites_in_a_loads_adjoint(patch: pytest.MonkeyPatch) -> None:
    """A load's adjoint replaces what the shadow holds, where it should be added."""

    def load_adjoint(load: Any, bar: Any, out: Any) -> None:
        out.out.store(bar, out.look_shadow(load.pointer), load.align)

    patch.setattr(memory_rules, "load_adjoint", load_adjoint)


def _skip_moves(patch: pytest.MonkeyPatch, names: frozenset[str]) -> None:
    real = memory_rules.move_adjoint

    def move_adjoint(call: Any, out: Any) -> None:
        if call.callee_name not in names:
            real(call, out)

    patch.setattr(memory_rules, "move_adjoint", move_adjoint)


@mutant("copied")
def has_no_adjoint_of_memcpy(patch: pytest.MonkeyPatch) -> None:
    """Block copies are not reversed."""
    _skip_moves(patch, frozenset(calls.COPIES))


@mutant("filled")
def has_no_adjoint_of_memset(patch: pytest.MonkeyPatch) -> None:
    """Block fills do not clear the shadow going back."""
    _skip_moves(patch, frozenset(calls.FILLS))


@mutant("moved")
def reverses_memmove_upwards(patch: pytest.MonkeyPatch) -> None:
    """The adjoint of an overlapping copy runs in the wrong direction."""
    real = Builder.compare

    def compare(self: Builder, predicate: str, left: Any, right: Any) -> Any:
        wrong = predicate == "ult" and getattr(left, "name", "") == "to"
        return real(self, "uge" if wrong else predicate, left, right)

    patch.setattr(Builder, "compare", compare)


@mutant("copied")
def does_not_zero_new_shadows(patch: pytest.MonkeyPatch) -> None:
    """The shadow of an allocation begins as anything."""

    def zero_memory(self: Any, pointer: Any, size: Any) -> Any:
        fill = integer(0x3F, body.I8)
        return self.out.call("llvm.memset.p0.i64", body.VOID, [pointer, fill, size, integer(0, body.I1)])

    patch.setattr(augment.Augmented, "zero_memory", zero_memory)


# --- the way back ---------------------------------------------------------------------------------------------------


@mutant("read only")
def forgets_the_counter(patch: pytest.MonkeyPatch) -> None:
    """A loop that runs backwards does not count down."""
    patch.setattr(reverse, "integer", lambda value, kind: integer(0 if value == 1 else value, kind))


@mutant("while")
def counts_one_iteration_less(patch: pytest.MonkeyPatch) -> None:
    """Loops with a break, or a while, begin their way back an iteration late."""
    real = canonical._count

    def count(loop: Any, *rest: Any) -> Any:
        found = real(loop, *rest)
        for phi in found.exit_last.values():
            phi.operands = [integer(0, canonical.I64) if v is found.counter else v for v in phi.operands]
        return found

    patch.setattr(canonical, "_count", count)


@mutant("read only")
def miscounts_steps(patch: pytest.MonkeyPatch) -> None:
    """The last iteration of a loop with a known count is one too far."""
    real = canonical._solve

    def solve(loop: Any, *rest: Any) -> Any:
        last = real(loop, *rest)
        return last and Builder(loop.preheader).binary("add", last, integer(1, canonical.I64))

    patch.setattr(canonical, "_solve", solve)


@mutant("read only")
def arrives_from_the_wrong_branch(patch: pytest.MonkeyPatch) -> None:
    """Where a condition decides the way back, it is taken the wrong way round."""
    real = canonical._decided

    def decided(*args: Any) -> Any:
        found = real(*args)
        return found and (found[0], 1 - found[1])

    patch.setattr(canonical, "_decided", decided)


@mutant("read only")
def loses_the_adjoint_of_phis(patch: pytest.MonkeyPatch) -> None:
    """Phis do not pass on their adjoints."""
    patch.setattr(reverse.Reverse, "hand_over", lambda self, way, bars: None)


@mutant("empty range")
def takes_negative_counts(patch: pytest.MonkeyPatch) -> None:
    """A trip count computed outside of its guard may be negative."""
    patch.setattr(augment, "guards", lambda *args: [])
    real = Builder.call

    def call(self: Builder, callee: Any, type: Any, operands: Any, *rest: Any, **kws: Any) -> Any:
        return operands[0] if callee == "llvm.smax.i64" else real(self, callee, type, operands, *rest, **kws)

    patch.setattr(Builder, "call", call)


# --- values ---------------------------------------------------------------------------------------------------------


@mutant("speculated")
def does_not_guard_speculation(patch: pytest.MonkeyPatch) -> None:
    """An operation whose result is thrown away meets its infinite partial."""
    patch.setattr(pipeline, "speculated", lambda *args: frozenset())


@mutant("recursive")
def loses_scalars_of_calls(patch: pytest.MonkeyPatch) -> None:
    """A call's adjoint forgets the adjoints of its scalar arguments."""
    real = call_rules.adjoint

    def adjoint(call: Any, out: Any) -> None:
        add = out.add
        out.add = lambda value, bar: None
        real(call, out)
        out.add = add

    patch.setattr(call_rules, "adjoint", adjoint)


@mutant("branches")
def adds_to_both_arms(patch: pytest.MonkeyPatch) -> None:
    """A select's adjoint does not look at its condition."""
    real = scalar_rules.adjoint

    def adjoint(value: Any, bar: Any, out: Any) -> None:
        if isinstance(value, scalar_rules.Select):
            out.add(value.operands[1], bar)
            out.add(value.operands[2], bar)
        else:
            real(value, bar, out)

    patch.setattr(scalar_rules, "adjoint", adjoint)


@mutant("while")
def grows_without_copying(patch: pytest.MonkeyPatch) -> None:
    """A tape that grows forgets what it held."""
    real = Builder.call

    def call(self: Builder, callee: Any, type: Any, operands: Any, *rest: Any, **kws: Any) -> Any:
        if callee == "llvm.memcpy.p0.p0.i64" and ".full" in self.block.name:
            return None
        return real(self, callee, type, operands, *rest, **kws)

    patch.setattr(Builder, "call", call)


@mutant("read only")
def forgets_a_tangent(patch: pytest.MonkeyPatch) -> None:
    """Forward mode takes the tangent of a loaded value for zero."""

    def load_tangent(load: Any, out: Any) -> None:
        if load in out.subject.activity:
            out.set(load, zero(load.type))

    patch.setattr(memory_rules, "load_tangent", load_tangent)
