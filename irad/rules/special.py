"""Functions that rules call: declarations of intrinsics and of libm, and the definitions that libm lacks."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from functools import partial

from irad.ir.build import Builder, Expr
from irad.ir.model import Argument, Block, Call, Function, real
from irad.ir.types import DOUBLE, PTR, SINGLE, VOID, Float, FunctionType, Struct, field_offset

# What lets LLVM hoist, merge and delete such a call. The functions of libm set errno, which no kernel can read.
PURE = ("mustprogress", "nofree", "nosync", "nounwind", "willreturn", "memory(none)")


def declaration(name: str, type: FunctionType) -> Function:
    """The declaration of an intrinsic (whose attributes LLVM knows), of a pure function of libm, or of a function that
    reads and writes memory."""
    arguments = [Argument(t, f"x{i}") for i, t in enumerate(type.parameters)]
    known = name.startswith("llvm.") or PTR in type.parameters
    return Function(name, type, arguments, attributes=() if known else PURE)


def support_functions(names: Iterable[str]) -> list[Function]:
    """Definitions of irad's functions (`irad.digamma`, `irad.cpow.real`...) among `names`, with all that they call.

    Every function is fresh, for one module. Names that are not irad's are skipped: see `missing_functions`.
    """
    found: dict[str, Function] = {}
    queue = [name for name in names if name in _DEFINITIONS]
    while queue:
        name = queue.pop()
        if name in found:
            continue
        found[name] = _DEFINITIONS[name]()
        for callee, type in _called(found[name]):
            if callee in _DEFINITIONS:
                queue.append(callee)
            else:
                found[callee] = declaration(callee, type)
    return list(found.values())


def missing_functions(function: Function, known: Container[str]) -> list[Function]:
    """What `function` calls and `known` lacks, ready to be added to its module: declarations and definitions."""
    called = {name: type for name, type in _called(function) if name not in known}
    support = [f for f in support_functions(called) if f.name not in known]
    have = {f.name for f in support}
    return support + [declaration(name, type) for name, type in called.items() if name not in have]


def _called(function: Function) -> list[tuple[str, FunctionType]]:
    calls = [i for i in function.instructions if isinstance(i, Call) and i.callee_name]
    return [(c.callee_name, c.function_type or FunctionType(c.type, tuple(v.type for v in c.operands))) for c in calls]


# --- digamma --------------------------------------------------------------------------------------------------------

# B_2k / 2k for k = 1..7 (DLMF 5.11.2). From y = 10 the first term left out is below 5e-17.
_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_LARGE = 10.0


@dataclass(frozen=True, slots=True)
class _Recurrence:
    """The argument, moved upward by ones, and what the moves have added to the result."""

    y: Expr
    moved: Expr


def _digamma() -> Function:
    """psi(x) = d/dx log |Gamma(x)|, to about 1e-14 relative away from its zeros; infinite at its poles.

    Reflection (DLMF 5.5.4) for x <= 0, recurrence (5.5.2) up to `_LARGE`, then the asymptotic series (5.11.2).
    """
    argument = Argument(DOUBLE, "x")
    entry, head, step, series, reflected, done = map(Block, ("entry", "head", "step", "series", "reflected", "done"))
    start = Builder(entry)
    x = start.expr(argument)
    below = x.compare("ole", 0.0)
    positive = below.where(1.0 - x, x, like=x)
    start.branch(head)

    at = _climb(positive, entry, head, step, series)

    tail = Builder(series)
    y, moved = tail.expr(at.y.value), tail.expr(at.moved.value)
    r = 1.0 / y
    result = y.call("log") - 0.5 * r - _polynomial(r * r) + moved
    tail.branch_if(below.value, reflected, done)

    mirror = Builder(reflected)
    x = mirror.expr(argument)
    # tan has period pi, and the distance to the nearest integer is exact
    angle = math.pi * (x - x.call("rint"))
    mirror.ret((mirror.expr(result.value) - math.pi / angle.call("tan")).value)

    Builder(done).ret(result.value)
    return _definition("irad.digamma", argument, [entry, head, step, series, reflected, done])


def _climb(start: Expr, entry: Block, head: Block, step: Block, series: Block) -> _Recurrence:
    """psi(y) = psi(y + 1) - 1 / y until y is large."""
    loop, body = Builder(head), Builder(step)
    y, moved = loop.phi(DOUBLE, "y"), loop.phi(DOUBLE, "moved")
    loop.branch_if(loop.expr(y).compare("olt", _LARGE).value, step, series)
    higher = body.expr(y) + 1.0
    less = body.expr(moved) - 1.0 / body.expr(y)
    body.branch(head)
    y.operands, y.blocks = [start.value, higher.value], [entry, step]
    moved.operands, moved.blocks = [real(0.0, DOUBLE), less.value], [entry, step]
    return _Recurrence(loop.expr(y), loop.expr(moved))


def _polynomial(s: Expr) -> Expr:
    """sum B_2k / 2k * s^k"""
    total = s.lit(_SERIES[-1])
    for c in reversed(_SERIES[:-1]):
        total = total * s + c
    return total * s


def _digammaf() -> Function:
    """psi of a float, rounded from that of a double."""
    argument, block = Argument(SINGLE, "x"), Block("entry")
    builder = Builder(block)
    wide = builder.call("irad.digamma", DOUBLE, [builder.cast("fpext", argument, DOUBLE)])
    builder.ret(builder.cast("fptrunc", wide, SINGLE))
    return _definition("irad.digammaf", argument, [block])


# --- complex powers -------------------------------------------------------------------------------------------------


def _complex_power(type: Float, suffix: str) -> Function:
    """Numba's complex power by value: {re, im} of (x0 + i x1) ** (x2 + i x3).

    Never inlined, so that LLVM sees one pure call where both parts are used.
    """
    pair = Struct((type, type))
    arguments, block = [Argument(type, f"x{i}") for i in range(4)], Block("entry")
    out = Builder(block)
    slots = [out.alloca(pair) for _ in range(3)]
    for i, argument in enumerate(arguments):
        out.store(argument, out.offset(slots[i // 2], field_offset(pair, i % 2)))
    out.call(f"numba_cpow{suffix}", VOID, slots)
    out.ret(out.load(pair, slots[2]))
    kind = FunctionType(pair, (type,) * 4)
    return Function(
        f"irad.cpow{suffix}", kind, arguments, [block], linkage=("internal",), attributes=("noinline", *PURE)
    )


def _part_of_power(type: Float, suffix: str, index: int) -> Function:
    """The real (index 0) or imaginary part of a complex power."""
    arguments, block = [Argument(type, f"x{i}") for i in range(4)], Block("entry")
    out = Builder(block)
    both = out.call(f"irad.cpow{suffix}", Struct((type, type)), arguments)
    out.ret(out.extract(both, index, type))
    name = f"irad.cpow.{('real', 'imag')[index]}{suffix}"
    kind = FunctionType(type, (type,) * 4)
    return Function(name, kind, arguments, [block], linkage=("internal",), attributes=("alwaysinline", *PURE))


def _singular(type: Float, suffix: str) -> Function:
    """Its first argument: the value of a function of the other two where that has no derivative."""
    arguments, block = [Argument(type, name) for name in ("value", "x", "y")], Block("entry")
    Builder(block).ret(arguments[0])
    kind = FunctionType(type, (type,) * 3)
    return Function(f"irad.singular{suffix}", kind, arguments, [block], linkage=("internal",), attributes=PURE)


def _definition(name: str, argument: Argument, blocks: list[Block]) -> Function:
    type = FunctionType(argument.type, (argument.type,))
    return Function(name, type, [argument], blocks, linkage=("internal",), attributes=PURE)


_DEFINITIONS: dict[str, Callable[[], Function]] = {
    "irad.digamma": _digamma,
    "irad.digammaf": _digammaf,
    **{f"irad.singular{f}": partial(_singular, type, f) for type, f in ((DOUBLE, ""), (SINGLE, "f"))},
    **{f"irad.cpow{f}": partial(_complex_power, type, f) for type, f in ((DOUBLE, ""), (SINGLE, "f"))},
    **{
        f"irad.cpow.{part}{f}": partial(_part_of_power, type, f, index)
        for type, f in ((DOUBLE, ""), (SINGLE, "f"))
        for index, part in enumerate(("real", "imag"))
    },
}
