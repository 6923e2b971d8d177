"""What is in scope in a generated kernel, and random expressions over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tools.fuzzing.choices import Choices, chance, pick, weighted


@dataclass(frozen=True)
class Array:
    """An array that has a name; `dims` are the symbols of its lengths, see `Scope.lengths`."""

    name: str
    dtype: str
    dims: tuple[str, ...]
    layout: str
    integer: bool = False
    writable: bool = True

    def kind(self) -> tuple[object, ...]:
        return self.dtype, self.dims, self.integer


@dataclass(frozen=True)
class Index:
    """An integer expression; below the length `bound` and not negative when there is one."""

    text: str
    bound: str = ""


@dataclass
class Scope:
    """What holds a value here."""

    floats: list[str]
    indices: list[Index]
    arrays: list[Array]
    lengths: dict[str, str]
    helpers: list[Helper]
    loops: int = 0
    depth: int = 0
    returns: Callable[[Scope], str] | None = None
    counters: list[int] = field(default_factory=lambda: [0])

    def inner(self, *, loop: bool = False) -> Scope:
        return replace(
            self,
            floats=list(self.floats),
            indices=list(self.indices),
            arrays=list(self.arrays),
            lengths=dict(self.lengths),
            loops=self.loops + loop,
            depth=self.depth + 1,
        )

    def fresh(self, stem: str) -> str:
        self.counters[0] += 1
        return f"{stem}{self.counters[0]}"

    def of(self, *, ndim: int | None = None, integer: bool = False, writable: bool = False) -> list[Array]:
        return [
            a
            for a in self.arrays
            if a.integer == integer and (ndim is None or len(a.dims) == ndim) and (a.writable or not writable)
        ]


@dataclass(frozen=True)
class Helper:
    """A function that the kernel can call: it takes arrays, an integer and a float, and gives a float."""

    name: str
    arrays: tuple[Array, ...]


class Expressions:
    """Writes expressions of one function; `budget` is the statements that it may still write."""

    def __init__(self, choices: Choices, budget: int) -> None:
        self.choices, self.budget = choices, budget

    # --- integers ---

    def integer(self, scope: Scope) -> str:
        c = self.choices
        simple = [i.text for i in scope.indices] * 2 + ["1", "2", "0"]
        match c.below(5):
            case 0 | 1:
                return pick(c, simple)
            case 2:
                return f"({pick(c, simple)} {pick(c, ('+', '-', '*'))} {pick(c, simple)})"
            case 3:
                inside = scope.of(integer=True)
                if inside:
                    return self.element(scope, pick(c, inside))
                return pick(c, simple)
            case _:
                return f"({pick(c, simple)} {pick(c, ('+', '-'))} {1 + c.below(3)})"

    def index(self, scope: Scope, symbol: str) -> str:
        """An expression that is in bounds of a length."""
        c, length = self.choices, scope.lengths[symbol]
        fitting = [i.text for i in scope.indices if i.bound == symbol]
        way = c.below(10)
        if fitting and way < 6:
            return pick(c, fitting)
        if fitting and way == 6:
            return f"{length} - 1 - ({pick(c, fitting)})"
        if way == 7:
            return pick(c, ("0", "-1"))
        inside = scope.of(integer=True)
        if inside and way == 8 and symbol == "N":
            return self.element(scope, pick(c, inside))
        return f"({self.integer(scope)}) % {length}"

    def element(self, scope: Scope, array: Array) -> str:
        return f"{array.name}[{', '.join(self.index(scope, d) for d in array.dims)}]"

    # --- floats ---

    def expression(self, scope: Scope, depth: int = 2) -> str:
        c = self.choices
        if depth == 0 or chance(c, 25):
            return self.leaf(scope)
        one = self.expression(scope, depth - 1)
        kinds: list[tuple[int, str]] = [
            (4, "{0} + {1}"),
            (3, "{0} - {1}"),
            (5, "{0} * math.sin({1})"),
            (3, "{0} * {1}"),
            (2, "math.sin({0})"),
            (1, "math.cos({0})"),
            (1, "math.tanh({0})"),
            (1, "math.exp(math.sin({0}))"),
            (2, "math.sqrt(1.0 + {0} * {0})"),
            (2, "{0} / (1.5 + math.cos({1}))"),
            (1, "abs({0})"),
            (1, "min({0}, {1})"),
            (1, "max({0}, {2})"),
            (1, "math.atan2({0}, 1.5 + math.sin({1}))"),
            (1, "({0} if {3} else {1})"),
            (1, "{0} ** 2"),
            (1, "-{0}"),
            (1, "np.float32({0})"),
            (2, "{0} * {2}"),
        ]
        form = weighted(c, kinds)
        two = self.expression(scope, depth - 1) if "{1}" in form else ""
        condition = self.condition(scope) if "{3}" in form else ""
        return f"({form.format(one, two, pick(c, ('0.5', '0.3', '-0.7', '1.1')), condition)})"

    def leaf(self, scope: Scope) -> str:
        c = self.choices
        way = c.below(10)
        arrays = scope.of()
        if arrays and way < 6:
            return self.element(scope, pick(c, arrays))
        if scope.floats and way < 8:
            return pick(c, scope.floats)
        if way == 8:
            return f"(0.25 * {self.integer(scope)})"
        return pick(c, ("0.5", "1.0", "0.0", "-0.7"))

    def condition(self, scope: Scope) -> str:
        c = self.choices
        way = c.below(8)
        if way < 4:
            return f"{self.leaf(scope)} {pick(c, ('>', '<', '>=', '<='))} {pick(c, ('0.1', '-0.3', self.leaf(scope)))}"
        if way < 7:
            return f"{pick(c, scope.indices).text} {pick(c, ('>', '<', '==', '!='))} {self.integer(scope)}"
        return f"{pick(c, scope.indices).text} % 2 == {c.below(2)}"
