"""Calls of a function that is chosen at run time, as tests of which one it is and direct calls.

What can be chosen is seen where the address comes from: merges, selections and constant tables of functions. Where it
comes from elsewhere (an argument, a pointer of ctypes) the call stays as it is.
"""

from __future__ import annotations

from irad.ir.build import Builder
from irad.ir.model import (
    Argument,
    Block,
    Call,
    Constant,
    ConstantExpression,
    Function,
    Gep,
    Global,
    Load,
    Module,
    Phi,
    Select,
    Unary,
    Value,
    references,
)
from irad.ir.types import PTR, VOID, FunctionType


def directed(module: Module) -> bool:
    """Make the indirect calls of `module` direct where their functions are known; whether there were any."""
    found = 0
    for function in list(module.functions.values()):
        for call in [i for i in function.instructions if isinstance(i, Call) and not i.callee_name]:
            asked = FunctionType(call.type, tuple(v.type for v in call.operands))
            known = _functions(call.callee, module, set())
            fitting = sorted(name for name in known or () if module.functions[name].type == asked)
            if known is not None and fitting:
                chooser = _chooser(f"irad.chosen.{found}", asked, fitting, call.convention)
                module.functions[chooser.name] = chooser
                _redirect(call, chooser)
                found += 1
    return found > 0


def _functions(address: Value, module: Module, seen: set[Value]) -> set[str] | None:
    """The functions that may be at `address`, of which null is none; None where others may be too."""
    if address in seen:
        return set()
    seen.add(address)
    match address:
        case Global(name):
            return {name} if name in module.functions else None
        case Constant(literal="null" | "undef" | "poison"):
            return set()
        case ConstantExpression(op="bitcast", operands=(source,)) | Unary(op="freeze", operands=[source]):
            return _functions(source, module, seen)
        case Phi(operands=operands) | Select(operands=[_, *operands]):
            inside = [_functions(operand, module, seen) for operand in operands]
            return None if None in inside else {name for names in inside if names for name in names}
        case Load(operands=[pointer]):
            return _table(pointer, module)
        case _:
            return None


def _table(pointer: Value, module: Module) -> set[str] | None:
    """The functions in the constant table that `pointer` points into."""
    match pointer:
        case Gep(operands=[Global(name), *_]) | ConstantExpression(op="getelementptr", operands=(Global(name), *_)):
            pass
        case Global(name):
            pass
        case _:
            return None
    table = module.variables.get(name)
    if table is None or not table.constant or table.initializer is None:
        return None
    names = references(table.initializer)
    return names if names and names <= set(module.functions) else None


def _chooser(name: str, asked: FunctionType, functions: list[str], convention: str) -> Function:
    """A function that takes an address first, and calls the one of `functions` that is there."""
    chosen = Argument(PTR, "chosen")
    given = [Argument(type, f"given.{i}") for i, type in enumerate(asked.parameters)]
    made = Function(
        name,
        FunctionType(asked.result, (PTR, *asked.parameters)),
        [chosen, *given],
        linkage=("internal",),
        attributes=("alwaysinline",),
    )
    block = Block("entry")
    for i, function in enumerate(functions):
        made.blocks.append(block)
        out = Builder(block)
        if function != functions[-1]:
            here, block = Block(f"call.{i}"), Block(f"not.{i}")
            out.branch_if(out.compare("eq", chosen, Global(function)), here, block)
            made.blocks.append(here)
            out = Builder(here)
        result = out.call(function, asked.result, given)
        if isinstance(result, Call):
            result.convention = convention
        out.ret(None if asked.result == VOID else result)
    return made


def _redirect(call: Call, chooser: Function) -> None:
    call.operands.insert(0, call.callee)
    call.argument_attributes = [(), *call.argument_attributes]
    call.callee, call.function_type = Global(chooser.name), None
    call.convention = call.tail = ""
    call.metadata.pop("!callees", None)
