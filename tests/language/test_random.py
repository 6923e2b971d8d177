"""Random numbers: the same draws as the kernel's, once, and derivatives by reparameterisation."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad


@njit
def seed(n):
    np.random.seed(n)
    random.seed(n)


@njit
def following():
    return np.random.random(), random.random(), np.random.normal(0.0, 1.0)


@njit
def path(x, n):
    s = x
    for _ in range(n):
        s += 0.1 * np.random.normal(x, s * 0.1 + 1.0) * np.random.uniform(x, 2.0) * np.sin(s)
        if np.random.random() < 0.5:
            s *= np.random.lognormal(0.1 * x, 0.2)
        s += random.gauss(x, 0.3) * random.random() + 0.01 * np.random.randint(5) + np.random.gamma(2.0, 1.0) * x
    z, w = np.random.standard_normal(5), np.random.normal(x, 0.5, 3)
    return s + x * np.sum(z * z) + np.sum(w * w)


@njit
def formulas(x):
    return (
        np.random.exponential(x)
        + np.random.weibull(x) * np.random.rayleigh(x)
        + np.random.laplace(x, x)
        + np.random.triangular(0.0, x, 3.0)
        + random.expovariate(x)
    )


@pytest.mark.parametrize(("kernel", "rest"), [(path, (6,)), (formulas, ())])
def test_same_draws_and_each_once(kernel: Any, rest: tuple[int, ...]) -> None:
    @njit
    def inside(x):
        return irad.value_and_grad(kernel)(x, *rest)

    def run(f: Any, x: float = 1.3) -> tuple[Any, Any]:
        seed(3)
        return f(x), following()

    value, state = run(lambda x: kernel(x, *rest))
    (backward, slope), after = run(lambda x: irad.value_and_grad(kernel)(x, *rest))
    (forward, dot), then = run(lambda x: irad.jvp(kernel, (x, *rest), (1.0, *(None for _ in rest))))
    assert value == backward == forward
    assert state == after == then
    assert run(inside) == ((value, slope), state)
    above, below = (run(lambda x: kernel(x, *rest), 1.3 + h)[0] for h in (1e-6, -1e-6))
    assert slope == pytest.approx((above - below) / 2e-6, rel=1e-6)
    assert dot == pytest.approx(slope, rel=1e-12)


@njit
def generated(x, rng):
    s = rng.normal(x, x * x) * rng.uniform(x, 3.0) + rng.exponential(x) * rng.random() + rng.poisson(3.0 * x)
    for z in rng.standard_normal(3):
        s += z * x
    return s


def test_a_generator_is_drawn_from_once() -> None:
    def run(f: Any, x: float = 1.3) -> tuple[Any, float]:
        rng = np.random.default_rng(3)
        return f(x, rng), rng.random()

    value, state = run(generated)
    (backward, slope), after = run(irad.value_and_grad(generated))
    (forward, dot), then = run(lambda x, rng: irad.jvp(generated, (x, rng), (1.0, None)))
    assert value == backward == forward and state == after == then
    above, below = (run(generated, 1.3 + h)[0] for h in (1e-6, -1e-6))
    assert slope == pytest.approx((above - below) / 2e-6, rel=1e-6)
    assert dot == pytest.approx(slope, rel=1e-12)
    with pytest.raises(irad.Unsupported, match="do not depend smoothly"):
        irad.grad(njit(lambda x, rng: rng.chisquare(x)))(2.0, np.random.default_rng(3))


def test_samplers_that_reject_are_refused() -> None:
    @njit
    def kernel(x):
        return np.random.chisquare(x)

    with pytest.raises(irad.Unsupported, match="do not depend smoothly"):
        irad.grad(kernel)(2.0)


@njit
def drawn(x):
    s = np.random.choice(x) * np.random.choice(x, 2, False)[1] + np.sum(np.random.choice(x, 3) ** 2)
    for i, v in enumerate(np.random.permutation(x)):
        s += (i - v if np.signbit(v) else v) * v
    return s


def test_elements_are_drawn_as_the_kernel_draws_them() -> None:
    x, ends = np.array([1.5, -2.0, 0.5, 3.0]), []
    for step in (1e-6, -1e-6):
        for e in np.eye(4):
            seed(5)
            ends.append(drawn(x + step * e))
    seed(5)
    _, gradient = irad.value_and_grad(drawn)(x)
    state = following()
    seed(5)
    _, dot = irad.jvp(drawn, (x,), (gradient,))
    assert following() == state
    assert gradient == pytest.approx((np.array(ends[:4]) - np.array(ends[4:])) / 2e-6, rel=1e-6, abs=1e-6)
    assert dot == pytest.approx(gradient @ gradient, rel=1e-12)
