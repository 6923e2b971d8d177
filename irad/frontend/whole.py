"""Functions with a derivative rule of their own: whole operations.

A function made by `custom_rule` stays one call in the program that irad differentiates. Where a derivative goes through
the call, the functions of its rule take its place; they are compiled, and differentiated again, as any other code.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from irad.errors import BadArgumentType, Unsupported
from irad.frontend import abi, arguments, target
from irad.frontend.arguments import derivative_type
from irad.frontend.cache import PARTS
from irad.frontend.lower import Lowered, dispatcher_of, lower, place_of
from irad.frontend.rulebook import added, clear, cleared, dense, fitted, held
from irad.frontend.source import defined, parameters, unannotated
from irad.frontend.target import need
from irad.ir.types import Float
from irad.rules.calls import WHOLE_NAME, Whole

_numba: Any = need("numba", "njit")
_errors: Any = need("numba.core.errors", "NumbaPerformanceWarning")
_types: Any = need("numba.core.types", "BaseTuple", "Complex", "Array.copy", "none")

RULE = "__irad_rule__"
"""Attribute of the Python function behind a whole operation: its `Rule`."""


@dataclass(frozen=True, eq=False)
class Rule:
    """How a function is differentiated; see `irad.custom_rule`. Functions of the rule are njit dispatchers.

    sparse: its functions do no more than is asked: a tangent is None where the argument is constant, and the augmented
    function and the pullback take one more parameter for each argument, None where it is.
    constant: arguments by which the function cannot be differentiated, with the reason.
    complex: whether arrays of complex numbers are differentiated, by the conventions of docs/conventions.md.
    """

    name: str
    primal: Any
    tangent: Any
    augmented: Any
    pullback: Any
    sparse: bool = False
    constant: tuple[tuple[int, str], ...] = ()
    complex: bool = False


def make(
    primal: Any,
    *,
    tangent: Any,
    augmented: Any,
    pullback: Any,
    sparse: bool = False,
    constant: dict[int, str] | None = None,
    complex: bool = False,
) -> Any:
    """See `irad.custom_rule`, and `Rule` for the rest."""
    own = dispatcher_of(primal)
    rule = Rule(
        own.py_func.__name__,
        own,
        _part(tangent),
        _part(augmented),
        _part(pullback),
        sparse,
        tuple((constant or {}).items()),
        complex,
    )
    signature = inspect.signature(own.py_func)
    odd = [p for p in signature.parameters.values() if p.kind is not p.POSITIONAL_OR_KEYWORD]
    if odd:
        raise BadArgumentType(f"{rule.name}: the parameter {odd[0]} is not an ordinary one", place=place_of(own))
    names = ", ".join(signature.parameters)
    function = defined(
        rule.name, unannotated(signature), f"return primal({names})", {"__name__": __name__, "primal": own}
    )
    function.__module__, function.__qualname__ = ".".join(WHOLE_NAME[:-1]), f"{WHOLE_NAME[-1]}.{rule.name}"
    function.__doc__ = own.py_func.__doc__
    setattr(function, RULE, rule)
    setattr(function, PARTS, (rule.tangent, rule.augmented, rule.pullback))
    made = _numba.njit(function)
    _made.append(made)
    return made


def _part(function: Any) -> Any:
    return None if function is None else dispatcher_of(function)


_made: list[Any] = []


def called(function: Any) -> Any:
    """A function that does nothing but call a whole operation, which is thus not looked into; others as they are."""
    if function not in _made:
        return function
    return _caller(function)


@cache
def _caller(operation: Any) -> Any:
    signature = unannotated(inspect.signature(operation.py_func))
    body = f"return operation({', '.join(signature.parameters)})"
    name = operation.py_func.__name__
    return _numba.njit(defined(name, signature, body, {"__name__": __name__, "operation": operation}))


# --- what the pipeline asks -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """A whole operation for argument types: its rule and Numba's signature."""

    rule: Rule
    signature: Any

    @property
    def result(self) -> tuple[abi.Leaf, ...]:
        """The leaves of what it returns."""
        return abi.leaves(self.signature.return_type)

    @property
    def left(self) -> Whole:
        """What a call leaves in memory."""
        arrays = [leaf for leaf in self.result if leaf.role == "data"]
        return Whole(
            frozenset(leaf.type for leaf in self.result if isinstance(leaf.type, Float)),
            frozenset(type for leaf in arrays for _, type in leaf.floats),
            bool(arrays),
        )


def taken(symbol: str) -> dict[int, frozenset[Float]]:
    """The float types in the arrays that a whole operation is given, by position of their LLVM parameter."""
    leaves = (leaf for kind in operation(symbol).signature.args for leaf in abi.leaves(kind))
    return {i: frozenset(type for _, type in leaf.floats) for i, leaf in enumerate(leaves, 2) if leaf.role == "data"}


def operation(symbol: str) -> Operation:
    """The whole operation behind a symbol of a lowered program."""
    if symbol not in _known:
        for dispatcher in _made:
            for compiled in target.twin(dispatcher).overloads.values():
                rule = getattr(dispatcher.py_func, RULE)
                _known[compiled.fndesc.llvm_func_name] = Operation(rule, compiled.signature)
    return _known[symbol]


_known: dict[str, Operation] = {}


def targets(
    rule: Rule, kinds: Sequence[Any], wanted: Callable[[int, abi.Leaf], bool]
) -> tuple[list[Any], list[int | None]]:
    """Types of tangents, or of what cotangents are added to, for arguments of these types, and their leaves.

    wanted: whether a leaf, by its position among the operands of the call, is differentiated. A constant part has type
    none, and None as its leaf.
    """
    position = 2
    found: list[Any] = []
    places: list[int | None] = []
    for kind in kinds:
        leaves = list(enumerate(abi.leaves(kind), position))
        position += len(leaves)
        inside, at = _target(rule, kind, iter(leaves), wanted)
        found.append(inside)
        places += at
    return found, places


def _target(
    rule: Rule, kind: Any, leaves: Iterator[tuple[int, abi.Leaf]], wanted: Callable[[int, abi.Leaf], bool]
) -> tuple[Any, list[int | None]]:
    if isinstance(kind, _types.BaseTuple):
        parts = [_target(rule, inner, leaves, wanted) for inner in kind.types]
        if all(inside == _types.none for inside, _ in parts):
            return _types.none, [None]
        return _types.BaseTuple.from_types([inside for inside, _ in parts]), [
            at for _, places in parts for at in places
        ]
    asked = [position for position, leaf in (next(leaves) for _ in abi.leaves(kind)) if wanted(position, leaf)]
    if not asked:
        return _types.none, [None]
    require_real(rule, kind)
    return derivative_type(kind), [asked[0]]


def require_real(rule: Rule, kind: Any) -> None:
    """Refuse what a rule cannot differentiate: complex numbers, unless it knows of them, and they are in an array.

    Raises
    ------
    Unsupported: complex numbers, records.
    """
    for part in arguments.parts(kind):
        element = part.dtype if arguments.is_array(part) else part
        if rule.complex and arguments.is_array(part) and isinstance(element, _types.Complex):
            continue
        if (arguments.is_number(part) or arguments.has_shadow(part)) and not arguments.is_float(element):
            raise Unsupported(
                f"a function with a derivative rule differentiates real numbers, not {part}",
                hint="pass real and imaginary parts as arguments of their own",
            )


def tangent(operation: Operation, dots: Sequence[Any]) -> Lowered:
    """The rule's tangent function: (arguments..., tangents...) -> (result, tangent)."""
    rule, kinds = operation.rule, operation.signature.args
    _require_variable(rule, dots)
    _require(rule, rule.tangent, "tangent", "forward")
    return _lowered(_tangent_of(rule, len(kinds)), (*kinds, *dots))


def augmented(operation: Operation, into: Sequence[Any], passing: Sequence[int]) -> Lowered:
    """The rule's augmented function: arguments... -> (result, residual, zeroed cotangent).

    passing: arguments (-1: the result) whose memory may be overwritten before the pullback runs.
    """
    rule, kinds = operation.rule, operation.signature.args
    _require_variable(rule, into)
    _require(rule, rule.augmented, "augmented", "reverse")
    _require(rule, rule.pullback, "pullback", "reverse")
    wanted = tuple(kind != _types.none for kind in into)
    return _lowered(_augmented_of(rule, wanted, tuple(passing)), tuple(kinds))


def pullback(operation: Operation, residual: Any, cotangent: Any, into: Sequence[Any]) -> Lowered:
    """The rule's pullback: (residual, cotangent, targets...) -> (cotangents of floats,)."""
    return _lowered(_pullback_of(operation.rule, len(into)), (residual, cotangent, *into))


def _lowered(function: Any, kinds: tuple[Any, ...]) -> Lowered:
    """`function` of a rule, lowered without Numba's advice on speed: the layouts that it meets are not the user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", _errors.NumbaPerformanceWarning)
        return lower(function, kinds)


def _require(rule: Rule, part: Any, word: str, mode: str) -> None:
    if part is None:
        why = f"the rule of {rule.name} has no {word} function, which {mode} mode needs"
        raise Unsupported(why, hint=f"give irad.custom_rule its {word}")


def _require_variable(rule: Rule, into: Sequence[Any]) -> None:
    for position, reason in rule.constant:
        if position < len(into) and into[position] != _types.none:
            raise Unsupported(f"{rule.name}: {reason}", hint="pass it as a constant")


# --- the functions around a rule's functions ------------------------------------------------------------------------


_HELPERS = {function.__name__: function for function in (added, clear, cleared, dense, fitted, held)}


def _wrapper(name: str, names: Sequence[str], body: str, rule: Any) -> Any:
    namespace = {"__name__": __name__, **_HELPERS, "rule": rule}
    return _numba.njit(defined(name, parameters(*names), body, namespace))


@cache
def _tangent_of(rule: Rule, count: int) -> Any:
    names = [f"a{i}" for i in range(count)] + [f"d{i}" for i in range(count)]
    given = [name if rule.sparse else f"dense({name}, a{name[1:]})" for name in names[count:]]
    body = f"out, dot = rule({', '.join([*names[:count], *given])})\nreturn out, fitted(out, dot)"
    return _wrapper(f"tangent_{rule.name}", names, body, rule.tangent)


@cache
def _augmented_of(rule: Rule, wanted: tuple[bool, ...], passing: tuple[int, ...]) -> Any:
    names = [f"a{i}" for i in range(len(wanted))]
    words = [str(asked or None) for asked in wanted] if rule.sparse else []
    body = f"out, residual = rule({', '.join([*names, *words])})\n"
    sources = ["out" if i < 0 else names[i] for i in passing]
    if sources:
        body += f"residual = held(residual, ({', '.join(sources)},))\n"
    body += "return out, residual, cleared(out)"
    return _wrapper(f"augmented_{rule.name}", names, body, rule.augmented)


@cache
def _pullback_of(rule: Rule, count: int) -> Any:
    into = [f"t{i}" for i in range(count)]
    given = ", ".join(["residual", "cotangent", *(into if rule.sparse else [])])
    body = f"bars = rule({given})\n"
    body += "".join(f"b{i} = added(t{i}, bars[{i}])\n" for i in range(count))
    body += f"clear(cotangent)\nreturn (({''.join(f'b{i}, ' for i in range(count))}),)"
    return _wrapper(f"pullback_{rule.name}", ["residual", "cotangent", *into], body, rule.pullback)
