"""Log-likelihood of a discrete hidden Markov model by the scaled forward algorithm.

alpha_t(j) = sum_i alpha_{t-1}(i) A_ij B_j(o_t), divided at every t by its sum c_t; the result is sum_t log c_t.
Source: L. R. Rabiner, Proceedings of the IEEE 77 (1989) 257, sections III.A and V.A.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, npt.NDArray[np.int64]]

SIZES = {
    "tiny": (3, 4, 8),
    "demo": (8, 6, 2000),
    "t1e3": (16, 8, 1000),
    "t1e4": (16, 8, 10000),
    "t1e5": (16, 8, 100000),
}
WRT = (0, 1, 2)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """Initial (s), transition (s, s) and emission (s, m) probabilities, rows of sum 1, and symbols (t) in [0, m).

    SIZES holds (s, m, t).
    """
    states, symbols, length = SIZES[size]
    rng = np.random.default_rng(seed)
    initial, transition, emission = (0.1 + rng.random(shape) for shape in (states, (states, states), (states, symbols)))
    return (
        initial / initial.sum(),
        transition / transition.sum(axis=1, keepdims=True),
        emission / emission.sum(axis=1, keepdims=True),
        rng.integers(0, symbols, length),
    )


@njit
def hmm(initial: Array, transition: Array, emission: Array, observed: npt.NDArray[np.int64]) -> float:
    """Log-probability of observed (t) int64, t > 0, under the model.

    initial (s), transition (s, s) and emission (s, m) float64; they need not be normalised.
    """
    states = initial.shape[0]
    alpha = np.empty(states)
    new = np.empty(states)
    total = 0.0
    for t in range(observed.shape[0]):
        scale = 0.0
        for j in range(states):
            if t == 0:
                reach = initial[j]
            else:
                reach = 0.0
                for i in range(states):
                    reach += alpha[i] * transition[i, j]
            new[j] = reach * emission[j, observed[t]]
            scale += new[j]
        for j in range(states):
            alpha[j] = new[j] / scale
        total += math.log(scale)
    return total


@njit
def _forward(
    initial: Array, transition: Array, emission: Array, observed: npt.NDArray[np.int64]
) -> tuple[Array, Array]:
    """The scaled alphas (t, s) and the scales (t)."""
    states = initial.shape[0]
    length = observed.shape[0]
    alpha = np.empty((length, states))
    scale = np.zeros(length)
    for t in range(length):
        for j in range(states):
            reach = initial[j] if t == 0 else 0.0
            if t > 0:
                for i in range(states):
                    reach += alpha[t - 1, i] * transition[i, j]
            alpha[t, j] = reach * emission[j, observed[t]]
            scale[t] += alpha[t, j]
        for j in range(states):
            alpha[t, j] /= scale[t]
    return alpha, scale


@njit
def _backward(
    transition: Array, emission: Array, observed: npt.NDArray[np.int64], alpha: Array, scale: Array
) -> tuple[Array, Array, Array]:
    states = transition.shape[0]
    transition_bar = np.zeros(transition.shape)
    emission_bar = np.zeros(emission.shape)
    beta = np.ones(states)
    inflow = np.empty(states)
    for t in range(observed.shape[0] - 1, -1, -1):
        symbol = observed[t]
        for j in range(states):
            # alpha_t(j) beta_t(j) is the posterior of state j; it holds the emission probability once
            emission_bar[j, symbol] += alpha[t, j] * beta[j] / emission[j, symbol]
            inflow[j] = emission[j, symbol] * beta[j] / scale[t]
        if t > 0:
            for i in range(states):
                total = 0.0
                for j in range(states):
                    transition_bar[i, j] += alpha[t - 1, i] * inflow[j]
                    total += transition[i, j] * inflow[j]
                beta[i] = total
    return inflow, transition_bar, emission_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array, Array]:
    """Closed form from the forward-backward posteriors (Rabiner, equations 25 to 38); emissions must be positive."""
    (seed,) = seeds or (1.0,)
    _, transition, emission, observed = args
    initial_bar, transition_bar, emission_bar = _backward(transition, emission, observed, *_forward(*args))
    return seed * initial_bar, seed * transition_bar, seed * emission_bar
