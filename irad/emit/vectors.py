"""Vector mathematics: calls of libm are offered in versions that take several numbers at once (design D13).

LLVM makes vectors of a loop with a call only when it knows a vector version of the function. The attribute
`vector-function-abi-variant` of a call names them, by the rules of the vector function ABI of x86-64 and glibc
(https://sourceware.org/glibc/wiki/libmvec): `_ZGV`, a letter for the registers, `N` (no mask), lanes, a `v` for each
argument, the function's name.

A call may be approximated in adjoint code, unless `strict=True`, and in the primal of a `fastmath` kernel. Other calls
are those that Numba makes, bit for bit, also where NumPy's own functions have fast-math inside (`np.cbrt`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from irad.ir.model import Argument, Call, Function, Global, Module, Variable
from irad.ir.types import DOUBLE, SINGLE, Float, FunctionType, Vector
from irad.rules import scalar

REGISTERS = {"b": 16, "d": 32, "e": 64}  # bytes: SSE, AVX2, AVX-512
FUNCTIONS = {
    **dict.fromkeys(
        ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 1
    ),
    **dict.fromkeys(("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf", "erfc"), 1),
    **dict.fromkeys(("pow", "atan2", "hypot"), 2),
}
"""The functions, with how many arguments they take."""

USED = "llvm.compiler.used"


def candidates() -> frozenset[str]:
    """The symbols of all vector versions."""
    return frozenset(
        symbol(name, type, letter) for name in FUNCTIONS for type in (DOUBLE, SINGLE) for letter in REGISTERS
    )


def symbol(name: str, type: Float, letter: str) -> str:
    """The vector version of libm's `name` (in double precision's spelling) for registers of one kind."""
    lanes = _lanes(type, letter)
    return f"_ZGV{letter}N{lanes}{'v' * FUNCTIONS[name]}_{_scalar(name, type)}"


def approximable(source: Module, *, fastmath: bool) -> Callable[[Call], bool]:
    """Which calls in a derivative of `source` may be approximated; `fastmath`: whether the kernel asked for that.

    Adjoint calls carry `reassoc` without `afn`. Where calls of `source` do as well, they cannot be told apart.
    """
    calls = (i for f in source.functions.values() for i in f.instructions if isinstance(i, Call))
    mistakable = any(_is_reordered(call) for call in calls)

    def chosen(call: Call) -> bool:
        return (fastmath and _is_approximate(call)) or (not mistakable and _is_reordered(call))

    return chosen


def _is_approximate(call: Call) -> bool:
    return not {"afn", "fast"}.isdisjoint(call.flags)


def _is_reordered(call: Call) -> bool:
    return "reassoc" in call.flags and not _is_approximate(call)


def offer(module: Module, available: Collection[str], chosen: Callable[[Call], bool]) -> None:
    """Tell LLVM of the vector versions among the symbols `available`, for the chosen calls in `module`."""
    versions: dict[str, FunctionType] = {}
    for function in list(module.functions.values()):
        for instruction in function.instructions:
            if isinstance(instruction, Call) and chosen(instruction):
                _offer(instruction, available, versions, module)
    for name, type in versions.items():
        module.functions[name] = Function(name, type, [Argument(t, "") for t in type.parameters])
    if versions:  # the declarations would be dropped before LLVM makes vectors
        pointers = ", ".join(f"ptr @{name}" for name in versions)
        module.variables[USED] = Variable(
            USED, f'appending global [{len(versions)} x ptr] [{pointers}], section "llvm.metadata"'
        )


def _offer(call: Call, available: Collection[str], versions: dict[str, FunctionType], module: Module) -> None:
    name, type = scalar.rule_name(call.callee_name), call.type
    if name not in FUNCTIONS or type not in (DOUBLE, SINGLE) or len(call.operands) != FUNCTIONS[name]:
        return
    assert isinstance(type, Float)
    found = {letter: symbol(name, type, letter) for letter in REGISTERS}
    found = {letter: mangled for letter, mangled in found.items() if mangled in available}
    if not found:
        return
    plain = _scalar(name, type)
    parameters = (type,) * FUNCTIONS[name]
    call.callee, call.function_type = Global(plain), None
    module.functions.setdefault(
        plain, Function(plain, FunctionType(type, parameters), [Argument(t, "") for t in parameters])
    )
    variants = [f"_ZGV_LLVM_{mangled.removeprefix('_ZGV')[1:]}({mangled})" for mangled in found.values()]
    call.attributes = (
        "nounwind",
        "willreturn",
        "memory(none)",
        f'"vector-function-abi-variant"="{",".join(variants)}"',
    )
    for letter, mangled in found.items():
        wide = Vector(_lanes(type, letter), type)
        versions[mangled] = FunctionType(wide, (wide,) * FUNCTIONS[name])


def _lanes(type: Float, letter: str) -> int:
    return REGISTERS[letter] // (8 if type == DOUBLE else 4)


def _scalar(name: str, type: Float) -> str:
    return name if type == DOUBLE else f"{name}f"
