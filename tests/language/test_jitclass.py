"""jitclass instances, made in the kernel or given: attributes, methods, arrays inside, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import boolean, complex128, float32, float64, int64, njit, types
from numba.experimental import jitclass

import irad


@jitclass([("k", float64), ("n", int64), ("w", float64[:])])
class Oscillator:
    """Counts its steps, and keeps what it has seen in an array that it may share."""

    def __init__(self, k, w):
        self.k = k
        self.n = 0
        self.w = w

    def step(self, x):
        self.n += 1
        self.w[0] += x * self.k
        self.k *= 1.1
        return self.k * x + self.w[0] * self.n


@njit
def made(k):
    return Oscillator(k, np.ones(2))


@njit
def advanced(o, x):
    return o.step(x) * o.n


@njit
def kernel(x, k):
    shared = Oscillator(0.3 * k, x[1:])
    total = 0.0
    for i in range(x.size):
        own = made(k * i)
        total += own.step(x[i]) + advanced(own, shared.k) + own.w[0] * own.n
        shared.n = i
        total += shared.step(x[0])
        if i == 1:
            shared.w = own.w
            shared.w[1] *= x[2]
    return total * shared.k + shared.w[1]


@njit
def exchanged(x, k):
    one, other = made(k), made(2 * k)
    for i in range(x.size):
        one.step(x[i])
        one, other = other, one
    return one.k * other.k


X = np.array([0.4, -1.2, 0.7])


def test_attributes_carry_derivatives(allocations: Callable[[], int]) -> None:
    gradient = irad.value_and_grad(kernel, (0, 1))
    called, used = X.copy(), X.copy()
    value, (x_bar, k_bar) = gradient(used, 0.5)
    assert value == kernel(called, 0.5) and np.array_equal(called, used)
    h = 1e-6
    for direction in np.eye(4):
        ends = [kernel(X + step * direction[:3], 0.5 + step * direction[3]) for step in (h, -h)]
        slope = x_bar @ direction[:3] + k_bar * direction[3]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-8)
        assert irad.jvp(kernel, (X.copy(), 0.5), (direction[:3], direction[3]))[1] == pytest.approx(slope, rel=1e-13)
    before = allocations()
    gradient(X.copy(), 0.5)
    assert allocations() == before


def test_inside_njit() -> None:
    @njit
    def inside(x, k):
        return irad.grad(kernel, (0, 1))(x, k)

    x_bar, k_bar = inside(X.copy(), 0.5)
    expected = irad.grad(kernel, (0, 1))(X.copy(), 0.5)
    assert np.array_equal(x_bar, expected[0]) and k_bar == expected[1]


@jitclass([("w", float64[:, :])])
class Table:
    """Nothing but an array."""

    def __init__(self, w):
        self.w = w


@jitclass(
    [
        ("a", float64),
        ("table", Table.class_type.instance_type),
        ("flag", boolean),
        ("z", complex128),
        ("s", float32),
        ("t", types.UniTuple(float64, 3)),
        ("order", int64[:]),
        ("name", types.unicode_type),
    ]
)
class Device:
    """Attributes of every kind."""

    def __init__(self, a, table):
        self.a, self.table, self.flag, self.z, self.s = a, table, True, 1 + 2j, np.float32(1.5)
        self.t, self.order, self.name = (a, 2 * a, 3.0), np.array([1, 0]), "device"


@njit
def driven(d, x):
    """Reads and writes every attribute that holds floats; integers index, count and choose."""
    total = 0.0
    for i in range(2):
        if d.flag:
            d.a = d.a * x + d.table.w[d.order[i], i]
        total += (d.z * d.z).imag * d.a + d.s * d.t[1]
        d.z *= x
        d.t = (d.t[1] * x, d.t[0], d.a)
        d.table.w[0, 1] *= d.t[2]
    return total + len(d.name)


def device(step: float = 0.0, which: str = "") -> Any:
    made = Device(0.7, Table(np.arange(4.0).reshape(2, 2)))
    match which:
        case "a":
            made.a += step
        case "re":
            made.z += step
        case "im":
            made.z += 1j * step
        case "t":
            made.t = (made.t[0], made.t[1] + step, made.t[2])
        case "w":
            made.table.w[1, 0] += step
        case _:
            pass
    return made


def contents(d: Any) -> list[Any]:
    return [d.a, d.z, d.s, *d.t, d.table.w.tolist(), d.flag, d.order.tolist(), d.name]


def test_a_given_instance_of_every_kind(allocations: Callable[[], int]) -> None:
    """The gradient is an instance; the kernel does to its argument what it does without a derivative."""
    called, used = device(), device()
    value, (bar, x_bar) = irad.value_and_grad(driven, (0, 1))(used, 1.3)
    assert value == driven(called, 1.3) and contents(used) == contents(called)
    assert type(bar) is type(used) and bar.flag and bar.name == "device" and bar.order.tolist() == [1, 0]
    h, parts = 1e-6, {"a": bar.a, "re": bar.z.real, "im": bar.z.imag, "t": bar.t[1], "w": bar.table.w[1, 0]}
    for which, slope in parts.items():
        ends = [driven(device(step, which), 1.3) for step in (h, -h)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6), which
    square = bar.a**2 + abs(bar.z) ** 2 + bar.s**2 + sum(t * t for t in bar.t) + np.sum(bar.table.w**2)
    push = irad.jvp(driven, (device(), 1.3), (bar, 0.5))
    assert push == (value, pytest.approx(square + 0.5 * x_bar, rel=1e-6))
    before = allocations()
    irad.value_and_grad(driven, (0, 1))(device(), 1.3)
    irad.jvp(driven, (device(), 1.3), (bar, 0.5))
    assert allocations() == before


@njit
def stepped(o, x):
    return o.step(x) + o.step(2 * x)


def test_memory_level_and_pullbacks(allocations: Callable[[], int]) -> None:
    """Shadows that the caller owns; the state that the kernel leaves may be seeded."""

    def oscillator(k: float = 0.5, w: float = 1.0) -> Any:
        return Oscillator(k, np.array([w, 2.0]))

    def run() -> None:
        o, bar = oscillator(), oscillator(0.0, 0.0)
        bar.w[1] = 3.0
        bar.k = 2.0
        _, (x_bar,) = irad.autodiff(irad.Reverse, stepped, irad.Duplicated(o, bar), irad.Active(0.3))
        assert o.n == 2 and o.k == 0.5 * 1.1 * 1.1 and bar.n == 0 and bar.w[1] == 3.0
        fresh = irad.grad(stepped)(oscillator(), 0.3)
        assert bar.k == pytest.approx(fresh.k + 2.0 * 1.1 * 1.1, rel=1e-13) and bar.w[0] == fresh.w[0]
        dot = oscillator(0.0, 0.0)
        dot.k = 1.0
        pushed = irad.autodiff(irad.Forward, stepped, irad.Duplicated(oscillator(), dot), irad.Const(0.3))[1]
        assert pushed == pytest.approx(fresh.k, rel=1e-13) and dot.k == pytest.approx(1.21, rel=1e-13)
        constant = oscillator()
        assert irad.autodiff(irad.Reverse, stepped, irad.Const(constant), irad.Active(0.3))[1][0] == x_bar
        assert constant.n == 2
        _, pull = irad.vjp(stepped, oscillator(), 0.3)
        (pulled, _), (twice, twice_x_bar) = pull(1.0), pull(2.0)
        found = [pulled.k, pulled.w[0], twice.k, twice_x_bar]
        assert found == pytest.approx([fresh.k, fresh.w[0], 2 * fresh.k, 2 * x_bar], rel=1e-13)

    run()
    before = allocations()
    run()
    o = oscillator()
    for shadow in (o, Oscillator(0.0, np.zeros(3)), 1.0):
        with pytest.raises(irad.IradError, match="shadow"):
            irad.autodiff(irad.Reverse, stepped, irad.Duplicated(o, shadow), irad.Const(0.3))
    del o, shadow
    assert allocations() == before


@njit
def coupled(one, other, w):
    return one.step(w[0]) * other.k + other.step(w[1])


def test_arrays_of_instances_share_memory() -> None:
    """An array that two instances hold, and that is an argument too, is one variable."""

    def at(move: Any) -> float:
        w = np.array([1.0, 2.0]) + move[:2]
        return coupled(Oscillator(0.5 + move[2], w), Oscillator(0.3 + move[3], w), w)

    w = np.array([1.0, 2.0])
    one, other, w_bar = irad.grad(coupled, (0, 1, 2))(Oscillator(0.5, w), Oscillator(0.3, w), w)
    slopes = [(at(1e-6 * e) - at(-1e-6 * e)) / 2e-6 for e in np.eye(4)]
    for shadow in (one.w, other.w, w_bar):
        assert shadow == pytest.approx(slopes[:2], rel=1e-6)
    assert [one.k, other.k] == pytest.approx(slopes[2:], rel=1e-6)
    with pytest.raises(irad.BadArguments, match="one and other are the same instance"):
        irad.grad(coupled, 2)(one, one, w)


def test_given_inside_njit() -> None:
    @njit
    def inside(k, x):
        w = np.array([1.0, 2.0])
        bar = irad.grad(stepped)(Oscillator(k, w.copy()), x)
        _, dot = irad.jvp(stepped, (Oscillator(k, w.copy()), x), (bar, 0.0))
        _, pull = irad.vjp(stepped, Oscillator(k, w.copy()), x)
        return bar.k, dot, pull(1.0)[0].k, bar.w[0]

    k_bar, dot, pulled, w_bar = inside(0.5, 0.3)
    bar = irad.grad(stepped)(Oscillator(0.5, np.array([1.0, 2.0])), 0.3)
    assert [k_bar, pulled, w_bar] == pytest.approx([bar.k, bar.k, bar.w[0]], rel=1e-13)
    assert dot == pytest.approx(bar.k**2 + bar.w[0] ** 2, rel=1e-13)
    second = irad.hessian(stepped, 1)(Oscillator(0.5, np.array([1.0, 2.0])), 0.3)
    slopes = [irad.grad(stepped, 1)(Oscillator(0.5, np.array([1.0, 2.0])), 0.3 + step) for step in (1e-5, -1e-5)]
    assert second == pytest.approx((slopes[0] - slopes[1]) / 2e-5, abs=1e-6)


@njit
def raising(o, x):
    o.n += 1
    o.k = x
    if x > 1:
        raise ValueError("large", o.n)
    return o.k


def test_the_state_is_written_before_an_exception() -> None:
    o = Oscillator(0.5, X)
    with pytest.raises(ValueError, match="large"):
        irad.grad(raising)(o, 2.0)
    assert (o.n, o.k) == (1, 2.0)


@njit
def assigned(o, x):
    o.w = np.zeros(3) + x
    return o.w[0] * o.k


@njit
def returned(o, x):
    return o


@jitclass([("k", float64), ("table", Table.class_type.instance_type)])
class Unset:
    """Has an attribute that its constructor forgets."""

    def __init__(self, k):
        self.k = k


@njit
def of_unset(o, x):
    return o.k * x


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: irad.grad(exchanged, 1)(X, 0.5), "test_jitclass.py"),
        (lambda: irad.grad(assigned, 1)(Oscillator(0.5, X), 2.0), "o.w of an argument is assigned"),
        (lambda: irad.jvp(returned, (Oscillator(0.5, X), 2.0), (None, 1.0)), "return is of Numba type instance"),
        (lambda: irad.grad(of_unset, 1)(Unset(0.5), 2.0), "the attribute table of an instance was never set"),
        (lambda: irad.check_grads(stepped, (Oscillator(0.5, X), 2.0)), "o is (.|\n)*copies"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(irad.IradError, match=message):
        call()
