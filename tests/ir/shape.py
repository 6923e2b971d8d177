"""A module as plain data in which names of locals are numbers, so that == compares structure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from itertools import zip_longest
from typing import Any

from irad.ir.model import Block, Function, Module, Variable


def shape(module: Module) -> list[Any]:
    """Equal for modules that differ at most in the names of arguments, blocks and results."""
    rest = [module.structs, module.attribute_groups, module.metadata, module.header, module.comdats]
    variables = [_fields(v, {}) for v in module.variables.values()]
    return [*rest, *variables, *(part for f in module.functions.values() for part in _function(f))]


def difference(one: Iterable[Any], other: Iterable[Any]) -> str:
    """The first place where two sequences differ, empty if they are equal: pytest's own takes minutes on modules."""
    return next((f"{a}\n{b}" for a, b in zip_longest(one, other) if a != b), "")


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
