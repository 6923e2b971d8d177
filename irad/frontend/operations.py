"""The derivative functions of whole operations, and the program text that they call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from irad import llvm
from irad.emit import whole as emit
from irad.emit.whole import Callee, Given, Layout
from irad.errors import Unsupported
from irad.frontend import abi, layout, target, whole
from irad.frontend.lower import Lowered
from irad.ir.model import Function
from irad.ir.read import read
from irad.ir.types import FunctionType
from irad.rules.calls import WHOLE_SYMBOL


def completed(texts: Sequence[str]) -> str:
    """One normalised program of several, with the bodies of the whole operations that it calls."""
    bodies: dict[str, str] = {}
    todo = list(texts)
    while todo:
        for symbol in _DECLARED.findall(todo.pop()):
            if symbol not in bodies:
                bodies[symbol] = _body(symbol)
                todo.append(bodies[symbol])
    return llvm.joined([*texts, *bodies.values()])


_COUNTED = re.compile(r"@NRT_(?!Allocate\(|Free\()")  # those two are for the arguments of a raise
_DECLARED = re.compile(rf"^declare [^@\n]*@({WHOLE_SYMBOL}[^\s(]*)\(", re.MULTILINE)


@cache
def _body(symbol: str) -> str:
    """The normalised program of one whole operation."""
    library = target.target.target_context.apart[symbol]
    with target.lock:
        library._ensure_finalized()
        return _stripped(str(library._final_module), symbol)


def _stripped(text: str, symbol: str) -> str:
    """Normalised text of a whole operation, or of a function of a rule.

    Raises
    ------
    Unsupported: it makes objects of which references must be counted, for nobody does.
    """
    normal = llvm.normalize(text, symbol)
    if _COUNTED.search(normal):
        raise Unsupported(
            "a function with a derivative rule, or one of its rule, makes lists, dictionaries or other objects",
            hint="use arrays and tuples",
        )
    return normal


class Derived:
    """Derivatives of one whole operation for one activity of its arguments.

    symbol, type: of the operation. active, shadowed, passing: as in `irad.pipeline.Key`. forward: tangents, or the
    two functions of reverse mode.

    Raises
    ------
    IradError: the rule lacks what is asked for, or its functions do not compile or do not fit.
    """

    def __init__(
        self,
        symbol: str,
        type: FunctionType,
        name: str,
        *,
        active: Sequence[int],
        shadowed: Sequence[int],
        passing: Sequence[int],
        forward: bool,
    ) -> None:
        self.name, self.forward = name, forward
        self.operation = whole.operation(symbol)
        signature = self.operation.signature

        def wanted(position: int, leaf: abi.Leaf) -> bool:
            return position in active or (position in shadowed and bool(leaf.floats))

        rule = self.operation.rule
        if not rule.complex:
            whole.require_real(rule, signature.return_type)
        self.kinds, places = whole.targets(rule, signature.args, wanted)
        leaves = [abi.leaves(kind) for kind in signature.args]
        self.given = Given(
            type,
            tuple(leaf for group in leaves for leaf in group),
            abi.leaves(signature.return_type),
            tuple(active),
            tuple(shadowed),
            tuple(places),
        )
        self.texts: list[str] = []
        if forward:
            self.ahead = self._callee(whole.tangent(self.operation, self.kinds))
        else:
            lowered = whole.augmented(self.operation, self.kinds, _arguments(leaves, passing))
            self.ahead = self._callee(lowered)
            _, residual, cotangent = lowered.signature.return_type.types
            self.back = self._callee(whole.pullback(self.operation, residual, cotangent, self.kinds))

    def _callee(self, lowered: Lowered) -> Callee:
        text = _stripped(lowered.text, lowered.name)
        self.texts.append(text)
        returned = lowered.signature.return_type
        ends = [len(abi.leaves(part)) for part in returned.types]
        leaves = abi.leaves(returned)
        parts = [leaves[sum(ends[:i]) : sum(ends[: i + 1])] for i in range(len(ends))]
        type = read(text).functions[lowered.name].type
        return Callee(lowered.name, type, tuple(parts), layout.struct_type(returned))

    @cached_property
    def frame_size(self) -> int:
        return Layout(self.given, self.ahead).size

    def functions(self, *, concrete: bool) -> list[Function]:
        """Freshly written functions: `name`.tangent, or `name`.augmented and `name`.reverse."""
        if self.forward:
            return [emit.tangent(f"{self.name}.tangent", self.given, self.ahead, concrete=concrete)]
        return [
            emit.augmented(f"{self.name}.augmented", self.given, self.ahead, concrete=concrete),
            emit.reverse(f"{self.name}.reverse", self.given, self.ahead, self.back, concrete=concrete),
        ]


def _arguments(leaves: Sequence[Sequence[Any]], positions: Sequence[int]) -> list[int]:
    """The arguments to which operands at `positions` belong; -1 for the result, whose position is 0."""
    found = [-1] if 0 in positions else []
    position = 2
    for i, group in enumerate(leaves):
        if any(position + n in positions and leaf.role == "data" for n, leaf in enumerate(group)):
            found.append(i)
        position += len(group)
    return found
