"""NumPy: random numbers. Each kernel seeds the generator, so that every call draws the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.support.case import Case, Group, row
from tools.support.cases.values import A, B, X


def _drawn(name: str, call: str, **args: Any) -> Case:
    return row(name, f"(np.random.seed(3), {call})[1]", **args)


def _shuffle(x):
    np.random.seed(3)
    made = x.copy()
    np.random.shuffle(made)
    return made


def _generator(a, rng):
    return a * rng.normal()


GROUP = Group(
    "random",
    "NumPy: random numbers",
    (
        _drawn("np.random.random", "np.random.random() * a", a=A),
        _drawn("np.random.rand, randn", "np.random.rand() * a + np.random.randn() * a * a", a=A),
        _drawn("np.random.randint", "np.random.randint(5) * a", a=A),
        _drawn("np.random.normal(a, b)", "np.random.normal(a, b)", a=A, b=B),
        _drawn("np.random.normal, an array", "np.random.normal(a, b, 4)", a=A, b=B),
        _drawn("np.random.standard_normal", "np.random.standard_normal(5) * x", x=X),
        _drawn("np.random.uniform(a, b)", "np.random.uniform(a, b)", a=A, b=B),
        _drawn("np.random.exponential(a)", "np.random.exponential(a)", a=A),
        _drawn("np.random.lognormal(a, b)", "np.random.lognormal(a, b)", a=A, b=B),
        _drawn("np.random.laplace(a, b)", "np.random.laplace(a, b)", a=A, b=B),
        _drawn("np.random.gumbel(a, b)", "np.random.gumbel(a, b)", a=A, b=B),
        _drawn("np.random.logistic(a, b)", "np.random.logistic(a, b)", a=A, b=B),
        _drawn("np.random.rayleigh(a)", "np.random.rayleigh(a)", a=A),
        _drawn("np.random.weibull(a)", "np.random.weibull(a)", a=A),
        _drawn("np.random.gamma(a, b)", "np.random.gamma(a, b)", a=A, b=B),
        _drawn("np.random.beta(a, b)", "np.random.beta(a, b)", a=A, b=B),
        _drawn("np.random.poisson(a)", "np.random.poisson(a) * a", a=A),
        _drawn("np.random.binomial(n, a)", "np.random.binomial(10, a) * a", a=A),
        _drawn("np.random.choice", "np.random.choice(x)", x=X),
        _drawn("np.random.permutation", "np.random.permutation(x)", x=X),
        row("np.random.shuffle", _shuffle, x=X),
        row("np.random.Generator", _generator, a=A, rng=np.random.default_rng(1)),
    ),
)
