"""Random kernels that are well typed, stay in bounds and end.

A kernel is written statement by statement into a `Scope`, which knows the names that hold a value at that point: float
and integer variables, arrays with the symbols of their lengths. An integer carries the symbol of the length that it is
below, so that it can index arrays of that length as it is; any other is taken modulo the length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tools.fuzzing.case import Argument
from tools.fuzzing.choices import Choices, chance, pick, weighted
from tools.fuzzing.expressions import Array, Expressions, Helper, Index, Scope

TRIPS, LONG = 6, 37
"""The longest loops that do not run over an array: inside another, and on their own (a tape must grow)."""


class Writer(Expressions):
    """Writes one function's body."""

    # --- statements ---

    def block(self, scope: Scope, most: int) -> list[str]:
        lines: list[str] = []
        for _ in range(most):
            if lines and (self.budget <= 0 or not chance(self.choices, 80)):
                break
            self.budget -= 1
            lines += self.choices.span(lambda: self.statement(scope))
        return lines

    def statement(self, scope: Scope) -> list[str]:
        inner = int(scope.depth < 4 and self.budget > 0)
        made = weighted(
            self.choices,
            [
                (14, self.store),
                (8, self.assign),
                (18 * inner, self.loop),
                (4 * inner, self.repeat),
                (7 * inner, self.branch),
                (4, self.view),
                (4, self.scratch),
                (3, self.slice),
                (3, self.swap),
                (3, self.chosen),
                (2, self.rename),
                (3, self.count),
                (3, self.leave),
                (5 if scope.helpers else 0, self.help),
                (4, self.stop),
                (1, self.store_index),
            ],
        )(scope)
        return made or self.store(scope)

    def store(self, scope: Scope) -> list[str]:
        arrays = scope.of(writable=True)
        if not arrays:
            return self.assign(scope)
        c = self.choices
        where = self.element(scope, pick(c, arrays))
        return [f"{where} {self.update(scope)}"]

    def update(self, scope: Scope) -> str:
        operator = weighted(self.choices, [(5, "="), (5, "+="), (2, "*="), (1, "-=")])
        value = self.expression(scope)
        return f"{operator} math.cos({value})" if operator == "*=" else f"{operator} {value}"

    def assign(self, scope: Scope) -> list[str]:
        if chance(self.choices, 15) and scope.depth == 0:
            name = scope.fresh("s")
            line = f"{name} = {self.expression(scope)}"
            scope.floats.append(name)
            return [line]
        names = [f for f in scope.floats if f.startswith("s")]
        return [f"{pick(self.choices, names)} {self.update(scope)}"]

    def store_index(self, scope: Scope) -> list[str]:
        arrays = scope.of(integer=True)
        if not arrays:
            return []
        return [f"{self.element(scope, pick(self.choices, arrays))} = {self.index(scope, 'N')}"]

    def count(self, scope: Scope) -> list[str]:
        counters = [i.text for i in scope.indices if i.text.startswith("k")]
        if not counters:
            return []
        return [f"{pick(self.choices, counters)} = ({self.integer(scope)}) % {2 + self.choices.below(5)}"]

    def loop(self, scope: Scope) -> list[str]:
        c = self.choices
        name, inner = scope.fresh("i"), scope.inner(loop=True)
        symbols = list(scope.lengths)
        symbol = pick(c, symbols)
        length = scope.lengths[symbol]
        outer = [i for i in scope.indices if i.bound]
        head, indices = self.range_of(name, symbol, length, outer)
        inner.indices += indices
        body = self.block(inner, 4)
        after = self.block(scope.inner(), 1) if chance(c, 3) else []
        lines = [f"for {name} in range({head}):", *indent(body)]
        return [*lines, "else:", *indent(after)] if after else lines

    def range_of(self, name: str, symbol: str, length: str, outer: list[Index]) -> tuple[str, list[Index]]:
        c, here, free = self.choices, Index(name, symbol), Index(name)
        before, beyond = Index(f"{name} - 1", symbol), Index(f"{name} + 1", symbol)
        way = c.below(14)
        if way < 3:
            return length, [here]
        if way == 3:
            return f"1, {length}", [here, before]
        if way == 4:
            return f"{length} - 1", [here, beyond]
        if way == 5:
            return f"{length} - 1, -1, -1", [here]
        if way == 6:
            return f"{length} - 1, 0, -{1 + c.below(2)}", [here, before]
        if way == 7:
            return f"{c.below(2)}, {length}, {2 + c.below(2)}", [here]
        if outer and way < 11:
            other = pick(c, outer)
            if way == 8:
                return other.text, [Index(name, other.bound)]
            if way == 9:
                return f"{other.text}, -1, -1", [Index(name, other.bound)]
            return f"{other.text} + 1", [Index(name, other.bound)]
        if way < 13:
            return f"{c.below(4)}", [free]
        return pick(c, ("0", "-3", "q", "q - 2", "q, 2", "q, -2, -1", "-2, q")), [free]

    def repeat(self, scope: Scope) -> list[str]:
        c = self.choices
        name, inner = scope.fresh("w"), scope.inner(loop=True)
        bound = pick(c, ("3", "2", "q", str(LONG if scope.loops == 0 else TRIPS)))
        extra = f" and {self.condition(scope)}" if chance(c, 40) else ""
        inner.indices.append(Index(name))
        body = self.block(inner, 3)
        step = f"{name} += {1 + c.below(2)}"
        if chance(c, 70):
            return [f"{name} = 0", f"while {name} < {bound}{extra}:", *indent([step, *body])]
        return [f"{name} = 0", "while True:", *indent([f"if {name} >= {bound}:", "    break", step, *body])]

    def branch(self, scope: Scope) -> list[str]:
        lines = [f"if {self.condition(scope)}:", *indent(self.block(scope.inner(), 3))]
        if chance(self.choices, 40):
            lines += ["else:", *indent(self.block(scope.inner(), 2))]
        return lines

    def leave(self, scope: Scope) -> list[str]:
        if not scope.loops:
            return []
        word = pick(self.choices, ("break", "continue"))
        return [f"if {self.condition(scope)}:", f"    {word}"]

    def stop(self, scope: Scope) -> list[str]:
        c = self.choices
        if scope.returns is not None and chance(c, 50):
            return [f"if {self.condition(scope)}:", f"    return {scope.returns(scope)}"]
        what = pick(c, ('ValueError("low")', 'IndexError("high", 3)', "ZeroDivisionError()"))
        rare = f"{self.leaf(scope)} > {pick(c, ('1.0', '3.0', '0.8'))}"
        return [f"if {rare if chance(c, 60) else self.condition(scope)}:", f"    raise {what}"]

    # --- arrays ---

    def view(self, scope: Scope) -> list[str]:
        c = self.choices
        if scope.depth > 2 or not scope.of():
            return []
        array = pick(c, scope.of())
        name = scope.fresh("v")
        if len(array.dims) == 1:
            forms = ["[::-1]", "[:]", "[::2]"]
            if array.dims == ("N",):  # at least 2; of others something might not be left
                forms += ["[1:]", "[:-1]", "[1::2]"]
            form = pick(c, forms)
            same = form in ("[::-1]", "[:]")
            dims = array.dims if same else (self.length(scope, name, 0),)
        else:
            rows, columns = array.dims
            forms = [
                (f"[{self.index(scope, rows)}]", (columns,)),
                (f"[:, {self.index(scope, columns)}]", (rows,)),
                (".T", (columns, rows)),
                ("[::-1]", (rows, columns)),
                ("[:, ::-1]", (rows, columns)),
            ]
            if array.layout == "C":
                forms.append((f".reshape({array.name}.size)", ()))
            form, dims = pick(c, forms)
            dims = dims or (self.length(scope, name, 0),)
        scope.arrays.append(replace(array, name=name, dims=dims, layout="?"))
        return [f"{name} = {array.name}{form}"]

    def length(self, scope: Scope, name: str, axis: int) -> str:
        symbol = f"{name}.{axis}"
        scope.lengths[symbol] = f"{name}.shape[{axis}]"
        return symbol

    def scratch(self, scope: Scope) -> list[str]:
        c = self.choices
        name = scope.fresh("t")
        alike = scope.of()
        way = c.below(5)
        if way == 3 and alike:
            array = pick(c, alike)
            scope.arrays.append(replace(array, name=name, layout="C", writable=True))
            return [f"{name} = {array.name}.copy()"]
        dims = pick(c, [("N",), ("N",), ("M",), ("N", "M")])
        shape = ", ".join(scope.lengths[d] for d in dims)
        dtype = weighted(c, [(4, "float64"), (1, "float32")])
        made = Array(name, dtype, dims, "C")
        if way == 4 and len(dims) == 1:
            index = scope.fresh("i")
            inner = scope.inner()
            inner.indices.append(Index(index, dims[0]))
            filled = [f"for {index} in range({shape}):", f"    {name}[{index}] = {self.expression(inner)}"]
            scope.arrays.append(made)
            return [f"{name} = np.empty({shape}, np.{dtype})", *filled]
        scope.arrays.append(made)
        return [f"{name} = np.{pick(c, ('zeros', 'ones'))}(({shape},), np.{dtype})"]

    def slice(self, scope: Scope) -> list[str]:
        c = self.choices
        arrays = scope.of(writable=True)
        if not arrays:
            return []
        one = pick(c, arrays)
        alike = [a for a in scope.of() if a.dims == one.dims]
        other = pick(c, alike)
        way = c.below(8)
        if way == 0:
            return [f"{one.name}[:] = {pick(c, ('0.0', self.leaf(scope)))}"]
        if way == 1:
            return [f"{one.name}[:] = {other.name}"]
        if way == 2:
            return [f"{one.name}[:] = {other.name}[::-1]"]
        if way == 3 and len(one.dims) == 1:
            return [f"{one.name}[1:] = {other.name}[:-1]"]
        if way == 4 and len(one.dims) == 1:
            return [f"{one.name}[:-1] = {other.name}[1:]"]
        if way == 5:
            return [f"{one.name}[:] = {pick(c, ('0.5', self.leaf(scope)))} * {other.name} + {pick(c, alike).name}"]
        if way == 6 and len(one.dims) == 2:
            return [f"{one.name}[{self.index(scope, one.dims[0])}] = {other.name}[{self.index(scope, one.dims[0])}]"]
        return [f"{one.name} {pick(c, ('+=', '-='))} {other.name}"] if one.name[0] in "tv" else []

    def pair(self, scope: Scope) -> tuple[Array, Array] | None:
        """Two arrays of one kind, of which the first may be rebound: nothing else depends on its length."""
        c = self.choices
        plain = [a for a in scope.of() if all(d in ("N", "M") for d in a.dims)]
        if not plain:
            return None
        one = pick(c, plain)
        alike = [a for a in plain if a.kind() == one.kind() and a.name != one.name and a.writable == one.writable]
        return (one, pick(c, alike)) if alike else None

    def swap(self, scope: Scope) -> list[str]:
        pair = self.pair(scope)
        if pair is None or any(a.name.startswith("p") for a in pair):
            return []
        one, other = pair
        return [f"{one.name}, {other.name} = {other.name}, {one.name}"]

    def chosen(self, scope: Scope) -> list[str]:
        pair = self.pair(scope)
        if pair is None:
            return []
        name = scope.fresh("p")
        line = f"{name} = {pair[0].name} if {self.condition(scope)} else {pair[1].name}"
        scope.arrays.append(replace(pair[0], name=name, layout="?"))
        return [line]

    def rename(self, scope: Scope) -> list[str]:
        pair = self.pair(scope)
        return [f"{pair[0].name} = {pair[1].name}"] if pair else []

    # --- helpers ---

    def help(self, scope: Scope) -> list[str]:
        c = self.choices
        if not scope.helpers:
            return []
        helper = pick(c, scope.helpers)
        given: list[str] = []
        for wanted in helper.arrays:
            alike = [a.name for a in scope.arrays if len(a.dims) == len(wanted.dims) and not a.integer]
            if not alike:
                return []
            given.append(pick(c, alike))
        call = f"{helper.name}({', '.join([*given, self.integer(scope), self.leaf(scope)])})"
        names = [f for f in scope.floats if f.startswith("s")]
        return [pick(c, (f"{pick(c, names)} = {call}", f"{pick(c, names)} += 0.5 * {call}", call))]


def indent(lines: Iterable[str]) -> list[str]:
    return ["    " + line for line in lines]


# --- functions ------------------------------------------------------------------------------------------------------


def helper(choices: Choices, number: int) -> tuple[Helper, list[str]]:
    """A helper's description and its source."""
    name = f"helper{number}"
    arrays = [Array("a", "float64", ("a.0",), "A")]
    if chance(choices, 40):
        arrays.append(Array("b", "float64", ("b.0",), "A"))
    lengths = {f"{a.name}.0": f"{a.name}.shape[0]" for a in arrays}
    scope = Scope(["s0", "u"], [Index("q")], list(arrays), {**lengths, "N": "a.shape[0]", "M": "2"}, [])
    scope.returns = lambda inner: pick(choices, inner.floats)
    writer = Writer(choices, 5)
    body = ["s0 = 0.1 * u", *writer.block(scope, 4)]
    names = [a.name for a in arrays]
    options = weighted(choices, [(5, ""), (1, '(inline="always")')])
    if chance(choices, 25):
        again = f"{name}({', '.join(names)}, q - 1, {writer.expression(scope, 1)})"
        body = ["if q <= 0 or q > 4:", f"    return 0.5 * u * {names[0]}[0]", *body]
        body.append(f"s0 {pick(choices, ('=', '+='))} 0.5 * {again}")
        body += writer.block(scope, 1)
        options = ""
    body.append(f"return {writer.expression(scope, 1)}")
    head = [f"@njit{options}", f"def {name}({', '.join(names)}, q, u):"]
    return Helper(name, tuple(arrays)), [*head, *indent(body), ""]


def parameters(choices: Choices, layout: str) -> list[Argument]:
    found: list[Argument] = []
    for i in range(1 + choices.below(3)):
        dims = weighted(choices, [(4, ("N",)), (2, ("N", "M"))])
        dtype = weighted(choices, [(9, "float64"), (1, "float32")])
        found.append(Argument(f"x{i}", dtype, not chance(choices, 15), dims, layout))
    if chance(choices, 25):
        found.append(Argument("idx", "int64", False, ("N",), layout))
    for i in range(choices.below(3)):
        dtype = weighted(choices, [(9, "float64"), (1, "float32")])
        found.append(Argument(f"a{i}", dtype, not chance(choices, 15)))
    found.append(Argument("q", "int64"))
    return found


def kernel(choices: Choices, size: int) -> tuple[str, list[Argument]]:
    """The source of a program whose last function is `kernel`, and its parameters."""
    layout = weighted(choices, [(2, "A"), (1, "C")])
    arguments = parameters(choices, layout)
    made = [choices.span(lambda n=n: helper(choices, n)) for n in range(weighted(choices, [(3, 0), (2, 1), (1, 2)]))]
    arrays = [Array(a.name, a.dtype, a.dims, a.layout, a.dtype == "int64") for a in arguments if a.dims]
    scalars = [a.name for a in arguments if not a.dims and a.dtype != "int64"]
    flat = next((a.name for a in arguments if a.dims), "")
    wide = next((a.name for a in arguments if len(a.dims) == 2), "")
    lengths = {"N": f"{flat}.shape[0]", **({"M": f"{wide}.shape[1]"} if wide else {"M": "3"})}
    scope = Scope(["s0", *scalars], [Index("q"), Index("k0")], arrays, lengths, [h for h, _ in made])
    results = result_form(choices, arrays)
    scope.returns = results
    writer = Writer(choices, size)
    body = ["s0 = 0.0", "k0 = 0"]
    while writer.budget > 0:
        writer.budget -= 1
        body += choices.span(lambda: writer.statement(scope))
    body.append(f"return {results(scope)}")
    lines = [line for _, text in made for line in text]
    lines += [f"def kernel({', '.join(a.name for a in arguments)}):", *indent(body)]
    return "\n".join(lines) + "\n", arguments


def result_form(choices: Choices, arrays: list[Array]) -> Callable[[Scope], str]:
    """What the kernel returns, wherever it does."""
    floats = [a.name for a in arrays if not a.integer]
    array = pick(choices, floats)
    writer = Writer(choices, 0)
    forms: list[tuple[int, Callable[[Scope], str]]] = [
        (3, lambda scope: f"float({writer.expression(scope, 1)})"),
        (5, lambda scope: f"float(s0 + {writer.leaf(scope)})"),
        (2, lambda scope: "None"),
        (1, lambda scope: array),
        (1, lambda scope: f"{array}.copy()"),
        (1, lambda scope: f"(float({writer.leaf(scope)}), {array}.copy())"),
        (1, lambda scope: f"(float({writer.leaf(scope)}), k0, float({writer.leaf(scope)}))"),
    ]
    return weighted(choices, forms)
