"""Log-likelihood of a Gaussian mixture with a Wishart prior on the precisions (ADBench GMM).

The precision of component k is Q_k^T Q_k, where Q_k is lower triangular: its diagonal is exp(icf[k, :d]),
the entries below follow column by column in icf[k, d:]. The result is
sum_i logsumexp_k(alpha_k + log det Q_k - |Q_k (x_i - mu_k)|^2 / 2) - n logsumexp(alpha) - n d log(2 pi) / 2 + log p,
with p the prior and logsumexp(v) = log sum_k exp v_k.
Source: Srajer, Kukelova and Fitzgibbon, A benchmark of selected algorithmic differentiation tools on some problems in
computer vision and machine learning, Optimization Methods and Software 33 (2018) 889; ADBench.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, Array, float, int]

SIZES = {
    "tiny": (6, 3, 2),
    "demo": (300, 5, 10),
    "d10n1e2": (100, 10, 25),
    "d10": (1000, 10, 25),
    "d10n1e4": (10000, 10, 25),
    "d20": (1000, 20, 25),
    "d64": (1000, 64, 25),
}
WRT = (0, 1, 2)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """alphas (k), means (k, d), icf (k, d (d + 1) / 2), x (n, d), gamma and m of the prior; SIZES holds (n, d, k)."""
    n, d, k = SIZES[size]
    rng = np.random.default_rng(seed)
    icf = rng.normal(size=(k, d * (d + 1) // 2)) * (0.3 if d < 32 else 0.1)
    return rng.normal(size=k), rng.random((k, d)), icf, rng.normal(size=(n, d)), 0.9, 2


@njit
def log_sum_exp(v: Array) -> float:
    """log of the sum of the exponentials of v (k), k > 0."""
    largest = v[0]
    for k in range(1, v.shape[0]):
        if v[k] > largest:
            largest = v[k]
    total = 0.0
    for k in range(v.shape[0]):
        total += math.exp(v[k] - largest)
    return largest + math.log(total)


@njit
def log_wishart_prior(icf: Array, diagonal: Array, log_det: Array, gamma: float, m: int) -> float:
    """Log-density of the precision factors under the prior, summed over the components."""
    d = diagonal.shape[1]
    dof = d + m + 1
    log_gamma = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(d):
        log_gamma += math.lgamma(0.5 * (dof - j))
    constant = dof * d * (math.log(gamma) - 0.5 * math.log(2.0)) - log_gamma
    total = 0.0
    for k in range(diagonal.shape[0]):
        frobenius2 = 0.0
        for j in range(d):
            frobenius2 += diagonal[k, j] * diagonal[k, j]
        for c in range(d, icf.shape[1]):
            frobenius2 += icf[k, c] * icf[k, c]
        total += 0.5 * gamma * gamma * frobenius2 - m * log_det[k] - constant
    return total


@njit
def gmm(alphas: Array, means: Array, icf: Array, x: Array, gamma: float, m: int) -> float:
    """Log-posterior of the mixture, without the parts that no parameter enters.

    alphas (k), means (k, d), icf (k, d (d + 1) / 2) and the data x (n, d), float64; gamma and m of the Wishart prior.
    """
    n, d = x.shape
    components = alphas.shape[0]
    diagonal = np.empty((components, d))
    log_det = np.empty(components)
    for k in range(components):
        total = 0.0
        for j in range(d):
            total += icf[k, j]
            diagonal[k, j] = math.exp(icf[k, j])
        log_det[k] = total
    centred = np.empty(d)
    white = np.empty(d)
    term = np.empty(components)
    result = 0.0
    for i in range(n):
        for k in range(components):
            for j in range(d):
                centred[j] = x[i, j] - means[k, j]
                white[j] = diagonal[k, j] * centred[j]
            c = d
            for j in range(d):
                for r in range(j + 1, d):
                    white[r] += icf[k, c] * centred[j]
                    c += 1
            square = 0.0
            for j in range(d):
                square += white[j] * white[j]
            term[k] = alphas[k] + log_det[k] - 0.5 * square
        result += log_sum_exp(term)
    result -= n * (log_sum_exp(alphas) + 0.5 * d * math.log(2.0 * math.pi))
    return result + log_wishart_prior(icf, diagonal, log_det, gamma, m)


@njit
def _terms(
    i: int, alphas: Array, means: Array, icf: Array, x: Array, centred: Array, white: Array, term: Array
) -> None:
    """The log-weights (k) of observation i, with its centred and whitened copies (k, d) for every component."""
    d = x.shape[1]
    for k in range(alphas.shape[0]):
        term[k] = alphas[k]
        for j in range(d):
            centred[k, j] = x[i, j] - means[k, j]
            white[k, j] = icf[k, j] * centred[k, j]
        c = d
        for j in range(d):
            for r in range(j + 1, d):
                white[k, r] += icf[k, c] * centred[k, j]
                c += 1
        for j in range(d):
            term[k] -= 0.5 * white[k, j] * white[k, j]


@njit
def _likelihood_adjoint(alphas: Array, means: Array, factors: Array, x: Array) -> tuple[Array, Array, Array]:
    """Gradient of sum_i logsumexp_k; `alphas` holds the log-determinants too, `factors` the diagonals themselves."""
    n, d = x.shape
    components = alphas.shape[0]
    alphas_bar = np.zeros(components)
    means_bar = np.zeros(means.shape)
    factors_bar = np.zeros(factors.shape)
    centred = np.empty((components, d))
    white = np.empty((components, d))
    term = np.empty(components)
    for i in range(n):
        _terms(i, alphas, means, factors, x, centred, white, term)
        normaliser = log_sum_exp(term)
        for k in range(components):
            share = math.exp(term[k] - normaliser)
            alphas_bar[k] += share
            for j in range(d):
                white[k, j] *= -share
            c = d
            for j in range(d):
                factors_bar[k, j] += white[k, j] * centred[k, j]
                total = white[k, j] * factors[k, j]
                for r in range(j + 1, d):
                    factors_bar[k, c] += white[k, r] * centred[k, j]
                    total += white[k, r] * factors[k, c]
                    c += 1
                means_bar[k, j] -= total
    return alphas_bar, means_bar, factors_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array, Array]:
    """Hand-written adjoint: the responsibilities of the components weigh the gradients of the quadratic forms."""
    (seed,) = seeds or (1.0,)
    alphas, means, icf, x, gamma, m = args
    n, d = x.shape
    factors = icf.copy()
    factors[:, :d] = np.exp(icf[:, :d])
    shares, means_bar, icf_bar = _likelihood_adjoint(alphas + icf[:, :d].sum(axis=1), means, factors, x)
    icf_bar += gamma**2 * factors
    icf_bar[:, :d] = factors[:, :d] * icf_bar[:, :d] + shares[:, None] - m
    softmax = np.exp(alphas - alphas.max())
    alphas_bar = shares - n * softmax / softmax.sum()
    return seed * alphas_bar, seed * means_bar, seed * icf_bar
