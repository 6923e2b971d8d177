"""Shadow arrays: shape, strides, zeros, overlap, and memory that is given back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numba import njit

import irad
from irad.frontend.shadows import shadow_like, shadows_like

BASE = np.arange(24.0)


@njit
def one(x):
    return shadow_like(x)


@njit
def two(x, y):
    return shadows_like((x, y))


@njit
def three(x, y, z):
    return shadows_like((x, y, z))


def readonly(x: np.ndarray) -> np.ndarray:
    x = x.view()
    x.flags.writeable = False
    return x


@pytest.mark.parametrize(
    "x",
    [
        BASE,
        BASE[3:3],
        BASE[::-3],
        BASE.reshape(4, 6).T[1:, ::-2],
        np.asfortranarray(BASE.reshape(2, 3, 4)),
        BASE.astype(np.float32)[::2],
        np.zeros((0, 3)),
        np.array(2.0),
        readonly(BASE[::2]),
    ],
    ids=["C", "empty", "backwards", "2-d", "F", "float32", "no rows", "0-d", "read-only"],
)
def test_shadow_has_shape_dtype_and_strides(x: np.ndarray) -> None:
    shadow = one(x)
    assert (shadow.shape, shadow.dtype) == (x.shape, x.dtype)
    assert shadow.strides == x.strides or x.size == 0
    assert shadow.flags.writeable and not shadow.any() and not np.shares_memory(shadow, x)
    shadow[...] = 1


def start(x: np.ndarray) -> int:
    return x.__array_interface__["data"][0]


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (BASE[:8], BASE[4:]),
        (BASE[4:], BASE[8::-1]),
        (BASE, BASE),
        (BASE[::2], BASE[1::2]),
        (BASE.reshape(4, 6).T, BASE),
    ],
)
def test_shadows_overlap_as_the_arrays_do(x: np.ndarray, y: np.ndarray) -> None:
    x_bar, y_bar = two(x, y)
    assert start(x_bar) - start(y_bar) == start(x) - start(y)
    y_bar[...] = 1
    assert (x_bar == 1).sum() == np.isin(x, y).sum()


def test_shadows_are_clustered_transitively() -> None:
    far = np.arange(8.0)
    x_bar, y_bar, z_bar = three(BASE[:10], far, BASE[20:])
    assert start(x_bar) - start(z_bar) != start(BASE) - start(BASE[20:])
    x_bar, y_bar, z_bar = three(BASE[:10], BASE[20:], BASE[5:22])
    assert start(x_bar) - start(y_bar) == start(BASE) - start(BASE[20:])
    del y_bar, z_bar
    x_bar[...] = 1


def test_memory_is_given_back(allocations: Callable[[], int]) -> None:
    one(BASE), three(BASE[:10], BASE[20:], BASE[5:22])
    before = allocations()
    for _ in range(10):
        one(BASE[::2]), two(BASE, BASE[3:]), three(BASE[:10], BASE[20:], BASE[5:22])
    assert allocations() == before


@pytest.mark.parametrize("x", [np.arange(3), np.ones(3, bool), 2.0])
def test_only_float_arrays_have_shadows(x: object) -> None:
    with pytest.raises(irad.BadArgumentType, match="only arrays of floats have shadows"):
        one(x)
