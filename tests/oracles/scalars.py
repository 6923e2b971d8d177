"""Numbers that carry derivatives, to be put into NumPy object arrays or passed where a kernel expects a float.

`Dual` carries a tangent, `Traced` a place on a tape, `Step` an imaginary perturbation. All compare by their primal
value, so branches go as they go without derivatives. NumPy's ufuncs on object arrays call the methods named after them.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any, ClassVar

Partial = Callable[[float, float], float]

# name: value, and the partial as a function of operand and result
UNARY: dict[str, tuple[Callable[[float], float], Partial]] = {
    "sqrt": (math.sqrt, lambda _, y: 0.5 / y if y else math.inf),
    "exp": (math.exp, lambda _, y: y),
    "expm1": (math.expm1, lambda _, y: y + 1.0),
    "log": (math.log, lambda x, _: 1.0 / x),
    "log1p": (math.log1p, lambda x, _: 1.0 / (1.0 + x)),
    "sin": (math.sin, lambda x, _: math.cos(x)),
    "cos": (math.cos, lambda x, _: -math.sin(x)),
    "tan": (math.tan, lambda _, y: 1.0 + y * y),
    "sinh": (math.sinh, lambda x, _: math.cosh(x)),
    "cosh": (math.cosh, lambda x, _: math.sinh(x)),
    "tanh": (math.tanh, lambda _, y: 1.0 - y * y),
    "arcsin": (math.asin, lambda x, _: 1.0 / math.sqrt(1.0 - x * x)),
    "arccos": (math.acos, lambda x, _: -1.0 / math.sqrt(1.0 - x * x)),
    "arctan": (math.atan, lambda x, _: 1.0 / (1.0 + x * x)),
    "erf": (math.erf, lambda x, _: 2.0 / math.sqrt(math.pi) * math.exp(-x * x)),
    "fabs": (abs, lambda x, _: math.copysign(1.0, x) if x else 0.0),
}

MATH = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
"""Where math and NumPy differ in a name."""


class Scalar:
    """What all kinds share: order, truth and truncation, by primal value."""

    __slots__ = ()
    value: float

    def __float__(self) -> float:
        raise TypeError("this conversion would lose a derivative")

    def __bool__(self) -> bool:
        return self.value != 0.0

    def __int__(self) -> int:
        return int(self.value)

    __trunc__ = __int__

    def __floor__(self) -> int:
        return math.floor(self.value)

    def __ceil__(self) -> int:
        return math.ceil(self.value)

    def floor(self) -> float:
        return float(math.floor(self.value))

    def __lt__(self, other: Any) -> bool:
        return self.value < primal(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= primal(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > primal(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= primal(other)

    def __eq__(self, other: object) -> bool:
        return self.value == primal(other)

    def __ne__(self, other: object) -> bool:
        return self.value != primal(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"


def primal(x: Any) -> Any:
    """The value without its derivative."""
    return x.value if isinstance(x, Scalar) else x


def _scalar(x: Any) -> bool:
    return isinstance(x, Scalar) or (not hasattr(x, "__len__") and getattr(x, "ndim", 0) == 0)


def _binary(value: Callable[[float, float], float], left: Callable[..., float], right: Callable[..., float]) -> Any:
    """Methods for `self op other` and `other op self`; the partials take both operands and the result."""

    def forward(self: Chained, other: Any) -> Any:
        if not _scalar(other):
            return NotImplemented
        a, b = self.value, float(primal(other))
        y = value(a, b)
        terms = [(self, left(a, b, y))]
        if isinstance(other, Scalar):
            terms.append((other, right(a, b, y)))
        return self.chain(y, terms)

    def backward(self: Chained, other: Any) -> Any:
        if not _scalar(other):
            return NotImplemented
        a, b = float(other), self.value
        y = value(a, b)
        return self.chain(y, [(self, right(a, b, y))])

    return forward, backward


def _power(a: float, b: float) -> float:
    return a ** (int(b) if b == int(b) else b)


def _power_base(a: float, b: float, _: float) -> float:
    return b * _power(a, b - 1.0) if b else 0.0


class Chained(Scalar):
    """A number with the chain rule: `chain` makes a result out of a value and (operand, partial) terms."""

    __slots__ = ("value",)

    def chain(self, value: float, terms: list[tuple[Any, float]]) -> Any:
        raise NotImplementedError

    __add__, __radd__ = _binary(lambda a, b: a + b, lambda *_: 1.0, lambda *_: 1.0)
    __sub__, __rsub__ = _binary(lambda a, b: a - b, lambda *_: 1.0, lambda *_: -1.0)
    __mul__, __rmul__ = _binary(lambda a, b: a * b, lambda a, b, _: b, lambda a, b, _: a)
    __truediv__, __rtruediv__ = _binary(lambda a, b: a / b, lambda a, b, _: 1.0 / b, lambda a, b, y: -y / b)
    __mod__, __rmod__ = _binary(lambda a, b: a % b, lambda *_: 1.0, lambda a, b, _: -float(a // b))
    __pow__, __rpow__ = _binary(_power, _power_base, lambda a, b, y: y * math.log(a))
    arctan2, _ = _binary(math.atan2, lambda a, b, _: b / (a * a + b * b), lambda a, b, _: -a / (a * a + b * b))
    hypot, _ = _binary(math.hypot, lambda a, b, y: a / y, lambda a, b, y: b / y)

    def __floordiv__(self, other: Any) -> Any:
        return self.value // primal(other)

    def __neg__(self) -> Any:
        return self.chain(-self.value, [(self, -1.0)])

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.apply("fabs")

    def apply(self, name: str) -> Any:
        """One of UNARY."""
        function, partial = UNARY[name]
        y = function(self.value)
        return self.chain(y, [(self, partial(self.value, y))])


class Dual(Chained):
    """A value and its tangent."""

    __slots__ = ("tangent",)

    def __init__(self, value: float, tangent: float = 0.0) -> None:
        self.value, self.tangent = float(value), float(tangent)

    def chain(self, value: float, terms: list[tuple[Any, float]]) -> Dual:
        # a zero tangent adds nothing, even where the partial is infinite
        return Dual(value, sum(partial * operand.tangent for operand, partial in terms if operand.tangent))


class Traced(Chained):
    """A value and its place on the tape, where its operands and partials are recorded."""

    __slots__ = ("place",)
    tape: ClassVar[list[tuple[tuple[int, float], ...]]] = []

    def __init__(self, value: float, terms: tuple[tuple[int, float], ...] = ()) -> None:
        self.value, self.place = float(value), len(self.tape)
        self.tape.append(terms)

    def chain(self, value: float, terms: list[tuple[Any, float]]) -> Traced:
        return Traced(value, tuple((operand.place, partial) for operand, partial in terms))

    @classmethod
    def start(cls) -> None:
        cls.tape = []

    @classmethod
    def adjoints(cls, seeds: list[tuple[Any, float]]) -> list[float]:
        """The adjoint of everything on the tape; seeds of numbers that were never traced are of no consequence."""
        bars = [0.0] * len(cls.tape)
        for number, seed in seeds:
            if isinstance(number, Traced):
                bars[number.place] += seed
        for place in range(len(bars) - 1, -1, -1):
            if bars[place]:
                for operand, partial in cls.tape[place]:
                    bars[operand] += bars[place] * partial
        return bars


class Step(Scalar):
    """A complex number whose imaginary part is a tangent times a tiny step: no table of partials is involved."""

    __slots__ = ("number",)
    SIZE: ClassVar[float] = 1e-40

    def __init__(self, value: complex) -> None:
        self.number = complex(value)

    @property
    def value(self) -> float:  # type: ignore[override]
        return self.number.real

    @property
    def tangent(self) -> float:
        return self.number.imag / self.SIZE

    def apply(self, name: str) -> Step:
        if name == "fabs":
            return Step(-self.number if self.number.real < 0.0 else self.number)
        if name == "expm1":
            return Step(cmath.exp(self.number) - 1.0)
        if name == "log1p":
            return Step(cmath.log(1.0 + self.number))
        if name == "erf":
            raise TypeError("erf is not analytic here")
        names = {numpy: own for own, numpy in MATH.items()}
        return Step(getattr(cmath, names.get(name, name))(self.number))

    def __neg__(self) -> Step:
        return Step(-self.number)

    def __pos__(self) -> Step:
        return self

    def __abs__(self) -> Step:
        return self.apply("fabs")

    def __mod__(self, other: Any) -> Step:
        # not analytic, but exact away from the jumps
        return self - other * float(self.value // primal(other))

    def __floordiv__(self, other: Any) -> float:
        return self.value // primal(other)


def _complex(operation: Callable[[complex, complex], complex]) -> Any:
    def method(self: Step, other: Any) -> Any:
        if not _scalar(other):
            return NotImplemented
        return Step(operation(self.number, other.number if isinstance(other, Step) else complex(other)))

    def reflected(self: Step, other: Any) -> Any:
        if not _scalar(other):
            return NotImplemented
        return Step(operation(complex(other), self.number))

    return method, reflected


def _complex_power(a: complex, b: complex) -> complex:
    return a ** (int(b.real) if b.imag == 0.0 and b.real == int(b.real) else b)


def _install() -> None:
    operations: dict[str, Callable[[complex, complex], complex]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "truediv": lambda a, b: a / b,
        "pow": _complex_power,
    }
    for name, operation in operations.items():
        method, reflected = _complex(operation)
        setattr(Step, f"__{name}__", method)
        setattr(Step, f"__r{name}__", reflected)
    for name in UNARY:
        method = lambda self, name=name: self.apply(name)  # noqa: E731
        setattr(Chained, name, method)
        setattr(Step, name, method)


_install()
