"""The kinds of derivative functions: what each takes, what it returns, and the code between.

A recipe is a frozen description. `typed` compiles the derivative that it needs (Numba calls it while it types the
generated function) and returns the signature with the function that generates the code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irad.errors import BadArgumentType
from irad.frontend import arguments, shadows
from irad.frontend.arguments import Kernel, derivative_type, like
from irad.frontend.calls import Compiled, Outcome, Query, call, flattened
from irad.frontend.frame import Frame, Shadows, Versions, attempt, versions
from irad.frontend.given import check_shadow_types, check_shadows
from irad.frontend.shadows import Code, View
from irad.frontend.target import need

_types: Any = need("numba.core.types", "Tuple", "BaseTuple", "Complex", "none")
_cgutils: Any = need("numba.core.cgutils", "alloca_once", "if_unlikely", "voidptr_t")
_ir: Any = need("llvmlite.ir", "IntType", "LiteralStructType")

Generate = Callable[[Any, Any, Any, Any], Any]


def tuple_type(inside: Sequence[Any]) -> Any:
    """Numba's type of a plain tuple."""
    return _types.BaseTuple.from_types(list(inside))


@dataclass(frozen=True)
class Recipe(ABC):
    """kernel: what is differentiated. wrt: positions of the arguments. strict: no reassociation of adjoints."""

    kernel: Kernel
    wrt: tuple[int, ...]
    strict: bool

    @property
    @abstractmethod
    def verb(self) -> str:
        """The first word of the generated function's name."""

    @property
    def extras(self) -> tuple[str, ...]:
        """Parameters that follow the kernel's own."""
        return ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """All parameters."""
        return self.kernel.names + self.extras

    @abstractmethod
    def typed(self, variant: str, typingctx: Any, kinds: Sequence[Any]) -> tuple[Any, Generate]:
        """Signature and code for arguments of these Numba types.

        Raises
        ------
        IradError: the derivative does not exist, or is refused.
        """

    def roles(self, kinds: Sequence[Any], mode: str) -> tuple[str, ...]:
        """The part that each argument takes, see `Query.activity`."""
        asked = [arguments.activity(self.kernel, i, k, mode) if i in self.wrt else "const" for i, k in enumerate(kinds)]
        return tuple(asked)

    def query(self, kinds: Sequence[Any], mode: str) -> Query:
        roles = self.roles(kinds, mode)
        return Query(self.kernel.dispatcher, tuple(kinds), mode, roles, strict=self.strict)


# --- reverse --------------------------------------------------------------------------------------------------------


class Adjoints:
    """Memory that a reverse entry point fills: the result, and the adjoints of active floats."""

    def __init__(self, frame: Frame, version: Compiled) -> None:
        self.frame, self.code, self.version = frame, frame.code, version
        context, builder = self.code.context, self.code.builder
        self.result = slot(self.code, context.call_conv.get_return_type(version.result).pointee)
        numbers = {i: list(filter(arguments.is_number, arguments.parts(frame.kinds[i]))) for i in version.active}
        inside = [context.get_value_type(part) for parts in numbers.values() for part in parts]
        self.bars = slot(self.code, _ir.LiteralStructType(inside))
        places = iter(range(len(inside)))
        self._places = {i: [next(places) for _ in parts] for i, parts in numbers.items()}
        self._builder = builder

    def value(self) -> Any:
        """What the kernel returned."""
        loaded = self._builder.load(self.result)
        return self.code.context.get_returned_value(self._builder, self.version.result, loaded)

    def gradient(self, position: int, arrays: Iterator[Any]) -> Any:
        """The adjoint of an argument in the structure of its type; `arrays` are those inside it, borrowed."""
        struct, places = self._builder.load(self.bars), self._places.get(position, ())
        numbers = (self._builder.extract_value(struct, at) for at in places)
        kind, own = self.frame.kinds[position], self.frame.values[position]
        return arguments.derivative_of(self.code, kind, own, numbers, arrays)


def slot(code: Code, type: Any) -> Any:
    return _cgutils.alloca_once(code.builder, type, zfill=True)


class Seed:
    """A seed of a result as an entry point takes it.

    kind: the type of `value`, checked by `like` against `result`. flat: the flattened seed. arrays: those inside it.
    """

    def __init__(self, code: Code, result: Any, kind: Any, value: Any) -> None:
        self.code, self.flat, self.arrays = code, list[Any](), list[View]()
        for part, view in arguments.paired(code, "the seed", result, kind, value):
            if arguments.is_number(part):
                self.flat += arguments.derivative_numbers(code, part, view.kind, view.value)
            elif arguments.has_shadow(part):
                self.flat += flattened(code, [view.kind], [view.value])
                self.arrays.append(view)

    def misfit(self, result: Any, value: Any) -> Any:
        """Whether an array of the seed has another shape than that of the result."""
        made = arguments.views(self.code, "the result", result, value, arguments.has_shadow)
        pairs = zip(made, self.arrays, strict=True)
        return self.code.any([shadows.unlike(self.code, one, other, strides=False) for one, other in pairs])


def shadow_pointers(code: Code, views: Sequence[View]) -> list[Any]:
    return [code.fields(view).data for view in views]


@dataclass(frozen=True)
class Gradient(Recipe):
    """Derivatives of one float result with respect to `wrt`, fresh; with the result itself when `value` is set."""

    single: bool
    value: bool

    @property
    def verb(self) -> str:
        return "value_and_grad" if self.value else "grad"

    def query(self, kinds: Sequence[Any], mode: str) -> Query:
        return replace(super().query(kinds, mode), value=self.value, fresh=contiguous(kinds, self.wrt))

    def typed(self, variant: str, typingctx: Any, kinds: Sequence[Any]) -> tuple[Any, Generate]:
        kinds = [arguments.plain(kind) for kind in kinds]
        choice = versions(self.query(kinds, "reverse"), variant, typingctx)
        result = choice.first.result
        _one_float(self.kernel, result)
        grads = [derivative_type(kinds[i]) for i in self.wrt]
        grad = grads[0] if self.single else tuple_type(grads)
        returned = tuple_type([result, grad]) if self.value else grad

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            frame = Frame(Code(context, builder, zip(kinds, values, strict=True)), self.kernel, kinds, values)
            value, inside = self._run(frame, choice)
            grad_value = inside[0] if self.single else context.make_tuple(builder, grad, inside)
            return context.make_tuple(builder, returned, [value, grad_value]) if self.value else grad_value

        return returned(*kinds), generate

    def _run(self, frame: Frame, choice: Versions) -> tuple[Any, list[Any]]:
        """The result, and the derivative of each argument in `wrt`."""
        code = frame.code
        frame.settle(self.wrt)
        adjoints, made = Adjoints(frame, choice.first), Shadows(frame, choice.duplicated)
        one = code.context.get_constant(choice.first.result, 1.0)

        def run(outcome: Outcome, version: Compiled) -> Any:
            made.fill(version.duplicated, mirror=version.query.aliased, zeroed=lambda i: i not in version.query.fresh)
            flat = flattened(code, frame.kinds, frame.values)
            pointers = shadow_pointers(code, made.views(version.duplicated))
            slots = [adjoints.result, outcome.excinfo]
            return call(code, version, "reverse", [*slots, *flat, *pointers, one, adjoints.bars])

        overlapping = frame.overlapping(choice.first.duplicated)
        frame.refuse_none(choice, attempt(frame, choice, overlapping, run, made.release))
        inside = [adjoints.gradient(i, (view.value for view in made.views([i]))) for i in self.wrt]
        made.release()
        frame.release()
        return adjoints.value(), inside


def contiguous(kinds: Sequence[Any], positions: Iterable[int]) -> tuple[int, ...]:
    """Those of `positions` whose arrays fill their memory without gaps."""

    def fills(kind: Any) -> bool:
        return all(part.layout in "CF" for part in arguments.parts(kind) if arguments.has_shadow(part))

    return tuple(i for i in positions if fills(kinds[i]))


def _one_float(kernel: Kernel, result: Any) -> None:
    if arguments.is_float(result):
        return
    name = kernel.name
    if isinstance(result, _types.Complex):
        hint = "holomorphic=True gives the complex derivative; irad.vjp takes a seed for such a result"
    elif result == _types.none:
        hint = "irad.autodiff(irad.Reverse, ...) takes seeds for the arrays that the kernel writes"
    elif arguments.has_derivative(result):
        hint = "irad.vjp takes a seed for such a result; irad.jacrev and irad.jacfwd give the whole Jacobian"
    else:
        hint = "there is nothing to differentiate"
    raise BadArgumentType(f"{name} returns {result}, not one float: it has no gradient", hint=hint, place=kernel.place)


# --- forward --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tangent(Recipe):
    """The result and its tangent, from tangents of the arguments in `wrt`, which follow the kernel's own.

    given: the tangents of arrays are the caller's shadows, used in place; else they are copied.
    """

    given: bool

    @property
    def verb(self) -> str:
        return "forward" if self.given else "jvp"

    @property
    def extras(self) -> tuple[str, ...]:
        return tuple(f"{self.kernel.names[i]}_dot" for i in self.wrt)

    def typed(self, variant: str, typingctx: Any, kinds: Sequence[Any]) -> tuple[Any, Generate]:
        count = len(self.kernel.names)
        own, dots = [arguments.plain(kind) for kind in kinds[:count]], [arguments.plain(kind) for kind in kinds[count:]]
        query = self.query(own, "forward")
        for i, dot in zip(self.wrt, dots, strict=True):
            like(self.kernel, f"the tangent of {self.kernel.names[i]}", own[i], dot)
        if self.given:
            check_shadow_types(self.kernel, zip(self.extras, (own[i] for i in self.wrt), dots, strict=True))
        dots = [arguments.given_type(own[i], dot) for i, dot in zip(self.wrt, dots, strict=True)]
        choice = versions(query, variant, typingctx, given=self.given)
        returned = tuple_type([choice.first.result] * 2)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            code = Code(context, builder, zip([*own, *dots], values, strict=True))
            frame = Frame(code, self.kernel, own, values[:count])
            given = zip(self.wrt, self.extras, dots, values[count:], strict=True)
            fitted = [frame.fitted(*each) for each in given]
            tangents = Tangents(code, self, own, [kind for kind, _ in fitted], [value for _, value in fitted])
            pair = self._run(frame, tangents, choice, values[count:])
            return context.make_tuple(builder, returned, pair)

        return returned(*own, *dots), generate

    def _run(self, frame: Frame, tangents: Tangents, choice: Versions, given: Sequence[Any]) -> tuple[Any, Any]:
        code, b = frame.code, frame.code.builder
        own, dots = frame.arrays(self.wrt, arguments.has_shadow), tangents.views(self.wrt)
        type = code.context.call_conv.get_return_type(choice.first.result).pointee
        result, result_dot = slot(code, type), slot(code, type)
        made = Shadows(frame, () if self.given else choice.duplicated)
        if self.given:
            check_shadows(frame, own, dots)
        else:
            frame.settle(self.wrt)
            for view, dot in zip(own, dots, strict=True):
                why = f"the tangent of {view.name} has another shape than {view.name}"
                code.refuse_if(shadows.unlike(code, view, dot, strides=False), frame.bad(why, "give it the same shape"))

        def run(outcome: Outcome, version: Compiled) -> Any:
            if not self.given:
                self._fill(frame, tangents, made, version)
            flat = flattened(code, frame.kinds, frame.values)
            slots = [result, result_dot, outcome.excinfo]
            return call(code, version, "forward", [*slots, *flat, *self._tangents(frame, tangents, made, version)])

        outcome = attempt(frame, choice, frame.overlapping(self.wrt), run, made.release)
        if self.given:
            frame.refuse_changed(choice, self.wrt)
            for i, value, fitted in zip(self.wrt, given, tangents.values, strict=True):
                frame.put_back(tangents.own[i], value, fitted)
        value, dot = (
            code.context.get_returned_value(b, choice.first.result, b.load(slot)) for slot in (result, result_dot)
        )
        if choice.first.may_be_none:
            code.on_failure.append(lambda: code.context.nrt.decref(b, choice.first.result, dot))
        frame.refuse_none(choice, outcome)
        made.release()
        frame.release()
        return value, dot

    def _fill(self, frame: Frame, tangents: Tangents, made: Shadows, version: Compiled) -> None:
        code = frame.code
        made.fill(version.duplicated, mirror=version.query.aliased)
        pairs = list(zip(made.views(self.wrt), tangents.views(self.wrt), strict=True))
        for shadow, dot in pairs:
            shadows.copy(code, dot, shadow)
        if version.query.aliased:
            for shadow, dot in pairs:
                why = f"{shadow.name} shares memory with another argument, but their tangents differ there"
                code.refuse_if(shadows.differ(code, dot, shadow), frame.bad(why))

    def _tangents(self, frame: Frame, tangents: Tangents, made: Shadows, version: Compiled) -> list[Any]:
        """The flat tangents: floats as given, pointers to the data of shadows."""
        code, flat = frame.code, list[Any]()
        for i in version.duplicated:
            views = iter(tangents.views([i]) if self.given else made.views([i]))
            numbers = iter(tangents.numbers(i) if i in self.wrt else ())
            for part in arguments.parts(frame.kinds[i]):
                if arguments.has_shadow(part):
                    flat.append(code.fields(next(views)).data)
                elif arguments.is_number(part):
                    flat += next(numbers, ())
        return flat


@dataclass(frozen=True)
class Tangents:
    """The tangents given to `recipe`: the types of the kernel's arguments, their own types, and their values."""

    code: Code
    recipe: Tangent
    own: Sequence[Any]
    kinds: Sequence[Any]
    values: Sequence[Any]

    def views(self, positions: Iterable[int]) -> list[View]:
        """The arrays that belong to arrays of floats."""
        return [view for i in positions for part, view in self._paired(i) if arguments.has_shadow(part)]

    def numbers(self, position: int) -> list[list[Any]]:
        """The floats that belong to each float and complex number of an argument."""
        pairs = (pair for pair in self._paired(position) if arguments.is_number(pair[0]))
        return [arguments.derivative_numbers(self.code, part, view.kind, view.value) for part, view in pairs]

    def _paired(self, position: int) -> Iterator[tuple[Any, View]]:
        at = self.recipe.wrt.index(position)
        name, own = self.recipe.extras[at], self.own[position]
        return arguments.paired(self.code, name, own, self.kinds[at], self.values[at])
