"""How long a kernel and its gradient take, and how far the gradient is from an independent one."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import irad
import kernels

Arguments = tuple[Any, ...]

AT_MOST = 0.5  # seconds spent on repeating a measurement
REPEATS = 20


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds; `difference` is relative to the largest entry of the independent derivative."""

    primal: float
    gradient: float
    first: float
    difference: float

    @property
    def ratio(self) -> float:
        return self.gradient / self.primal


def measure(name: str, size: str = "demo") -> Times:
    """Time the kernel called `name`. `first` is its first gradient, compilation of the derivative included."""
    module, kernel = kernels.load(name), kernels.function(name)
    arguments = module.make_args(size, seed=1)
    kernel(*copy.deepcopy(arguments))
    first, bars = _timed(lambda: gradient(kernel, module, *prepare(module, arguments)))
    return Times(
        primal=_best(lambda: copy.deepcopy(arguments), lambda values: kernel(*values)),
        gradient=_best(lambda: prepare(module, arguments), lambda values: gradient(kernel, module, *values)),
        first=first,
        difference=difference(bars, module.derivative(module.make_args(size, seed=1))),
    )


def prepare(module: kernels.KernelModule, arguments: Arguments) -> tuple[Arguments, dict[int, np.ndarray]]:
    """Fresh arguments, and a shadow for every array that is differentiated or carries the result."""
    values = copy.deepcopy(arguments)
    shadowed = [i for i in {*module.WRT, *module.OUTPUTS} if isinstance(values[i], np.ndarray)]
    return values, {i: np.empty_like(values[i]) for i in shadowed}


def gradient(
    kernel: Callable[..., Any], module: kernels.KernelModule, values: Arguments, shadows: dict[int, np.ndarray]
) -> Arguments:
    """One cotangent per position in WRT, for cotangents of ones. Setting the shadows is part of the work."""
    for i in module.OUTPUTS:
        shadows[i].fill(1.0)
    annotated = [
        (irad.Duplicated if i in module.OUTPUTS else irad.Filled)(value, shadows[i])
        if i in shadows
        else (irad.Active if i in module.WRT else irad.Const)(value)
        for i, value in enumerate(values)
    ]
    seed = {} if module.OUTPUTS else {"seed": 1.0}
    _, bars = irad.autodiff(irad.Reverse, kernel, *annotated, **seed)
    scalars = iter(bars)
    return tuple(shadows[i] if i in shadows else next(scalars) for i in module.WRT)


def difference(bars: Arguments, expected: Arguments) -> float:
    """The largest difference of two gradients, relative to the largest entry of the second."""
    ours = np.concatenate([np.ravel(bar) for bar in bars])
    theirs = np.concatenate([np.ravel(bar) for bar in expected])
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def _best(prepare: Callable[[], Any], run: Callable[[Any], object]) -> float:
    """The shortest of several runs, each on freshly prepared values: a kernel may overwrite what it is given."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < AT_MOST:
        values = prepare()
        times.append(_timed(lambda: run(values))[0])  # noqa: B023 (called at once)
    return min(times)


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = run()
    return time.perf_counter() - began, result
