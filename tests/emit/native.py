"""Machine code of emitted functions, with NumPy arrays for memory."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from irad.emit.module import assemble
from irad.ir.check import check
from irad.ir.model import Argument, Block, Function, Module, Value, integer
from irad.ir.types import I64, PTR, VOID, FunctionType
from irad.ir.write import write


class Native:
    """Compiled functions; `extra` is text that defines what they call, in place of declarations."""

    def __init__(self, functions: Iterable[Function], extra: str = "", variables: str = "") -> None:
        functions = list(functions)
        for function in functions:
            function.linkage = tuple(w for w in function.linkage if w != "internal")
        module = assemble(Module(), functions, [], variables)
        check(module)
        for name in list(module.functions):
            if re.search(rf"^define [^\n]*@{re.escape(name)}\(", extra, re.MULTILINE):
                module.functions.pop(name)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        parsed = llvm.parse_assembly(write(module) + extra)
        parsed.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
        self.engine = llvm.create_mcjit_compiler(parsed, machine)
        self.engine.finalize_object()

    def call(self, name: str, *arguments: Any, result: Any = None) -> Any:
        """Call a function; integers are i64, arrays their data pointers."""
        given = [
            ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray)
            else a if isinstance(a, ctypes._SimpleCData)
            else ctypes.c_int64(a)
            for a in arguments
        ]  # fmt: skip
        kind = ctypes.CFUNCTYPE(result, *(type(g) for g in given))
        return kind(self.engine.get_function_address(name))(*given)

    def words(self, name: str, count: int) -> npt.NDArray[np.int64]:
        """A global variable's memory."""
        address = self.engine.get_global_value_address(name)
        return np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(address))


def begin(name: str, *parameters: str) -> tuple[Function, list[Value]]:
    """A function of pointers (names that start with p) and i64s, with an entry block."""
    types = tuple(PTR if p.startswith("p") else I64 for p in parameters)
    arguments = [Argument(t, p) for t, p in zip(types, parameters, strict=True)]
    return Function(name, FunctionType(VOID, types), arguments, [Block("entry")]), list(arguments)


def constants(values: Iterable[int]) -> list[Value]:
    return [integer(int(v), I64) for v in values]
