"""Every row of the rule table compiled: the operation, its tangent, and its adjoint for each set of active operands."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain, combinations

import llvmlite.binding as llvm
from numba import _helperlib

from irad.ir.build import Builder, suffix
from irad.ir.model import Argument, Block, Function, Module, Value, real
from irad.ir.types import DOUBLE, I32, PTR, SINGLE, VOID, Float, FunctionType, Type
from irad.ir.write import write
from irad.rules.linear import Rule, adjoints, tangent
from irad.rules.scalar import OPCODES, RULES
from irad.rules.special import missing_functions

LIBM = frozenset(
    {
        *("expm1", "log1p", "cbrt", "hypot", "asinh", "acosh", "atanh", "erf", "erfc", "tgamma", "lgamma"),
        *("fmod", "remainder", "fmax", "fmin", "fdim", "logb", "nextafter"),
        *("irad.cpow.real", "irad.cpow.imag", "irad.singular"),
    }
)
"""Functions that have no intrinsic."""
CTYPES = {DOUBLE: ctypes.c_double, SINGLE: ctypes.c_float, I32: ctypes.c_int32}


def operation(builder: Builder, name: str, operands: Sequence[Value], out: Type) -> Value:
    """The operation `name` itself, by the way it stands in LLVM."""
    if name in ("fpext", "fptrunc"):
        return builder.cast(name, operands[0], out)
    if name == "fneg":
        return builder.fneg(operands[0])
    if name == "freeze":
        return operands[0]
    if name in OPCODES:
        return builder.binary(name, *operands)
    if name in LIBM:
        return builder.call(name + "f" * (out == SINGLE), out, operands)
    integer = f".{suffix(I32)}" if RULES[name].integers else ""
    return builder.call(f"llvm.{name}.{suffix(out)}{integer}", out, operands)


def active_sets(rule: Rule) -> list[tuple[int, ...]]:
    floats = [i for i in range(rule.arity) if i not in rule.integers]
    return list(chain.from_iterable(combinations(floats, n) for n in range(1, len(floats) + 1)))


class Row:
    """The functions of one row on one float type."""

    def __init__(self, name: str, type: Float) -> None:
        self.name, self.rule, self.out = name, RULES[name], type
        operand = {"fpext": SINGLE, "fptrunc": DOUBLE}.get(name, type)
        self.types = [I32 if i in self.rule.integers else operand for i in range(self.rule.arity)]
        self.symbol = f"{name}_{type}"
        self.address: dict[str, int] = {}

    def functions(self) -> list[Function]:
        return [self.primal(), self.forward(), *(self.reverse(s) for s in active_sets(self.rule))]

    def primal(self) -> Function:
        f, arguments, builder = start(f"{self.symbol}_primal", self.out, self.types)
        builder.ret(operation(builder, self.name, arguments, self.out))
        return f

    def forward(self) -> Function:
        n = self.rule.arity
        f, arguments, builder = start(f"{self.symbol}_forward", self.out, [*self.types, self.out, *self.types])
        dots = [None if i in self.rule.integers else a for i, a in enumerate(arguments[n + 1 :])]
        result = tangent(self.rule, arguments[:n], arguments[n], dots, builder)
        builder.ret(real(0.0, self.out) if result is None else result)
        return f

    def reverse(self, wanted: tuple[int, ...]) -> Function:
        n = self.rule.arity
        name = f"{self.symbol}_reverse" + "".join(map(str, wanted))
        f, arguments, builder = start(name, VOID, [*self.types, self.out, self.out, PTR])
        *operands, out, bar, result = arguments
        found = adjoints(self.rule, operands, out, bar, wanted, builder)
        for i in range(n):
            zero = real(0.0, DOUBLE if i in self.rule.integers else self.types[i])
            builder.store(found.get(i, zero), builder.offset(result, 8 * i))
        builder.ret()
        return f

    def call(self, which: str, result: Type | None, types: Sequence[Type], values: Sequence[object]) -> object:
        kind = ctypes.CFUNCTYPE(CTYPES[result] if result else None, *(CTYPES.get(t, ctypes.c_void_p) for t in types))
        return kind(self.address[f"{self.symbol}_{which}"])(*values)

    def value(self, x: Sequence[float]) -> float:
        return self.call("primal", self.out, self.types, x)

    def jvp(self, x: Sequence[float], x_dot: Sequence[float], out: float | None = None) -> float:
        out = self.value(x) if out is None else out
        return self.call("forward", self.out, [*self.types, self.out, *self.types], [*x, out, *x_dot])

    def vjp(
        self, x: Sequence[float], bar: float, wanted: tuple[int, ...] = (), out: float | None = None, which: str = ""
    ) -> tuple[float, ...]:
        """The adjoints of all operands, zero for those that are not wanted (all floats by default)."""
        out = self.value(x) if out is None else out
        memory = (ctypes.c_double * self.rule.arity)()
        which = which or "reverse" + "".join(map(str, wanted or active_sets(self.rule)[-1]))
        self.call(which, None, [*self.types, self.out, self.out, PTR], [*x, out, bar, ctypes.addressof(memory)])
        kinds = [CTYPES[DOUBLE if i in self.rule.integers else t] for i, t in enumerate(self.types)]
        return tuple(k.from_address(ctypes.addressof(memory) + 8 * i).value for i, k in enumerate(kinds))


def start(name: str, result: Type, types: Sequence[Type]) -> tuple[Function, list[Argument], Builder]:
    arguments = [Argument(t, f"a{i}") for i, t in enumerate(types)]
    block = Block("entry")
    return Function(name, FunctionType(result, tuple(types)), arguments, [block]), arguments, Builder(block)


def compiled(functions: Sequence[Function]) -> tuple[llvm.ExecutionEngine, dict[str, int]]:
    """Machine code of the functions and of all that they call: the engine that owns it, and addresses by name."""
    module = Module()
    for function in functions:
        for f in [function, *missing_functions(function, module.functions)]:
            module.functions[f.name] = f
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently("libgcc_s.so.1")  # llvm.powi
    for name in ("cpow", "cpowf"):
        llvm.add_symbol(f"numba_{name}", _helperlib.c_helpers[name])
    parsed = llvm.parse_assembly(write(module))
    parsed.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine, {f.name: engine.get_function_address(f.name) for f in functions}


ROWS = {
    (name, type): Row(name, type)
    for name in RULES
    for type in (DOUBLE, SINGLE)
    if not name.startswith("numba_") and (name, type) not in {("fpext", SINGLE), ("fptrunc", DOUBLE)}
}
