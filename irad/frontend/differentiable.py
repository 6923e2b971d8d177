"""The njit function with derivatives as attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.frontend import functions, target
from irad.frontend.callable import DerivativeFunction
from irad.frontend.target import need
from irad.frontend.vjp import Pullback

_numba: Any = need("numba", "njit")
_types: Any = need("numba.core.types", "Dispatcher")
_extending: Any = need("numba.extending", "overload_attribute")
_datamodel: Any = need("numba.core.datamodel", "register_default")
_models: Any = need("numba.core.datamodel.models", "OpaqueModel")


class DifferentiableType(_types.Dispatcher):
    """Numba's type of a differentiable function, which has `grad` and `value_and_grad` in njit code too."""


@_datamodel.register_default(DifferentiableType)
class _Model(_models.OpaqueModel): ...


class Differentiable(target.CPUDispatcher):
    """Numba's dispatcher of a kernel, which knows its derivatives."""

    @property
    def _type(self) -> Any:
        """What Numba takes for the type of this function, and asks for while it is being made."""
        return DifferentiableType(self)

    @_type.setter
    def _type(self, type: Any) -> None: ...

    @property
    def _numba_type_(self) -> Any:
        return self._type

    @classmethod
    def make(cls, function: Callable[..., Any], options: dict[str, Any]) -> Differentiable:
        """As `numba.njit(**options)(function)`."""
        plain = _numba.njit(**options)(function)
        made = cls(plain.py_func, plain.locals, plain.targetoptions, plain._compiler.pipeline_class)
        if options.get("cache"):
            made.enable_caching()
        if not plain._can_compile:
            for signature in plain.nopython_signatures:
                made.compile(signature)
            made.disable_compile()
        return made

    @property
    def grad(self) -> DerivativeFunction:
        """Its gradient by the first argument."""
        return functions.gradient(self, 0, value=False, cached=False, strict=False)

    @property
    def value_and_grad(self) -> DerivativeFunction:
        """Its value and gradient by the first argument."""
        return functions.gradient(self, 0, value=True, cached=False, strict=False)

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """See `irad.jvp`."""
        return functions.push(self, primals, tangents)

    def vjp(self, *primals: Any) -> tuple[Any, Pullback]:
        """See `irad.vjp`."""
        return Pullback.start(self, primals)


def _attribute(name: str) -> None:
    def typed(function: Any) -> Any:
        made = getattr(function.dispatcher, name)
        return lambda function: made

    # Numba compares the parameters, annotations included, with those of the implementation
    typed.__annotations__ = {}
    _extending.overload_attribute(DifferentiableType, name)(typed)


for _name in ("grad", "value_and_grad"):
    _attribute(_name)
