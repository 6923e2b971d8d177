"""Arrays of records and single records: fields read and written, copies, layouts, and what is refused."""

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
def by_itself(record, others, scale):
    """Writes a record, and reads the array that it may be from."""
    if record.ok:
        record.x *= scale
        record["v"][1] += record.x
    record.n += 1
    return record.x * record.n * others[0].x + record.w * record["in"].b + (record.z * record.z).imag


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_record_by_itself(layout: str, allocations: Callable[[], int]) -> None:
    gradient = irad.value_and_grad(by_itself, (0, 2))
    called, used, others = records(layout), records(layout), records(layout)
    value, (bar, _) = gradient(used[0], others, 0.5)
    assert value == by_itself(called[0], others, 0.5) and np.array_equal(called, used)
    assert bar.dtype == used.dtype and bar.shape == () and not bar["n"] and not bar["ok"]
    h, direction = 1e-6, moved(np.zeros_like(used), records(layout)[::-1], 1.0)[0]
    direction["w"] = 0.0
    _, pushed = irad.jvp(by_itself, (records(layout)[0], others, 0.5), (direction, None, 0.0))
    assert pushed == pytest.approx(inner(bar, direction), rel=1e-12)
    ends = [by_itself(moved(records(layout), direction, step)[0], others, 0.5) for step in (h, -h)]
    assert pushed == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6)
    # a gradient is a tangent
    _, pushed = irad.jvp(by_itself, (records(layout)[0], others, 0.5), (bar, None, 0.0))
    assert pushed == pytest.approx(inner(bar, bar), rel=1e-6)
    before = allocations()
    gradient(records(layout)[0], others, 0.5)
    assert allocations() == before


def test_a_record_of_an_array_that_is_given_too() -> None:
    """They are one variable; so are their shadows."""
    used = records("aligned")
    bar, others_bar = irad.grad(by_itself, (0, 1))(used[0], used, 0.5)
    # the part of x in x * x * scale ** 2 * n
    x = records("aligned")["x"][0]
    assert bar["x"] == others_bar["x"][0] == pytest.approx(2 * x * 0.25 * 3, rel=1e-13)
    assert irad.grad(by_itself, 2)(records("aligned")[0], records("aligned"), 0.5) == pytest.approx(3 * x * x)


def test_a_record_at_memory_level_and_inside_njit() -> None:
    others, shadows = records("aligned"), np.zeros(1, LAYOUTS["aligned"])
    duplicated = irad.Duplicated(records("aligned")[0], shadows[0])
    _, (scale_bar,) = irad.autodiff(irad.Reverse, by_itself, duplicated, irad.Const(others), irad.Active(0.5), seed=2.0)
    bar, expected = irad.grad(by_itself, (0, 2))(records("aligned")[0], others, 0.5)
    assert inner(shadows[0], shadows[0]) == pytest.approx(4 * inner(bar, bar)) and scale_bar == 2 * expected
    record = records("aligned")[0]
    with pytest.raises(irad.BadArguments, match="the shadow of record shares memory"):
        irad.autodiff(irad.Reverse, by_itself, irad.Duplicated(record, record), irad.Const(others), irad.Const(0.5))

    @njit
    def inside(many, others, scale):
        bar = irad.grad(by_itself)(many[0], others, scale)
        _, pull = irad.vjp(by_itself, many[1], others, scale)
        return bar[()].x + pull(1.0)[0][()].x

    one, two = (irad.grad(by_itself)(records("aligned")[i], others, 0.5)["x"] for i in (0, 1))
    assert inside(records("aligned"), others, 0.5) == pytest.approx(one + two)


@njit
def handed_back(record):
    return record


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
        (lambda: irad.vjp(handed_back, records("aligned")[0]), r"return is of Numba type Record(.|\n)*an array of"),
        (lambda: irad.grad(made)(np.ones(3)), "not aligned(.|\n)*field by field"),
        (lambda: irad.grad(counted)(np.ones(3)), "integer arithmetic on the bits"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((irad.Unsupported, irad.AmbiguousKind), match=message):
        call()
