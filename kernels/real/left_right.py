"""Log-likelihood of a left-to-right hidden Markov model, computed in logarithms with impossible steps at -inf.

alpha_t(j) = log sum_i exp(alpha_{t-1}(i) + A_ij) + B_j(o_t), of log-probabilities A and B; a model that may only stay,
advance or skip has A_ij = -inf elsewhere, and starts in one state.
Source: L. R. Rabiner, Proceedings of the IEEE 77 (1989) 257, sections III.A and IV.B.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Symbols = npt.NDArray[np.int64]
Args = tuple[Array, Array, Array, Symbols]

SIZES = {"tiny": (4, 3, 7), "demo": (16, 6, 2000)}
WRT = (0, 1, 2)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """Log-probabilities to start in (s), to go to (s, s) and to emit (s, m), and symbols (t); SIZES holds (s, m, t)."""
    states, symbols, length = SIZES[size]
    rng = np.random.default_rng(seed)
    ahead = np.arange(states)[None, :] - np.arange(states)[:, None]
    allowed = np.where((ahead >= 0) & (ahead <= 2), 0.1 + rng.random((states, states)), 0.0)
    emitted = 0.1 + rng.random((states, symbols))
    # nothing follows from the last state but itself, and the first one never emits the last symbol
    emitted[0, -1] = 0.0
    initial = np.zeros(states)
    initial[0] = 1.0
    with np.errstate(divide="ignore"):
        logs = [np.log(p / p.sum(axis=-1, keepdims=True)) for p in (initial, allowed, emitted)]
    return logs[0], logs[1], logs[2], rng.integers(0, symbols, length) * (np.arange(length) > 0)


@njit
def _log_sum_exp(terms: Array) -> float:
    largest = terms.max()
    if largest == -math.inf:
        return -math.inf
    return largest + math.log(np.sum(np.exp(terms - largest)))


@njit
def left_right(initial: Array, transition: Array, emission: Array, observed: Symbols) -> float:
    """Log-likelihood of observed (t) int64, t > 0; -inf where it is impossible.

    initial (s), transition (s, s) and emission (s, m) float64 log-probabilities, -inf where nothing is allowed.
    """
    alpha = initial + emission[:, observed[0]]
    for t in range(1, observed.shape[0]):
        new = np.empty_like(alpha)
        for j in range(alpha.shape[0]):
            new[j] = _log_sum_exp(alpha + transition[:, j]) + emission[j, observed[t]]
        alpha = new
    return _log_sum_exp(alpha)


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array, Array]:
    """Expected counts of starts, steps and emissions (Rabiner, equations 27, 37 and 38), from plain probabilities."""
    (seed,) = seeds or (1.0,)
    observed = args[3]
    initial, transition, emission = np.exp(args[0]), np.exp(args[1]), np.exp(args[2])
    alphas, scales = [], []
    reach = initial
    for symbol in observed:
        alpha = reach * emission[:, symbol]
        scales.append(alpha.sum())
        alphas.append(alpha / scales[-1])
        reach = alphas[-1] @ transition
    beta = np.ones_like(initial)
    transition_bar, emission_bar = np.zeros_like(transition), np.zeros_like(emission)
    for t in range(observed.size - 1, -1, -1):
        emission_bar[:, observed[t]] += alphas[t] * beta
        inflow = emission[:, observed[t]] * beta / scales[t]
        if t > 0:
            transition_bar += np.outer(alphas[t - 1], inflow) * transition
            beta = transition @ inflow
    return seed * initial * inflow, seed * transition_bar, seed * emission_bar
