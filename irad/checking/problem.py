"""A kernel at a point, as a map from the arguments that are differentiated to everything that it returns or writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad import api
from irad.checking.copies import (
    Floats,
    bits,
    copies,
    floats,
    is_array,
    is_float,
    is_single,
    leaves,
    numbers,
    protect,
    rebuilt,
)
from irad.checking.differences import Slope, slope
from irad.errors import BadArgumentType, BadArgumentValue
from irad.frontend import functions, signature
from irad.frontend.boxes import opened
from irad.frontend.callable import DerivativeFunction, kernel_of

Entry = tuple[int, tuple[int, ...]]
COMPLEX_STEP = 1e-30


class Problem:
    """`wrt` and `outputs` are positions: of what is differentiated, and of the arrays that the kernel writes."""

    def __init__(self, f: Any, args: Sequence[Any], argnums: Any, rng: np.random.Generator) -> None:
        kernel = kernel_of(f)
        self.f, self.name, self.names = f, kernel.name, kernel.names
        self._call: Callable[..., Any] = f if isinstance(f, DerivativeFunction) else kernel.dispatcher
        args = (*args, *_defaults(kernel.dispatcher.py_func, len(args)))
        _refuse_structures(kernel.names, args)
        self.args = [_without_overlap(value) for value in args]
        if len(self.args) != len(self.names):
            raise BadArgumentType(f"{self.name} takes {len(self.names)} arguments, not {len(self.args)}")
        able = [i for i, value in enumerate(self.args) if _is_differentiable(value)]
        self.wrt = tuple(able) if argnums is None else functions.positions(kernel, argnums)
        for i in self.wrt:
            if i not in able:
                raise BadArgumentType(f"{self.names[i]} of {self.name} is neither a float nor an array of floats")
        if not self.wrt:
            raise BadArgumentType(f"{self.name} has no argument of floats")
        self.single = is_single(self.args)
        self.rng = rng
        self.outputs: tuple[int, ...] = ()
        self.outputs = self._written()
        self.result, after = self._run(self.args)
        self.value, self._plain = self._flat(self.result, after), (self.result, *after)
        options = kernel.dispatcher.targetoptions
        # sums of threads are in another order than serial ones, and fastmath may call other functions for vectors
        self._rounds = bool(options.get("parallel") or options.get("fastmath"))
        self.changed: set[str] = set()
        """Modes in which the kernel returned or left other bits than in the plain call."""
        self.seed = np.ones(1) if len(self.value) == 1 else rng.standard_normal(len(self.value))
        self._complex: Any = None

    @property
    def is_scalar(self) -> bool:
        """Whether the kernel returns one float and writes nothing."""
        return is_float(self.result) and not self.outputs

    # --- the primal ---

    def run(self, args: Sequence[Any]) -> tuple[Any, Floats]:
        """The result at `args`, and every float that is returned or written."""
        result, at = self._run(args)
        return result, self._flat(result, at)

    def _run(self, args: Sequence[Any]) -> tuple[Any, list[Any]]:
        at = copies(args)
        protect(at, self.args)
        return self._call(*at), at

    def _flat(self, result: Any, after: Sequence[Any]) -> Floats:
        return np.concatenate([floats(result), *(floats(after[i]) for i in self.outputs)])

    def _written(self) -> tuple[int, ...]:
        """Positions of the float arrays that a call changes, here or a little beside."""
        found: set[int] = set()
        for step in (0.0, 1e-3):
            before = self.moved(self.direction(), step)
            after = copies(before)
            protect(after, self.args)
            try:
                self._call(*after)
            except Exception:
                if not step:
                    raise
                continue
            for i, (one, other) in enumerate(zip(before, after, strict=True)):
                if any(map(is_array, leaves(one))) and floats(one).tobytes() != floats(other).tobytes():
                    found.add(i)
        return tuple(sorted(found))

    # --- directions ---

    def nothing(self) -> list[Any]:
        """Zero in place of every float of the arguments."""
        made = copies(self.args)
        for value in made:
            for leaf in leaves(value):
                if is_array(leaf):
                    leaf[...] = 0
        return [rebuilt(v, (0.0 if is_float(leaf) else leaf for leaf in leaves(v))) for v in made]

    def direction(self, only: int | None = None) -> list[Any]:
        """A random direction in all differentiated arguments, or in one; each entry moves by about its own size."""
        made = self.nothing()
        for i in self.wrt if only is None else (only,):
            new: list[Any] = []
            for leaf, x in zip(leaves(made[i]), leaves(self.args[i]), strict=True):
                random = self.rng.standard_normal(np.shape(x)) * _scale(x)
                if is_array(leaf):
                    leaf[...] = random
                new.append(leaf if is_array(leaf) else float(random))
            made[i] = rebuilt(self.args[i], iter(new))
        return made

    def entries(self, position: int) -> list[Entry]:
        """Every float of an argument: which leaf, and where in it."""
        inside = enumerate(leaves(self.args[position]))
        return [(n, at) for n, leaf in inside for at in np.ndindex(np.shape(leaf))]

    def along(self, position: int, entry: Entry) -> tuple[list[Any], float]:
        """The direction of one entry, and its length."""
        made, (which, at) = self.nothing(), entry
        length = float(_scale(leaves(self.args[position])[which])[at])
        inside = leaves(made[position])
        if is_array(inside[which]):
            inside[which][at] = length
            length = float(inside[which][at])
        else:
            inside[which] = length
        made[position] = rebuilt(self.args[position], iter(inside))
        return made, length

    def moved(self, direction: Sequence[Any], step: float) -> list[Any]:
        """The arguments, `step` times the direction away."""
        made = copies(self.args)
        for i in self.wrt:
            new: list[Any] = []
            for leaf, x, d in zip(leaves(made[i]), leaves(self.args[i]), leaves(direction[i]), strict=True):
                if is_array(leaf):
                    leaf[...] = x + step * d
                new.append(leaf if is_array(leaf) else type(x)(x + step * d))
            made[i] = rebuilt(self.args[i], iter(new))
        return made

    def dot(self, bars: Sequence[Any], direction: Sequence[Any]) -> tuple[float, float]:
        """<bars, direction> over the differentiated arguments, and the sum of its terms' sizes.

        An element that several arrays share counts once.
        """
        fresh = self.nothing()
        for leaf in (leaf for value in fresh for leaf in leaves(value) if is_array(leaf)):
            leaf[...] = 1
        total, size = 0.0, 0.0
        for i in self.wrt:
            for bar, d, new in zip(*(leaves(v[i]) for v in (bars, direction, fresh)), strict=True):
                terms = np.multiply(bar, d, dtype=np.float64) * (new if is_array(new) else 1.0)
                total, size = total + float(np.sum(terms)), size + float(np.sum(np.abs(terms)))
                if is_array(new):
                    new[...] = 0
        return total, size

    # --- derivatives ---

    def forward(self, direction: Sequence[Any]) -> Floats:
        """irad's tangent of every output, (n,) float64."""
        args, dots = copies(self.args), copies(direction)
        protect(args, self.args)
        words: list[Any] = []
        for i, (value, dot) in enumerate(zip(args, dots, strict=True)):
            words.append(api.Duplicated(value, dot) if i in (*self.wrt, *self.outputs) else api.Const(value))
        result, tangent = api.autodiff(api.Forward, self.f, *words)
        self._compare("forward", result, args)
        return self._flat(tangent, dots)

    def reverse(self) -> list[Any]:
        """irad's adjoint of each argument for `seed`."""
        args, bars, rest = copies(self.args), self.nothing(), [float(value) for value in self.seed]
        seed = self._seed(rest)
        for i in self.outputs:
            for leaf in leaves(bars[i]):
                part, rest = rest[: leaf.size], rest[leaf.size :]
                leaf[...] += np.reshape(part, leaf.shape)
        protect(args, self.args)
        words: list[Any] = []
        for i, (value, bar) in enumerate(zip(args, bars, strict=True)):
            if i not in (*self.wrt, *self.outputs):
                words.append(api.Const(value))
            else:
                words.append(api.Duplicated(value, bar) if any(map(is_array, leaves(value))) else api.Active(value))
        result, found = api.autodiff(api.Reverse, self.f, *words, seed=seed)
        actives = iter(found)
        self._compare("reverse", result, args)
        return [next(actives) if isinstance(w, api.Active) else bar for w, bar in zip(words, bars, strict=True)]

    def _compare(self, mode: str, result: Any, after: Sequence[Any]) -> None:
        found = (result, *after)
        if bits(found) != bits(self._plain) and not (self._rounds and self._is_near(found)):
            self.changed.add(mode)

    def _is_near(self, found: Sequence[Any]) -> bool:
        """Whether the result of a call is that of the plain call, its floats up to rounding."""
        room = 1e-3 if self.single else 1e-9
        for one, other in zip(numbers(tuple(found)), numbers(self._plain), strict=True):
            if one.dtype.kind in "fc" and one.dtype == other.dtype:
                if not np.allclose(one, other, rtol=room, atol=0.0, equal_nan=True):
                    return False
            elif bits(one) != bits(other):
                return False
        return True

    def _seed(self, rest: list[float]) -> Any:
        """The part of the seed that belongs to the result, taken off `rest`."""
        new: list[Any] = []
        for leaf in leaves(self.result):
            if is_array(leaf):
                new.append(np.reshape(rest[: leaf.size], leaf.shape).astype(leaf.dtype))
                del rest[: leaf.size]
            else:
                new.append(float(rest.pop(0)) if is_float(leaf) else 0)
        return rebuilt(self.result, iter(new))

    # --- what derivatives are compared with ---

    def differences(self, direction: Sequence[Any]) -> Slope | None:
        """Differences of every output, or the complex step where the kernel takes complex numbers and agrees."""

        def curve(step: float) -> Floats | None:
            try:
                return self.run(self.moved(direction, step))[1]
            except Exception:
                return None  # a kernel may refuse what lies beside

        found = slope(curve, single=self.single)
        exact = None if found is None or self.single else self._complex_step(direction)
        if found is None or exact is None or exact.shape != found.value.shape:
            return found
        near = np.abs(exact - found.value) <= 1e-4 * np.abs(found.value) + 4.0 * found.error
        value = np.where(near, exact, found.value)  # elsewhere the kernel is not analytic
        # what a slope is a sum of may cancel: it is known no better than the rounding of the values
        size = np.max(np.abs(self.value), initial=0.0, where=np.isfinite(self.value))
        rounding = max(1e-12 * np.max(np.abs(exact), initial=0.0), 4.0 * size * np.finfo(np.float64).eps)
        return Slope(value, np.where(near, rounding, found.error), found.kinked)

    def complex_kernel(self) -> Callable[..., Any]:
        """What a complex step calls: the kernel, compiled for complex arguments.

        It has a dispatcher of its own: the user's keeps the signatures that the user called it with.
        """
        kernel = kernel_of(self.f).dispatcher
        return type(kernel)(kernel.py_func, locals={}, targetoptions=dict(kernel.targetoptions))

    def _complex_step(self, direction: Sequence[Any]) -> Floats | None:
        if self._complex is False or isinstance(self.f, DerivativeFunction):
            return None
        at = copies(self.args)
        for i in (*self.wrt, *self.outputs):
            pairs = zip(leaves(at[i]), leaves(direction[i]), strict=True)
            at[i] = rebuilt(at[i], iter([x + 1j * COMPLEX_STEP * d for x, d in pairs]))
        try:
            if self._complex is None:
                self._complex = self.complex_kernel()
            result = self._complex(*at)
        except Exception:
            self._complex = False
            return None
        inside = [leaf for value in (result, *(at[i] for i in self.outputs)) for leaf in leaves(value)]
        changing: list[Any] = [leaf for leaf in inside if np.iscomplexobj(leaf) or is_float(leaf) or is_array(leaf)]
        found: list[Floats] = [np.asarray(leaf, np.complex128).imag.ravel() for leaf in changing]
        return np.concatenate(found) / COMPLEX_STEP if found else None


def _refuse_structures(names: Sequence[str], args: Sequence[Any]) -> None:
    for name, kind in zip(names, signature.of(args), strict=False):
        if opened(kind) != kind:
            raise BadArgumentType(
                f"{name} is {kind}, of which check_grads makes no copies",
                hint="check a kernel that makes it of floats and arrays",
            )


def _is_differentiable(value: Any) -> bool:
    inside = leaves(value)
    return bool(inside) and (all(map(is_float, inside)) or all(map(is_array, inside)))


def _scale(x: Any) -> Floats:
    """How far an entry moves: its size, but not less than a tenth of the largest one's; 1 where all are zero."""
    size = np.abs(np.asarray(x, np.float64))
    largest = float(np.max(size, initial=0.0))
    if not np.isfinite(largest):
        raise BadArgumentValue("the arguments to check at must be finite")
    return np.maximum(size, 0.1 * largest if largest else 1.0)


def _defaults(function: Callable[..., Any], given: int) -> list[Any]:
    """What the parameters after the first `given` take when they are left out, up to one that must be given."""
    found: list[Any] = []
    for parameter in list(inspect.signature(function).parameters.values())[given:]:
        if parameter.default is parameter.empty:
            break
        found.append(parameter.default)
    return found


def _without_overlap(value: Any) -> Any:
    """Broadcast arrays made whole: a difference moves each of their elements."""
    new = [np.array(leaf) if is_array(leaf) and 0 in leaf.strides and leaf.size > 1 else leaf for leaf in leaves(value)]
    return rebuilt(value, iter(new))
