"""Derivative functions by name: made once for each kernel and options, pickled by what they were made from."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

from irad.errors import BadArgumentType, BadArgumentValue
from irad.frontend import cache, target
from irad.frontend.adjoint import Adjoint
from irad.frontend.arguments import Kernel
from irad.frontend.callable import DerivativeFunction, Source, kernel_of, signature_of, source_of, word
from irad.frontend.composed import HELPERS, HOLOMORPHIC, HVP, JACFWD, JACREV
from irad.frontend.recipes import Gradient, Recipe, Tangent
from irad.frontend.split import Augmented, Pullback, Release

_made: dict[tuple[object, ...], DerivativeFunction] = {}


def positions(kernel: Kernel, argnums: Any) -> tuple[int, ...]:
    """`argnums` (a position, a parameter's name, or a tuple of these) as positions.

    Raises
    ------
    BadArgumentType: something else.
    BadArgumentValue: out of range, an unknown name, twice the same, or none.
    """
    found = tuple(_position(kernel, one) for one in (argnums if isinstance(argnums, tuple | list) else (argnums,)))
    if not found or len(set(found)) < len(found):
        why = f"argnums={argnums!r} must name one argument or several different ones"
        raise BadArgumentValue(why, place=kernel.place)
    return found


def _position(kernel: Kernel, argnum: Any) -> int:
    names = kernel.names
    if isinstance(argnum, str):
        if argnum not in names:
            raise BadArgumentValue(_unknown(kernel, repr(argnum)), place=kernel.place)
        return names.index(argnum)
    if isinstance(argnum, bool) or not hasattr(argnum, "__index__"):
        raise BadArgumentType(f"argnums takes positions and names, not {argnum!r}", place=kernel.place)
    at = argnum.__index__()
    if not -len(names) <= at < len(names):
        raise BadArgumentValue(_unknown(kernel, str(at)), place=kernel.place)
    return at % len(names)


def _unknown(kernel: Kernel, what: str) -> str:
    return f"argnums: {kernel.name} has no argument {what}; it has {', '.join(kernel.names) or 'none'}"


# --- one function for each way to make it ---------------------------------------------------------------------------


def gradient(
    f: Any, argnums: Any, *, value: bool, cached: bool, strict: bool, holomorphic: bool = False
) -> DerivativeFunction:
    """See `irad.grad` and `irad.value_and_grad`."""
    if holomorphic:
        return _complex_slope(f, argnums, value=value, cached=cached, strict=strict)
    kernel = kernel_of(f)
    wrt = positions(kernel, argnums)
    single = not isinstance(argnums, tuple | list)
    kind = "Value and gradient" if value else "Gradient"
    key = (gradient, kernel.dispatcher, wrt, single, value, cached, strict)

    def make() -> DerivativeFunction:
        recipe = Gradient(kernel, wrt, strict, single, value)
        at = (wrt[0] if single else wrt, value, cached, strict)
        doc = f"{kind} of {kernel.name} with respect to {_listed(kernel, wrt)}."
        return _one(recipe, doc, "gradient", f, at, cached)

    return _once(key, make)


def _complex_slope(f: Any, argnums: Any, *, value: bool, cached: bool, strict: bool) -> DerivativeFunction:
    """The derivative of a holomorphic function."""
    kernel = kernel_of(f)
    wrt = positions(kernel, argnums)
    single = not isinstance(argnums, tuple | list)
    verb = "value_and_grad" if value else "grad"

    def make() -> DerivativeFunction:
        inner = {"augmented": augmented(f, wrt, protect=False, strict=strict)}
        inner |= {"pullback": pullback(f, wrt, strict=strict), "release": release(f, wrt, strict=strict)}
        slope = "slope[0]" if single else "slope"
        template = HOLOMORPHIC.replace("{returned}", f"out, {slope}" if value else slope)
        for field, along in (("{one}", "along_one"), ("{i}", "along_i")):
            template = template.replace(field, "".join(f"{along}[{i}], " for i in wrt))
        at = (wrt[0] if single else wrt, value, cached, strict, True)
        doc = f"Complex derivative of {kernel.name} with respect to {_listed(kernel, wrt)}."
        return _several(kernel, verb, doc, template, inner, wrt, "gradient", f, at, cached)

    return _once((_complex_slope, kernel.dispatcher, wrt, single, value, cached, strict), make)


def tangent(f: Any, wrt: tuple[int, ...], *, given: bool) -> DerivativeFunction:
    """`f`'s arguments, then tangents of those in `wrt` -> (result, tangent)."""
    kernel = kernel_of(f)

    def make() -> DerivativeFunction:
        doc = f"Result of {kernel.name} and its tangent, from tangents of {_listed(kernel, wrt)}."
        return _one(Tangent(kernel, wrt, False, given), doc, "tangent", f, (wrt, given), False)

    return _once((tangent, kernel.dispatcher, wrt, given), make)


def push(f: Any, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """See `irad.jvp`."""
    name = kernel_of(f).name
    if not (isinstance(primals, tuple) and isinstance(tangents, tuple)) or len(primals) != len(tangents):
        raise BadArgumentType(f"jvp of {name} takes a tuple of primals and a tuple of tangents of the same length")
    wrt = tuple(i for i, dot in enumerate(tangents) if dot is not None)
    return tangent(f, wrt, given=False)(*primals, *(dot for dot in tangents if dot is not None))


def adjoint(
    f: Any, wrt: tuple[int, ...], shadowed: tuple[int, ...], filled: tuple[int, ...] = ()
) -> DerivativeFunction:
    """`f`'s arguments, shadows of those in `shadowed`, a seed -> (result, adjoints of the floats in `wrt`).

    filled: those of `shadowed` whose shadows are undefined on entry.
    """
    kernel = kernel_of(f)

    def make() -> DerivativeFunction:
        doc = f"Result of {kernel.name} and adjoints of {_listed(kernel, wrt)}."
        return _one(Adjoint(kernel, wrt, False, shadowed, filled), doc, "adjoint", f, (wrt, shadowed, filled), False)

    return _once((adjoint, kernel.dispatcher, wrt, shadowed, filled), make)


def augmented(f: Any, wrt: tuple[int, ...], *, protect: bool, strict: bool = False) -> DerivativeFunction:
    """`f`'s arguments -> (result, state)."""
    kernel = kernel_of(f)

    def make() -> DerivativeFunction:
        doc = f"Result of {kernel.name} and what its pullback needs."
        return _one(Augmented(kernel, wrt, strict, protect), doc, "augmented", f, (wrt, protect, strict), False)

    return _once((augmented, kernel.dispatcher, wrt, protect, strict), make)


def pullback(
    f: Any, wrt: tuple[int, ...], own: tuple[Any, ...] | None = None, *, strict: bool = False
) -> DerivativeFunction:
    """(state, cotangent) -> adjoints of the arguments, None for those not in `wrt`; `own`: see `Pullback`."""
    kernel = kernel_of(f)

    def make() -> DerivativeFunction:
        doc = f"Adjoints of {kernel.name}."
        return _one(Pullback(kernel, wrt, strict, own), doc, "pullback", f, (wrt, own, strict), False)

    return _once((pullback, kernel.dispatcher, wrt, own, strict), make)


def release(
    f: Any, wrt: tuple[int, ...], own: tuple[Any, ...] | None = None, *, strict: bool = False
) -> DerivativeFunction:
    """state -> None: its tape is given back."""
    kernel = kernel_of(f)

    def make() -> DerivativeFunction:
        doc = f"Release of {kernel.name}."
        return _one(Release(kernel, wrt, strict, own), doc, "release", f, (wrt, own, strict), False)

    return _once((release, kernel.dispatcher, wrt, own, strict), make)


def jacobian(f: Any, argnum: Any, *, forward: bool, cached: bool) -> DerivativeFunction:
    """See `irad.jacfwd` and `irad.jacrev`."""
    kernel = kernel_of(f)
    wrt = _one_position(kernel, argnum)

    def make() -> DerivativeFunction:
        verb = "jacfwd" if forward else "jacrev"
        doc = f"Jacobian of {kernel.name} with respect to {_listed(kernel, wrt)}."
        if forward:
            inner = {"push": tangent(f, wrt, given=False)}
        else:
            inner = {"augmented": augmented(f, wrt, protect=False)}
            inner |= {"pullback": pullback(f, wrt), "release": release(f, wrt)}
        at = (wrt[0], forward, cached)
        return _several(kernel, verb, doc, JACFWD if forward else JACREV, inner, wrt, "jacobian", f, at, cached)

    return _once((jacobian, kernel.dispatcher, wrt, forward, cached), make)


def hessian_product(f: Any, argnum: Any, *, cached: bool) -> DerivativeFunction:
    """See `irad.hvp`."""
    kernel = kernel_of(f)
    wrt = _one_position(kernel, argnum)

    def make() -> DerivativeFunction:
        doc = f"Product of the Hessian of {kernel.name} with respect to {_listed(kernel, wrt)} and a vector."
        inner = {"push": tangent(gradient(f, wrt[0], value=False, cached=False, strict=False), wrt, given=False)}
        return _several(kernel, "hvp", doc, HVP, inner, wrt, "hessian_product", f, (wrt[0], cached), cached, ("v",))

    return _once((hessian_product, kernel.dispatcher, wrt, cached), make)


# --- making ---------------------------------------------------------------------------------------------------------


def _once(key: tuple[object, ...], make: Callable[[], DerivativeFunction]) -> DerivativeFunction:
    found = _made.get(key)
    if found is None:
        with target.lock:
            found = _made.get(key) or _made.setdefault(key, make())
    return found


def _one(recipe: Recipe, doc: str, maker: str, f: Any, at: tuple[object, ...], cached: bool) -> DerivativeFunction:
    return DerivativeFunction(source_of(recipe, doc, lambda: _reduced(maker, f, at)), cached=cached)


def _several(
    kernel: Kernel,
    verb: str,
    doc: str,
    template: str,
    inner: dict[str, DerivativeFunction],
    wrt: tuple[int, ...],
    maker: str,
    f: Any,
    at: tuple[object, ...],
    cached: bool,
    extras: tuple[str, ...] = (),
) -> DerivativeFunction:
    """A derivative function of generated source which calls `inner` ones."""
    signature = signature_of(kernel, tuple(_unused(name, kernel.names) for name in extras))
    names = tuple(signature.parameters)
    indexed = ", ".join(f"{{}}[{i}]" for i in range(len(kernel.names)))
    body = _hygienic(template).format(
        x=kernel.names[wrt[0]],
        at=wrt[0],
        names=", ".join(kernel.names),
        v=names[-1],
        own=indexed.format(*["_irad_own"] * len(kernel.names)),
        again=indexed.format(*["_irad_again"] * len(kernel.names)),
    )

    def namespace(variant: str) -> dict[str, Any]:
        made = {**HELPERS, "kernel": kernel.dispatcher, **{k: v.inner(variant) for k, v in inner.items()}}
        return {f"_irad_{name}": value for name, value in made.items()}

    name, identity = f"{verb}_{word(kernel.name)}", (verb, wrt)
    source = Source(kernel, name, doc, signature, body, namespace, identity, lambda: _reduced(maker, f, at))
    return DerivativeFunction(source, cached=cached)


_VARIABLES = (
    "count",
    "out",
    "out_dot",
    "own",
    "again",
    "rows",
    "state",
    "product",
    "along_one",
    "along_i",
    "slope",
    "i",
)
_FUNCTIONS = ("kernel", "push", "augmented", "pullback", "release")
_LOCAL = (*HELPERS, *_VARIABLES, *_FUNCTIONS)


def _hygienic(template: str) -> str:
    """The names of a template made such as no kernel's parameters have."""
    return re.sub(rf"(?<!\{{)\b({'|'.join(_LOCAL)})\b", r"_irad_\1", template)


def _unused(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name += "_"
    return name


def _one_position(kernel: Kernel, argnum: Any) -> tuple[int]:
    if isinstance(argnum, tuple | list):
        raise BadArgumentType("argnums is one position or name here, not several", place=kernel.place)
    return (positions(kernel, argnum)[0],)


def _listed(kernel: Kernel, wrt: tuple[int, ...]) -> str:
    return ", ".join(kernel.names[i] for i in wrt)


# --- pickling -------------------------------------------------------------------------------------------------------


def _reduced(maker: str, f: Any, at: tuple[object, ...]) -> tuple[object, ...]:
    """By the kernel's name where that finds it; else by the kernel, as Numba pickles it.

    The fingerprint makes Numba's keys of closures differ when the kernel does.
    """
    module, path = cache.path_of(f)
    by_name = path and module != "__main__"
    return _rebuilt, (maker, None if by_name else f, module, path, at, cache.fingerprint(f))


def _rebuilt(maker: str, f: Any, module: str, path: str, at: tuple[object, ...], digest: str) -> DerivativeFunction:
    if f is None:
        f = importlib.import_module(module)
        for name in path.split("."):
            f = getattr(f, name)
    return _MAKERS[maker](f, *at)


_MAKERS: dict[str, Callable[..., DerivativeFunction]] = {
    "gradient": lambda f, wrt, value, cached, strict, holomorphic=False: gradient(
        f, wrt, value=value, cached=cached, strict=strict, holomorphic=holomorphic
    ),
    "tangent": lambda f, wrt, given: tangent(f, wrt, given=given),
    "adjoint": adjoint,
    "augmented": lambda f, wrt, protect, strict: augmented(f, wrt, protect=protect, strict=strict),
    "pullback": lambda f, wrt, own, strict: pullback(f, wrt, own, strict=strict),
    "release": lambda f, wrt, own, strict: release(f, wrt, own, strict=strict),
    "jacobian": lambda f, wrt, forward, cached: jacobian(f, wrt, forward=forward, cached=cached),
    "hessian_product": lambda f, wrt, cached: hessian_product(f, wrt, cached=cached),
}
