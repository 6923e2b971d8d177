"""Memory-level reverse mode, in which the caller owns the shadows: `irad.autodiff(irad.Reverse, ...)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from irad.errors import BadArgumentType
from irad.frontend import arguments, shadows
from irad.frontend.arguments import derivative_type, like
from irad.frontend.calls import Compiled, Outcome, call, flattened
from irad.frontend.frame import Frame, Versions, attempt, versions
from irad.frontend.given import check_shadow_types, check_shadows
from irad.frontend.recipes import Adjoints, Generate, Recipe, Seed, contiguous, shadow_pointers, slot, tuple_type
from irad.frontend.shadows import Code, View
from irad.frontend.target import need

_cgutils: Any = need("numba.core.cgutils", "if_unlikely", "voidptr_t")
_ir: Any = need("llvmlite.ir", "IntType")


@dataclass(frozen=True)
class Adjoint(Recipe):
    """Memory-level reverse: shadows of the arrays in `wrt` follow the kernel's arguments, then the seed.

    Returns the result and the adjoints of the floats in `wrt`. filled: those of `shadowed` that are undefined on entry.
    """

    shadowed: tuple[int, ...]
    filled: tuple[int, ...] = ()

    @property
    def verb(self) -> str:
        return "reverse"

    @property
    def extras(self) -> tuple[str, ...]:
        return (*(f"{self.kernel.names[i]}_bar" for i in self.shadowed), "seed")

    def roles(self, kinds: Sequence[Any], mode: str) -> tuple[str, ...]:
        found = super().roles(kinds, mode)
        for i in self.wrt:
            word = "Duplicated" if i in self.shadowed else "Active"
            inside = list(arguments.parts(kinds[i]))
            if any(map(arguments.has_shadow, inside)) and any(map(arguments.is_number, inside)):
                raise BadArgumentType(
                    f"{self.kernel.names[i]} is {kinds[i]}: floats and arrays in one tuple cannot be {word}",
                    hint="pass them as two arguments; irad.grad and irad.vjp take such a tuple",
                    place=self.kernel.place,
                )
            if (found[i] == "duplicated") != (i in self.shadowed):
                raise BadArgumentType(
                    f"{self.kernel.names[i]} is {kinds[i]}, which cannot be {word} in reverse mode",
                    hint="arrays are Duplicated(x, x_bar), floats are Active(x)",
                    place=self.kernel.place,
                )
        return found

    def typed(self, variant: str, typingctx: Any, kinds: Sequence[Any]) -> tuple[Any, Generate]:
        kinds = [arguments.plain(kind) for kind in kinds]
        count, last = len(self.kernel.names), len(kinds) - 1
        own, bars, seed = kinds[:count], kinds[count:last], kinds[last]
        query = replace(self.query(own, "reverse"), fresh=contiguous(own, self.filled))
        for i, bar in zip(self.shadowed, bars, strict=True):
            like(self.kernel, f"the shadow of {self.kernel.names[i]}", own[i], bar)
        check_shadow_types(self.kernel, zip(self.extras, (own[i] for i in self.shadowed), bars, strict=False))
        choice = versions(query, variant, typingctx, given=True)
        result = choice.first.result
        if any(map(arguments.has_shadow, arguments.parts(result))):
            choice = versions(replace(query, mode="split", fresh=()), variant, typingctx, given=True)
        like(self.kernel, "the seed of the result", result, seed)
        active = tuple(i for i in self.wrt if i not in self.shadowed)
        inside = tuple_type([derivative_type(own[i]) for i in active])
        returned = tuple_type([result, inside])

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            frame = Frame(Code(context, builder, zip(kinds, values, strict=True)), self.kernel, own, values[:count])
            taken = list(zip(self.shadowed, self.extras, bars, values[count:last], strict=False))
            fitted = [frame.fitted(*each) for each in taken]
            given = [(name, own[i], *pair) for (i, name, *_), pair in zip(taken, fitted, strict=True)]
            views = [arguments.derivative_views(frame.code, *each) for each in given]
            value, adjoints = self._run(frame, views, choice, Seed(frame.code, result, seed, values[last]))
            for (i, _, _, bar), (_, whole) in zip(taken, fitted, strict=True):
                frame.put_back(own[i], bar, whole)
            frame.release()
            return context.make_tuple(builder, returned, [value, context.make_tuple(builder, inside, adjoints)])

        return returned(*kinds), generate

    def _run(self, frame: Frame, given: list[list[View]], choice: Versions, seed: Seed) -> tuple[Any, list[Any]]:
        code, bars = frame.code, [view for views in given for view in views]
        check_shadows(frame, frame.arrays(self.shadowed, arguments.has_shadow), bars)
        adjoints = Adjoints(frame, choice.first)

        def run(outcome: Outcome, version: Compiled) -> Any:
            for i, views in zip(self.shadowed, given, strict=True):
                if i in self.filled and i not in version.query.fresh:
                    for view in views:
                        shadows.clear(code, view)
            flat = flattened(code, frame.kinds, frame.values) + shadow_pointers(code, bars)
            if version.query.mode == "split":
                return in_two_steps(adjoints, outcome, version, flat, seed)
            return call(code, version, "reverse", [adjoints.result, outcome.excinfo, *flat, *seed.flat, adjoints.bars])

        outcome = attempt(frame, choice, frame.overlapping(self.shadowed), run, lambda: None)
        frame.refuse_none(choice, outcome)
        frame.refuse_changed(choice, self.shadowed)
        return adjoints.value(), [adjoints.gradient(i, iter(())) for i in self.wrt if i not in self.shadowed]


def in_two_steps(adjoints: Adjoints, outcome: Outcome, version: Compiled, flat: list[Any], seed: Seed) -> Any:
    """Augmented, then pullback, so that the shape of the seed is checked against the result. Returns the status."""
    code, b, frame = adjoints.code, adjoints.code.builder, adjoints.frame
    tape = slot(code, _cgutils.voidptr_t)
    status = slot(code, _ir.IntType(32))
    b.store(call(code, version, "augmented", [adjoints.result, outcome.excinfo, tape, *flat]), status)
    loaded = b.load(status)
    done = b.or_(*(b.icmp_signed("==", loaded, loaded.type(ok)) for ok in (0, -2)))
    with b.if_then(done):
        misfit = seed.misfit(version.result, adjoints.value())
        with _cgutils.if_unlikely(b, misfit):
            call(code, version, "release", [b.load(tape)])
            code.context.nrt.decref(b, version.result, adjoints.value())
            error = frame.bad("the seed has another shape than the result", "give it the same shape")
            code.raise_error(type(error), str(error))
        pulled = call(code, version, "pullback", [outcome.excinfo, b.load(tape), *flat, *seed.flat, adjoints.bars])
        failed = b.icmp_signed("!=", pulled, pulled.type(0))
        b.store(b.select(failed, pulled, loaded), status)
        call(code, version, "release", [b.load(tape)])
    return b.load(status)
