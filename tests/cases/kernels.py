"""Small kernels on which differentiators have been wrong, each with the right derivative beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

WEIGHTS = np.array([1.0, 2.0, 0.5, 4.0])


# --- powers, guards, kinks ------------------------------------------------------------------------------------------


@njit
def polynomial(x: Any, c: Any) -> Any:
    total = 0.0
    for k in range(c.size):
        total += c[k] * x**k
    return total


@njit
def float_powers(x: Any, p: Any, q: Any) -> Any:
    return x**p + 4.3 * x**q


@njit
def guarded_roots(x: Any) -> Any:
    roots = np.where(x > 0.0, np.sqrt(x), 0.0)
    total = 0.0
    for i in range(x.size):
        total += roots[i]
        if x[i] > 0.0:
            total += np.sqrt(x[i])
    return total


@njit
def norm(x: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i]
    return np.sqrt(total)


@njit
def norm_squared(x: Any) -> Any:
    return norm(x) * norm(x)


@njit
def largest(x: Any) -> Any:
    found = x[0]
    for i in range(1, x.size):
        found = max(found, x[i])
    return found


@njit(error_model="numpy")
def capped_inverse(x: Any) -> Any:
    return min(1.0, 1.0 / x)


@njit
def ratios(n: Any, d: Any) -> Any:
    total = 0.0
    for i in range(n.size):
        if d[i] != 0.0:
            total += n[i] / d[i]
    return total


@njit
def clipped_angles(c: Any) -> Any:
    total = 0.0
    for i in range(c.size):
        total += np.arccos(max(-1.0, min(1.0, c[i])))
    return total


@njit
def wrapped(x: Any) -> Any:
    whole = int(x)
    return (x - whole) * (x - whole) + math.sin(2.0 * math.pi * (x % 1.0)) ** 2


@njit
def x_log_y(x: Any, y: Any) -> Any:
    if x == 0.0:
        return 0.0
    return x * math.log(y)


# --- mutation -------------------------------------------------------------------------------------------------------


@njit
def squared_in_place(a: Any, times: Any) -> None:
    for _ in range(times):
        for i in range(a.size):
            a[i] = a[i] * a[i]


@njit
def _multiplied_into(u: Any, v: Any) -> Any:
    total = 0.0
    for i in range(u.size):
        u[i] = u[i] * v[i]
    for i in range(u.size):
        total += u[i] + v[i]
    return total


@njit
def same_array_twice(a: Any) -> Any:
    copy = a.copy()
    return _multiplied_into(copy, copy)


@njit
def gather_and_scatter(x: Any, index: Any, target: Any, w: Any) -> Any:
    z = np.zeros(w.size)
    for i in range(index.size):
        z[target[i]] = x[index[i]] * (i + 1.0)
    total = 0.0
    for i in range(w.size):
        total += w[i] * z[i]
    for i in range(index.size):
        total += x[index[i]]
    return total


@njit
def second_difference(x: Any, out: Any) -> None:
    out[1:-1] = x[:-2] - 2.0 * x[1:-1] + x[2:]
    out[0] = x[1] - 2.0 * x[0]
    out[-1] = x[-2] - 2.0 * x[-1]


@njit
def triple_product(out: Any, a: Any, b: Any, c: Any) -> None:
    for i in range(out.size):
        out[i] = a[i] * b[i] * c[i]


@njit
def residual(x: Any, observed: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        total += WEIGHTS[i] * (x[i] - observed[i]) ** 2
    return total


# --- NumPy's own operations -----------------------------------------------------------------------------------------


@njit
def determinant(a: Any) -> Any:
    return np.linalg.det(a)


@njit
def solved(a: Any, b: Any) -> Any:
    return np.sum(np.linalg.solve(a, b))


@njit
def weighted_ranks(x: Any, w: Any) -> Any:
    total = 0.0
    for weight, value in zip(w, np.sort(x)):  # noqa: B905
        total += weight * value * value
    return total


@njit
def looked_up(q: Any, knots: Any, table: Any) -> Any:
    total = 0.0
    for k in range(q.size):
        j = np.searchsorted(knots, q[k]) - 1
        t = (q[k] - knots[j]) / (knots[j + 1] - knots[j])
        total += (1.0 - t) * table[j] + t * table[j + 1]
        total += 0.5 * np.interp(q[k], knots, table)
    return total


# --- control --------------------------------------------------------------------------------------------------------


@njit
def product_of_some(x: Any, count: Any) -> Any:
    product = 1.0
    for i in range(count):
        product *= x[i]
    return product


@njit
def best_coefficient(c: Any, x: Any) -> Any:
    total = 0.0
    for t in range(x.size):
        best = -1e20
        for p in range(c.shape[0]):
            for q in range(c.shape[1]):
                if c[p, q] == 0.0:
                    continue
                v = x[t] * c[p, q] * (p + q + 2.0)
                if v > best:
                    best = v
        total += best
    return total


@njit
def rebound_in_branches(a: Any) -> Any:
    total = 0.0
    for i in range(a.size):
        b = a[i]
        b = a[i] * a[i] if b > 0.0 else a[i] * a[i] * a[i]
        total += b
    return total


@njit
def triangular(x: Any) -> Any:
    total = 0.0
    for i in range(x.size):
        inner = 0.0
        for j in range(i):
            for k in range(j):
                inner += x[j] * x[k]
        total += inner
    return total


@njit
def until_limit(v: Any, limit: Any) -> Any:
    total = 0.0
    for i in range(v.size):
        total += v[i]
        if total > limit:
            break
        total += v[i]
    return total


@njit
def wandering_index(a: Any, start: Any, steps: Any) -> Any:
    at = start
    total = 0.0
    for i in range(steps):
        total += np.sin(a[at]) * (i + 1)
        at = at // 2 if at % 2 == 0 else (3 * at + 1) % a.size
    return total


@njit
def minima(x: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        total += np.min(x[i, :])
    for j in range(x.shape[1]):
        total += np.min(x[:, j])
    return total


@njit
def odd_strides(x: Any, A: Any) -> Any:
    backwards = x[::-1]
    total = 0.0
    for i in range(x.size):
        total += (i + 1.0) * x[i] * backwards[i]
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            total += (i + 2.0 * j) * A[i, j] * A[i, j]
    return total


@njit
def products(x: Any, w: Any) -> Any:
    running = np.cumprod(x)
    total = np.prod(x)
    for i in range(x.size):
        total += w[i] * running[i]
    return total


@njit
def long_recurrence(x: Any, p: Any, steps: Any) -> Any:
    total = 0.0
    for _ in range(steps):
        x = math.cos(x + p)
        total += x * 1e-6
    return x + total


@njit
def horner(x: Any, a: Any) -> Any:
    total = x
    for i in range(a.size):
        total = total * a[i] + 1.0
    return total * x


@njit
def recursive_series(x: Any, n: Any) -> Any:
    if n <= 0:
        return 0.0
    return x * (1.0 + recursive_series(x, n - 1))


def scaled_square(scale: float) -> Any:
    """Kernels of equal text that differ in a captured constant."""

    @njit
    def kernel(x: Any) -> Any:
        return scale * x * x

    return kernel
