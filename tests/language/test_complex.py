"""Complex numbers: every operation against its complex derivative, the conventions, views, memory, and refusals."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from numba import njit

import irad

OPERATIONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "mul": ("z * w", lambda z, w: z * w),
    "div": ("z / w", lambda z, w: z / w),
    "mixed": ("(2.5 - z) * w / 1.5 + 3.0 / z", lambda z, w: (mp.mpf(5) / 2 - z) * w / mp.mpf(1.5) + 3 / z),
    "exp": ("cmath.exp(z)", lambda z, w: mp.exp(z)),
    "log": ("np.log(z)", lambda z, w: mp.log(z)),
    "log10": ("cmath.log10(z)", lambda z, w: mp.log10(z)),
    "sqrt": ("cmath.sqrt(z)", lambda z, w: mp.sqrt(z)),
    "sin": ("np.sin(z)", lambda z, w: mp.sin(z)),
    "cos": ("cmath.cos(z)", lambda z, w: mp.cos(z)),
    "tan": ("cmath.tan(z)", lambda z, w: mp.tan(z)),
    "sinh": ("cmath.sinh(z)", lambda z, w: mp.sinh(z)),
    "cosh": ("np.cosh(z)", lambda z, w: mp.cosh(z)),
    "tanh": ("cmath.tanh(z)", lambda z, w: mp.tanh(z)),
    "asin": ("cmath.asin(z)", lambda z, w: mp.asin(z)),
    "acos": ("cmath.acos(z)", lambda z, w: mp.acos(z)),
    "atan": ("cmath.atan(z)", lambda z, w: mp.atan(z)),
    "asinh": ("cmath.asinh(z)", lambda z, w: mp.asinh(z)),
    "acosh": ("cmath.acosh(z)", lambda z, w: mp.acosh(z)),
    "atanh": ("cmath.atanh(z)", lambda z, w: mp.atanh(z)),
    "square": ("z ** 2", lambda z, w: z**2),
    "cube": ("z ** 3", lambda z, w: z**3),
    "inverse": ("z ** -1.5", lambda z, w: z ** mp.mpf(-1.5)),
    "power": ("z ** w", lambda z, w: z**w),
    "base": ("1.5 ** z", lambda z, w: mp.mpf(1.5) ** z),
}
POINTS = np.array([0.3 + 0.4j, -0.6 + 0.9j, 1.2 - 0.7j, -0.35 - 0.15j])
W = 0.8 - 0.45j


def made(text: str, **names: Any) -> Any:
    """The function `f` of source text, compiled."""
    namespace: dict[str, Any] = {"np": np, "cmath": cmath, **names}
    exec(text, namespace)
    return njit(namespace["f"])


every = made(
    f"def f(z, w):\n    out = np.empty({len(OPERATIONS)}, np.complex128)\n"
    + "".join(f"    out[{k}] = {text}\n" for k, (text, _) in enumerate(OPERATIONS.values()))
    + "    return out\n"
)
"""One kernel with all operations: compiling is what takes the time."""


def exact(function: Callable[[Any, Any], Any], z: complex, w: complex) -> tuple[complex, complex]:
    """The complex derivatives by z and by w."""
    with mp.workdps(40):
        h, z, w = mp.mpf(10) ** -15, mp.mpmathify(z), mp.mpmathify(w)
        by_z = (function(z + h, w) - function(z - h, w)) / (2 * h)
        return complex(by_z), complex((function(z, w + h) - function(z, w - h)) / (2 * h))


@pytest.mark.parametrize("z", POINTS)
def test_operations_have_their_complex_derivative(z: complex) -> None:
    """Reverse mode pulls back conj(f'), forward mode pushes f': both, against mpmath."""
    z, expected = complex(z), [exact(f, complex(z), W) for _, f in OPERATIONS.values()]
    out, pullback = irad.vjp(every, z, W)
    assert np.array_equal(out, every(z, W))
    dots = [irad.jvp(every, (z, W), pair)[1] for pair in ((1.0, 0.0), (0.0, 1.0), (1j, 0.0))]
    for k, name in enumerate(OPERATIONS):
        seed = np.zeros(out.size, complex)
        seed[k] = 0.7 - 1.1j
        # the conjugate of a pullback is f' times the conjugate of the seed
        slopes = [np.conj(bar) / np.conj(seed[k]) for bar in pullback(seed)]
        assert slopes == pytest.approx(expected[k], rel=1e-11, abs=1e-13), name
        assert [dots[0][k], dots[1][k]] == pytest.approx(expected[k], rel=1e-11, abs=1e-13), name
        assert dots[2][k] == pytest.approx(1j * dots[0][k], rel=1e-11), name


# --- the gradient of a real function --------------------------------------------------------------------------------

parts = made("""
def f(z):
    return np.array([
        abs(z), z.real, z.imag, z.conjugate().imag, np.angle(z), cmath.phase(z), (z * np.conj(z)).real,
        cmath.polar(z)[0],
    ])
""")


def gradients(z: complex) -> list[complex]:
    """df/dx + i df/dy of each part, as the formulas say."""
    unit = z / abs(z)
    turn = 1j * z / abs(z) ** 2
    return [unit, 1.0, 1j, -1j, turn, turn, 2 * z, unit]


@pytest.mark.parametrize("z", POINTS)
def test_the_gradient_of_a_real_function(z: complex) -> None:
    """f(z + dz) ~ f(z) + Re(conj(g) dz), backward and forward."""
    z, dz = complex(z), 0.3 - 0.8j
    out, pullback = irad.vjp(parts, z)
    pushed = irad.jvp(parts, (z,), (dz,))[1]
    for k, expected in enumerate(gradients(z)):
        (bar,) = pullback(np.eye(out.size)[k])
        assert bar == pytest.approx(expected, rel=1e-14)
        assert pushed[k] == pytest.approx((np.conj(expected) * dz).real, rel=1e-14)


def test_where_there_is_no_derivative() -> None:
    """As docs/conventions.md says: kinks in the middle, branch cuts by the side that the sign of the zero tells."""
    slope = irad.grad(made("def f(z):\n    return abs(z) + np.angle(z)\n"))
    assert slope(0j) == 0j
    root = made("def f(z):\n    return cmath.sqrt(z)\n")
    for z in (complex(-4.0, 0.0), complex(-4.0, -0.0), 4 + 0j):
        assert irad.grad(root, holomorphic=True)(z) == pytest.approx(0.5 / cmath.sqrt(z))
    for z in (0j, complex(-4.0, -0.0), 1e-320 + 0j, complex(np.nan, 1.0), complex(-np.inf, 2.0)):
        assert np.array_equal(irad.jvp(root, (z,), (1.0,))[0], root(z), equal_nan=True)
    assert np.isnan(irad.jvp(root, (0j,), (1.0,))[1]) and irad.jvp(root, (0j,), (0.0,))[1] == 0
    cube = irad.grad(made("def f(z):\n    return z ** 3 + z ** 1 + z ** 0\n"), holomorphic=True)
    assert cube(0j) == 1.0


# --- memory ---------------------------------------------------------------------------------------------------------

mixed = made("""
def f(z, w, x):
    pair = np.empty(2 * z.size)
    seen = pair.view(np.complex128)
    for i in range(z.size):
        seen[i] = z[i] * w
    pair[0] += x[1] * pair[1]
    x.view(np.complex128)[0] *= w
    z.imag[1] = x[0] * z.real[0]
    z[0] = np.conj(z[0]) ** 2
    return (seen * z).real.sum() + abs(w) * z.view(np.float64)[2]
""")


def arguments(dtype: Any = np.complex128) -> tuple[Any, complex, Any]:
    return POINTS[:3].astype(dtype), W, np.array([0.4, -1.3])


def differences(kernel: Any, args: tuple[Any, ...], position: int, h: float = 1e-6) -> Any:
    found = np.zeros_like(args[position])
    for index in np.ndindex(found.shape):
        for unit in (1.0, 1j) if np.iscomplexobj(found) else (1.0,):
            ends: list[float] = []
            for sign in (1, -1):
                copies = [np.copy(a) if np.ndim(a) else a for a in args]
                if found.shape:
                    copies[position][index] += sign * h * unit
                else:
                    copies[position] += sign * h * unit
                ends.append(kernel(*copies))
            found[index] += unit * (ends[0] - ends[1]) / (2 * h)
    return found


def test_views_between_complex_and_float(allocations: Callable[[], int]) -> None:
    args = arguments()
    called, given = arguments(), arguments()
    value, gradient = irad.value_and_grad(mixed, (0, 1, 2))(*given)
    assert value == mixed(*called)
    assert all(np.array_equal(one, other) for one, other in zip(called, given, strict=True))
    for position, bar in enumerate(gradient):
        assert bar == pytest.approx(differences(mixed, args, position), rel=1e-7, abs=1e-8)
    dots = (POINTS[1:] * 0.3j, 0.2 - 1.0j, np.array([1.5, -0.5]))
    pushed = irad.jvp(mixed, arguments(), dots)[1]
    inner = sum((np.conj(bar) * dot).real.sum() for bar, dot in zip(gradient, dots, strict=True))
    assert pushed == pytest.approx(inner, rel=1e-13)
    before = allocations()
    irad.value_and_grad(mixed, (0, 1, 2))(*arguments())
    assert allocations() == before


def test_arrays_of_any_layout() -> None:
    """The gradient in the shape, strides and dtype of the argument."""
    kernel = made("def f(z, w):\n    return (z * w).imag.sum() + (z * np.conj(z)).real.sum()\n")
    z = np.arange(24).reshape(2, 3, 4).astype(np.complex64)[:, ::-1, ::2] * np.complex64(1 - 0.5j)
    z_bar, w_bar = irad.grad(kernel, (0, 1))(z, W)
    assert z_bar.dtype == z.dtype and z_bar.strides == z.strides
    assert z_bar == pytest.approx(1j * np.conj(W) + 2 * z, rel=1e-6)
    assert w_bar == pytest.approx(np.conj(z).sum() * 1j, rel=1e-6)
    shadow = np.zeros_like(z)
    irad.autodiff(irad.Reverse, kernel, irad.Duplicated(z, shadow), irad.Const(W), seed=2.0)
    assert np.array_equal(shadow, 2 * z_bar)


# --- holomorphic functions ------------------------------------------------------------------------------------------

analytic = made("def f(z, w, n):\n    return np.sum(np.sin(z) * w * w) * n\n")
broken = made("def f(z, w, n):\n    return np.sum(np.sin(z) * w * w) * n + np.conj(w)\n")


def test_the_complex_derivative(allocations: Callable[[], int]) -> None:
    value, (by_w, by_z) = irad.value_and_grad(analytic, ("w", "z"), holomorphic=True)(POINTS, W, 2)
    assert value == analytic(POINTS, W, 2)
    assert by_z == pytest.approx(2 * np.cos(POINTS) * W * W, rel=1e-14)
    assert by_w == pytest.approx(4 * np.sin(POINTS).sum() * W, rel=1e-14)

    @njit
    def inside(z, w):
        return irad.grad(analytic, 1, holomorphic=True)(z, w, 2), irad.grad(mixed, (0, 1))(z.copy(), w, np.ones(2))

    slope, (z_bar, w_bar) = inside(POINTS[:3], W)
    assert slope == pytest.approx(4 * np.sin(POINTS[:3]).sum() * W, rel=1e-14)
    outside = irad.grad(mixed, (0, 1))(POINTS[:3].copy(), W, np.ones(2))
    assert np.array_equal(z_bar, outside[0]) and w_bar == outside[1]
    derivative = irad.grad(broken, (0, 1), holomorphic=True)
    with pytest.raises(irad.BadArgumentValue, match="not holomorphic"):
        derivative(POINTS, W, 2)
    before = allocations()
    with pytest.raises(irad.BadArgumentValue, match="not holomorphic"):
        derivative(POINTS, W, 2)
    irad.grad(analytic, (0, 1), holomorphic=True)(POINTS, W, 2)
    assert allocations() == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: irad.grad(analytic)(POINTS, W, 2), "(?s)complex128, not one float.*holomorphic=True"),
        (lambda: irad.grad(parts, holomorphic=True)(W), "return a complex number, not array"),
        (lambda: irad.grad(analytic, "n", holomorphic=True)(POINTS, W, 2.0), "complex arguments, not by float64"),
        (lambda: irad.jvp(mixed, arguments(), (None, None, POINTS)), "must be an array of float64"),
        (lambda: irad.jacfwd(analytic)(POINTS, W, 2), "Jacobians are of one float"),
    ],
)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(irad.BadArgumentType, match=message):
        call()
