"""Put emitted functions together with what they use of the primal's module."""

from __future__ import annotations

from collections.abc import Iterable

from irad.analysis.records import Element
from irad.emit.augment import size_product
from irad.emit.memory import copy_adjoint
from irad.emit.runtime import resized
from irad.ir.model import Argument, Call, Function, Instruction, Module, Variable, references
from irad.ir.types import FunctionType
from irad.rules import calls, special

HELPERS = {"irad.size.product": size_product, calls.RESIZED: resized}
ALLOCATOR_ATTRIBUTES = (
    "nounwind",
    "willreturn",
    'allockind("alloc,uninitialized,aligned")',
    "allocsize(0)",
    '"alloc-family"="irad"',
    "memory(inaccessiblemem: readwrite)",
)


def assemble(source: Module, functions: Iterable[Function], adjoints: Iterable[Element], variables: str) -> Module:
    """A module of `functions`, the helpers and declarations they call, and the functions of `source` that they call.

    `adjoints` are the elements of which `memory.copy_adjoint` is used; `variables` is the text of further globals.
    """
    module = Module(structs=dict(source.structs), header=list(source.header))
    module.variables = {name: v for name, v in source.variables.items() if not name.startswith("llvm.")}
    for line in variables.splitlines():
        name, text = line.split(" = ", 1)
        module.variables[name.lstrip("@")] = Variable(name.lstrip("@"), text)
    for function in [*functions, *(copy_adjoint(t) for t in adjoints)]:
        module.functions[function.name] = function
    tables = (v.initializer for v in module.variables.values() if v.initializer is not None)
    queue = [*module.functions.values(), *_taken(source, module, {n for table in tables for n in references(table)})]
    while queue:
        function = queue.pop()
        for name, type in called(function).items():
            if name not in module.functions:
                for new in _provide(name, type, source):
                    module.functions.setdefault(new.name, new)
                    queue.append(new)
        queue += _taken(source, module, _mentioned(function))
    return module


def _taken(source: Module, module: Module, names: set[str]) -> list[Function]:
    """Put those of the functions `names` of `source` that are missing into `module`."""
    new = [strip(source.functions[name]) for name in sorted(names & source.functions.keys() - module.functions.keys())]
    module.functions |= {function.name: function for function in new}
    return new


def called(function: Function) -> dict[str, FunctionType]:
    """The functions that `function` calls, with their types as used."""
    found: dict[str, FunctionType] = {}
    for instruction in function.instructions:
        if isinstance(instruction, Call) and instruction.callee_name:
            plain = FunctionType(instruction.type, tuple(v.type for v in instruction.operands))
            found.setdefault(instruction.callee_name, instruction.function_type or plain)
    return found


def _mentioned(function: Function) -> set[str]:
    """Names of the globals among the operands of `function`: a raise stores the function that unwraps its arguments."""
    operands = {value for instruction in function.instructions for value in instruction.operands}
    constant = (value for value in operands if not isinstance(value, (Instruction, Argument)))
    return {name for value in constant for name in references(value)}


def _provide(name: str, type: FunctionType, source: Module) -> list[Function]:
    if name in HELPERS:
        return [HELPERS[name]()]
    if name in calls.ALLOCATORS:
        arguments = [Argument(t, "") for t in type.parameters]
        arguments[1].attributes = ("allocalign",)
        return [Function(name, type, arguments, linkage=("noalias",), attributes=ALLOCATOR_ATTRIBUTES)]
    known = source.functions.get(name)
    if known is not None and not known.is_declaration:
        return [strip(known)]
    if support := special.support_functions([name]):
        return support
    if calls.is_pure(name):
        return [special.declaration(name, type)]
    return [Function(name, type, [Argument(t, "") for t in type.parameters])]


def strip(function: Function) -> Function:
    """`function` without attributes and metadata that refer to its module, in place."""
    function.attributes = tuple(a for a in function.attributes if not a.startswith("#"))
    function.metadata = {}
    linkage = tuple(w for w in function.linkage if w in ("fastcc", "coldcc"))
    function.linkage = ("internal", *linkage)
    for argument in function.arguments:
        argument.attributes = ()
    for instruction in function.instructions:
        instruction.metadata = {}
        if isinstance(instruction, Call):
            instruction.attributes = tuple(a for a in instruction.attributes if not a.startswith("#"))
    return function
