"""The same values and gradients by JAX and by PyTorch, on arrays, where they are installed.

The formulas are written once, over a small set of words that both have; loops over time are JAX's own, and PyTorch runs
them eagerly where that ends in reasonable time. Each formula takes the kernel's arguments and returns the value, for a
kernel that fills arrays the sum of what it fills: its gradient is that for cotangents of ones.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import kernels
from tools.bench.contenders import Contender
from tools.bench.timing import Runner
from tools.kernel_times import Arguments

JAX, TORCH = "jax", "torch"
PEERS = (JAX, TORCH)


def installed() -> tuple[str, ...]:
    """The peers that can be measured here."""
    return tuple(name for name in PEERS if find_spec(name) is not None)


def contender(peer: str, kernel: str, module: kernels.KernelModule, args: Arguments) -> Contender | None:
    """A peer's value and gradient at `args`; None where it has no formula."""
    words: Words = (Jax if peer == JAX else Torch)()
    if kernel == "ba_blocks":
        return words.blocks(args)
    formula = FORMULAS.get(kernel)
    if formula is None or (peer == TORCH and kernel in TOO_SLOW_EAGERLY):
        return None
    return words.gradient(lambda *values: formula(words, *values), module.WRT, args)


class Words:
    """What the formulas are written with: the names of `jax.numpy`, and loops."""

    xp: Any

    def gradient(self, f: Callable[..., Any], wrt: tuple[int, ...], args: Arguments) -> Contender:
        """The value and gradient of a formula."""
        raise NotImplementedError

    def loop(self, steps: int, step: Callable[[Any], Any], state: Any) -> Any:
        """`state` after `step` was applied `steps` times."""
        raise NotImplementedError

    def scan(self, step: Callable[[Any, Any], tuple[Any, Any]], state: Any, rows: tuple[Any, ...]) -> tuple[Any, Any]:
        """The last state and the sum of what each step gives besides, over the rows of some arrays."""
        raise NotImplementedError

    def put(self, array: Any, at: Any, values: Any) -> Any:
        """A copy of `array` with other values at some places."""
        raise NotImplementedError

    def blocks(self, args: Arguments) -> Contender:
        """The Jacobian's blocks of bundle adjustment."""
        raise NotImplementedError


class Jax(Words):
    """JAX on the processor, in double precision, compiled."""

    def __init__(self) -> None:
        self.jax = importlib.import_module("jax")
        self.jax.config.update("jax_enable_x64", True)
        self.xp = importlib.import_module("jax.numpy")

    def gradient(self, f: Callable[..., Any], wrt: tuple[int, ...], args: Arguments) -> Contender:
        changing = {i: self.xp.asarray(v) for i, v in enumerate(args) if i in wrt or isinstance(v, np.ndarray)}

        def of_changing(wanted: list[Any], rest: dict[int, Any]) -> Any:
            values = {**rest, **dict(zip(wrt, wanted, strict=True))}
            return f(*(values.get(i, v) for i, v in enumerate(args)))

        compiled = self.jax.jit(self.jax.value_and_grad(of_changing))
        wanted = [changing[i] for i in wrt]
        rest = {i: v for i, v in changing.items() if i not in wrt}
        return self._contender(lambda: compiled(wanted, rest))

    def _contender(self, call: Callable[[], tuple[Any, Any]]) -> Contender:
        def run() -> Any:
            return self.jax.block_until_ready(call())

        return Contender(Runner(run, clock=time.process_time), lambda: tuple(np.asarray(bar) for bar in run()[1]))

    def loop(self, steps: int, step: Callable[[Any], Any], state: Any) -> Any:
        return self.jax.lax.fori_loop(0, steps, lambda _, s: step(s), state)

    def scan(self, step: Callable[[Any, Any], tuple[Any, Any]], state: Any, rows: tuple[Any, ...]) -> tuple[Any, Any]:
        last, given = self.jax.lax.scan(step, state, rows)
        return last, self.xp.sum(given)

    def put(self, array: Any, at: Any, values: Any) -> Any:
        return array.at[at].set(values)

    def blocks(self, args: Arguments) -> Contender:
        cameras, points, weights, observed, features = (self.xp.asarray(v) for v in args[:5])

        def both(packed: Any, feature: Any) -> tuple[Any, Any]:
            errors, pull = self.jax.vjp(lambda q: _errors(self, q, feature), packed)
            return errors, self.jax.vmap(lambda e: pull(e)[0])(self.xp.eye(2))

        def everything(cameras: Any, points: Any, weights: Any) -> tuple[Any, Any]:
            packed = _packed(self, cameras, points, weights, observed)
            errors, blocks = self.jax.vmap(both)(packed, features)
            return (errors, 1.0 - weights**2), (blocks, -2.0 * weights)

        compiled = self.jax.jit(everything)
        return self._contender(lambda: compiled(cameras, points, weights))


class Torch(Words):
    """PyTorch on the processor, eagerly."""

    def __init__(self) -> None:
        self.torch = importlib.import_module("torch")
        self.torch.set_num_threads(1)
        self.xp = _TorchNames(self.torch)

    def gradient(self, f: Callable[..., Any], wrt: tuple[int, ...], args: Arguments) -> Contender:
        def tensor(i: int, value: Any) -> Any:
            if i in wrt:
                return self.torch.tensor(value, dtype=self.torch.float64, requires_grad=True)
            return self.torch.tensor(value) if isinstance(value, np.ndarray) else value

        values = [tensor(i, v) for i, v in enumerate(args)]
        wanted = [values[i] for i in wrt]

        def run() -> Any:
            value = f(*values)
            return value, self.torch.autograd.grad(value, wanted)

        return Contender(Runner(run, clock=time.process_time), lambda: tuple(bar.numpy() for bar in run()[1]))

    def loop(self, steps: int, step: Callable[[Any], Any], state: Any) -> Any:
        for _ in range(steps):
            state = step(state)
        return state

    def scan(self, step: Callable[[Any, Any], tuple[Any, Any]], state: Any, rows: tuple[Any, ...]) -> tuple[Any, Any]:
        total = 0.0
        for row in zip(*rows, strict=True):
            state, given = step(state, row)
            total = total + given
        return state, total

    def put(self, array: Any, at: Any, values: Any) -> Any:
        copied = array.clone()
        copied[at] = values
        return copied

    def blocks(self, args: Arguments) -> Contender:
        cameras, points, weights, observed, features = (self.torch.tensor(v) for v in args[:5])

        def twice(packed: Any, feature: Any) -> tuple[Any, Any]:
            errors = _errors(self, packed, feature)
            return errors, errors

        one = self.torch.func.vmap(self.torch.func.jacrev(twice, has_aux=True))

        def run() -> Any:
            blocks, errors = one(_packed(self, cameras, points, weights, observed), features)
            return (errors, 1.0 - weights**2), (blocks, -2.0 * weights)

        return Contender(Runner(run, clock=time.process_time), lambda: tuple(bar.numpy() for bar in run()[1]))


class _TorchNames:
    """PyTorch under the names of NumPy where its own differ."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.concatenate = torch.cat
        self.asarray = torch.as_tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._torch, name)

    def cross(self, a: Any, b: Any) -> Any:
        return self._torch.linalg.cross(a, b)


# --- the formulas ---------------------------------------------------------------------------------------------------


def _sumsq(_: Words, x: Any) -> Any:
    return (x * x).sum()


def _rosenbrock(_: Words, x: Any) -> Any:
    return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()


def _logsumexp(w: Words, x: Any) -> Any:
    largest = x.max()
    return largest + w.xp.log(w.xp.exp(x - largest).sum())


def _matmul(_: Words, a: Any, b: Any, weights: Any) -> Any:
    return ((a @ b) * weights).sum()


def _black_scholes(w: Words, spot: Any, strike: Any, rate: Any, volatility: Any, maturity: Any, z: Any) -> Any:
    xp = w.xp
    drift = (rate - 0.5 * volatility**2) * maturity
    final = spot * xp.exp(drift + volatility * xp.sqrt(maturity) * z)
    paid = xp.where(final > strike, final - strike, xp.zeros_like(final))
    return xp.exp(-rate * maturity) * paid.mean()


def _brusselator(w: Words, u: Any, a: Any, b: Any, alpha: Any, t: float, _: Any) -> Any:
    xp, n = w.xp, u.shape[0]
    at = np.arange(n) / (n - 1)
    disc = (at[:, None] - 0.3) ** 2 + (at[None] - 0.6) ** 2 <= 0.01
    source = xp.asarray(5.0 * (disc & (t >= 1.1)))
    laplacian = xp.roll(u, 1, 0) + xp.roll(u, -1, 0) + xp.roll(u, 1, 1) + xp.roll(u, -1, 1) - 4.0 * u
    p, q = u[..., 0], u[..., 1]
    r = p * p * q
    made = xp.stack([a + r - (b + 1.0) * p + source, b * p - r], -1)
    return (alpha * (n - 1) ** 2 * laplacian + made).sum()


def _fft(w: Words, re: Any, im: Any) -> Any:
    transformed = w.xp.fft.fft(re + 1j * im)
    return transformed.real.sum() + transformed.imag.sum()


def _gmm(w: Words, alphas: Any, means: Any, icf: Any, x: Any, gamma: float, m: int) -> Any:
    xp = w.xp
    n, d = x.shape
    count = alphas.shape[0]
    columns, rows = np.triu_indices(d, 1)
    diagonal, log_det = xp.exp(icf[:, :d]), icf[:, :d].sum(1)
    lower = w.put(xp.zeros((count, d, d), dtype=icf.dtype), (slice(None), rows, columns), icf[:, d:])
    centred = x[:, None, :] - means[None]
    white = diagonal[None] * centred + xp.einsum("kij,nkj->nki", lower, centred)
    term = alphas + log_det - 0.5 * (white**2).sum(-1)
    largest = term.max(1, keepdims=True)
    largest = getattr(largest, "values", largest)
    likelihood = (largest[:, 0] + xp.log(xp.exp(term - largest).sum(1))).sum() - n * _logsumexp(w, alphas)
    dof = d + m + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi) + sum(math.lgamma(0.5 * (dof - j)) for j in range(d))
    constant = dof * d * (math.log(gamma) - 0.5 * math.log(2.0)) - log_gamma
    prior = 0.5 * gamma**2 * ((diagonal**2).sum() + (icf[:, d:] ** 2).sum()) - m * log_det.sum() - count * constant
    return likelihood + prior - 0.5 * n * d * math.log(2.0 * math.pi)


def _lstm(w: Words, weights: Any, extra: Any, state: Any, sequence: Any) -> Any:
    xp = w.xp
    length, b = sequence.shape
    layers = weights.shape[0] // 2

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        x, target = row[0] * extra[0], row[1]
        new = []
        for i in range(layers):
            hidden, cell = state[2 * i], state[2 * i + 1]
            z = xp.concatenate([x, hidden, x, hidden]) * weights[2 * i] + weights[2 * i + 1]
            gates = 1.0 / (1.0 + xp.exp(-z[: 3 * b]))
            cell = cell * gates[:b] + gates[b : 2 * b] * xp.tanh(z[3 * b :])
            x = gates[2 * b :] * xp.tanh(cell)
            new += [x, cell]
        y = x * extra[1] + extra[2]
        return xp.stack(new), (target * (y - xp.log(xp.exp(y).sum() + 2.0))).sum()

    _, total = w.scan(step, state, (sequence[:-1], sequence[1:]))
    return -total / ((length - 1) * b)


def _heat(w: Words, u0: Any, kappa: Any, steps: int) -> Any:
    def step(u: Any) -> Any:
        inside = u[1:-1] + kappa * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        return w.xp.concatenate([u[:1], inside, u[-1:]])

    u = w.loop(steps, step, u0)
    return 0.5 * (u * u).sum()


def _nbody(w: Words, position: Any, velocity: Any, mass: Any, steps: int, dt: float, eps2: float) -> Any:
    def accelerations(x: Any) -> Any:
        apart = x[None] - x[:, None]
        return ((mass[None] * ((apart * apart).sum(-1) + eps2) ** -1.5)[:, :, None] * apart).sum(1)

    def step(state: Any) -> Any:
        x, v, a = state
        v = v + 0.5 * dt * a
        x = x + dt * v
        a = accelerations(x)
        return x, v + 0.5 * dt * a, a

    x, v, _ = w.loop(steps, step, (position, velocity, accelerations(position)))
    return 0.5 * (mass[:, None] * v * v).sum() + (x * x).sum()


def _ode_euler(w: Words, x0: Any, growth: Any, capacity: Any, force: Any, omega: Any, observed: Any, dt: float) -> Any:
    forced = force * w.xp.sin(omega * (dt * w.xp.arange(observed.shape[0])))

    def step(x: Any, row: Any) -> tuple[Any, Any]:
        x = x + dt * (growth * x * (1.0 - x / capacity) + row[1])
        return x, (x - row[0]) ** 2 * dt

    return w.scan(step, x0, (observed, forced))[1]


def _rk4_lorenz(w: Words, x0: Any, p: Any, steps: int, dt: float) -> Any:
    def slope(x: Any) -> Any:
        return p[0] * (x[1] - x[0]), x[0] * (p[1] - x[2]) - x[1], x[0] * x[1] - p[2] * x[2]

    def along(x: Any, reach: float, k: Any) -> Any:
        return tuple(a + reach * b for a, b in zip(x, k, strict=True))

    def step(x: Any) -> Any:
        k1 = slope(x)
        k2 = slope(along(x, 0.5 * dt, k1))
        k3 = slope(along(x, 0.5 * dt, k2))
        k4 = slope(along(x, dt, k3))
        return tuple(
            a + dt / 6.0 * (b + 2.0 * c + 2.0 * d + e) for a, b, c, d, e in zip(x, k1, k2, k3, k4, strict=True)
        )

    x = w.loop(steps, step, (x0[0], x0[1], x0[2]))
    return x[0] ** 2 + x[1] ** 2 + x[2] ** 2


def _hmm(w: Words, initial: Any, transition: Any, emission: Any, observed: Any) -> Any:
    first = initial * emission[:, observed[0]]

    def step(alpha: Any, row: Any) -> tuple[Any, Any]:
        new = (alpha @ transition) * emission[:, row[0]]
        scale = new.sum()
        return new / scale, w.xp.log(scale)

    return w.scan(step, first / first.sum(), (observed[1:],))[1] + w.xp.log(first.sum())


def _cholesky(w: Words, a: Any, y: Any) -> Any:
    xp, n = w.xp, y.shape[0]
    factor = xp.linalg.cholesky(xp.tril(a) + xp.tril(a, -1).T)
    solved = xp.linalg.solve(factor, y)
    logs = xp.log(xp.diagonal(factor)).sum()
    return 0.5 * (solved * solved).sum() + logs + 0.5 * n * math.log(2.0 * math.pi)


def _seismic(
    w: Words, velocity: Any, wavelet: Any, receivers: Any, data: Any, source: int, dt: float, dx: float
) -> Any:
    courant2 = (velocity * dt / dx) ** 2
    spike = w.put(w.xp.zeros_like(velocity), source, dt * dt)

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        old, u = state
        laplacian = u[:-2] - 2.0 * u[1:-1] + u[2:]
        inside = 2.0 * u[1:-1] - old[1:-1] + courant2[1:-1] * laplacian
        new = w.xp.concatenate([u[:1], inside, u[-1:]]) + spike * row[0]
        return (u, new), 0.5 * dt * ((new[receivers] - row[1]) ** 2).sum()

    still = w.xp.zeros_like(velocity)
    return w.scan(step, (still, still), (wavelet, data))[1]


def _packed(w: Words, cameras: Any, points: Any, weights: Any, observed: Any) -> Any:
    return w.xp.concatenate([cameras[observed[:, 0]], points[observed[:, 1]], weights[:, None]], 1)


def _errors(w: Words, q: Any, feature: Any) -> Any:
    """The errors of one observation, from its camera (11), point (3) and weight side by side; many on a first axis."""
    xp = w.xp
    r, y, weight = q[..., :3], q[..., 11:14] - q[..., 3:6], q[..., 14:]
    angle = xp.sqrt((r * r).sum(-1))[..., None]
    axis = r / angle
    along = (axis * y).sum(-1)[..., None] * (1.0 - xp.cos(angle))
    z = y * xp.cos(angle) + xp.cross(axis, y) * xp.sin(angle) + axis * along
    uv = z[..., :2] / z[..., 2:]
    s = (uv * uv).sum(-1)[..., None]
    image = uv * (1.0 + q[..., 9:10] * s + q[..., 10:11] * s * s) * q[..., 6:7] + q[..., 7:9]
    return weight * (image - feature)


def _ba(w: Words, cameras: Any, points: Any, weights: Any, observed: Any, features: Any, *_: Any) -> Any:
    errors = _errors(w, _packed(w, cameras, points, weights, observed), features)
    return errors.sum() + (1.0 - weights**2).sum()


FORMULAS: dict[str, Callable[..., Any]] = {
    "sumsq": _sumsq,
    "rosenbrock": _rosenbrock,
    "logsumexp": _logsumexp,
    "matmul": _matmul,
    "black_scholes": _black_scholes,
    "brusselator": _brusselator,
    "fft": _fft,
    "gmm": _gmm,
    "lstm": _lstm,
    "heat": _heat,
    "nbody": _nbody,
    "ode_euler": _ode_euler,
    "rk4_lorenz": _rk4_lorenz,
    "hmm": _hmm,
    "cholesky": _cholesky,
    "seismic": _seismic,
    "ba": _ba,
}
TOO_SLOW_EAGERLY = {"ode_euler", "rk4_lorenz", "hmm"}
"""Loops of 10,000 steps or more, in each of which PyTorch calls some twenty kernels."""
