"""A module as plain data in which names of locals are numbers, so that == compares structure."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from irad.ir.model import Block, Function, Module, Variable


def shape(module: Module) -> dict[str, Any]:
    """Equal for modules that differ at most in the names of arguments, blocks and results."""
    return {
        "functions": {name: _function(f) for name, f in module.functions.items()},
        "variables": [_fields(v, {}) for v in module.variables.values()],
        "rest": (module.structs, module.attribute_groups, module.metadata, module.header, module.comdats),
    }


def _function(function: Function) -> Any:
    things = [*function.arguments, *function.blocks, *function.instructions]
    number = {id(thing): i for i, thing in enumerate(things)}
    return [_fields(thing, number, skip=("name",)) for thing in (function, *things)]


def _fields(thing: Any, number: dict[int, int], skip: tuple[str, ...] = ()) -> Any:
    values = ((f.name, getattr(thing, f.name)) for f in fields(thing) if f.name not in skip)
    return type(thing).__name__, *((name, _plain(value, number)) for name, value in values)


def _plain(value: Any, number: dict[int, int]) -> Any:
    if isinstance(value, list):
        return [_plain(v, number) for v in value]
    if id(value) in number:
        return f"#{number[id(value)]}"
    assert not isinstance(value, (Block, Function, Variable)), "a thing of another function"
    return value
