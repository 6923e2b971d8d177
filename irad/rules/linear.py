"""Linear maps from the tangent of an operand to that of the result, and what is read off them.

A rule states one linear map for each operand. Forward mode adds the maps of the operands' tangents (`tangent`), reverse
mode applies the transpose of each map to the adjoint of the result (`adjoints`), and what either reads of the primal is
found by running the rule on stand-ins (`reads`). Nothing about an operation is written twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol

from irad.ir.build import Builder, Expr
from irad.ir.model import Argument, Block, Constant, Instruction, Value
from irad.ir.types import DOUBLE, I32, Float, Type


class LinearMap(Protocol):
    """A linear map of tangents; None is the tangent that is zero everywhere."""

    def apply(self, t: Expr) -> Expr | None:
        """The tangent of the result, of the result's type."""
        ...

    def transpose(self, t: Expr) -> Expr | None:
        """The adjoint of the operand, of the operand's type, from the adjoint of the result."""
        ...


class _Diagonal:
    """A map of each element by itself, of one type: its own transpose."""

    def apply(self, t: Expr) -> Expr | None:
        raise NotImplementedError

    def transpose(self, t: Expr) -> Expr | None:
        return self.apply(t)


class _Same(_Diagonal):
    """t -> t"""

    def apply(self, t: Expr) -> Expr | None:
        return t


class _Flip(_Diagonal):
    """t -> -t"""

    def apply(self, t: Expr) -> Expr | None:
        return -t


class _Zero(_Diagonal):
    """t -> 0"""

    def apply(self, t: Expr) -> Expr | None:
        return None


SAME, FLIP, ZERO = _Same(), _Flip(), _Zero()


@dataclass(frozen=True, slots=True)
class Scale(_Diagonal):
    """t -> factor t. With `strong`, 0 -> 0 even where the factor is infinite or NaN."""

    factor: Expr
    strong: bool = False

    def apply(self, t: Expr) -> Expr | None:
        product = self.factor * t
        if not self.strong or _is_finite_constant(self.factor.value):
            return product
        # Not `t == 0 ? 0 : product`: differentiating that once more would lose factor * dt wherever t happens to be 0.
        # Here the constant arm is taken only where the product is NaN, so second derivatives stay right.
        return both(product.compare("uno", product), t.compare("oeq", 0.0)).where(0.0, product, like=t)


def strong(factor: Expr) -> Scale:
    """t -> factor t and 0 -> 0, for a partial that need not be finite."""
    return Scale(factor, strong=True)


@dataclass(frozen=True, slots=True)
class Gate(_Diagonal):
    """t -> then(t) where the condition (an i1) holds, otherwise(t) elsewhere; it selects, it never multiplies by 0."""

    condition: Expr
    then: _Diagonal = SAME
    otherwise: _Diagonal = ZERO

    def apply(self, t: Expr) -> Expr | None:
        if_true, if_false = self.then.apply(t), self.otherwise.apply(t)
        return self.condition.where(_or_zero(if_true), _or_zero(if_false), like=t)


@dataclass(frozen=True, slots=True)
class Through(_Diagonal):
    """t -> function(t), for a linear function that is its own transpose."""

    function: Callable[[Expr], Expr]

    def apply(self, t: Expr) -> Expr | None:
        return self.function(t)


@dataclass(frozen=True, slots=True)
class Convert:
    """The tangent in the other float type: `fpext` and `fptrunc` are transposes of one another."""

    operand: Type
    result: Type
    widens: bool

    def apply(self, t: Expr) -> Expr | None:
        return _converted(t, self.result, self.widens)

    def transpose(self, t: Expr) -> Expr | None:
        return _converted(t, self.operand, not self.widens)


def _converted(t: Expr, type: Type, widens: bool) -> Expr:
    return Expr(t.out.cast("fpext" if widens else "fptrunc", t.value, type), t.out)


def _or_zero(t: Expr | None) -> Expr | float:
    return 0.0 if t is None else t


def _is_finite_constant(value: Value) -> bool:
    match value:
        case Constant(type=Float(), literal=str(text)) if text not in ("undef", "poison"):
            return math.isfinite(value.number)
        case _:
            return False


# --- conditions -----------------------------------------------------------------------------------------------------


def both(a: Expr, b: Expr) -> Expr:
    """Whether both conditions hold."""
    return Expr(a.out.binary("and", a.value, b.value), a.out)


def either(a: Expr, b: Expr) -> Expr:
    """Whether one of two conditions holds."""
    return Expr(a.out.binary("or", a.value, b.value), a.out)


# --- rules ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """The derivative of one operation.

    name: the operation, by the first of its names.
    partials: from the operands (and `out`, the result, by keyword) to one linear map per operand.
    arity: the number of operands.
    price: what evaluating the operation again costs, in bytes of tape traffic.
    wants_out: whether `partials` takes `out`.
    integers: the operands that are integers; their map is ZERO.
    twin: the operation whose value for the same operand gives the partial, so that a kernel that has both computes it
        once; `partials` takes it by keyword.
    """

    name: str
    partials: Callable[..., tuple[LinearMap, ...]]
    arity: int
    price: int
    wants_out: bool
    integers: frozenset[int] = frozenset()
    twin: str | None = None

    def maps(self, operands: Sequence[Expr], out: Expr, twin: Expr | None = None) -> tuple[LinearMap, ...]:
        """One linear map per operand; the instructions they share are appended now, the rest when they are applied.

        twin: the value of the twin, where the kernel has it.
        """
        given = {"out": out} if self.wants_out else {}
        if self.twin is not None:
            given["twin"] = twin if twin is not None else operands[0].call(self.twin)
        maps = self.partials(*operands, **given)
        assert len(maps) == self.arity, f"{self.name}: {len(maps)} maps for {self.arity} operands"
        return maps


def tangent(
    rule: Rule,
    operands: Sequence[Value],
    out: Value,
    tangents: Sequence[Value | None],
    builder: Builder,
    *,
    guard: bool = False,
) -> Value | None:
    """The tangent of the result, from those of the operands (None where there is none), appended by `builder`.

    Operands and `out` that `reads` does not name may be anything of their type (`unread`). With `guard`, a zero tangent
    contributes exactly zero through any partial (needed in the arms of selects that LLVM speculated).
    """
    start = len(builder.block.body)
    total: Value | None = None
    for each, t in zip(_maps(rule, operands, out, builder, guard), tangents, strict=True):
        term = None if t is None else each.apply(builder.expr(t))
        if term is not None:
            total = term.value if total is None else builder.fadd(total, term.value)
    _drop_unused(builder, start, [] if total is None else [total])
    return total


def adjoints(
    rule: Rule,
    operands: Sequence[Value],
    out: Value,
    bar: Value,
    wanted: Collection[int],
    builder: Builder,
    *,
    twin: Value | None = None,
    guard: bool = False,
) -> dict[int, Value]:
    """What the adjoint `bar` of the result adds to the adjoint of each wanted operand; no entry where that is zero.

    `operands`, `out` and `guard` as for `tangent`; twin: the value of the rule's twin, where the kernel has it.
    """
    start = len(builder.block.body)
    maps = _maps(rule, operands, out, builder, guard, twin)
    terms = {i: maps[i].transpose(builder.expr(bar)) for i in sorted(wanted)}
    found = {i: term.value for i, term in terms.items() if term is not None}
    _drop_unused(builder, start, found.values())
    return found


def unread(type: Type) -> Constant:
    """A stand-in for a value that `reads` does not name."""
    return Constant(type, "poison")


@cache
def reads(rule: Rule, wanted: frozenset[int], has_twin: bool = False) -> tuple[int | str, ...]:
    """The primal values that the maps of the wanted operands read: operand positions, "out" for the result, "twin".

    It depends on the wanted set: a product of which only operand 0 is active reads operand 1 only. `has_twin`: whether
    the kernel has the value of the rule's twin.
    """
    builder = Builder(Block("reads"))
    operands = [Argument(I32 if i in rule.integers else DOUBLE, f"x{i}") for i in range(rule.arity)]
    out, bar, twin = (Argument(DOUBLE, name) for name in ("out", "bar", "twin"))
    results = adjoints(rule, operands, out, bar, wanted, builder, twin=twin if has_twin else None)
    seen = {v for instruction in builder.block.body for v in instruction.operands} | set(results.values())
    found = [i for i, operand in enumerate(operands) if operand in seen]
    return (*found, *(v.name for v in (out, twin) if v in seen))


def _maps(
    rule: Rule, operands: Sequence[Value], out: Value, builder: Builder, guard: bool, twin: Value | None = None
) -> list[LinearMap]:
    given = None if twin is None else builder.expr(twin)
    maps = rule.maps([builder.expr(v) for v in operands], builder.expr(out), given)
    return [replace(m, strong=True) if guard and isinstance(m, Scale) else m for m in maps]


def _drop_unused(builder: Builder, start: int, results: Iterable[Value]) -> None:
    """Remove what was appended since `start` and is not used by `results`.

    A rule computes the partials of all operands; those of inactive ones would be dead code, and may read `unread`.
    """
    used = set(results)
    kept: list[Instruction] = []
    for instruction in reversed(builder.block.body[start:]):
        if instruction in used:
            kept.append(instruction)
            used.update(instruction.operands)
    builder.block.body[start:] = reversed(kept)
