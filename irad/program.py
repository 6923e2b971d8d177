"""The program that is differentiated: from Numba's text to the normal form, and what its LLVM parameters mean."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable

from irad import llvm
from irad.analysis.nonnegative import decided
from irad.errors import IradError, Place, Unsupported
from irad.frontend import abi
from irad.frontend.adapter import rebound
from irad.frontend.boxes import holds_containers, opened
from irad.frontend.lower import Lowered, parameter_names
from irad.indirect import directed
from irad.ir.model import Value, integer
from irad.ir.read import read
from irad.ir.types import I1
from irad.ir.write import write

_COUNTED = re.compile(r"@(?:NRT_(?:incref|decref|MemInfo_alloc_dtor)|numba_(?:list|dict)_\w+)\(")


def argument_leaves(lowered: Lowered) -> tuple[tuple[abi.Leaf, ...], ...]:
    """The LLVM parameters of each argument, structures opened.

    Raises
    ------
    Unsupported: an argument of a type that irad does not take, by its name.
    """
    kinds = lowered.signature.args
    try:
        names = parameter_names(lowered.dispatcher, len(kinds))
        return tuple(abi.leaves(opened(kind), name) for kind, name in zip(kinds, names, strict=True))
    except IradError as error:
        raise error.at(place_of_kernel(lowered)) from None


def normalized(lowered: Lowered, groups: Iterable[tuple[abi.Leaf, ...]]) -> str:
    """The program in normal form: `llvm.normalize`, with direct calls where functions are chosen among known ones, and
    without tests for negative indices that cannot be.

    `groups` are the leaves of each argument.

    Raises
    ------
    Unsupported: an attribute of an instance may be given another array; LLVM computes something wrongly.
    """
    text = llvm.normalize(lowered.text, lowered.name)
    if intrinsic := llvm.miscompiled(text):
        raise Unsupported(f"this LLVM computes {intrinsic} wrongly", hint="use max and min, or a newer Numba")
    if attribute := rebound(text):
        raise Unsupported(
            f"the attribute {attribute} of an argument is assigned, or the instance goes where it cannot be followed",
            hint="write into the array that it holds; make an instance that is to hold other arrays in the kernel",
        )
    if any(map(holds_containers, lowered.signature.args)) and _COUNTED.search(text):
        raise Unsupported(
            "a container is an argument, and the kernel has others, or messages, that Numba's runtime keeps",
            hint="give raise its numbers as arguments, not in a formatted message; use numbers as keys of dictionaries",
        )
    module = read(text)
    if directed(module):
        text = llvm.simplify(write(module))
        module = read(text)
    lengths: set[int] = set()
    first = 2  # behind where the result and the exception go
    for group in groups:
        lengths.update(first + n for leaf in group for n in leaf.shape)
        first += len(group)
    outcomes: dict[Value, bool] = {}
    for function in module.functions.values():
        known = (a for i, a in enumerate(function.arguments) if i in lengths and function.name == lowered.name)
        outcomes |= decided(function, known)
    if not outcomes:
        return text
    for function in module.functions.values():
        for instruction in function.instructions:
            instruction.operands = [integer(outcomes[v], I1) if v in outcomes else v for v in instruction.operands]
    return llvm.simplify(write(module))


def may_approximate(lowered: Lowered) -> bool:
    """Whether the kernel itself was compiled with `fastmath` that allows approximations of functions."""
    asked = lowered.dispatcher.targetoptions.get("fastmath", False)
    return asked is True or (not isinstance(asked, bool) and not {"fast", "afn"}.isdisjoint(asked))


def place_of_kernel(lowered: Lowered) -> Place | None:
    """The line of the kernel's `def`; `co_firstlineno` is that of its first decorator."""
    code = lowered.dispatcher.py_func.__code__
    text = linecache.getlines(code.co_filename)
    below = (n for n in range(code.co_firstlineno, len(text) + 1) if text[n - 1].lstrip().startswith("def "))
    return Place(code.co_filename, next(below, code.co_firstlineno))
