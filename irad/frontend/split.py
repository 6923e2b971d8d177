"""Reverse mode in two steps: the augmented function, whose tape stays alive, and pullbacks that read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irad.frontend import arguments, shadows
from irad.frontend.arguments import Kernel, derivative_type, like
from irad.frontend.boxes import closed, holds_containers, opened
from irad.frontend.calls import Compiled, Outcome, call, flattened
from irad.frontend.frame import Frame, Shadows, Versions, attempt, versions
from irad.frontend.recipes import Adjoints, Generate, Recipe, Seed, shadow_pointers, slot, tuple_type
from irad.frontend.shadows import Code, View
from irad.frontend.target import need

_types: Any = need("numba.core.types", "uintp", "boolean", "none")
_cgutils: Any = need("numba.core.cgutils", "voidptr_t")
_ir: Any = need("llvmlite.ir", "IntType")

TAPE, CAREFUL, ARGUMENTS, SHADOWS, RESULT = range(5)
"""What the state between the two steps is a tuple of."""


def _choice(recipe: Recipe, kinds: Sequence[Any], variant: str, typingctx: Any) -> Versions:
    return versions(recipe.query(kinds, "split"), variant, typingctx)


def _state_type(kernel: Kernel, kinds: Sequence[Any], choice: Versions) -> Any:
    inside = [part for i in choice.duplicated for part in arguments.parts(kinds[i])]
    made = [shadows.shadow_type(part) for part in inside if arguments.has_shadow(part)]
    held = tuple_type(list(map(opened, kinds)))
    return tuple_type([_types.uintp, _types.boolean, held, tuple_type(made), choice.first.result])


def own_types(state: Any) -> list[Any]:
    """The types of the kernel's arguments, from that of a state."""
    return [closed(kind) for kind in state.types[ARGUMENTS].types]


@dataclass(frozen=True)
class Augmented(Recipe):
    """Runs the kernel and returns its result with the state that a pullback needs.

    protect: the state holds copies of all arrays, so that nothing which the caller does to them meanwhile matters.
    """

    protect: bool

    @property
    def verb(self) -> str:
        return "augmented"

    def typed(self, variant: str, typingctx: Any, kinds: Sequence[Any]) -> tuple[Any, Generate]:
        kinds = [arguments.plain(kind) for kind in kinds]
        choice = _choice(self, kinds, variant, typingctx)
        state = _state_type(self.kernel, kinds, choice)
        returned = tuple_type([choice.first.result, state])

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            frame = Frame(Code(context, builder, zip(kinds, values, strict=True)), self.kernel, kinds, values)
            recipe = replace(self, protect=self.protect or any(map(holds_containers, kinds)))  # these move their items
            result, parts = recipe._run(frame, choice)
            parts[ARGUMENTS] = context.make_tuple(builder, state.types[ARGUMENTS], parts[ARGUMENTS])
            parts[SHADOWS] = context.make_tuple(builder, state.types[SHADOWS], parts[SHADOWS])
            return context.make_tuple(builder, returned, [result, context.make_tuple(builder, state, parts)])

        return returned(*kinds), generate

    def _run(self, frame: Frame, choice: Versions) -> tuple[Any, list[Any]]:
        code, b = frame.code, frame.code.builder
        frame.settle(self.wrt)
        everything = range(len(frame.kinds))
        result = slot(code, code.context.call_conv.get_return_type(choice.first.result).pointee)
        tape, careful = slot(code, _cgutils.voidptr_t), slot(code, _ir.IntType(1))
        made = Shadows(frame, choice.duplicated)
        copies = Shadows(frame, everything if self.protect else (), arguments.is_array)

        def run(outcome: Outcome, version: Compiled) -> Any:
            mirror = version.query.aliased
            b.store(careful.type.pointee(mirror), careful)
            made.fill(version.duplicated, mirror=mirror)
            values = self._copied(frame, copies, mirror) if self.protect else frame.values
            pointers = shadow_pointers(code, made.views(version.duplicated))
            flat = flattened(code, frame.kinds, values)
            status = call(code, version, "augmented", [result, outcome.excinfo, tape, *flat, *pointers])
            if self.protect:
                for view in frame.all_arrays():
                    if view.kind.mutable:
                        shadows.copy(code, copies.view(view.name), view)
            return status

        def release() -> None:
            made.release()
            copies.release()

        outcome = attempt(frame, choice, frame.overlapping(choice.first.duplicated), run, release)
        value = code.context.get_returned_value(b, choice.first.result, b.load(result))
        address = b.ptrtoint(b.load(tape), code.word(0).type)
        flag = code.context.cast(b, b.load(careful), _types.boolean, _types.boolean)
        views = [view.value for view in made.views(choice.duplicated)]
        code.on_failure.append(lambda: release_tape(code, choice, address, flag))
        code.on_failure.append(lambda: code.context.nrt.decref(b, choice.first.result, value))
        frame.refuse_none(choice, outcome)
        returned = _copy_of(code, choice.first.result, value) if self.protect else value
        kept = self._values(frame, copies) if self.protect else frame.values
        shared = [*zip(frame.kernel.names, frame.kinds, kept, strict=True), ("the result", choice.first.result, value)]
        for name, kind, held in shared:
            for part, view in arguments.paired(code, name, kind, kind, held):
                if not (self.protect and arguments.is_array(part)):  # a copy has an owner of its own
                    code.context.nrt.incref(b, part, view.value)
        frame.release()
        return returned, [address, flag, kept, views, value]

    def _copied(self, frame: Frame, copies: Shadows, mirror: bool) -> list[Any]:
        copies.fill(range(len(frame.kinds)), mirror=mirror)
        for view in frame.all_arrays():
            shadows.copy(frame.code, view, copies.view(view.name))
        return self._values(frame, copies)

    def _values(self, frame: Frame, copies: Shadows) -> list[Any]:
        """The arguments with copies in the place of arrays."""
        made: list[Any] = []
        for i, (kind, value) in enumerate(zip(frame.kinds, frame.values, strict=True)):
            views = iter(copies.views([i]))
            made.append(arguments.with_arrays(frame.code, "", kind, value, lambda _, views=views: next(views).value))
        return made


def _copy_of(code: Code, kind: Any, value: Any) -> Any:
    def take(view: View) -> Any:
        made = shadows.separate(code, view)
        shadows.copy(code, view, View(view.name, view.kind, made))
        code.on_failure.append(lambda: code.context.nrt.decref(code.builder, view.kind, made))
        return made

    return arguments.with_arrays(code, "", kind, value, take)


@dataclass(frozen=True)
class Pullback(Recipe):
    """A tuple of fresh adjoints, None for arguments not in `wrt`, from a state and a cotangent of the result.

    own: the Numba types of the kernel's arguments, when the state comes from Python and may have lost them.
    """

    own: tuple[Any, ...] | None = None

    @property
    def verb(self) -> str:
        return "pullback"

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("state", "cotangent")

    def typed(self, variant: str, typingctx: Any, kinds: Sequence[Any]) -> tuple[Any, Generate]:
        own = self.own or own_types(kinds[0])
        choice = _choice(self, own, variant, typingctx)
        state, given = _state_type(self.kernel, own, choice), arguments.plain(kinds[1])
        like(self.kernel, "the cotangent of the result", choice.first.result, given)
        returned = tuple_type([derivative_type(kind) if i in self.wrt else _types.none for i, kind in enumerate(own)])

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            code = Code(context, builder, zip((state, given), values, strict=True))
            parts = [builder.extract_value(values[0], i) for i in range(len(state.types))]
            held = [builder.extract_value(parts[ARGUMENTS], i) for i in range(len(own))]
            frame = Frame(code, self.kernel, state.types[ARGUMENTS].types, held)
            seed = Seed(code, choice.first.result, given, values[1])
            why = "the cotangent has another shape than the result"
            code.refuse_if(seed.misfit(choice.first.result, parts[RESULT]), frame.bad(why, "give it the same shape"))
            return context.make_tuple(builder, returned, self._run(frame, choice, state, parts, seed))

        return returned(state, given), generate

    def _run(self, frame: Frame, choice: Versions, state: Any, parts: list[Any], seed: Seed) -> list[Any]:
        code, adjoints, outcome = frame.code, Adjoints(frame, choice.first), Outcome(frame.code)
        made = _views(frame, choice, state, parts[SHADOWS])

        def run(version: Compiled) -> None:
            inside = [made[view.name] for view in frame.arrays(version.duplicated, arguments.has_shadow)]
            for view in inside:
                shadows.clear(code, view)
            flat = flattened(code, frame.kinds, frame.values) + shadow_pointers(code, inside)
            tape = code.builder.inttoptr(parts[TAPE], _cgutils.voidptr_t)
            outcome.set(call(code, version, "pullback", [outcome.excinfo, tape, *flat, *seed.flat, adjoints.bars]))

        _by_version(code, choice, parts[CAREFUL], run)
        outcome.propagate()
        found: list[Any] = []
        copies: list[View] = []
        for i in range(len(frame.kinds)):
            if i not in self.wrt:
                found.append(code.context.get_dummy_value())
            else:
                views = [made[view.name] for view in frame.arrays([i], arguments.has_shadow)]
                fresh = [View(v.name, v.kind, _copy_of(code, v.kind, v.value)) for v in views]
                found.append(adjoints.gradient(i, (view.value for view in fresh)))
                copies += fresh
        for view in copies:
            code.context.nrt.decref(code.builder, view.kind, view.value)
        return found


@dataclass(frozen=True)
class Release(Recipe):
    """Gives the tape of a state back."""

    own: tuple[Any, ...] | None = None

    def choice(self, own: Sequence[Any], typingctx: Any) -> Versions:
        """What njit code calls for kernel arguments of these types."""
        return _choice(self, own, "both", typingctx)

    @property
    def verb(self) -> str:
        return "release"

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("state",)

    def typed(self, variant: str, typingctx: Any, kinds: Sequence[Any]) -> tuple[Any, Generate]:
        own = self.own or own_types(kinds[0])
        choice = _choice(self, own, variant, typingctx)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            address, careful = (builder.extract_value(values[0], part) for part in (TAPE, CAREFUL))
            release_tape(Code(context, builder), choice, address, careful)
            return context.get_dummy_value()

        return _types.none(_state_type(self.kernel, own, choice)), generate


def release_tape(code: Code, choice: Versions, address: Any, careful: Any) -> None:
    """Emit the release of a tape by the version that made it."""
    tape = code.builder.inttoptr(address, _cgutils.voidptr_t)
    _by_version(code, choice, careful, lambda version: call(code, version, "release", [tape]))


def _views(frame: Frame, choice: Versions, state: Any, packed: Any) -> dict[str, View]:
    """The shadows of a state, by the names of their arrays."""
    kinds, b = state.types[SHADOWS].types, frame.code.builder
    arrays = enumerate(zip(frame.arrays(choice.duplicated, arguments.has_shadow), kinds, strict=True))
    return {view.name: View(view.name, kind, b.extract_value(packed, i)) for i, (view, kind) in arrays}


def _by_version(code: Code, choice: Versions, careful: Any, run: Callable[[Compiled], Any]) -> None:
    """Run what belongs to the version that made the state."""
    if choice.fast is None or choice.careful is None:
        run(choice.first)
        return
    flag = code.builder.icmp_unsigned("!=", careful, careful.type(0))
    with code.builder.if_else(flag) as (then, otherwise):
        with then:
            run(choice.careful)
        with otherwise:
            run(choice.fast)
