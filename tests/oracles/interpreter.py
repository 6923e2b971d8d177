"""Run the Python source of a kernel on numbers that carry derivatives.

Arrays become NumPy object arrays, so that views, overlap and mutation are NumPy's own; helpers are run from their
source as well; `np` and `math` are replaced in the kernel's globals where they would make plain floats.
"""

from __future__ import annotations

import builtins
import functools
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

from tests.oracles.memory import Mirror, mirrored, rebuilt
from tests.oracles.scalars import MATH, Dual, Scalar, Step, Traced

_PLAIN = "iub"


def _filled(make: Callable[..., Any], value: float) -> Callable[..., Any]:
    """A maker of arrays that makes object arrays where floats are wanted."""

    def maker(shape: Any, dtype: Any = float) -> Any:
        plain = np.dtype(getattr(dtype, "plain", dtype))
        if plain.kind in _PLAIN:
            return make(shape, dtype)
        if plain.names is not None:
            fields = [(name, plain[name] if plain[name].kind in _PLAIN else object) for name in plain.names]
            return np.full(shape, value, fields)
        made = np.empty(shape, object)
        made[...] = value
        return made

    return maker


def _filled_like(make: Callable[..., Any], value: float) -> Callable[..., Any]:
    def maker(like: Any) -> Any:
        if like.dtype.kind in _PLAIN:
            return make(like)
        made = np.empty_like(like, object)
        made[...] = value
        return made

    return maker


class _Cast:
    """`np.float64` and the like: as a function it keeps derivatives, as a dtype it is the plain one."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __call__(self, x: Any) -> Any:
        return x if isinstance(x, Scalar) else self.plain(x)


class _NumPy:
    """NumPy, except for what makes arrays of floats."""

    def __init__(self) -> None:
        self.zeros, self.ones, self.empty = _filled(np.zeros, 0.0), _filled(np.ones, 1.0), _filled(np.empty, 0.0)
        self.zeros_like, self.ones_like = _filled_like(np.zeros_like, 0.0), _filled_like(np.ones_like, 1.0)
        self.empty_like = _filled_like(np.empty_like, 0.0)

    float64, float32 = _Cast(np.float64), _Cast(np.float32)

    def array(self, values: Any) -> Any:
        made = np.array(values, object)
        plain = all(isinstance(value, int | np.integer) for value in made.flat)
        return np.array(values) if plain else made

    def full(self, shape: Any, value: Any) -> Any:
        return _filled(np.empty, value)(shape)

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


class _Math:
    """The math module for our numbers as well."""

    def __getattr__(self, name: str) -> Any:
        plain = getattr(math, name)
        if not callable(plain):
            return plain

        def function(x: Any, *more: Any) -> Any:
            if isinstance(x, Scalar) and name not in ("floor", "ceil", "trunc"):
                return getattr(x, {"pow": "__pow__", "atan2": "arctan2"}.get(name, MATH.get(name, name)))(*more)
            return plain(x, *more)

        return function


class Interpreted:
    """Functions over their source, each made once so that recursion ends."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        self._numpy, self._math = _NumPy(), _Math()

    def function(self, plain: types.FunctionType) -> Callable[..., Any]:
        if id(plain) in self._made:
            return self._made[id(plain)]

        # through a level of indirection, for a recursive function is among its own globals
        def call(*args: Any, **kwargs: Any) -> Any:
            return build()(*args, **kwargs)

        @functools.cache
        def build() -> Callable[..., Any]:
            names = {name: self.replaced(value) for name, value in plain.__globals__.items()}
            names["__builtins__"] = {**vars(builtins), "float": lambda x: x if isinstance(x, Scalar) else float(x)}
            cells = tuple(types.CellType(self.replaced(cell.cell_contents)) for cell in plain.__closure__ or ())
            return types.FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, cells)

        self._made[id(plain)] = call
        return call

    def replaced(self, value: Any) -> Any:
        """What the kernel should see in the place of one of its globals."""
        if value is np:
            return self._numpy
        if value is math:
            return self._math
        if value is numba.prange:
            return range
        if value is numba.typed.List:
            return list
        if value is numba.typed.Dict:
            return dict
        if hasattr(value, "py_func"):
            return self.function(value.py_func)
        return value


def interpreted(kernel: Any) -> Callable[..., Any]:
    """The source of a kernel as a function over our numbers."""
    return Interpreted().function(kernel.py_func)


def leaves(result: Any) -> list[Any]:
    """The numbers in a result: of tuples and arrays, in order; integers are left out."""
    if result is None or isinstance(result, bool | int | np.integer | np.bool_):
        return []
    if isinstance(result, tuple):
        return [leaf for part in result for leaf in leaves(part)]
    if isinstance(result, np.ndarray):
        return [] if result.dtype.kind in _PLAIN else list(result.flat)
    return [result]


def _lifted(args: Sequence[Any], make: Callable[[Any], Any]) -> Mirror:
    """Arguments with numbers of ours for all floats."""
    mirror = mirrored(args, object)
    for buffer in mirror.buffers:
        buffer[:] = [make(x) for x in buffer]
    floats = rebuilt(mirror.args, lambda x: make(x) if isinstance(x, float | np.floating) else x)
    return Mirror(floats, mirror.buffers)


def forward(
    kernel: Any, args: Sequence[Any], tangents: Mirror, kind: type = Dual
) -> tuple[list[float], list[np.ndarray]]:
    """The tangents of a result and, after the call, of the memory of the arguments.

    tangents: of the structure of `args`, a float for each float; its buffers are those of `mirrored(args)`.
    kind: Dual, or Step for a complex step.
    """
    size = Step.SIZE if kind is Step else 1.0
    make = (lambda x, t: Step(complex(x, float(t) * size))) if kind is Step else Dual
    mirror = _lifted(args, lambda x: x)
    for buffer, dots in zip(mirror.buffers, tangents.buffers, strict=True):
        buffer[:] = [make(float(x), t) for x, t in zip(buffer, dots, strict=True)]
    called = [_paired(arg, dot, make) for arg, dot in zip(mirror.args, tangents.args, strict=True)]
    result = interpreted(kernel)(*called)
    after = [np.array([_tangent(x) for x in buffer]) for buffer in mirror.buffers]
    return [_tangent(leaf) for leaf in leaves(result)], after


def _paired(arg: Any, dot: Any, make: Callable[[float, float], Any]) -> Any:
    if isinstance(arg, tuple):
        return tuple(_paired(a, d, make) for a, d in zip(arg, dot, strict=True))
    return make(float(arg), float(dot)) if isinstance(arg, float | np.floating) else arg


def _tangent(x: Any) -> float:
    return x.tangent if isinstance(x, Scalar) else 0.0


def reverse(
    kernel: Any, args: Sequence[Any], seeds: Sequence[float], after: Sequence[np.ndarray]
) -> tuple[list[Any], list[np.ndarray]]:
    """Cotangents of float arguments (in order, flattened) and of the memory before the call.

    seeds: of the leaves of the result. after: of the memory after the call, as buffers of `mirrored(args)`.
    """
    Traced.start()
    mirror = _lifted(args, Traced)
    inputs = [list(buffer) for buffer in mirror.buffers]
    floats = [leaf for leaf in _flat(mirror.args) if isinstance(leaf, Traced)]
    result = interpreted(kernel)(*mirror.args)
    pairs = list(zip(leaves(result), seeds, strict=True))
    for buffer, bars in zip(mirror.buffers, after, strict=True):
        pairs += zip(buffer, bars, strict=True)
    adjoints = Traced.adjoints(pairs)
    before = [np.array([adjoints[x.place] for x in buffer]) for buffer in inputs]
    return [adjoints[x.place] for x in floats], before


def _flat(args: Any) -> list[Any]:
    return [leaf for arg in args for leaf in (_flat(arg) if isinstance(arg, tuple) else [arg])]
