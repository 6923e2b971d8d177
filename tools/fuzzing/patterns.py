"""Random memory for a kernel's arguments: views of one buffer or of many."""

from __future__ import annotations

from collections.abc import Sequence

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.choices import Choices, chance, pick, weighted
from tools.fuzzing.grammar import kernel

SIZE = 14
"""Statements in the kernel at most."""


def case(choices: Choices, patterns: int, size: int = SIZE) -> Case:
    """A kernel, and calls of it that the same compiled code can take."""
    source, arguments = kernel(choices, 2 + choices.below(size - 1))
    aliased = chance(choices, 65)
    level = weighted(choices, [(4, 0), (3, 1), (4, 3)])
    backward = weighted(choices, [(3, ("reverse",)), (3, ("split",)), (2, ("reverse", "split"))])
    primal = weighted(choices, [(3, "lowered"), (1, "numba")])
    # the version for arrays that are apart has to turn others away, before anything has run
    calls = tuple(pattern(choices, arguments, aliased or chance(choices, 8)) for _ in range(patterns))
    return Case(source, tuple(arguments), calls, aliased, level, ("forward", *backward), primal)


def pattern(choices: Choices, arguments: Sequence[Argument], aliased: bool) -> Pattern:
    n, m = 2 + choices.below(4), 1 + choices.below(3)
    views: list[View | None] = []
    scalars: list[float] = []
    for number, argument in enumerate(arguments):
        if argument.dims:
            views.append(view(choices, argument, number, (n, m), aliased))
            continue
        views.append(None)
        whole = argument.dtype == "int64"
        scalars.append(choices.below(5) - 1 if whole else (choices.below(41) - 20) / 16)
    # offsets of shared buffers start at zero
    lowest: dict[int, int] = {}
    for found, argument in zip(views, arguments, strict=True):
        if found is not None:
            shape = tuple({"N": n, "M": m}[d] for d in argument.dims)
            low = sum(min((length - 1) * s, 0) for length, s in zip(shape, found.strides, strict=True))
            lowest[found.buffer] = min(lowest.get(found.buffer, 0), found.offset + low)
    moved = tuple(v and View(v.buffer, v.offset - lowest[v.buffer], v.strides) for v in views)
    return Pattern(n, m, moved, tuple(scalars), choices.below(1 << 16))


def view(choices: Choices, argument: Argument, number: int, lengths: tuple[int, int], aliased: bool) -> View:
    """A view of the argument's own buffer, or of the one that active arrays of its dtype share."""
    shared = aliased and argument.active and chance(choices, 65)
    buffer = {"float64": 100, "float32": 101}[argument.dtype] if shared else number
    offset = choices.below(4) if shared else 0
    return View(buffer, offset, strides(choices, argument, lengths))


def strides(choices: Choices, argument: Argument, lengths: tuple[int, int]) -> tuple[int, ...]:
    n, m = lengths
    if len(argument.dims) == 1:
        return (1,) if argument.layout == "C" else (pick(choices, (1, -1, 2, -2, 3)),)
    if argument.layout == "C":
        return (m, 1)
    return pick(choices, [(m, 1), (1, n), (-m, 1), (m, -1), (-m, -1), (2 * m, 2), (m + 1, 1), (1, -n)])
