"""The derivative functions of LLVM text, without Numba: emitted, compiled, and called."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from irad.emit.augment import augmented
from irad.emit.body import Subject
from irad.emit.forward import tangent
from irad.emit.module import assemble
from irad.emit.reverse import reverse
from irad.ir.check import check
from irad.ir.model import Function, Module
from irad.ir.types import Float
from irad.ir.write import write
from tests.analysis.facts import DECLARE, Facts

MEMORY = """
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
define internal ptr @irad_alloc(i64 %size, i32 %align) {
  %more = add i64 %size, 127
  %whole = and i64 %more, -64
  %p = call ptr @aligned_alloc(i64 64, i64 %whole)
  ret ptr %p
}
define internal ptr @irad_tape(i64 %size, i32 %align) {
  %p = call ptr @irad_alloc(i64 %size, i32 %align)
  ret ptr %p
}
define internal void @irad_free(ptr %p) {
  call void @free(ptr %p)
  ret void
}
@irad.memory_error = internal global i8 0
"""

Array = npt.NDArray[np.float64]


class Derived:
    """`facts` (see there) and the functions that are emitted from them: f, tangent, augmented, reverse."""

    def __init__(self, text: str, **asked: Any) -> None:
        self.text, self.asked = text if "\ndeclare" in text else text + DECLARE, asked

    def facts(self) -> Facts:
        return Facts(self.text, **self.asked)

    @cached_property
    def backward(self) -> tuple[list[Function], set[Float], Facts]:
        facts = self.facts()
        subject = subject_of(facts)
        back, used = reverse(subject, "reverse", {})
        return [augmented(subject, "augmented", {}), back], used, facts

    @cached_property
    def forward(self) -> Function:
        return tangent(subject_of(self.facts(), backward=False), "tangent", {})

    @cached_property
    def modules(self) -> list[Module]:
        """The emitted modules, checked: reverse and forward mode."""
        functions, used, _ = self.backward
        variables = "@irad.memory_error = external global i8\n"
        modules = [
            assemble(self.facts().module, functions, sorted(used, key=str), variables),
            assemble(self.facts().module, [self.forward], [], variables),
        ]
        for module in modules:
            check(module)
        return modules

    @cached_property
    def frame_size(self) -> int:
        return self.backward[2].plan.frame_size

    # --- execution ---

    @cached_property
    def engine(self) -> Any:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.load_library_permanently("libm.so.6")
        whole = llvm.parse_assembly(_defined(self.text))
        for module in self.modules:
            for function in module.functions.values():
                if function.name in ("tangent", "augmented", "reverse"):
                    function.linkage = ()
            for name in ("irad_alloc", "irad_tape", "irad_free"):
                module.functions.pop(name, None)
            module.variables.clear()
            whole.link_in(llvm.parse_assembly(write(module) + MEMORY))
        whole.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=1)
        engine = llvm.create_mcjit_compiler(whole, machine)
        engine.finalize_object()
        return engine

    def call(self, name: str, arguments: Sequence[Any], result: Any = None) -> Any:
        """Call a function with arrays (their data pointers), integers and floats."""
        given: list[Any] = []
        for a in arguments:
            match a:
                case np.ndarray():
                    given.append(ctypes.c_void_p(a.ctypes.data))
                case float():
                    given.append(ctypes.c_double(a))
                case _:
                    given.append(ctypes.c_int64(a))
        kind = ctypes.CFUNCTYPE(result, *(type(g) for g in given))
        return kind(self.engine.get_function_address(name))(*given)

    def jvp(self, arguments: Sequence[Any], shadows: Sequence[Array], dots: Sequence[float]) -> int:
        """Run the tangent function; arrays and shadows change in place."""
        return self.call("tangent", [*arguments, *shadows, *dots], ctypes.c_int32)

    def vjp(self, arguments: Sequence[Any], shadows: Sequence[Array]) -> Array:
        """Run augmented and reverse function; the adjoints of the active arguments."""
        frame = np.full(self.frame_size + 64, 0x5A, np.uint8)
        bars = np.full(8, np.nan)
        status = self.call("augmented", [*arguments, *shadows, frame], ctypes.c_int32)
        assert status == 0
        self.call("reverse", [frame, bars])
        return bars[: len(self.backward[2].wanted.values)]


def subject_of(facts: Facts, *, backward: bool = True) -> Subject:
    """What the emitters work from."""
    if not backward:
        facts.forward_only()
    canonical = facts.canonical
    plan = facts.plan if backward else None
    return Subject(
        "f", canonical, facts.objects, facts.kinds, facts.activity, facts.memory, facts.guarded, facts.wanted, plan
    )


def _defined(text: str) -> str:
    """`text` with a definition of the allocator in place of its declaration."""
    lines = [line for line in text.splitlines() if not line.startswith("declare") or "irad_" not in line]
    return "\n".join(lines) + MEMORY


def dot_product_gap(derived: Derived, arguments: Sequence[Any], rng: np.random.Generator) -> float:
    """|<y_bar, J x_dot> - <J^T y_bar, x_dot>| relative to the terms, over arrays and active floats of `arguments`.

    Forward is compared with differences too.
    """
    facts = derived.facts()
    names = [a.name for a in facts.function.arguments]
    shadowed = [i for i, a in enumerate(facts.function.arguments) if a in facts.wanted.memory]
    active = [i for i, a in enumerate(facts.function.arguments) if a in facts.wanted.values]
    assert len(names) == len(arguments)
    x_dots = [rng.normal(size=arguments[i].shape) for i in shadowed]
    dots = [float(rng.normal()) for _ in active]
    bars = [rng.normal(size=arguments[i].shape) for i in shadowed]
    y_dots = [d.copy() for d in x_dots]
    forward = _copies(arguments)
    assert derived.jvp(forward, y_dots, dots) in (0, -2)
    left = sum(float(np.sum(b * d)) for b, d in zip(bars, y_dots, strict=True))
    x_bars = [b.copy() for b in bars]
    backward = _copies(arguments)
    scalars = derived.vjp(backward, x_bars)
    right = sum(float(np.sum(b * d)) for b, d in zip(x_bars, x_dots, strict=True)) + float(np.dot(scalars, dots))
    primal = _copies(arguments)
    derived.call("f", primal, ctypes.c_int32)
    for a, b, c in zip(primal, forward, backward, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    moved = [_moved(derived, arguments, shadowed, active, x_dots, dots, h) for h in (1e-6, -1e-6)]
    for k, i in enumerate(shadowed):
        difference = (moved[0][i] - moved[1][i]) / 2e-6
        np.testing.assert_allclose(y_dots[k], difference, rtol=2e-6, atol=2e-6)
    return abs(left - right) / (1.0 + abs(left))


def _copies(arguments: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def _moved(
    derived: Derived,
    arguments: Sequence[Any],
    shadowed: Sequence[int],
    active: Sequence[int],
    x_dots: Sequence[Array],
    dots: Sequence[float],
    h: float,
) -> list[Any]:
    at = _copies(arguments)
    for i, d in zip(shadowed, x_dots, strict=True):
        at[i] += h * d
    for i, d in zip(active, dots, strict=True):
        at[i] += h * d
    derived.call("f", at, ctypes.c_int32)
    return at
