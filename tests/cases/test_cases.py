"""Kernels that real systems got wrong, in reverse and in forward mode, against values derived by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import irad
from tests.cases import kernels as k


@dataclass(frozen=True)
class Case:
    """args are made afresh for each call. right: the derivative for each position in wrt.

    seed: for kernels that return nothing, the cotangent of the argument at a position after the call.
    kink: finite directions do not apply, the derivative is a convention.
    """

    kernel: Any
    args: Callable[[], tuple[Any, ...]]
    wrt: tuple[int, ...]
    right: tuple[Any, ...]
    seed: tuple[int, Any] | None = None
    tolerance: float = 1e-12

    @property
    def name(self) -> str:
        return self.kernel.__name__


def array(*numbers: float) -> np.ndarray:
    return np.array(numbers)


def _triangular(x: np.ndarray) -> np.ndarray:
    """x_j x_k with k < j is counted once for each i > j."""
    n = x.size
    return np.array([sum((n - 1 - max(j, k)) * x[k] for k in range(n) if k != j) for j in range(n)])


def _wandering(a: np.ndarray, at: int, steps: int) -> np.ndarray:
    bar = np.zeros_like(a)
    for i in range(steps):
        bar[at] += np.cos(a[at]) * (i + 1)
        at = at // 2 if at % 2 == 0 else (3 * at + 1) % a.size
    return bar


def _minima(x: np.ndarray) -> np.ndarray:
    return np.equal(x, x.min(axis=1, keepdims=True)) + 1.0 * np.equal(x, x.min(axis=0, keepdims=True))


def _products(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Products of all other factors, without a division."""
    weights = w + np.eye(x.size)[-1]
    prefix = [[np.prod(np.delete(x[: i + 1], j)) if j <= i else 0.0 for i in range(x.size)] for j in range(x.size)]
    return np.array(prefix) @ weights


def _recurrence(x: float, p: float, steps: int) -> tuple[float, float]:
    by_x, by_p, sum_x, sum_p = 1.0, 0.0, 0.0, 0.0
    for _ in range(steps):
        slope, x = -math.sin(x + p), math.cos(x + p)
        by_x, by_p = slope * by_x, slope * (by_p + 1.0)
        sum_x, sum_p = sum_x + 1e-6 * by_x, sum_p + 1e-6 * by_p
    return by_x + sum_x, by_p + sum_p


def _ranked(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    bar, order = np.empty_like(x), np.argsort(x)
    bar[order] = 2.0 * w * x[order]
    return bar


def _interpolated(q: np.ndarray, knots: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, ...]:
    """1.5 linear interpolations of each q, with respect to all three."""
    bars = np.zeros_like(q), np.zeros_like(knots), np.zeros_like(table)
    for i, point in enumerate(q):
        j = int(np.searchsorted(knots, point)) - 1
        width = knots[j + 1] - knots[j]
        t, slope = (point - knots[j]) / width, (table[j + 1] - table[j]) / width
        bars[0][i] += 1.5 * slope
        bars[1][j : j + 2] += 1.5 * slope * np.array([t - 1.0, -t])
        bars[2][j : j + 2] += 1.5 * np.array([1.0 - t, t])
    return bars


TRIANGLE = array(0.3, 1.0, 2.0, -1.0, 0.5, 4.0)
TABLE = array(2.0, -1.1, 0.5, 1.2, 1.3, -0.7, 0.2, -0.5, 1.5, -1.7, 0.85, -0.9, -1.2, -0.6, -1.19).reshape(3, 5)
FACTORS, FACTOR_WEIGHTS = array(2.0, 0.0, 3.0, 4.0), array(1.0, -2.0, 0.5, 3.0)
RANKED, RANK_WEIGHTS = array(3.0, -1.0, 2.0, 0.5, 10.0), np.arange(1.0, 6.0)
QUERIES, KNOTS, VALUES = array(0.25, 1.7, 2.2), array(0.0, 1.0, 2.0, 3.5), array(1.0, -1.0, 4.0, 0.0)
BACKWARDS = np.arange(1.0, 11.0)[::-2]
GRID = np.arange(6.0).reshape(2, 3).T
IN_PLACE = array(1.1, -0.7, 0.9)
IN_PLACE_BAR = array(1.0, 2.0, -1.0)
STENCIL = np.eye(8, k=1) + np.eye(8, k=-1) - 2.0 * np.eye(8)


def _coefficients() -> np.ndarray:
    c = np.zeros((5, 5))
    c[0, 0], c[1, 3], c[4, 2] = 2.0, -1.5, 0.25
    return c


CASES = [
    Case(k.polynomial, lambda: (0.0, array(3.0, -2.0, 5.0, 7.0)), (0, 1), (-2.0, array(1.0, 0.0, 0.0, 0.0))),
    Case(k.float_powers, lambda: (0.0, 0.0, 2.0), (0,), (0.0,)),
    Case(k.guarded_roots, lambda: (array(4.0, 0.0, 0.25),), (0,), (array(0.5, 0.0, 2.0),)),
    Case(k.norm_squared, lambda: (np.zeros(3),), (0,), (np.zeros(3),)),
    Case(k.capped_inverse, lambda: (0.0,), (0,), (0.0,)),
    Case(
        k.ratios,
        lambda: (array(1.0, 2.0, 3.0), array(2.0, 0.0, 4.0)),
        (0, 1),
        (array(0.5, 0.0, 0.25), array(-0.25, 0.0, -3.0 / 16.0)),
    ),
    Case(k.clipped_angles, lambda: (array(10.0, 0.6, -3.0),), (0,), (array(0.0, -1.25, 0.0),)),
    Case(k.wrapped, lambda: (3.3,), (0,), (0.6 + 2.0 * math.pi * math.sin(1.2 * math.pi),), tolerance=1e-9),
    Case(
        k.squared_in_place, lambda: (IN_PLACE.copy(), 3), (0,), (8.0 * IN_PLACE**7 * IN_PLACE_BAR,), (0, IN_PLACE_BAR)
    ),
    Case(k.same_array_twice, lambda: (array(1.0, -2.0, 0.5),), (0,), (array(4.0, -8.0, 2.0),)),
    Case(
        k.gather_and_scatter,
        lambda: (array(0.1, 0.2, 0.3), np.array([0, 0, 2, 1]), np.array([1, 1, 0, 0]), array(10.0, 100.0)),
        (0,),
        (array(202.0, 41.0, 1.0),),
    ),
    Case(
        k.second_difference,
        lambda: (np.linspace(0.0, 1.0, 8) ** 2, np.zeros(8)),
        (0,),
        (STENCIL.T @ np.arange(1.0, 9.0),),
        (1, np.arange(1.0, 9.0)),
    ),
    Case(k.residual, lambda: (np.zeros(4), np.ones(4)), (0,), (-2.0 * k.WEIGHTS,)),
    Case(k.product_of_some, lambda: (np.full(3, 2.0), 3), (0,), (np.full(3, 4.0),)),
    Case(k.best_coefficient, lambda: (_coefficients(), array(1.0, -2.0, 0.5)), (1,), (array(4.0, -9.0, 4.0),)),
    Case(k.rebound_in_branches, lambda: (array(-1.0, 2.0, 3.0),), (0,), (array(3.0, 4.0, 6.0),)),
    Case(k.triangular, lambda: (TRIANGLE.copy(),), (0,), (_triangular(TRIANGLE),)),
    Case(k.until_limit, lambda: (array(1.0, 2.0, 5.0, 3.0, 7.0), 12.0), (0,), (array(2.0, 2.0, 2.0, 1.0, 0.0),)),
    Case(
        k.wandering_index,
        lambda: (np.linspace(0.1, 1.6, 11), 7, 9),
        (0,),
        (_wandering(np.linspace(0.1, 1.6, 11), 7, 9),),
    ),
    Case(k.minima, lambda: (TABLE.copy(),), (0,), (_minima(TABLE),)),
    Case(
        k.odd_strides,
        lambda: (np.arange(1.0, 11.0)[::-2], np.arange(6.0).reshape(2, 3).T),
        (0, 1),
        (6.0 * BACKWARDS[::-1], 2.0 * (np.arange(3.0)[:, None] + 2.0 * np.arange(2.0)) * GRID),
    ),
    Case(k.products, lambda: (FACTORS.copy(), FACTOR_WEIGHTS), (0,), (_products(FACTORS, FACTOR_WEIGHTS),)),
    Case(
        k.determinant, lambda: (array(1.0, 2.0, 2.0, 4.0).reshape(2, 2),), (0,), (np.array([[4.0, -2.0], [-2.0, 1.0]]),)
    ),
    Case(k.solved, lambda: (np.eye(2), array(1.0, 3.0)), (0, 1), (np.tile([-1.0, -3.0], (2, 1)), np.ones(2))),
    Case(k.weighted_ranks, lambda: (RANKED.copy(), RANK_WEIGHTS), (0,), (_ranked(RANKED, RANK_WEIGHTS),)),
    Case(
        k.looked_up,
        lambda: (QUERIES.copy(), KNOTS.copy(), VALUES.copy()),
        (0, 1, 2),
        _interpolated(QUERIES, KNOTS, VALUES),
    ),
    Case(k.long_recurrence, lambda: (1.0, 0.3, 1_000_000), (0, 1), _recurrence(1.0, 0.3, 1_000_000), tolerance=1e-10),
    Case(k.horner, lambda: (3.0, np.empty(0)), (0, 1), (6.0, np.empty(0))),
    Case(k.recursive_series, lambda: (0.9, 6), (0,), (sum(j * 0.9 ** (j - 1) for j in range(1, 7)),)),
]


def direction(x: Any, number: int) -> Any:
    """A tangent of the shape and strides of `x`."""
    if isinstance(x, float):
        return 0.7 - number
    dot = np.zeros_like(x)
    dot[...] = np.cos(np.arange(1.0, x.size + 1.0) + number).reshape(x.shape)
    return dot


def like(x: np.ndarray, numbers: Any = 0.0) -> np.ndarray:
    """An array of the shape and the strides of `x`."""
    size = sum(abs(stride) * (n - 1) for n, stride in zip(x.shape, x.strides, strict=True)) // x.itemsize + 1
    start = sum(-stride * (n - 1) for n, stride in zip(x.shape, x.strides, strict=True) if stride < 0)
    made = np.ndarray(x.shape, x.dtype, np.zeros(max(size, 1)), start if x.size else 0, x.strides)
    made[...] = numbers
    return made


def duplicated(case: Case, args: tuple[Any, ...]) -> dict[int, np.ndarray]:
    """Zeroed shadows of the arrays in wrt and of the output, with the seed in it."""
    wanted = {*case.wrt, *(case.seed[:1] if case.seed else ())}
    shadows = {i: like(args[i]) for i in wanted if isinstance(args[i], np.ndarray)}
    if case.seed:
        shadows[case.seed[0]][...] = case.seed[1]
    return shadows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reverse(case: Case) -> None:
    args = case.args()
    if case.seed is None:
        found: Sequence[Any] = irad.grad(case.kernel, case.wrt)(*args)
    else:
        shadows = duplicated(case, args)
        irad.autodiff(
            irad.Reverse,
            case.kernel,
            *(irad.Duplicated(x, shadows[i]) if i in shadows else irad.Const(x) for i, x in enumerate(args)),
        )
        found = [shadows[i] for i in case.wrt]
    for got, right in zip(found, case.right, strict=True):
        assert np.shape(got) == np.shape(right)
        assert got == pytest.approx(right, rel=case.tolerance, abs=case.tolerance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_forward(case: Case) -> None:
    args = case.args()
    dots = {
        i: like(args[i], direction(args[i], i)) if isinstance(args[i], np.ndarray) else direction(args[i], i)
        for i in case.wrt
    }
    if case.seed and case.seed[0] not in dots:
        dots[case.seed[0]] = like(args[case.seed[0]])
    words = [irad.Duplicated(x, dots[i]) if i in dots else irad.Const(x) for i, x in enumerate(args)]
    right = sum(float(np.sum(r * direction(args[i], i))) for i, r in zip(case.wrt, case.right, strict=True))
    _, found = irad.autodiff(irad.Forward, case.kernel, *words)
    got = float(found) if case.seed is None else float(np.dot(dots[case.seed[0]], case.seed[1]))
    assert got == pytest.approx(right, rel=max(case.tolerance, 1e-11), abs=case.tolerance)


@pytest.mark.parametrize("x", [array(1.0, 5.0, 5.0, 2.0), array(3.0, 3.0, 3.0)], ids=str)
def test_a_tie_is_shared_or_given_to_one(x: np.ndarray) -> None:
    bar = irad.grad(k.largest)(x)
    assert (bar >= 0.0).all() and bar.sum() == pytest.approx(1.0, abs=1e-15)
    assert not bar[x < x.max()].any()


def test_the_norm_has_no_nan_where_it_is_multiplied_by_zero() -> None:
    assert not np.isnan(irad.grad(k.norm_squared)(np.zeros(2))).any()


def test_an_equality_test_is_the_branch_taken() -> None:
    assert irad.grad(k.x_log_y)(0.0, 2.0) == 0.0


@pytest.mark.parametrize("scale", [3.0, 5.0])
def test_captured_constants_are_told_apart(scale: float) -> None:
    assert irad.grad(k.scaled_square(scale))(2.0) == 4.0 * scale


@pytest.mark.parametrize("size", [1, 2, 7, 8, 31, 32, 33, 70])
def test_vectorised_loops_and_their_remainders(size: int) -> None:
    rng = np.random.default_rng(size)
    a, b, c, out_bar = rng.normal(size=(4, size))
    bars = np.zeros((3, size))
    seed = out_bar.copy()
    irad.autodiff(
        irad.Reverse,
        k.triple_product,
        irad.Duplicated(np.zeros(size), seed),
        *(irad.Duplicated(x, bar) for x, bar in zip((a.copy(), b.copy(), c.copy()), bars, strict=True)),
    )
    for bar, right in zip(bars, (b * c, a * c, a * b), strict=True):
        assert bar == pytest.approx(out_bar * right, rel=1e-14)
    assert not seed.any()


def test_constant_data_stays_as_it_is() -> None:
    observed, weights = np.ones(4), k.WEIGHTS.copy()
    irad.grad(k.residual)(np.zeros(4), observed)
    assert (observed == 1.0).all() and (weights == k.WEIGHTS).all()
