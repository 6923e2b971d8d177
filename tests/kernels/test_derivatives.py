"""irad on every kernel of kernels/: the independent derivative, forward mode, differences, and the primal's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from kernels import Collection
from tests.kernels.common import KERNELS, is_single, widened

# Numba's advice on speed is for what the user wrote, not for irad's rules
pytestmark = pytest.mark.filterwarnings("error::numba.NumbaPerformanceWarning")


class Problem:
    """A kernel at its smallest size, with fresh arguments for every use."""

    def __init__(self, collection: Collection, name: str) -> None:
        self.module: Any = collection.load(name)
        self.kernel: Any = collection.function(name)
        # how far two derivatives of one kernel may be apart
        self.rounding = 1e-4 if any(is_single(a) for a in self.args()) else 1e-9
        self.rng = np.random.default_rng(5)
        self.seeds = [self.rng.standard_normal(self.args()[i].shape) for i in self.module.OUTPUTS]
        arrays = {i: np.asarray(self.args()[i]) for i in self.module.WRT}
        self.directions = {i: np.asarray(self.rng.standard_normal(a.shape), a.dtype) for i, a in arrays.items()}

    def args(self) -> tuple[Any, ...]:
        return self.module.make_args("tiny", 3)

    def moved(self, step: float) -> list[Any]:
        args = widened(self.args())
        for i, direction in self.directions.items():
            args[i] = args[i] + step * direction
        return args

    def outcome(self, args: list[Any]) -> float:
        """The seeded result: of the return value, or of the arrays the kernel fills."""
        value = self.kernel(*args)
        if not self.module.OUTPUTS:
            return float(value)
        return sum(float(np.vdot(args[i], s)) for i, s in zip(self.module.OUTPUTS, self.seeds, strict=True))

    def reverse(self, args: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """The primal's result and one cotangent per differentiated argument."""
        outputs = self.module.OUTPUTS
        seeds = dict(zip(outputs, self.seeds, strict=True))
        shadows = {
            i: np.array(seeds.get(i, np.zeros_like(a)), order="K")
            for i, a in enumerate(args)
            if isinstance(a, np.ndarray)
        }
        annotated: list[Any] = []
        for i, a in enumerate(args):
            if i not in (*self.module.WRT, *outputs):
                annotated.append(irad.Const(a))
            else:
                annotated.append(irad.Duplicated(a, shadows[i]) if i in shadows else irad.Active(a))
        out, bars = irad.autodiff(irad.Reverse, self.kernel, *annotated)
        rest = iter(bars)
        return out, [shadows[i] if i in shadows else next(rest) for i in self.module.WRT]

    def forward(self, args: tuple[Any, ...]) -> float:
        """The tangent of the seeded result in this problem's directions."""
        outputs = self.module.OUTPUTS
        annotated: list[Any] = []
        shadows = {i: np.array(self.directions.get(i, np.zeros_like(args[i])), order="K") for i in outputs}
        for i, a in enumerate(args):
            if i in self.directions or i in outputs:
                dot = shadows[i] if i in shadows else self.directions[i]
                annotated.append(irad.Duplicated(a, dot if isinstance(a, np.ndarray) else float(dot)))
            else:
                annotated.append(irad.Const(a))
        _, tangent = irad.autodiff(irad.Forward, self.kernel, *annotated)
        if not outputs:
            return float(tangent)
        return sum(float(np.vdot(shadows[i], s)) for i, s in zip(outputs, self.seeds, strict=True))


@pytest.fixture(scope="module", params=KERNELS, ids=[name for _, name in KERNELS])
def problem(request: pytest.FixtureRequest) -> Problem:
    return Problem(*request.param)


def test_reverse(problem: Problem) -> None:
    args, plain = problem.args(), problem.args()
    out, got = problem.reverse(args)
    value = problem.kernel(*plain)
    assert out == value, "the primal's result must be the same to the bit"
    for a, b in zip(args, plain, strict=True):
        assert np.array_equal(a, b), "and so must what it writes"
    right = problem.module.derivative(problem.args(), problem.seeds or None)
    for mine, other in zip(got, right, strict=True):
        room = 0.01 * problem.rounding * (1 + float(np.max(np.abs(other))))
        assert mine == pytest.approx(other, rel=problem.rounding, abs=room)
    slope = sum(float(np.vdot(g, problem.directions[i])) for g, i in zip(got, problem.module.WRT, strict=True))
    # exact up to rounding, unlike a difference: what catches a drift between the modes
    assert problem.forward(problem.args()) == pytest.approx(slope, rel=0.1 * problem.rounding)
    step = 1e-6
    difference = (problem.outcome(problem.moved(step)) - problem.outcome(problem.moved(-step))) / (2 * step)
    assert slope == pytest.approx(difference, rel=1e-4, abs=1e-6)
