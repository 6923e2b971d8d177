"""Every mode of irad against the oracles, and its primal against Numba, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import irad
from tests.oracles import interpreter
from tests.oracles.memory import Mirror, arrays, mirrored, rebuilt
from tests.oracles.scalars import Dual, Step

MODES = ("forward", "reverse", "split")
"""`autodiff` both ways, and `vjp`; there are also "gradient" (`grad`, where Const arrays may be scratch) and "jvp"."""


class Refused(Exception):
    """irad refused a kernel; the cause is its error."""


@dataclass(frozen=True)
class Case:
    """A kernel at a point, with random tangents and cotangents of everything in `wrt`."""

    kernel: Any
    args: tuple[Any, ...]
    wrt: tuple[int, ...]
    tolerance: float

    @cached_property
    def primal(self) -> tuple[Any, Mirror]:
        """What Numba returns, and the arguments as it leaves them."""
        mirror = mirrored(self.args)
        return self.kernel(*mirror.args), mirror

    @cached_property
    def tangents(self) -> Mirror:
        return self._random(1)

    @cached_property
    def cotangents(self) -> Mirror:
        return self._random(2)

    def seed(self, number: int = 0) -> Any:
        """A cotangent of the result."""
        rng = np.random.default_rng(3 + number)
        return _seed_like(self.primal[0], rng)

    def _random(self, number: int) -> Mirror:
        rng = np.random.default_rng(number)
        mirror = mirrored(self.args, copied=False)
        for i in self.wrt:
            for array in arrays([mirror.args[i]]):
                array[...] = rng.normal(size=array.shape)
        args = [
            rebuilt([arg], lambda x: _random_like(x, rng) if i in self.wrt else _zero_like(x))[0]  # noqa: B023
            for i, arg in enumerate(mirror.args)
        ]
        return Mirror(args, mirror.buffers)

    # --- comparisons ---

    def same_primal(self, what: str, result: Any, called: Mirror) -> None:
        """Result and memory of the arguments are those of Numba, bit for bit."""
        wanted, memory = self.primal
        assert _bits(result) == _bits(wanted), f"{what}: the result is {result}, not {wanted}"
        for got, want in zip(called.buffers, memory.buffers, strict=True):
            assert got.tobytes() == want.tobytes(), f"{what}: the kernel left {got} in memory, not {want}"

    def close(self, what: str, got: Any, want: Any) -> None:
        got, want = np.asarray(got, float), np.asarray(want, float)
        scale = max(1.0, np.abs(want).max(initial=0.0))
        error = np.abs(got - want).max(initial=0.0)
        assert error <= self.tolerance * scale, f"{what}: got {got}, want {want}, off by {error:.3g}"

    # --- what the oracles say ---

    @cached_property
    def dual(self) -> tuple[list[float], list[np.ndarray]]:
        return interpreter.forward(self.kernel, self.args, self.tangents, Dual)

    def pulled(self, seed: Any, cotangents: Sequence[np.ndarray]) -> tuple[dict[int, list[float]], Mirror]:
        """Cotangents before the call: of the floats in each argument, and of memory."""
        bars, before = interpreter.reverse(self.kernel, self.args, interpreter.leaves(seed), cotangents)
        mirror = mirrored(self.args, float, copied=False)
        for buffer, values in zip(mirror.buffers, before, strict=True):
            buffer[:] = values
        stream = iter(bars)
        floats = {i: [next(stream) for _ in range(_floats_in(arg))] for i, arg in enumerate(self.args)}
        return floats, mirror


def assert_derivatives_right(
    kernel: Any,
    args: Sequence[Any],
    wrt: Sequence[int] | None = None,
    modes: Sequence[str] = MODES,
    *,
    tolerance: float | None = None,
    analytic: bool = True,
) -> None:
    """Run irad in each mode at `args` and compare with the oracles.

    Parameters
    ----------
    kernel: an njit function. Copies of `args` which overlap as these do are passed to it.
    wrt: positions to differentiate, by default all floats and float arrays (and tuples of them). Others are Const.
    modes: some of MODES, "gradient", "jvp".
    tolerance: of the derivatives, relative to the largest; by default 1e-10, and 1e-4 where there is float32.
    analytic: check the oracle itself by a complex step.

    Raises
    ------
    AssertionError: a derivative, a result or a side effect is wrong.
    Refused: irad refused, rightly or not.
    """
    case = Case(kernel, tuple(args), _positions(args) if wrt is None else tuple(wrt), tolerance or _tolerance(args))
    if analytic:
        result, memory = interpreter.forward(kernel, args, case.tangents, Step)
        case.close("complex step: the result", result, case.dual[0])
        for got, want in zip(memory, case.dual[1], strict=True):
            case.close("complex step: memory", got, want)
    products = {}
    for mode in modes:
        try:
            products[mode] = _RUN[mode](case)
        except irad.IradError as error:
            raise Refused(f"{mode}: {error}") from error
    if products.get("forward") is not None and products.get("reverse") is not None:
        case.close("the dot products of forward and reverse", products["reverse"], products["forward"])


# --- the modes ------------------------------------------------------------------------------------------------------


def _forward(case: Case) -> float:
    called, dots = mirrored(case.args), mirrored(case.tangents.args)
    words = [
        irad.Duplicated(x, dot) if i in case.wrt else irad.Const(x)
        for i, (x, dot) in enumerate(zip(called.args, dots.args, strict=True))
    ]
    result, result_dot = irad.autodiff(irad.Forward, case.kernel, *words)
    case.same_primal("forward", result, called)
    case.close("forward: the result", interpreter.leaves(result_dot), case.dual[0])
    for i in case.wrt:
        for got, want in zip(arrays([dots.args[i]]), arrays([_views(case.args, case.dual[1])[i]]), strict=True):
            case.close(f"forward: shadow {i} after the call", got, want)
    seeds = interpreter.leaves(case.seed())
    return float(np.dot(seeds, interpreter.leaves(result_dot))) + dots.inner(case.cotangents)


def _reverse(case: Case) -> float:
    called, bars = mirrored(case.args), mirrored(case.cotangents.args)
    pairs = zip(called.args, bars.args, strict=True)
    words = [_reverse_word(x, bar, i in case.wrt) for i, (x, bar) in enumerate(pairs)]
    seed = case.seed()
    result, scalars = irad.autodiff(irad.Reverse, case.kernel, *words, seed=seed)
    case.same_primal("reverse", result, called)
    floats, memory = case.pulled(seed, case.cotangents.buffers)
    found = iter(scalars)
    product = bars.inner(case.tangents)
    for i in case.wrt:
        if isinstance(words[i], irad.Active):
            got = interpreter.leaves(next(found))
            case.close(f"reverse: argument {i}", got, floats[i])
            product += float(np.dot(got, interpreter.leaves(case.tangents.args[i])))
        for got, want in zip(arrays([bars.args[i]]), arrays([memory.args[i]]), strict=True):
            case.close(f"reverse: shadow {i}", got, want)
    return product


def _reverse_word(x: Any, bar: Any, wanted: bool) -> Any:
    if not wanted:
        return irad.Const(x)
    return irad.Duplicated(x, bar) if list(arrays([x])) else irad.Active(x)


def _split(case: Case) -> None:
    called = mirrored(case.args)
    result, pullback = irad.vjp(case.kernel, *called.args)
    case.same_primal("split", result, called)
    for number in (0, 1, 0):  # a tape is read as often as one likes
        seed = case.seed(number)
        _same_gradients(case, f"split, pullback {number}", seed, pullback(seed), _positions(case.args))


def _gradient(case: Case) -> None:
    called = mirrored(case.args)
    value, bars = irad.value_and_grad(case.kernel, case.wrt)(*called.args)
    case.same_primal("gradient", value, called)
    found: list[Any] = [None] * len(case.args)
    for i, bar in zip(case.wrt, bars, strict=True):
        found[i] = bar
    _same_gradients(case, "gradient", 1.0, found, case.wrt)


def _same_gradients(case: Case, what: str, seed: Any, got: Sequence[Any], wrt: Sequence[int]) -> None:
    zeros = [np.zeros(buffer.size) for buffer in case.cotangents.buffers]
    floats, memory = case.pulled(seed, zeros)
    for i in wrt:
        if floats[i]:
            case.close(f"{what}: argument {i}", interpreter.leaves(got[i]), floats[i])
        for one, want in zip(arrays([got[i]]), arrays([memory.args[i]]), strict=True):
            case.close(f"{what}: argument {i}", one, want)


def _jvp(case: Case) -> None:
    called, dots = mirrored(case.args), mirrored(case.tangents.args)
    given = tuple(dot if i in case.wrt else None for i, dot in enumerate(dots.args))
    result, result_dot = irad.jvp(case.kernel, tuple(called.args), given)
    case.same_primal("jvp", result, called)
    case.close("jvp: the result", interpreter.leaves(result_dot), case.dual[0])


_RUN: dict[str, Callable[[Case], Any]] = {
    "forward": _forward,
    "reverse": _reverse,
    "split": _split,
    "gradient": _gradient,
    "jvp": _jvp,
}


# --- small things ---------------------------------------------------------------------------------------------------


def _is_float(x: Any) -> bool:
    return isinstance(x, float | np.floating)


def _floats_in(arg: Any) -> int:
    return sum(map(_floats_in, arg)) if isinstance(arg, tuple) else int(_is_float(arg))


def _positions(args: Sequence[Any]) -> tuple[int, ...]:
    """Arguments that hold nothing but floats, or nothing but float arrays."""
    return tuple(i for i, arg in enumerate(args) if _floats_in(arg) or list(arrays([arg])))


def _tolerance(args: Sequence[Any]) -> float:
    single = any(array.itemsize == 4 for array in arrays(args))
    return 1e-4 if single or any(isinstance(arg, np.float32) for arg in args) else 1e-10


def _views(args: Sequence[Any], buffers: Sequence[np.ndarray]) -> list[Any]:
    """Buffers of numbers seen as the arguments see memory."""
    mirror = mirrored(args, float, copied=False)
    for buffer, values in zip(mirror.buffers, buffers, strict=True):
        buffer[:] = values
    return mirror.args


def _random_like(x: Any, rng: np.random.Generator) -> Any:
    return type(x)(rng.normal()) if _is_float(x) else x


def _zero_like(x: Any) -> Any:
    return type(x)(0.0) if _is_float(x) else x


def _seed_like(result: Any, rng: np.random.Generator) -> Any:
    if isinstance(result, tuple):
        return tuple(_seed_like(part, rng) for part in result)
    if isinstance(result, np.ndarray):
        return rng.normal(size=result.shape).astype(result.dtype)
    return float(rng.normal()) if _is_float(result) else result


def _bits(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_bits(part) for part in result)
    return None if result is None else (np.asarray(result).dtype.str, np.asarray(result).tobytes())
