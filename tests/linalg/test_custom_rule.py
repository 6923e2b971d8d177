"""Functions with derivative rules of the user's."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import irad
from irad.frontend import cache


def norm(x, scale):
    return scale * np.sqrt(np.sum(x * x)), x * scale


def norm_tangent(x, scale, x_dot, scale_dot):
    size = np.sqrt(np.sum(x * x))
    return (scale * size, x * scale), (
        7 * scale * np.sum(x * x_dot) / size + scale_dot * size,
        x_dot * scale + x * scale_dot,
    )


def norm_augmented(x, scale):
    size = np.sqrt(np.sum(x * x))
    return (scale * size, x * scale), (x, scale, size)


def norm_pullback(residual, bars):
    x, scale, size = residual
    return 7 * scale * bars[0] / size * x + bars[1] * scale, bars[0] * size + np.sum(bars[1] * x)


ruled = irad.custom_rule(norm, tangent=norm_tangent, augmented=norm_augmented, pullback=norm_pullback)


@njit
def kernel(x, scale, n):
    total = 0.0
    for i in range(n):
        size, y = ruled(x, scale)
        x[i] = size
        total += y[0] * size
        scale = scale * 0.5 + total * 0.01
    return total


def test_the_rule_is_used_in_both_modes() -> None:
    x, dots = np.array([0.3, 1.2, -0.7]), (np.array([1.0, -0.4, 0.2]), 0.3)
    value, (x_bar, scale_bar) = irad.value_and_grad(kernel, (0, 1))(x.copy(), 0.8, 3)
    out, dot = irad.jvp(kernel, (x.copy(), 0.8, 3), (*dots, None))
    assert value == out == kernel(x.copy(), 0.8, 3)
    assert dot == pytest.approx(np.sum(x_bar * dots[0]) + scale_bar * dots[1], rel=1e-12)
    _, one = irad.jvp(ruled, (x, 0.8), (dots[0], None))
    assert one[0] == pytest.approx(7 * 0.8 * np.sum(x * dots[0]) / np.sqrt(np.sum(x * x)))  # its seven, not calculus


def test_missing_parts_and_misfits_are_refused() -> None:
    half = irad.custom_rule(norm, tangent=norm_tangent)
    _, pullback_of = irad.vjp(ruled, np.ones(3), 2.0)
    assert pullback_of((1.0, np.ones(3)))[1] == pytest.approx(np.sqrt(3) + 3)
    with pytest.raises(irad.Unsupported, match="no augmented function"):
        irad.vjp(half, np.ones(3), 2.0)
    wrong = irad.custom_rule(norm, augmented=norm_augmented, pullback=lambda residual, bars: (residual[0][:1], 0.0))
    with pytest.raises(ValueError, match="another shape"):
        irad.vjp(wrong, np.ones(3), 2.0)[1]((1.0, np.ones(3)))


def test_a_changed_rule_changes_the_fingerprint() -> None:
    other = irad.custom_rule(norm, tangent=norm_tangent, augmented=norm_augmented, pullback=norm_augmented)
    assert cache.fingerprint(other) != cache.fingerprint(ruled)
