"""The code around an entry point: arguments made fit for it, shadows given and taken, the right version chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any

from irad.errors import BadArguments, BadArgumentValue, IradError
from irad.frontend import arguments, entries, items, listed, shadows, target, tokens
from irad.frontend.abi import ALIASED, NONE
from irad.frontend.arguments import Kernel
from irad.frontend.boxes import closed, holds_containers, is_array_list, is_copied, is_dict, opened, tuple_like
from irad.frontend.calls import Compiled, Outcome, Query, compiled
from irad.frontend.items import Taken, taken
from irad.frontend.opening import instances, open_value
from irad.frontend.shadows import Code, View
from irad.frontend.target import need

_cgutils: Any = need("numba.core.cgutils", "alloca_once", "if_unlikely")
_types: Any = need("numba.core.types", "BaseTuple")
_ir: Any = need("llvmlite.ir", "Constant", "IntType")

SEPARATE = "pass copies that share no memory"


class AliasedArguments(Exception):
    """The version for arrays that share no memory was called with arrays that do; nothing has run."""


# --- versions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Versions:
    """The derivatives that one generated function may call.

    fast: for arrays that share no memory. careful: for any. One of them may be missing; `why` then says, of the careful
    one, what refused it.
    """

    fast: Compiled | None
    careful: Compiled | None
    why: str = ""

    @property
    def first(self) -> Compiled:
        version = self.fast or self.careful
        assert version is not None
        return version

    @property
    def resizes(self) -> bool:
        """Whether the kernel may change the length or the keys of a container that it is given."""
        return any(version.resizes for version in (self.fast, self.careful) if version is not None)

    @property
    def duplicated(self) -> tuple[int, ...]:
        """Positions that take shadows in either version."""
        both = (v.duplicated for v in (self.fast, self.careful) if v is not None)
        return tuple(sorted({i for positions in both for i in positions}))


def versions(query: Query, variant: str, typingctx: Any, *, given: bool = False) -> Versions:
    """What `variant` calls: "fast", "careful", or "both", chosen when it runs.

    Arrays that share memory are one variable, so the careful version has shadows of all float arrays; unless they are
    `given` by the caller.

    Raises
    ------
    IradError: the derivative is refused.
    """
    every = query.activity if given else tuple(map(_with_shadow, query.argtypes, query.activity))
    careful = replace(query, aliased=True, activity=every, fresh=())
    nested = isinstance(typingctx, target.TypingContext)
    if variant == "careful":
        return Versions(None, compiled(careful, raw=nested))
    fast = compiled(query, raw=nested)
    if variant == "fast" or not _several_arrays(query.argtypes):
        return Versions(fast, None, "" if variant == "fast" else "there is one only")
    try:
        return Versions(fast, compiled(careful, raw=nested))
    except IradError as error:
        # disjoint arrays, the usual case, must not suffer from it
        return Versions(fast, None, str(error))


def _with_shadow(kind: Any, role: str) -> str:
    """The role of an argument of type `kind` in a call in which every array of floats has a shadow."""
    inside = list(arguments.parts(kind))
    if role != "const" or not any(map(arguments.has_shadow, inside)):
        return role
    return "shadowed" if any(map(arguments.is_number, inside)) else "duplicated"


def _several_arrays(kinds: Iterable[Any]) -> bool:
    return len([part for kind in kinds for part in arguments.sharing_parts(kind)]) > 1


# --- arguments ------------------------------------------------------------------------------------------------------


class Frame:
    """The arguments of one call, as values of the code being generated; structures among them are opened."""

    def __init__(self, code: Code, kernel: Kernel, kinds: Sequence[Any], values: Sequence[Any]) -> None:
        self.code, self.kernel = code, kernel
        self.kinds = tuple(map(opened, kinds))
        self._owned: list[tuple[Any, Any]] = []
        code.on_failure.append(self.release)
        self.values = [open_value(code, kind, value) for kind, value in zip(kinds, values, strict=True)]
        self._see_to_instances()
        self._containers = self._see_to_containers(kinds, values)
        self._see_to_lists_of_arrays()

    def _see_to_instances(self) -> None:
        """Each instance is opened once, so that it must come once.

        Its methods may be others in another process, which the key of a cache does not tell.
        """
        inside = zip(self.kinds, self.values, self.kernel.names, strict=True)
        found = [each for argument in inside for each in instances(self.code, *argument)]
        if found and self.code.context.target_name != target.NAME:
            tokens.forbid_caching(self.code.builder)
        for (one, here), (other, there) in combinations(found, 2):
            same = self.code.builder.icmp_unsigned("==", here, there)
            self.code.refuse_if(same, self.bad(f"{one} and {other} are the same instance", "pass two instances"))

    def _see_to_containers(self, kinds: Sequence[Any], values: Sequence[Any]) -> list[Taken]:
        """The containers among the arguments; each must come once, for two that were opened would not grow alike."""
        given = zip(self.kernel.names, kinds, values, self.values, strict=True)
        found = [each for argument in given for each in taken(self.code, *argument)]
        for one, other in combinations(found, 2):
            same = self.code.builder.icmp_unsigned("==", one.data, other.data)
            self.code.refuse_if(same, self.bad(f"{one.name} and {other.name} are the same container", "pass a copy"))
        return found

    def _see_to_lists_of_arrays(self) -> None:
        """What lies in their arrays was copied, so that nothing else may lie there."""
        before: list[Taken] = []
        for one in self._containers:
            if is_array_list(one.kind):
                listed.refuse_shared(self.code, one, self.sharing(), before, self.bad)
                before.append(one)

    def give_back(self, choice: Versions) -> None:
        """Make the caller's containers what the kernel made of them."""
        for one in self._containers:
            if is_dict(one.kind):
                entries.give_back(self.code, one, resizes=choice.resizes)
            elif is_array_list(one.kind):
                why = f"the kernel puts other arrays into the list {one.name}, or takes some out"
                error = self.bad(why, "let the kernel change a copy of the list")
                listed.give_back(self.code, one, error, resizes=choice.resizes)
            elif choice.resizes:
                items.give_back(self.code, one)

    def refuse_changed(self, choice: Versions, positions: Iterable[int]) -> None:
        """Refuse that a container whose shadow is the caller's is of another size than before; the kernel has run."""
        names = tuple(self.kernel.names[i] for i in positions)
        for one in self._containers:
            if choice.resizes and one.name.split("[")[0] in names:
                what = "keys" if is_dict(one.kind) else "length"
                why = f"the kernel changed the {what} of {one.name}, whose shadow cannot follow"
                hint = "use irad.grad, irad.vjp or irad.jvp, or let the kernel change a copy"
                self.code.refuse_if(items.has_changed(self.code, one), self.bad(why, hint))

    def fitted(self, position: int, name: str, kind: Any, value: Any) -> tuple[Any, Any]:
        """The type and value of what belongs to an argument (a tangent, a shadow), its dictionaries opened in the order
        of the argument's own, its arrays in lists laid out as the argument's."""
        return self._fitted(name, closed(self.kinds[position]), self.values[position], kind, value)

    def _fitted(self, name: str, wanted: Any, own: Any, kind: Any, value: Any) -> tuple[Any, Any]:
        if is_copied(wanted) and is_dict(wanted):
            error = self.bad(f"{name} has other keys than what it belongs to", "give it the same keys")
            return opened(wanted), entries.like(self.code, wanted, own, value, error)
        if is_copied(wanted):
            error = self.bad(f"{name} has not arrays of the shapes of what it belongs to", "give it the same shapes")
            return opened(wanted), listed.like(self.code, wanted, own, value, error)
        if not (isinstance(wanted, _types.BaseTuple) and holds_containers(wanted)):
            return kind, value
        extract, found = self.code.builder.extract_value, list[tuple[Any, Any]]()
        for i, (inner, given) in enumerate(zip(wanted.types, kind.types, strict=True)):
            found.append(self._fitted(f"{name}[{i}]", inner, extract(own, i), given, extract(value, i)))
        whole = tuple_like(kind, [each for each, _ in found])
        return whole, self.code.context.make_tuple(self.code.builder, whole, [each for _, each in found])

    def put_back(self, wanted: Any, value: Any, fitted: Any) -> None:
        """Write what a derivative run left in the copied containers of a shadow, opened by `fitted`, into them."""
        if is_copied(wanted):
            (entries if is_dict(wanted) else listed).put_back(self.code, wanted, value, fitted)
        elif isinstance(wanted, _types.BaseTuple) and holds_containers(wanted):
            extract = self.code.builder.extract_value
            for i, inner in enumerate(wanted.types):
                self.put_back(inner, extract(value, i), extract(fitted, i))

    def bad(self, why: str, hint: str = SEPARATE) -> BadArguments:
        return BadArgumentValue(why, hint=hint, place=self.kernel.place)

    def arrays(self, positions: Iterable[int], want: Callable[[Any], bool] = arguments.is_array) -> list[View]:
        """The arrays of these arguments, those inside tuples too."""
        found: list[View] = []
        for i in positions:
            found += arguments.views(self.code, self.kernel.names[i], self.kinds[i], self.values[i], want)
        return found

    def all_arrays(self, want: Callable[[Any], bool] = arguments.is_array) -> list[View]:
        return self.arrays(range(len(self.kinds)), want)

    def sharing(self, want: Callable[[Any], bool] = arguments.is_array) -> list[View]:
        """The arrays that may share memory with others."""
        return [view for view in self.all_arrays(want) if not view.apart]

    def settle(self, positions: Iterable[int]) -> None:
        """Make every element of these arrays one that can have a derivative of its own.

        A read-only array that overlaps itself (a broadcast, a sliding window) is replaced by a compact copy.
        """
        for i in positions:
            name, kind, value = self.kernel.names[i], self.kinds[i], self.values[i]
            self.values[i] = arguments.with_arrays(self.code, name, kind, value, self._settled)

    def refuse_self_overlap(self, view: View) -> None:
        found = shadows.overlaps_itself(self.code, view)
        self.code.refuse_if(found, self.bad(f"{view.name} overlaps itself in memory", "pass a copy of it"))

    def _settled(self, view: View) -> Any:
        code, kind = self.code, view.kind
        if kind.layout in "CF" or not arguments.has_shadow(kind):
            return view.value
        if kind.mutable:
            self.refuse_self_overlap(view)
            return view.value
        found = shadows.overlaps_itself(code, view)
        mine = shadows.extent(code, view)
        others = [shadows.extent(code, v) for v in self.sharing() if v.name != view.name]
        shared = code.any([shadows.overlap(code, mine, other) for other in others])
        why = f"{view.name} overlaps itself in memory and shares memory with another argument"
        code.refuse_if(code.builder.and_(found, shared), self.bad(why))
        type = code.context.get_value_type(kind)
        used, owned = (_cgutils.alloca_once(code.builder, type, zfill=True) for _ in range(2))
        code.builder.store(view.value, used)
        with code.builder.if_then(found):
            copy = shadows.compact(code, view)
            code.builder.store(copy, used)
            code.builder.store(copy, owned)
        self._owned.append((kind, owned))
        return code.builder.load(used)

    def overlapping(self, positions: Sequence[int]) -> Any:
        """Whether a float array shares memory with another, when any of `positions` are arrays."""
        if not self.arrays(positions, arguments.has_shadow):
            return _ir.Constant(_ir.IntType(1), 0)
        everything = self.sharing(arguments.has_shadow)
        return shadows.any_overlap(self.code, [shadows.extent(self.code, view) for view in everything])

    def refuse_mixed_overlap(self, duplicated: Sequence[int]) -> None:
        """Refuse what shadows that mirror the arrays cannot express: shared memory of different dtypes."""
        with_shadow = {view.name for view in self.arrays(duplicated, arguments.has_shadow)}
        located = [(view, shadows.extent(self.code, view)) for view in self.sharing()]
        for (one, here), (other, there) in combinations(located, 2):
            floats = [view for view in (one, other) if arguments.has_shadow(view.kind)]
            same = one.kind.dtype == other.kind.dtype and {one.name, other.name} <= with_shadow
            if floats and not same:
                why = f"{one.name} and {other.name} share memory, and have not both a shadow of the same dtype"
                self.code.refuse_if(shadows.overlap(self.code, here, there), self.bad(why))

    def refuse_none(self, choice: Versions, outcome: Outcome) -> None:
        """Refuse a result that is None where it is a value on other paths: a derivative has one type."""
        if choice.first.may_be_none:
            error = self.bad(f"{self.kernel.name} returned None, which has no derivative", "return a value, or raise")
            self.code.refuse_if(outcome.equals(NONE), error)

    def release(self) -> None:
        """Give back what `settle` allocated, and what was made of containers."""
        for kind, slot in self._owned:
            self.code.context.nrt.decref(self.code.builder, kind, self.code.builder.load(slot))
        for kind, value in self.code.temporaries:
            self.code.context.nrt.decref(self.code.builder, kind, value)


class Shadows:
    """Fresh shadows of a frame's arrays, in slots that survive whichever version runs.

    want: which arrays have one.
    """

    def __init__(
        self, frame: Frame, positions: Sequence[int], want: Callable[[Any], bool] = arguments.has_shadow
    ) -> None:
        self.frame, self.code, self.want = frame, frame.code, want
        self._slots: dict[str, tuple[Any, Any]] = {}
        for view in frame.arrays(positions, want):
            kind = shadows.shadow_type(view.kind)
            type = self.code.context.get_value_type(kind)
            self._slots[view.name] = kind, _cgutils.alloca_once(self.code.builder, type, zfill=True)

        self.code.on_failure.append(self.release)

    def fill(
        self, positions: Sequence[int], *, mirror: bool, zeroed: Callable[[int], bool] = lambda position: True
    ) -> None:
        """Allocate; with `mirror`, overlapping as the arrays themselves do, and always zeroed."""
        inside = [(view, zeroed(i)) for i in positions for view in self.frame.arrays([i], self.want)]
        shared = [view for view, _ in inside if mirror and not view.apart]
        ours = [pair for pair in inside if not mirror or pair[0].apart]
        alone = [view for view, _ in ours]
        separate = (shadows.separate(self.code, view, zeroed=clear or mirror) for view, clear in ours)
        made = chain(separate, shadows.mirrored(self.code, shared))
        # one after the other: when one cannot be allocated, those before it must be where `release` finds them
        for view, value in zip((*alone, *shared), made, strict=True):
            self.code.builder.store(value, self._slots[view.name][1])

    def views(self, positions: Iterable[int]) -> list[View]:
        return [self.view(view.name) for view in self.frame.arrays(positions, self.want)]

    def view(self, name: str) -> View:
        kind, slot = self._slots[name]
        return View(name, kind, self.code.builder.load(slot))

    def release(self) -> None:
        """Give back all. What was given back is null."""
        builder = self.code.builder
        for kind, slot in self._slots.values():
            self.code.context.nrt.decref(builder, kind, builder.load(slot))
            builder.store(_cgutils.get_null_value(slot.type.pointee), slot)


# --- running --------------------------------------------------------------------------------------------------------

Run = Callable[[Outcome, Compiled], Any]


def attempt(frame: Frame, choice: Versions, overlapping: Any, run: Run, release: Callable[[], None]) -> Outcome:
    """Run the fast version where memory is not shared, else the careful one, after `release` of the fast one's."""
    code, outcome = frame.code, Outcome(frame.code)
    b = code.builder
    outcome.set(_ir.Constant(_ir.IntType(32), ALIASED))
    if choice.fast is not None:
        with b.if_then(b.not_(overlapping)):
            outcome.set(run(outcome, choice.fast))
    if choice.careful is not None:
        with b.if_then(outcome.equals(ALIASED), likely=False):
            release()
            frame.refuse_mixed_overlap(choice.careful.duplicated)
            outcome.set(run(outcome, choice.careful))
    else:
        with _cgutils.if_unlikely(b, outcome.equals(ALIASED)):
            _raise_aliased(frame, choice.why)
    frame.give_back(choice)
    outcome.propagate()
    return outcome


def _raise_aliased(frame: Frame, why: str) -> None:
    if not why:
        frame.code.raise_error(AliasedArguments)
        return
    error = frame.bad(f"arrays passed to {frame.kernel.name} share memory: {why}")
    frame.code.raise_error(type(error), str(error))
