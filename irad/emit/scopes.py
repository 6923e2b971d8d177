"""Tell LLVM which accesses cannot meet (design D16): a scope for each object's memory, for each shadow, for the tape.

Points-to sets say which objects an access may touch; it cannot touch the memory of any other. Without this, every store
to a shadow might change the primal, the tape and every other shadow, and nothing stays in a register or vectorises.
"""

from __future__ import annotations

from collections.abc import Iterable

from irad.analysis.objects import Object, Objects
from irad.ir.model import Instruction, Value

TAPE = "tape"
DOMAIN = 0


class Scopes:
    """The scopes of one root function; `nodes` is the metadata that the module must have.

    Objects of which we do not know all accesses (memory behind loaded pointers) have no scope.
    """

    def __init__(self, objects: Objects, everything: Iterable[Object]) -> None:
        self.objects = objects
        known = sorted((o for o in everything if o.kind not in ("external", "address")), key=str)
        self.keys = [TAPE, *((part, o) for o in known for part in ("primal", "shadow"))]
        self.number = {key: n + 1 for n, key in enumerate(self.keys)}
        self.overlap = {o: objects.overlapping([o], known) for o in known}
        self.nodes: dict[str, str] = {}
        self.lists: dict[frozenset[int], str] = {}

    def tape(self, instruction: Value) -> None:
        """`instruction` reads or writes the tape only."""
        self.mark(instruction, {self.number[TAPE]})

    def primal(self, instruction: Value, *pointers: Value) -> None:
        """`instruction` reads or writes the primal memory of `pointers` (pointers of the source function)."""
        self.touch(instruction, "primal", pointers)

    def shadow(self, instruction: Value, *pointers: Value) -> None:
        """`instruction` reads or writes the shadow memory of `pointers`."""
        self.touch(instruction, "shadow", pointers)

    def touch(self, instruction: Value, part: str, pointers: Iterable[Value]) -> None:
        own: set[int] = set()
        for pointer in pointers:
            objects = self.objects.pointed(pointer)
            if not objects or any(o not in self.overlap for o in objects):
                return
            own |= {self.number[part, o] for each in objects for o in self.overlap[each]}
        self.mark(instruction, own)

    def mark(self, instruction: Value, own: set[int]) -> None:
        assert isinstance(instruction, Instruction)
        others = frozenset(self.number.values()) - own
        instruction.metadata["!alias.scope"] = self.list(frozenset(own))
        if others:
            instruction.metadata["!noalias"] = self.list(others)

    def list(self, scopes: frozenset[int]) -> str:
        """The metadata node that lists `scopes`."""
        if not self.nodes:
            self.nodes[f"!{DOMAIN}"] = f'distinct !{{!{DOMAIN}, !"irad"}}'
            for key, n in self.number.items():
                name = key if isinstance(key, str) else f"{key[0]} {key[1]}"
                self.nodes[f"!{n}"] = f'distinct !{{!{n}, !{DOMAIN}, !"{name}"}}'.replace("\\", "")
        if scopes not in self.lists:
            ref = f"!{len(self.nodes)}"
            self.nodes[ref] = "!{" + ", ".join(f"!{n}" for n in sorted(scopes)) + "}"
            self.lists[scopes] = ref
        return self.lists[scopes]
