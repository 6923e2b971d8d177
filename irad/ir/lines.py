"""From an instruction to the line of Python that it comes from: `!dbg` metadata, followed to the user's own code.

Numba inlines much of its own Python (array expressions, `sum`, allocation), so a location is a chain: where the
instruction stands, where that function was inlined, and so on outwards. The user's line is the innermost link of it
that lies in code which is neither Numba's nor NumPy's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from irad.errors import IradError, Place
from irad.ir.model import Argument, Block, Function, Instruction, Module, Value
from irad.ir.write import text_of

E = TypeVar("E", bound=IradError)


def blame(error: E, culprit: Instruction | Block | Function) -> E:
    """`error` with what is at fault: an instruction is quoted, and `Lines` finds the place of any of them."""
    error.culprit = culprit
    if isinstance(culprit, Instruction):
        error.instruction = plain_text(culprit)
    return error


def plain_text(instruction: Instruction) -> str:
    """One instruction without its metadata, for messages."""
    return text_of(instruction).split(", !")[0]


@dataclass(frozen=True)
class Reason:
    """Why something was decided: `words`, and the instruction they are about."""

    words: str
    witness: Instruction | None = None

    def __str__(self) -> str:
        return self.words if self.witness is None else f"{self.words} {plain_text(self.witness)}"

    def told(self, lines: Lines) -> str:
        """The reason with the witness's line of Python instead of its LLVM text, where it is known."""
        place = lines.place(self.witness) if self.witness is not None else None
        return str(self) if place is None else f"{self.words} {lines.quote(place)}"


@dataclass(frozen=True)
class _Frame:
    """One link of a location's chain."""

    place: Place
    is_users: bool


class Lines:
    """The lines of a module's instructions. `own` is the kernel's file, as Python names it.

    Metadata is parsed when it is asked for; instructions may be added to the functions meanwhile.
    """

    def __init__(self, module: Module, own: str = "") -> None:
        self.module, self.own = module, own
        self._own_path = os.path.abspath(own) if own else ""
        self._chains: dict[str, tuple[_Frame, ...]] = {}
        self._index: dict[Instruction, tuple[Block, int]] = {}
        self._before: dict[Block, list[Block]] = {}
        self._position: dict[Instruction, int] = {}

    # --- places ---

    def place(self, culprit: object) -> Place | None:
        """The user's line of an instruction (or its nearest neighbour's), of a block's end, of a function's `def`."""
        match culprit:
            case Instruction():
                return next((p for i in self._nearest(culprit) if (p := self._users(i)) is not None), None)
            case Block():
                return self.place(culprit.end)
            case Function():
                return self._place_of_function(culprit)
            case _:
                return None

    def order(self, values: Iterable[Value]) -> list[Value]:
        """Arguments and instructions in program order: as the kernel's lines run, then as the code stands."""
        self._number()
        return sorted(values, key=self._rank)

    def in_order(self, values: Iterable[Value]) -> Iterator[tuple[Value, str]]:
        """What `order` gives, each with its label."""
        for value in self.order(values):
            yield value, self.label(value)

    # --- words ---

    def label(self, value: object) -> str:
        """`%x.12 (heat.py:14)`: a value with its line; of an argument, with the parameter it is part of."""
        match value:
            case Argument(name=name):
                return f"%{name}{_parameter(name)}"
            case Instruction(name=name):
                place = self.place(value)
                shown = f"%{name}" if name else f"[{plain_text(value).split(' = ')[-1]}]"
                return shown if place is None else f"{shown} ({os.path.basename(place.file)}:{place.line})"
            case _:
                return str(value)

    def title(self, function: Function) -> str:
        """`heat (heat.py:12)`: a function as the user named it, with the line of its `def`."""
        name = self._node(function.metadata.get("!dbg", "")).get("name", function.name)
        place = self.place(function)
        return name if place is None else f"{name} ({os.path.basename(place.file)}:{place.line})"

    def quote(self, place: Place) -> str:
        """`line 17: u[i] = 0.0`; with the file's name where it is not the kernel's."""
        elsewhere = "" if place.file == self.own else f"{os.path.basename(place.file)} "
        return f"{elsewhere}line {place.line}{': ' if place.text else ''}{place.text}"

    def loop(self, latch: Block, name: str) -> str:
        """A loop by the line of its `for` or `while`, which is where its latch jumps back."""
        place = self.place(latch)
        return name if place is None else f"{name} (line {place.line})"

    def grouped(self, values: Iterable[Value]) -> list[str]:
        """The names of values in program order, under the line that they come from."""
        groups: dict[str, list[str]] = {}
        for value in self.order(values):
            if isinstance(value, (Argument, Instruction)):
                place = self.place(value)
                title = "arguments" if isinstance(value, Argument) else "elsewhere"
                groups.setdefault(self.quote(place) if place else title, []).append(f"%{value.name}")
        return [line for title, names in groups.items() for line in (f"  {title}", f"      {' '.join(names)}")]

    # --- neighbours ---

    def _nearest(self, instruction: Instruction) -> Iterator[Instruction]:
        """The instruction; those before it in its block, upwards; those after it; the ends of the blocks before."""
        yield instruction
        if instruction not in self._index:
            self._number()
        if instruction not in self._index:
            return
        block, at = self._index[instruction]
        inside = list(block.instructions)
        yield from reversed(inside[:at])
        yield from inside[at + 1 :]
        seen, queue = {block}, list(self._before[block])
        while queue:
            above = queue.pop(0)
            if above not in seen:
                seen.add(above)
                yield from reversed(list(above.instructions))
                queue += self._before[above]

    def _number(self) -> None:
        self._index, self._before = {}, {}
        for function in self.module.functions.values():
            self._before |= {block: [] for block in function.blocks}
            for block in function.blocks:
                self._index |= {i: (block, n) for n, i in enumerate(block.instructions)}
                for target in block.successors:
                    self._before.setdefault(target, []).append(block)
        self._position = {i: n for n, i in enumerate(self._index)}

    def _rank(self, value: Value) -> tuple[int, int, str]:
        if not isinstance(value, Instruction):
            return -1, 0, value.name if isinstance(value, Argument) else ""
        frames = next((f for i in self._nearest(value) if (f := self.chain(i)) and f[-1].place.line > 0), ())
        return frames[-1].place.line if frames else 0, self._position.get(value, 0), ""

    # --- metadata ---

    def _users(self, instruction: Instruction) -> Place | None:
        return next((f.place for f in self.chain(instruction) if f.is_users and f.place.line > 0), None)

    def chain(self, instruction: Instruction) -> tuple[_Frame, ...]:
        """The links of an instruction's location, innermost first; empty where it has none."""
        reference = instruction.metadata.get("!dbg")
        if reference is None:
            return ()
        if reference not in self._chains:
            self._chains[reference] = tuple(self._links(reference))
        return self._chains[reference]

    def _links(self, reference: str) -> Iterator[_Frame]:
        while reference:
            location = self._node(reference)
            if "line" not in location:
                return
            file, subprogram = self._scope(location.get("scope", ""))
            if file:
                path = self._own_name(file)
                yield _Frame(Place(path, int(location["line"])), self._is_users(path, subprogram))
            reference = location.get("inlinedAt", "")

    def _place_of_function(self, function: Function) -> Place | None:
        node = self._node(function.metadata.get("!dbg", ""))
        file = self._file(node.get("file", ""))
        path = self._own_name(file)
        return Place(path, int(node.get("line", "0"))) if file and self._is_users(path, node) else None

    def _scope(self, reference: str) -> tuple[str, dict[str, str]]:
        """The file of a scope, and the function (DISubprogram) around it."""
        file = ""
        while reference:
            node = self._node(reference)
            file = file or self._file(node.get("file", ""))
            if "linkageName" in node or "scope" not in node:
                return file, node
            reference = node["scope"]
        return file, {}

    def _file(self, reference: str) -> str:
        node = self._node(reference)
        return os.path.join(node.get("directory", ""), node["filename"]) if "filename" in node else ""

    def _node(self, reference: str) -> dict[str, str]:
        """The fields of a metadata node."""
        text = reference if "(" in reference else self.module.metadata.get(reference, "")
        return {key: _unquoted(value) for key, value in _FIELD.findall(text)}

    def _own_name(self, path: str) -> str:
        """`path` as Python names the file: Numba makes even `<stdin>` absolute."""
        if path == self._own_path:
            return self.own
        base = os.path.basename(path)
        return base if base.startswith("<") else path

    def _is_users(self, path: str, subprogram: dict[str, str]) -> bool:
        if subprogram.get("name", "").startswith(_GENERATED):
            return False
        if path == self.own:
            return True
        return not (path == "<string>" or _LIBRARY.search(path) or _MODULE.match(subprogram.get("linkageName", "")))


_FIELD = re.compile(r'(\w+): ("[^"]*"|![-$.\w]+|\w+)')
_LIBRARY = re.compile(r"[/\\](site|dist)-packages[/\\](numba|numpy|llvmlite|irad)[/\\]")
_MODULE = re.compile(r"_ZN(5numba|5numpy|4irad)\d")  # Numba mangles a function's module into its name
_GENERATED = "__numba_"  # array expressions and the like: the kernel's file, but lines of their own


def _unquoted(text: str) -> str:
    if text[0] != '"':
        return text
    raw = re.sub(rb"\\([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), text[1:-1].encode())
    return raw.decode("utf-8", "surrogateescape")


def _parameter(name: str) -> str:
    """Numba calls the parts of parameter `u` `arg.u.4` and so on."""
    found = re.match(r"arg\.(\w+)", name)
    return f" ({found[1]})" if found else ""
