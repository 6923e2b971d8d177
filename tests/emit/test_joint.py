"""Loops that are reversed while they run: which ones are, and that derivatives are right either way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit

import irad
from irad.pipeline import Derivation, Request

TOGETHER: list[Callable[..., Any]] = []
APART: list[Callable[..., Any]] = []


def together(kernel: Callable[..., Any]) -> Callable[..., Any]:
    TOGETHER.append(kernel)
    return kernel


def apart(kernel: Callable[..., Any]) -> Callable[..., Any]:
    APART.append(kernel)
    return kernel


# --- kernels of x (n), y (n), a float and a number of repetitions ----------------------------------------------------


@together
def products(x, y, a, m):
    s = a
    for i in range(x.size):
        s += a * x[i] * y[i]
    return s


@together
def differences(x, y, a, m):
    s = x[0] * a
    for i in range(1, x.size - 1):
        s -= (x[i + 1] - 2.0 * x[i] + x[i - 1]) ** 2 * y[i]
    return s


@together
def cases(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        if x[i] < -0.5:
            continue
        if y[i] > 0.0:
            s += math.sin(x[i] * y[i])
        elif i % 2:
            s -= a * y[i] * y[i]
    return s


@together
def two_sums(x, y, a, m):
    s, t = 0.0, a
    for i in range(x.size):
        s += x[i] * x[i]
        t += x[i] * y[i] * a
    return a * 2.0 + s - 3.0 * t


@together
def mean(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i] * a
    return s / x.size


@together
def rows(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        p = a
        for j in range(y.size):
            p = p * (1.0 + 0.1 * y[j]) + x[i]
        s += p * p
    return s


@together
def newton(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        target = 1.0 + x[i] * x[i]
        r = target
        while abs(r * r - target) > 1e-13:
            r = 0.5 * (r + target / r)
        s += r * y[i]
    return s


@together
def powers(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** m + a * y[i] ** (m + i % 3)
    return s


@together
def scratch(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        t = np.empty(m)
        t[0] = x[i]
        for j in range(1, m):
            t[j] = t[j - 1] * y[i] + a
        for j in range(m):
            s += t[j] * t[j]
    return s


@together
def written(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        y[i] = x[i] * x[i] * a
        s += x[i] * x[i] * x[i]
    return s


@together
def pairs(x, y, a, m):
    s = 0.0
    for i in range(x.size // 2):
        y[2 * i] = x[i] * a
        y[2 * i + 1] = x[i] * x[i]
        s += x[i]
    return s


@together
def fed(x, y, a, m):
    t = np.zeros(x.size)
    t[0] = x[0]
    for i in range(1, x.size):
        t[i] = t[i - 1] * a + x[i]
    s = 0.0
    for i in range(x.size):
        s += t[i] * t[i] * y[i]
    return s


@together
def sometimes(x, y, a, m):
    s = y[1] * a
    if m > 2:
        for i in range(x.size):
            s += x[i] * x[i] * a
    return s


@together
def compared(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        if s > 0.3:
            s += x[i] * y[i]
        else:
            s += x[i] * x[i] + 0.1
    return s


@together
def extremes(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += max(x[i], y[i]) * min(x[i] * a, 0.5)
    return s


@apart
def functions(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += math.exp(x[i] * y[i]) * a
    return s


@apart
def product(x, y, a, m):
    s = 1.0
    for i in range(x.size):
        s *= 1.0 + 0.1 * x[i]
    return s


@apart
def squared(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += x[i] * y[i]
    return s * s


@apart
def cumulative(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
        y[i] = s
    return s


@apart
def neighbours(x, y, a, m):
    s, before = 0.0, a
    for i in range(x.size):
        now = x[i] * x[i]
        s += now * before
        before = now
    return s


@apart
def largest(x, y, a, m):
    s = x[0]
    for i in range(x.size):
        if x[i] * a > s:
            s = x[i] * a
    return s


@apart
def in_place(x, y, a, m):
    s = 0.0
    for i in range(1, x.size):
        x[i] = x[i] * x[i - 1] + a
        s += x[i]
    return s


@apart
def one_place(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        y[i // 2] = x[i] * x[i]
        s += x[i] * a
    return s


@apart
def read_after(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        y[i] = x[i] * x[i]
        s += x[i] * a
    return s + y[1]


@apart
def overwritten_after(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        y[i] = x[i] * x[i]
        s += x[i] * a
    y[1] = a * a
    return s


@apart
def read_and_overwritten(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    x[1] = a * y[0]
    return s


@apart
def until(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
        if s > 1.5:
            break
    return s


@apart
def doubled(x, y, a, m):
    s = a
    for i in range(x.size):
        s = (s + x[i]) + (s + x[i] * y[i])
    return s


@apart
def taken_from_itself(x, y, a, m):
    s = a
    for i in range(x.size):
        s = x[i] * y[i] - (s + x[i])
    return s


@apart
def last_one(x, y, a, m):
    s, t = 0.0, a
    for i in range(x.size):
        t = x[i] * x[i]
        s += t * y[i]
    return s + t


@apart
def sum_in_memory(x, y, a, m):
    t = np.zeros(2)
    for i in range(x.size):
        t[0] += x[i] * x[i]
        t[1] = x[i] * t[0]
    return t[0] * a + t[1]


@apart
def kept_scratch(x, y, a, m):
    s, t = 0.0, np.zeros(3)
    for i in range(x.size):
        t[i % 3] = x[i] * t[(i + 1) % 3] + a
        s += t[i % 3]
    return s


@apart
def reset(x, y, a, m):
    s = a
    for i in range(x.size):
        s = x[i] if y[i] > 1.0 else s + x[i] * x[i]
    return s


@together
def triangle(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        p = a
        for j in range(i):
            p = p * y[j] + x[i]
        s += p
    return s


def loops(kernel: Any, **more: Any) -> bool:
    types = numba.float64[::1], numba.float64[::1], numba.float64, numba.int64
    roles = "duplicated", "duplicated", "active", "const"
    derivation = Derivation(Request(kernel, types, "reverse", roles, **more))
    plan = derivation.functions[derivation.root].plan
    assert plan is not None
    return plan.joint is not None


@pytest.mark.parametrize("kernel", [*TOGETHER, *APART], ids=lambda kernel: kernel.__name__)
def test_derivatives_are_right(kernel: Callable[..., Any], rng: np.random.Generator) -> None:
    compiled = njit(kernel, error_model="numpy")
    assert loops(compiled, fresh=(0, 1)) == (kernel in TOGETHER)
    for n, m in ((2, 4), (3, 1), (8, 3), (21, 5)):
        x, y, dx, dy, bx, by = (rng.standard_normal(n) for _ in range(6))
        a, da = rng.standard_normal(2)
        seed = rng.standard_normal()
        pair = (
            irad.Duplicated((xf := x.copy()), (dxf := dx.copy())),
            irad.Duplicated((yf := y.copy()), (dyf := dy.copy())),
        )
        out, dot = irad.autodiff(irad.Forward, compiled, *pair, irad.Duplicated(a, da), irad.Const(m))
        left = seed * dot + bx @ dxf + by @ dyf
        xr, yr = x.copy(), y.copy()
        pair = irad.Duplicated(xr, bx), irad.Duplicated(yr, by)
        again, (ba,) = irad.autodiff(irad.Reverse, compiled, *pair, irad.Active(a), irad.Const(m), seed=seed)
        assert again == out == compiled(x.copy(), y.copy(), a, m)
        assert np.array_equal(xr, xf) and np.array_equal(yr, yf)
        np.testing.assert_allclose(bx @ dx + by @ dy + ba * da, left, rtol=1e-11, atol=1e-11)
        if loops(compiled) != loops(compiled, fresh=(0, 1)):  # it may raise
            bars = irad.grad(compiled, argnums=(0, 1, 2))(x.copy(), y.copy(), a, m)
            np.testing.assert_allclose(seed * (bars[0] @ dx + bars[1] @ dy + bars[2] * da), seed * dot, rtol=1e-11)


def test_the_reverse_of_no_iterations() -> None:
    gradient = irad.value_and_grad(njit(differences), argnums=(0, 1, 2))
    value, (dx, dy, da) = gradient(np.array([2.0, 5.0]), np.ones(2), 3.0, 1)
    assert (value, da, *dx, *dy) == (6.0, 2.0, 3.0, 0.0, 0.0, 0.0)


def raising(x, y, a, m):
    s = 0.0
    for i in range(x.size):
        if x[i] > 100.0:
            raise ValueError("too large", i)
        s += x[i] * x[i]
    return s


def test_shadows_of_the_caller_are_left_alone_by_a_kernel_that_raises() -> None:
    kernel = njit(raising)
    assert not loops(kernel)
    assert loops(kernel, fresh=(0, 1))
    x = np.arange(5.0)
    assert irad.grad(kernel)(x, x.copy(), 1.0, 1).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    x[3], dx = 200.0, np.ones(5)
    with pytest.raises(ValueError, match="too large"):
        irad.grad(kernel)(x, x.copy(), 1.0, 1)
    with pytest.raises(ValueError, match="too large"):
        irad.autodiff(
            irad.Reverse, kernel, irad.Duplicated(x, dx), irad.Const(x.copy()), irad.Const(1.0), irad.Const(1)
        )
    assert dx.tolist() == [1.0] * 5


def test_strict_derivatives_are_reversed_afterwards() -> None:
    assert loops(njit(products)) and not loops(njit(products), strict=True)


def test_there_is_no_tape() -> None:
    kernel = njit(newton)
    sizes = []
    for n in (100, 10000):
        x = np.linspace(0.1, 2.0, n)
        sizes.append(irad.llvm.tape_bytes(lambda x=x: irad.value_and_grad(kernel)(x, x.copy(), 1.0, 1)))
    assert sizes[0] == sizes[1]


def test_arrays_that_are_one(rng: np.random.Generator) -> None:
    kernel = njit(written)
    x, bar = rng.standard_normal((2, 9))
    want = 3.0 * x * x
    got = bar.copy()
    irad.autodiff(
        irad.Reverse, kernel, irad.Duplicated(x.copy(), got), irad.Const(np.empty(9)), irad.Const(2.0), irad.Const(1)
    )
    np.testing.assert_allclose(got, bar + want)
    same, got = x.copy(), bar.copy()
    irad.autodiff(
        irad.Reverse, kernel, irad.Duplicated(same, got), irad.Duplicated(same, got), irad.Const(2.0), irad.Const(1)
    )
    new = 2.0 * x * x
    np.testing.assert_allclose(got, (bar + 3.0 * new * new) * 4.0 * x)


def test_second_derivatives(rng: np.random.Generator) -> None:
    x, v = rng.standard_normal((2, 7))
    y = rng.standard_normal(7)
    kernel = njit(differences)
    gradient = irad.grad(kernel)
    step = 1e-6
    ahead, behind = (gradient(x + e * v, y, 1.5, 1) for e in (step, -step))

    @njit
    def of_x(x):
        return kernel(x, y, 1.5, 1)

    np.testing.assert_allclose(irad.hvp(of_x)(x, v), (ahead - behind) / (2 * step), rtol=1e-6, atol=1e-7)


@njit
def factorial(n):
    if n < 0:
        raise ValueError("negative")
    return 1 if n <= 1 else n * factorial(n - 1)


def raising_later(x, n):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s / factorial(n)


def test_errors_that_look_like_successes_end_the_way_back() -> None:
    kernel = njit(raising_later)
    x, dx = np.arange(4.0), np.ones(4)
    assert irad.grad(kernel)(x, 3).tolist() == (x / 3.0).tolist()
    for word in (irad.Duplicated, irad.Filled):
        with pytest.raises(ValueError, match="negative"):
            irad.autodiff(irad.Reverse, kernel, word(x, dx), irad.Const(-1))
        if word is irad.Duplicated:
            assert dx.tolist() == [1.0] * 4
