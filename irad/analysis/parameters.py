"""Which floats lie behind the pointers that functions are given: facts about a whole program.

A function that only copies an array, or hands it on, has no access that tells what is in it. Its callers know, or the
functions that it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from irad.analysis.kinds import Parameters, kinds
from irad.analysis.objects import Effect, Objects, Site, holds_pointers, objects, site
from irad.analysis.offsets import Offsets
from irad.ir.model import Call, Function, Load, Store
from irad.ir.types import PTR, Float
from irad.rules.calls import Whole


def parameters(
    functions: Iterable[Function], given: Parameters, wholes: Mapping[str, Whole], effects: Mapping[str, Effect]
) -> Parameters:
    """The float types behind each pointer parameter (by position) of `functions`, in what they allocate, and those in
    `given`."""
    program = _Program(functions, given, wholes, effects)
    if len(program.functions) > 1:
        while any(program.learn(function) for function in program.functions):
            pass
    return program.found


class _Program:
    def __init__(
        self,
        functions: Iterable[Function],
        given: Parameters,
        wholes: Mapping[str, Whole],
        effects: Mapping[str, Effect],
    ) -> None:
        self.functions = list(functions)
        self.found: dict[str, dict[int | Site, frozenset[Float]]] = {name: dict(known) for name, known in given.items()}
        self.pointers = {f.name: objects(f, (), wholes=wholes, effects=effects) for f in self.functions}
        self.offsets = {f.name: Offsets(f, self.pointers[f.name]) for f in self.functions}
        self.arrays: dict[str, list[int]] = {
            name: [i for i in known if isinstance(i, int)] for name, known in self.found.items()
        }
        for function in self.functions:
            self.found.setdefault(function.name, {})
            self.arrays[function.name] = _arrays(function, self.pointers[function.name])

    def learn(self, function: Function) -> bool:
        """Take in what one function shows; whether that was new."""
        pointers, own = self.pointers[function.name], self.found[function.name]
        seeds = {function.arguments[i]: types for i, types in own.items() if isinstance(i, int)}
        held = kinds(function, pointers, self.offsets[function.name], seeds, {}, self.found)
        shown = [(function.name, i, function.arguments[i]) for i in self.arrays[function.name]]
        for call in function.instructions:
            if isinstance(call, Call):
                shown += [(call.callee_name, i, call.operands[i]) for i in self.arrays.get(call.callee_name, ())]
        news = [self.add(name, i, held.element(pointers.pointed(pointer))) for name, i, pointer in shown]
        made = [(o, types) for o, types in held.floats.items() if o.kind == "heap"]
        news += [self.add(function.name, site(o, function.name), types) for o, types in made]
        return any(news)

    def add(self, name: str, which: int | Site, types: frozenset[Float]) -> bool:
        known = self.found[name].get(which, frozenset())
        self.found[name][which] = known | types
        return not types <= known


def _arrays(function: Function, pointers: Objects) -> list[int]:
    """Pointer parameters in whose memory no pointers lie: in a structure, floats and integers have their places."""
    structures = {
        o
        for access in function.instructions
        if isinstance(access, Load | Store)
        and holds_pointers(access.type if isinstance(access, Load) else access.value.type)
        for o in pointers.pointed(access.pointer)
    }
    return [i for i, a in enumerate(function.arguments) if a.type == PTR and not structures & pointers.pointed(a)]
