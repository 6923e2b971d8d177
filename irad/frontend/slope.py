"""The derivative of a holomorphic function, from what 1 and i pull back.

For f = u + iv the cotangent 1 pulls back to grad u, the cotangent i to grad v (as complex numbers, see
docs/conventions.md). Where f is holomorphic the first is the conjugate of f' and the second is i times the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.frontend import arguments, shadows
from irad.frontend.shadows import Code, View
from irad.frontend.target import need

_cgutils: Any = need("numba.core.cgutils", "alloca_once_value", "loop_nest")
_ir: Any = need("llvmlite.ir", "IntType")

_TOLERANCE = {64: 1e-6, 32: 1e-3}
"""By the bits of a float: how far grad v may be from i grad u, relative to the largest entry of the two."""


class Slope:
    """The derivative by one argument, a complex number or an array, in the code being generated."""

    def __init__(self, code: Code, kind: Any, along_one: Any, along_i: Any) -> None:
        self.code, self.kind, self.value, self._other = code, kind, along_one, along_i
        element = kind.dtype if arguments.is_array(kind) else kind
        self._float = element.underlying_float

    def is_wrong(self) -> Any:
        """Whether the function is not holomorphic. Not where a derivative is NaN."""
        code, b = self.code, self.code.builder
        zero = code.context.get_constant(self._float, 0.0)
        largest, apart = (_cgutils.alloca_once_value(b, zero) for _ in range(2))
        for slot in (largest, apart):
            b.store(zero, slot)

        def visit(one: list[Any], i: list[Any]) -> None:
            for number in (*one, *i):
                self._raise_to(largest, number)
            self._raise_to(apart, b.fadd(i[0], one[1]))
            self._raise_to(apart, b.fsub(i[1], one[0]))

        self._each(visit)
        bound = b.fmul(b.load(largest), code.context.get_constant(self._float, _TOLERANCE[self._float.bitwidth]))
        return b.fcmp_ordered(">", b.load(apart), bound)

    def conjugate(self) -> None:
        """Make `value` the derivative, in place."""
        code, b = self.code, self.code.builder
        if not arguments.is_array(self.kind):
            made = code.context.make_complex(b, self.kind, value=self.value)
            made.imag = b.fneg(made.imag)
            self.value = made._getvalue()
            return
        view = View("slope", self.kind, self.value)
        with _cgutils.loop_nest(b, code.sizes(view)[0], intp=_ir.IntType(64)) as indices:
            _, imag = shadows.floats_at(code, view, indices)
            b.store(b.fneg(b.load(imag)), imag)

    def _each(self, visit: Callable[[list[Any], list[Any]], None]) -> None:
        """Call `visit` with the real and imaginary parts of each entry along 1 and along i."""
        code = self.code
        if not arguments.is_array(self.kind):
            visit(*(arguments.floats(code, self.kind, value) for value in (self.value, self._other)))
            return
        views = [View("slope", self.kind, value) for value in (self.value, self._other)]
        with _cgutils.loop_nest(code.builder, code.sizes(views[0])[0], intp=_ir.IntType(64)) as indices:
            visit(*([code.builder.load(at) for at in shadows.floats_at(code, view, indices)] for view in views))

    def _raise_to(self, slot: Any, number: Any) -> None:
        b = self.code.builder
        size = b.select(b.fcmp_ordered("<", number, number.type(0.0)), b.fneg(number), number)
        before = b.load(slot)
        b.store(b.select(b.fcmp_unordered(">", size, before), size, before), slot)
