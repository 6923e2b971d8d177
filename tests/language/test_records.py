"""Arrays of records: fields read and written, copies of whole records, layouts, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad

INNER = [("a", "f8"), ("k", "i4"), ("b", "f8")]
FIELDS = [("ok", "?"), ("x", "f8"), ("n", "i8"), ("v", "f8", (3,)), ("w", "f4"), ("in", INNER), ("z", "c16")]
FLOATS = ["x", "v", "w", "z"]
LAYOUTS = {"aligned": np.dtype(FIELDS, align=True), "packed": np.dtype(FIELDS)}


@njit
def kernel(records, scale):
    """Integer fields count, choose and scale; a whole record is copied, and the copy of the array too."""
    total = 0.0
    before = records.copy()
    for i in range(records.size):
        r = records[i]
        if r.ok:
            total += r.x * r.n * scale + r["v"][1] ** 2 + r.w * r["in"].b
            r.x = total
        else:
            r.n += 1
            r["v"][r["in"].k] *= r.n
            records[i - 1] = records[i]
        r["in"].a += before[i].x * before[i].n
        total += (r.z * before[i - 1].z).imag
    return total + records["x"].sum() + np.sum(before["v"][:, 0] * before["n"])


def records(layout: str, size: int = 5) -> Any:
    rng = np.random.default_rng(7)
    made = np.zeros(size, LAYOUTS[layout])
    made["ok"], made["n"], made["in"]["k"] = [1, 1, 0, 1, 0], [2, 3, 4, 5, 6], [0, 1, 2, 1, 2]
    for name in FLOATS:
        made[name] = rng.standard_normal(made[name].shape)
    made["z"] += 1j * rng.standard_normal(size)
    made["in"]["a"], made["in"]["b"] = rng.standard_normal((2, size))
    return made


def floats(value: Any) -> list[Any]:
    """The fields that hold floats, as arrays of reals."""
    inside = [value[name] for name in FLOATS[:3]] + [
        value["z"].real,
        value["z"].imag,
        value["in"]["a"],
        value["in"]["b"],
    ]
    return [np.asarray(part, np.float64) for part in inside]


def inner(one: Any, other: Any) -> float:
    return float(sum(np.vdot(a, b) for a, b in zip(floats(one), floats(other), strict=True)))


def moved(value: Any, direction: Any, h: float) -> Any:
    value = value.copy()
    for name in FLOATS:
        value[name] += value[name].dtype.type(h) * direction[name]
    for name in "ab":
        value["in"][name] += h * direction["in"][name]
    return value


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fields_of_every_kind(layout: str, allocations: Callable[[], int]) -> None:
    gradient = irad.value_and_grad(kernel, (0, 1))
    called, given = records(layout), records(layout)
    value, (bar, scale_bar) = gradient(given, 0.5)
    assert value == kernel(called, 0.5) and np.array_equal(called, given)
    assert bar.dtype == given.dtype and not bar["ok"].any() and not bar["n"].any() and not bar["in"]["k"].any()
    h = 1e-6
    assert scale_bar == pytest.approx(
        (kernel(records(layout), 0.5 + h) - kernel(records(layout), 0.5 - h)) / (2 * h), rel=1e-6
    )
    direction = moved(np.zeros_like(given), records(layout)[::-1], 1.0)
    direction["w"] = 0.0  # single precision has no useful difference
    pushed = irad.jvp(kernel, (records(layout), 0.5), (direction, 0.0))[1]
    assert pushed == pytest.approx(inner(bar, direction), rel=1e-12)
    ends = [kernel(moved(records(layout), direction, step), 0.5) for step in (h, -h)]
    assert pushed == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)
    before = allocations()
    gradient(records(layout), 0.5)
    assert allocations() == before


def test_slices_shared_memory_and_memory_level() -> None:
    base = np.repeat(records("aligned"), 2)[::2]
    assert irad.grad(kernel)(base.copy(), 0.5)["x"] == pytest.approx(irad.grad(kernel)(base, 0.5)["x"], rel=1e-13)
    shadow = np.zeros_like(base.copy())
    irad.autodiff(irad.Reverse, kernel, irad.Duplicated(base.copy(), shadow), irad.Const(0.5), seed=2.0)
    assert shadow["x"] == pytest.approx(2 * irad.grad(kernel)(base.copy(), 0.5)["x"], rel=1e-13)


@njit
def by_itself(record, scale):
    return record.x * scale


@njit
def made(x):
    local = np.zeros(x.size, PACKED)
    for i in range(x.size):
        local[i].x = x[i]
    local[1] = local[0]
    return local["x"].sum()


@njit
def counted(x):
    local = np.zeros(x.size, ALIGNED)
    for i in range(x.size):
        local[i].x, local[i].n = x[i], i
    return local[1].x * local[1].n


PACKED, ALIGNED = np.dtype([("ok", "?"), ("x", "f8")]), np.dtype([("n", "i8"), ("x", "f8")])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: irad.grad(by_itself, 1)(records("aligned")[0], 1.0),
            r"record is of Numba type Record(.|\n)*and an index",
        ),
        (lambda: irad.grad(by_itself, 0)(records("aligned")[0], 1.0), "no derivative(.|\n)*and an index"),
        (lambda: irad.grad(made)(np.ones(3)), "not aligned(.|\n)*field by field"),
        (lambda: irad.grad(counted)(np.ones(3)), "integer arithmetic on the bits"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((irad.Unsupported, irad.AmbiguousKind), match=message):
        call()
