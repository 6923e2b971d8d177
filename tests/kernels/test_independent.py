"""The kernels' independent derivatives against differences of the kernels: irad takes no part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import kernels
from kernels import Collection, KernelModule
from tests.kernels.common import KERNELS, widened

# Fourth-order central differences, stepping by a random part of each entry. Found: errors of 1e-14 to 1e-11, and 5e-9
# where a small term of a large value is differenced (Brusselator) or 20 radians of phase are turned (ode_euler).
STEP = 5e-4
TOLERANCE = 1e-7

Array = npt.NDArray[np.float64]

IDS = [name for _, name in KERNELS]
CASES = [
    pytest.param(c, name, place, id=f"{name}-{place}") for c, name in KERNELS for place in range(len(c.load(name).WRT))
]


def copies(args: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def seeds_of(module: KernelModule, args: Sequence[Any], rng: np.random.Generator) -> tuple[Any, ...]:
    """Random cotangents of the results, as `derivative` takes them."""
    arrays: list[Array] = [rng.normal(size=args[i].shape) for i in module.OUTPUTS]
    return tuple(arrays) or (float(rng.normal()),)


def weighted(collection: Collection, name: str, args: Sequence[Any], seeds: Sequence[Any]) -> float:
    """<seeds, results> of the kernel, which runs on copies."""
    args = copies(args)
    value = collection.function(name)(*args)
    results = [args[i] for i in collection.load(name).OUTPUTS] or [value]
    return sum(float(np.sum(seed * result)) for seed, result in zip(seeds, results, strict=True))


@pytest.mark.parametrize(("collection", "name", "place"), CASES)
def test_derivative_agrees_with_differences(collection: Collection, name: str, place: int) -> None:
    module, rng = collection.load(name), np.random.default_rng(1)
    args = widened(module.make_args("tiny", 0))
    seeds = seeds_of(module, args, rng)
    position = module.WRT[place]
    x = args[position]
    # an infinite entry (the logarithm of an impossible event) stays
    direction = rng.normal(size=np.shape(x)) * np.where(np.isfinite(x), np.abs(x), 0.0)

    def at(scale: float) -> float:
        moved = x + scale * direction
        return weighted(
            collection, name, [*args[:position], moved if np.ndim(x) else float(moved), *args[position + 1 :]], seeds
        )

    differences = (8.0 * (at(STEP) - at(-STEP)) - (at(2.0 * STEP) - at(-2.0 * STEP))) / (12.0 * STEP)
    x_bar = module.derivative(tuple(args), seeds)[place]
    assert np.shape(x_bar) == np.shape(x)
    terms = x_bar * direction
    assert abs(float(np.sum(terms)) - differences) <= TOLERANCE * float(np.sum(np.abs(terms)))


@pytest.mark.parametrize(("collection", "name"), KERNELS, ids=IDS)
def test_seeds_scale_and_default_to_ones(collection: Collection, name: str) -> None:
    module = collection.load(name)
    args = module.make_args("tiny", 0)
    ones = tuple(np.ones(args[i].shape) for i in module.OUTPUTS) or (1.0,)
    plain, once = module.derivative(args), module.derivative(args, ones)
    twice = module.derivative(args, tuple(2.0 * one for one in ones))
    for a, b, c in zip(plain, once, twice, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(c, 2.0 * np.asarray(a), rtol=1e-12)


@pytest.mark.parametrize(("collection", "name"), KERNELS, ids=IDS)
def test_arguments_are_fresh_and_left_alone(collection: Collection, name: str) -> None:
    module = collection.load(name)
    args, again = module.make_args("tiny", 3), module.make_args("tiny", 3)
    module.derivative(args)
    for a, b in zip(args, again, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.shares_memory(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize(("collection", "name"), KERNELS, ids=IDS)
def test_sizes(collection: Collection, name: str) -> None:
    assert {"tiny", "demo"} <= set(collection.load(name).SIZES)


def test_unknown_kernel_is_named() -> None:
    with pytest.raises(KeyError, match="'nothing'"):
        kernels.load("nothing")
