"""Shadows that begin undefined and are filled by the way back: which loops fill them, and that nothing is left of what
the memory held before."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit

import irad
from irad.pipeline import Derivation, Request

M_PERTURB = -6  # mallopt(3): memory that malloc gives out is filled with the complement of this byte


@pytest.fixture
def dirty_memory() -> Iterator[None]:
    """Memory that is taken has garbage in it, never zeros."""
    libc = ctypes.CDLL(None)
    assert libc.mallopt(M_PERTURB, 0x5A)
    yield
    libc.mallopt(M_PERTURB, 0)


def squares(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s * s


def rosenbrock(x):
    s = 0.0
    for i in range(x.size - 1):
        s += (x[i + 1] - x[i] * x[i]) ** 2
    return s * s


def stencil(x):
    s = 0.0
    for i in range(1, x.size - 1):
        s += x[i] * (x[i - 1] + 3.0 * x[i + 1])
    return s * s


def two_loops(x):
    s = 0.0
    for i in range(x.size // 2):
        s += 3.0 * x[i]
    for i in range(x.size):
        s += x[i] * x[i] * i
    return s * s


def two_arrays(x, y):
    s = 0.0
    for i in range(x.size - 2):
        s += x[i + 2] * y[i] + x[i] * y[i + 1]
    return s * s


def guarded(x, n):
    s = x[0]
    if n > 2:
        for i in range(n):
            s += x[i] * x[i]
    return s * s


def single(x):
    s = np.float32(0.0)
    for i in range(x.size):
        s += x[i] * x[i]
    return s * s


def read_later(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s * x[0]


def read_elsewhere(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[x.size - 1 - i]
    return s * s


def read_twice(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[0]
    return s * s


def sometimes(x):
    s = 0.0
    for i in range(x.size):
        if i % 3 != 1:
            s += x[i] * x[i]
    return s * s


def downwards(x):
    s = 0.0
    for i in range(x.size - 1, -1, -1):
        s += x[i] * x[i]
    return s * s


def gaps(x):
    s = 0.0
    for i in range(x.size // 2):
        s += x[2 * i] * x[2 * i]
    return s * s


def until(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
        if s > 3.0:
            break
    return s * s


def written(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
        x[i] = 2.0
    return s * s


def written_before(x):
    x[1] = 4.0
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s * s


def rows(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += x[i, j] * x[i, j]
    return s * s


def repeated(x):
    s = 0.0
    for _ in range(2):
        for i in range(x.size):
            s += x[i] * x[i]
    return s * s


def chosen(x, y):
    s = 0.0
    for i in range(x.size):
        a = x if i > 2 else y
        s += a[i] * a[i]
    return s * s


@dataclass(frozen=True)
class Case:
    """filled: the arguments of which a loop fills the shadow. sizes: of the arrays. more: arguments after them."""

    kernel: Callable[..., Any]
    filled: tuple[str, ...]
    sizes: tuple[Any, ...] = (1, 2, 16, 17, 2050)
    arrays: int = 1
    dtype: Any = np.float64
    more: tuple[tuple[Any, ...], ...] = ((),)


CASES = [
    Case(squares, ("x",), (0, 1, 15, 16, 17, 1024, 1025)),
    Case(rosenbrock, ("x",), (0, 1, 2, 3, 16, 17, 18, 1025, 1026, 2050)),
    Case(stencil, ("x",), (0, 2, 3, 4, 18, 19, 1026, 1027, 2050)),
    Case(two_loops, ("x",), (0, 1, 40)),
    Case(two_arrays, ("x", "y"), (0, 2, 3, 18, 1030), arrays=2),
    Case(guarded, ("x",), (5,), more=((0,), (2,), (3,), (5,))),
    Case(single, ("x",), (0, 40), dtype=np.float32),
    Case(written_before, ("x",), (2, 40)),
    Case(read_later, (), (1, 40)),
    Case(read_elsewhere, (), (40, 41)),
    Case(read_twice, ("x",), (1, 40)),
    Case(sometimes, (), (2, 40)),
    Case(downwards, (), (0, 40)),
    Case(gaps, (), (0, 41)),
    Case(until, (), (1, 40)),
    Case(written, (), (1, 40)),
    Case(rows, (), ((0, 3), (3, 4))),
    Case(repeated, (), (0, 40)),
    Case(chosen, (), (40,), arrays=2),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kernel.__name__)
def test_gradients_are_complete(case: Case, dirty_memory: None, rng: np.random.Generator) -> None:
    kernel = njit(case.kernel)
    wrt = tuple(range(case.arrays))
    gradient = irad.grad(kernel, argnums=wrt)
    for size in case.sizes:
        for more in case.more:
            arrays = [rng.standard_normal(size).astype(case.dtype) for _ in wrt]
            shadows = [np.zeros_like(x) for x in arrays]
            found = gradient(*[x.copy() for x in arrays], *more)
            pairs = [irad.Duplicated(x.copy(), dx) for x, dx in zip(arrays, shadows, strict=True)]
            irad.autodiff(irad.Reverse, kernel, *pairs, *map(irad.Const, more))
            np.testing.assert_allclose(found, shadows, rtol=1e-6 if case.dtype == np.float32 else 1e-13, atol=1e-13)
    types = tuple(numba.typeof(x) for x in (*arrays, *more))
    roles = ("duplicated",) * len(wrt) + ("const",) * len(case.more[0])
    derivation = Derivation(Request(kernel, types, "reverse", roles, fresh=wrt))
    plan = derivation.functions[derivation.root].plan
    assert plan is not None
    assert {cover.argument.name.removeprefix("arg.")[0] for cover in plan.covers.values()} == set(case.filled)


def test_a_loop_that_fills_does_not_read_what_it_stores_to() -> None:
    def summed(x):
        s = 0.0
        for i in range(x.size):
            s += x[i] * x[i]
        return s

    more = {"value": False, "fresh": (0,), "joint": False}
    request = Request(njit(summed), (numba.float64[::1],), "reverse", ("duplicated",), **more)
    text = irad.pipeline.derive(request).concrete
    kernel = text[: text.index("\n}\n")]
    assert "load <" in kernel and "fadd" not in kernel and "load double" in kernel


def test_arrays_that_are_one_have_shadows_that_begin_with_zeros(dirty_memory: None) -> None:
    kernel = njit(two_arrays)
    x = np.arange(1.0, 41.0)
    dx, dy = irad.grad(kernel, argnums=(0, 1))(x, x)
    want = np.zeros(40)
    irad.autodiff(irad.Reverse, kernel, irad.Duplicated(x, want), irad.Duplicated(x, want))
    np.testing.assert_allclose(dx, want)
    np.testing.assert_allclose(dy, want)


def test_second_derivatives_see_stored_first_terms(dirty_memory: None, rng: np.random.Generator) -> None:
    x, v = rng.standard_normal((2, 20))
    kernel = njit(rosenbrock)
    step = 1e-6
    gradient = irad.grad(kernel)
    ahead, behind = gradient(x + step * v), gradient(x - step * v)
    np.testing.assert_allclose(irad.hvp(kernel)(x, v), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-6)


def copying(x, y):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
        y[i] = 2.0 * x[i]
    return s


def returning(x):
    return x * x


def test_filled_shadows_lose_what_they_held(rng: np.random.Generator) -> None:
    kernel = njit(two_arrays)
    x, y, *others = rng.standard_normal((4, 60))
    for step in (1, 2):  # arrays without gaps are filled, others are cleared first
        xs, ys = x[::step], y[::step]
        dx, dy = (other.copy()[::step] for other in others)
        irad.autodiff(irad.Reverse, kernel, irad.Filled(xs, dx), irad.Filled(ys, dy))
        np.testing.assert_allclose((dx, dy), irad.grad(kernel, argnums=(0, 1))(xs, ys), rtol=1e-13)
    dx = others[0].copy()
    irad.autodiff(irad.Reverse, kernel, irad.Filled(x, dx), irad.Filled(x, dx))
    np.testing.assert_allclose(dx, sum(irad.grad(kernel, argnums=(0, 1))(x, x.copy())), rtol=1e-13)


def test_filled_beside_duplicated_and_seeds(rng: np.random.Generator) -> None:
    kernel = njit(copying)
    x, y, seed = rng.standard_normal((3, 9))

    @njit
    def run(x, dx, y, dy):
        return irad.autodiff(irad.Reverse, kernel, irad.Filled(x, dx), irad.Duplicated(y, dy))[0]

    dx, dy = np.full(9, 7.0), seed.copy()
    assert run(x, dx, y, dy) == kernel.py_func(x, y)
    np.testing.assert_allclose(dx, 2.0 * x + 2.0 * seed)
    np.testing.assert_array_equal(dy, 0.0)


def test_filled_with_an_array_as_result(rng: np.random.Generator) -> None:
    x, seed, dx = rng.standard_normal((3, 9))
    irad.autodiff(irad.Reverse, njit(returning), irad.Filled(x, dx), seed=seed)
    np.testing.assert_allclose(dx, 2.0 * x * seed)


def test_forward_mode_fills_nothing() -> None:
    x = np.ones(3)
    with pytest.raises(irad.BadArgumentType, match="x cannot be Filled in forward mode"):
        irad.autodiff(irad.Forward, njit(squares), irad.Filled(x, x.copy()))
