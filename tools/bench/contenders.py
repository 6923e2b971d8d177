"""The ways to a kernel's value and gradient, each as something that can be run and checked."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numba import njit

import irad
import kernels
from tools.bench import adjoints
from tools.bench.timing import Runner, no_preparation
from tools.kernel_times import Arguments, difference, gradient

AGREES = 1e-8  # relative difference from the independent derivative that is no more than rounding

PRIMAL, IRAD, HAND, API = "primal", "irad", "hand", "api"


class WrongGradientError(AssertionError):
    """A gradient that differs from the independent derivative."""


@dataclass(frozen=True)
class Contender:
    """runner: what is timed. bars: the gradient of a fresh run, one cotangent per position in WRT; None: the primal."""

    runner: Runner
    bars: Callable[[], Arguments] | None = None

    def check(self, name: str, expected: Arguments) -> None:
        """Compare the gradient with the independent one.

        Raises
        ------
        WrongGradientError: they differ by more than rounding.
        """
        if self.bars is None:
            return
        found = difference(self.bars(), expected)
        if not found <= AGREES:
            raise WrongGradientError(f"{name}: relative difference {found:.1e} from the independent derivative")


class Problem:
    """A kernel at a size: its arguments, fresh before each run where the kernel overwrites its own input."""

    def __init__(self, module: kernels.KernelModule, function: Callable[..., Any], size: str) -> None:
        self.module, self.function = module, function
        self.pristine: Arguments = module.make_args(size, seed=1)
        self.args: Arguments = copy.deepcopy(self.pristine)
        self.shadowed = [i for i in sorted({*module.WRT, *module.OUTPUTS}) if isinstance(self.pristine[i], np.ndarray)]
        self.consumed = sorted(set(module.WRT) & set(module.OUTPUTS))

    @property
    def prepare(self) -> Callable[[], object]:
        return self.restore if self.consumed else no_preparation

    def restore(self) -> None:
        """Give the arguments that the kernel overwrites their first contents."""
        for i in self.consumed:
            np.copyto(self.args[i], self.pristine[i])

    def shadows(self) -> dict[int, np.ndarray]:
        """Memory for the gradient; cotangents of ones where results lie."""
        outputs = self.module.OUTPUTS
        return {i: np.full_like(self.pristine[i], 1.0 if i in outputs else 0.0) for i in self.shadowed}

    def expected(self) -> Arguments:
        """The independent derivative."""
        return self.module.derivative(self.pristine)

    def primal(self) -> Contender:
        """The kernel as it is."""
        return Contender(Runner(partial(self.function, *self.args), self.prepare))

    def compiled(self, function: Callable[..., Any]) -> Contender:
        """A function of the kernel's arguments and shadows, which returns the value and the adjoints of floats."""
        shadows = self.shadows()
        run = partial(function, *self.args, *shadows.values())

        def bars() -> Arguments:
            self.restore()
            scalars = iter(run()[1])
            return tuple(shadows[i].copy() if i in shadows else next(scalars) for i in self.module.WRT)

        return Contender(Runner(run, self.prepare), bars)

    def irad(self) -> Contender:
        """`irad.autodiff` in an njit function on shadows of ours, which it also sets, as a program does in a loop."""
        return self.compiled(value_and_gradient(self.module, self.function))

    def hand(self) -> Contender | None:
        """The hand-written adjoint, where there is one."""
        function = adjoints.BY_KERNEL.get(self.function.__name__)
        return None if function is None else self.compiled(function)

    def api(self) -> Contender:
        """What a call from Python gives: fresh arrays by `irad.value_and_grad`; else `irad.autodiff`."""
        if self.module.OUTPUTS:
            shadows = self.shadows()
            run: Callable[[], Any] = partial(gradient, self.function, self.module, self.args, shadows)
            return Contender(Runner(run, self.prepare))
        return Contender(Runner(partial(irad.value_and_grad(self.function, self.module.WRT), *self.args)))


def value_and_gradient(module: kernels.KernelModule, function: Callable[..., Any]) -> Callable[..., Any]:
    """An njit function of the arguments and shadows of a kernel, returning its value and the adjoints of its floats."""
    source = source_of_gradient(module, function)
    names: dict[str, Any] = {"irad": irad, "kernel": function}
    exec(source, names)
    return njit(names["value_and_gradient"])


def source_of_gradient(module: kernels.KernelModule, function: Callable[..., Any]) -> str:
    """The source of `value_and_gradient`, in which the kernel is called `kernel`."""
    example = module.make_args("tiny")
    filled: list[str] = []
    annotated: list[str] = []
    shadows: list[str] = []
    for i, value in enumerate(example):
        if i in module.OUTPUTS and isinstance(value, np.ndarray):
            shadows.append(f"s{i}")
            filled.append(f"    s{i}.fill(1.0)")
            annotated.append(f"irad.Duplicated(a{i}, s{i})")
        elif i in module.WRT and isinstance(value, np.ndarray):
            shadows.append(f"s{i}")
            annotated.append(f"irad.Filled(a{i}, s{i})")
        else:
            annotated.append(f"irad.{'Active' if i in module.WRT else 'Const'}(a{i})")
    given = ", ".join([*(f"a{i}" for i in range(len(example))), *shadows])
    call = f"irad.autodiff(irad.Reverse, kernel, {', '.join(annotated)}{'' if module.OUTPUTS else ', seed=1.0'})"
    return "\n".join([f"def value_and_gradient({given}):", *filled, f"    return {call}", ""])
