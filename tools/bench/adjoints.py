"""Adjoints written by hand: value and gradient in one call, as a careful programmer writes them in Numba.

Each takes the kernel's arguments, then a shadow for every array that is differentiated or carries the result, in the
order of the arguments. It overwrites the shadows of the inputs, reads those of the outputs as cotangents, and returns
the kernel's value and the adjoints of its differentiated floats. Where a kernel's own `derivative` is such an adjoint,
its parts serve here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from kernels import fft as fourier
from kernels import gmm as mixture
from kernels import heat as rod
from kernels import hmm as markov
from kernels import lstm as recurrent
from kernels import nbody as bodies
from kernels import rk4_lorenz as butterfly
from kernels import seismic as waves


@njit
def sumsq(x, x_bar):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
        x_bar[i] = 2.0 * x[i]
    return total, ()


@njit
def rosenbrock(x, x_bar):
    total = 0.0
    from_left = 0.0
    for i in range(x.shape[0] - 1):
        a = x[i + 1] - x[i] * x[i]
        b = 1.0 - x[i]
        total += 100.0 * a * a + b * b
        x_bar[i] = from_left - 400.0 * a * x[i] - 2.0 * b
        from_left = 200.0 * a
    x_bar[x.shape[0] - 1] = from_left
    return total, ()


@njit
def logsumexp(x, x_bar):
    largest = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > largest:
            largest = x[i]
    total = 0.0
    for i in range(x.shape[0]):
        x_bar[i] = math.exp(x[i] - largest)
        total += x_bar[i]
    scale = 1.0 / total
    for i in range(x.shape[0]):
        x_bar[i] *= scale
    return largest + math.log(total), ()


@njit
def matmul(a, b, w, a_bar, b_bar):
    n, m = a.shape
    p = b.shape[1]
    c = np.zeros((n, p))
    b_bar.fill(0.0)
    total = 0.0
    for i in range(n):
        for k in range(m):
            for j in range(p):
                c[i, j] += a[i, k] * b[k, j]
        for j in range(p):
            total += w[i, j] * c[i, j]
    for i in range(n):
        for k in range(m):
            inner = 0.0
            entry = a[i, k]
            for j in range(p):
                inner += w[i, j] * b[k, j]
                b_bar[k, j] += entry * w[i, j]
            a_bar[i, k] = inner
    return total, ()


@njit
def heat(u0, kappa, steps, u0_bar):
    u = rod._history(u0, kappa, steps)
    total = 0.0
    for i in range(u0.shape[0]):
        total += u[steps, i] * u[steps, i]
    bar, kappa_bar = rod._adjoint(u, kappa)
    for i in range(u0.shape[0]):
        u0_bar[i] = bar[i]
    return 0.5 * total, (kappa_bar,)


@njit
def black_scholes(spot, strike, rate, volatility, maturity, z):
    root = math.sqrt(maturity)
    drift = (rate - 0.5 * volatility * volatility) * maturity
    spread = volatility * root
    paid = 0
    total = 0.0
    weighted = 0.0
    for i in range(z.shape[0]):
        final = spot * math.exp(drift + spread * z[i])
        if final > strike:
            paid += 1
            total += final
            weighted += final * z[i]
    discount = math.exp(-rate * maturity) / z.shape[0]
    value = discount * (total - paid * strike)
    drift_bar = discount * total
    spread_bar = discount * weighted
    bars = (
        drift_bar / spot,
        -discount * paid,
        maturity * (drift_bar - value),
        root * spread_bar - volatility * maturity * drift_bar,
        drift / maturity * drift_bar + 0.5 * volatility / root * spread_bar - rate * value,
    )
    return value, bars


@njit
def ode_euler(x0, growth, capacity, force, omega, observed, dt):
    n = observed.shape[0]
    x = np.empty(n + 1)
    x[0] = x0
    total = 0.0
    for i in range(n):
        x[i + 1] = x[i] + dt * (growth * x[i] * (1.0 - x[i] / capacity) + force * math.sin(omega * (i * dt)))
        miss = x[i + 1] - observed[i]
        total += miss * miss * dt
    x_bar = growth_bar = capacity_bar = force_bar = omega_bar = 0.0
    for i in range(n - 1, -1, -1):
        x_bar += 2.0 * dt * (x[i + 1] - observed[i])
        slope_bar = dt * x_bar
        full = x[i] / capacity
        phase = omega * (i * dt)
        growth_bar += slope_bar * x[i] * (1.0 - full)
        capacity_bar += slope_bar * growth * full * full
        force_bar += slope_bar * math.sin(phase)
        omega_bar += slope_bar * force * (i * dt) * math.cos(phase)
        x_bar += slope_bar * growth * (1.0 - 2.0 * full)
    return total, (x_bar, growth_bar, capacity_bar, force_bar, omega_bar)


@njit
def rk4_lorenz(x0, p, steps, dt, x0_bar, p_bar):
    """The states are stored, the stages recomputed."""
    x = np.empty((steps + 1, 3))
    y1, y2, y3 = np.empty(3), np.empty(3), np.empty(3)
    k1, k2, k3, k4 = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for j in range(3):
        x[0, j] = x0[j]
    for i in range(steps):
        _stages(x[i], p, dt, y1, y2, y3, k1, k2, k3)
        butterfly.lorenz(y3, p, k4)
        for j in range(3):
            x[i + 1, j] = x[i, j] + dt / 6.0 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j])
    y_bar = np.empty(3)
    total = 0.0
    for j in range(3):
        total += x[steps, j] * x[steps, j]
        x0_bar[j] = 2.0 * x[steps, j]
        p_bar[j] = 0.0
    # from here on k1 to k4 hold the adjoints of the slopes
    for i in range(steps - 1, -1, -1):
        _stages(x[i], p, dt, y1, y2, y3, k1, k2, k3)
        for j in range(3):
            k1[j] = k4[j] = dt / 6.0 * x0_bar[j]
            k2[j] = k3[j] = dt / 3.0 * x0_bar[j]
        _stage_back(y3, p, k4, dt, y_bar, x0_bar, k3, p_bar)
        _stage_back(y2, p, k3, 0.5 * dt, y_bar, x0_bar, k2, p_bar)
        _stage_back(y1, p, k2, 0.5 * dt, y_bar, x0_bar, k1, p_bar)
        butterfly._pull(x[i], p, k1, x0_bar, p_bar)
    return total, ()


@njit
def _stages(x, p, dt, y1, y2, y3, k1, k2, k3):
    """The points where a step from x evaluates its later slopes."""
    butterfly.lorenz(x, p, k1)
    for j in range(3):
        y1[j] = x[j] + 0.5 * dt * k1[j]
    butterfly.lorenz(y1, p, k2)
    for j in range(3):
        y2[j] = x[j] + 0.5 * dt * k2[j]
    butterfly.lorenz(y2, p, k3)
    for j in range(3):
        y3[j] = x[j] + dt * k3[j]


@njit
def _stage_back(y, p, slope_bar, reach, y_bar, x_bar, before_bar, p_bar):
    """Send the adjoint of the slope at y = x + reach * (the slope before) to x, to that slope, and to p."""
    for j in range(3):
        y_bar[j] = 0.0
    butterfly._pull(y, p, slope_bar, y_bar, p_bar)
    for j in range(3):
        x_bar[j] += y_bar[j]
        before_bar[j] += reach * y_bar[j]


@njit
def brusselator(u, a, b, alpha, t, du, u_bar, du_bar):
    """One pass: the periodic Laplacian is symmetric, so that the adjoint gathers by the kernel's own stencil."""
    n = u.shape[0]
    h = 1.0 / (n - 1)
    diffusion = alpha / (h * h)
    a_bar = b_bar = alpha_bar = 0.0
    for i in range(n):
        below = i + 1 if i < n - 1 else 0
        above = i - 1 if i > 0 else n - 1
        x = i * h
        for j in range(n):
            right = j + 1 if j < n - 1 else 0
            left = j - 1 if j > 0 else n - 1
            y = j * h
            source = 0.0
            if (x - 0.3) ** 2 + (y - 0.6) ** 2 <= 0.01 and t >= 1.1:
                source = 5.0
            p = u[i, j, 0]
            q = u[i, j, 1]
            r = p * p * q
            lap_p = u[above, j, 0] + u[below, j, 0] + u[i, right, 0] + u[i, left, 0] - 4.0 * p
            lap_q = u[above, j, 1] + u[below, j, 1] + u[i, right, 1] + u[i, left, 1] - 4.0 * q
            du[i, j, 0] = diffusion * lap_p + a + r - (b + 1.0) * p + source
            du[i, j, 1] = diffusion * lap_q + b * p - r
            w = du_bar[i, j, 0]
            v = du_bar[i, j, 1]
            lap_w = du_bar[above, j, 0] + du_bar[below, j, 0] + du_bar[i, right, 0] + du_bar[i, left, 0] - 4.0 * w
            lap_v = du_bar[above, j, 1] + du_bar[below, j, 1] + du_bar[i, right, 1] + du_bar[i, left, 1] - 4.0 * v
            a_bar += w
            b_bar += (v - w) * p
            alpha_bar += w * lap_p + v * lap_q
            u_bar[i, j, 0] = diffusion * lap_w + 2.0 * p * q * (w - v) - (b + 1.0) * w + b * v
            u_bar[i, j, 1] = diffusion * lap_v + p * p * (w - v)
    return None, (a_bar, b_bar, alpha_bar / (h * h))


@njit
def fft(re, im, re_bar, im_bar):
    """The adjoint of the transform is its conjugate."""
    fourier.fft(re, im)
    re_bar.fill(1.0)
    im_bar.fill(-1.0)
    fourier.fft(re_bar, im_bar)
    for k in range(im_bar.shape[0]):
        im_bar[k] = -im_bar[k]
    return None, ()


@njit
def gmm(alphas, means, icf, x, gamma, m, alphas_bar, means_bar, icf_bar):
    """The responsibilities of the components weigh the gradients of the quadratic forms."""
    n, d = x.shape
    components = alphas.shape[0]
    factors = icf.copy()
    log_det = np.zeros(components)
    shifted = np.empty(components)
    for k in range(components):
        for j in range(d):
            log_det[k] += icf[k, j]
            factors[k, j] = math.exp(icf[k, j])
        shifted[k] = alphas[k] + log_det[k]
    alphas_bar.fill(0.0)
    means_bar.fill(0.0)
    icf_bar.fill(0.0)
    centred = np.empty((components, d))
    white = np.empty((components, d))
    term = np.empty(components)
    total = 0.0
    for i in range(n):
        mixture._terms(i, shifted, means, factors, x, centred, white, term)
        normaliser = mixture.log_sum_exp(term)
        total += normaliser
        for k in range(components):
            share = math.exp(term[k] - normaliser)
            alphas_bar[k] += share
            for j in range(d):
                white[k, j] *= -share
            c = d
            for j in range(d):
                icf_bar[k, j] += white[k, j] * centred[k, j]
                inner = white[k, j] * factors[k, j]
                entry = centred[k, j]
                for r in range(j + 1, d):
                    icf_bar[k, c] += white[k, r] * entry
                    inner += white[k, r] * factors[k, c]
                    c += 1
                means_bar[k, j] -= inner
    normaliser = mixture.log_sum_exp(alphas)
    for k in range(components):
        for j in range(d):
            icf_bar[k, j] = factors[k, j] * (icf_bar[k, j] + gamma * gamma * factors[k, j]) + alphas_bar[k] - m
        for c in range(d, icf.shape[1]):
            icf_bar[k, c] += gamma * gamma * factors[k, c]
    for k in range(components):
        alphas_bar[k] -= n * math.exp(alphas[k] - normaliser)
    total -= n * (normaliser + 0.5 * d * math.log(2.0 * math.pi))
    return total + mixture.log_wishart_prior(icf, factors[:, :d], log_det, gamma, m), ()


@njit
def nbody(position, velocity, mass, steps, dt, eps2, position_bar, velocity_bar, mass_bar):
    """The positions are stored, the forces recomputed."""
    n = mass.shape[0]
    x, v = bodies._history(position, velocity, mass, steps, dt, eps2)
    total = 0.0
    for i in range(n):
        for k in range(3):
            total += 0.5 * mass[i] * v[i, k] * v[i, k] + x[steps, i, k] * x[steps, i, k]
    x_bar, v_bar, m_bar = bodies._adjoint(x, v, mass, steps, dt, eps2)
    for i in range(n):
        mass_bar[i] = m_bar[i]
        for k in range(3):
            position_bar[i, k] = x_bar[i, k]
            velocity_bar[i, k] = v_bar[i, k]
    return total, ()


@njit
def lstm(weights, extra, state, sequence, weights_bar, extra_bar):
    """Backpropagation through time over stored gates, the loops over the width innermost."""
    length, b = sequence.shape
    layers = weights.shape[0] // 2
    steps = length - 1
    tape = np.empty((steps, layers, 8, b))  # forget, enter, leave, change, tanh of the cell, hidden, cell, input
    output = np.empty((steps, b))
    softmax = np.empty((steps, b))
    s = state.copy()
    x = np.empty(b)
    total = 0.0
    for t in range(steps):
        for j in range(b):
            x[j] = sequence[t, j] * extra[0, j]
        for layer in range(layers):
            i = 2 * layer
            for j in range(b):
                hidden = s[i, j]
                cell = s[i + 1, j]
                forget = recurrent.sigmoid(x[j] * weights[i, j] + weights[i + 1, j])
                enter = recurrent.sigmoid(hidden * weights[i, b + j] + weights[i + 1, b + j])
                leave = recurrent.sigmoid(x[j] * weights[i, 2 * b + j] + weights[i + 1, 2 * b + j])
                change = math.tanh(hidden * weights[i, 3 * b + j] + weights[i + 1, 3 * b + j])
                s[i + 1, j] = cell * forget + enter * change
                bent = math.tanh(s[i + 1, j])
                tape[t, layer, 0, j] = forget
                tape[t, layer, 1, j] = enter
                tape[t, layer, 2, j] = leave
                tape[t, layer, 3, j] = change
                tape[t, layer, 4, j] = bent
                tape[t, layer, 5, j] = hidden
                tape[t, layer, 6, j] = cell
                tape[t, layer, 7, j] = x[j]
                s[i, j] = leave * bent
                x[j] = s[i, j]
        partition = 2.0
        for j in range(b):
            output[t, j] = x[j]
            softmax[t, j] = math.exp(x[j] * extra[1, j] + extra[2, j])
            partition += softmax[t, j]
        log_partition = math.log(partition)
        for j in range(b):
            softmax[t, j] /= partition
            total += sequence[t + 1, j] * (x[j] * extra[1, j] + extra[2, j] - log_partition)
    scale = 1.0 / (steps * b)
    weights_bar.fill(0.0)
    extra_bar.fill(0.0)
    hidden_bar = np.zeros((layers, b))
    cell_bar = np.zeros((layers, b))
    for t in range(steps - 1, -1, -1):
        target = 0.0
        for j in range(b):
            target += sequence[t + 1, j]
        for j in range(b):
            y_bar = scale * (target * softmax[t, j] - sequence[t + 1, j])
            extra_bar[2, j] += y_bar
            extra_bar[1, j] += y_bar * output[t, j]
            x[j] = y_bar * extra[1, j]
        for layer in range(layers - 1, -1, -1):
            i = 2 * layer
            for j in range(b):
                forget = tape[t, layer, 0, j]
                enter = tape[t, layer, 1, j]
                leave = tape[t, layer, 2, j]
                change = tape[t, layer, 3, j]
                bent = tape[t, layer, 4, j]
                hidden = tape[t, layer, 5, j]
                h_bar = hidden_bar[layer, j] + x[j]
                c_bar = cell_bar[layer, j] + h_bar * leave * (1.0 - bent * bent)
                cell_bar[layer, j] = c_bar * forget
                to_forget = c_bar * tape[t, layer, 6, j] * forget * (1.0 - forget)
                to_enter = c_bar * change * enter * (1.0 - enter)
                to_leave = h_bar * bent * leave * (1.0 - leave)
                to_change = c_bar * enter * (1.0 - change * change)
                weights_bar[i, j] += to_forget * tape[t, layer, 7, j]
                weights_bar[i, b + j] += to_enter * hidden
                weights_bar[i, 2 * b + j] += to_leave * tape[t, layer, 7, j]
                weights_bar[i, 3 * b + j] += to_change * hidden
                weights_bar[i + 1, j] += to_forget
                weights_bar[i + 1, b + j] += to_enter
                weights_bar[i + 1, 2 * b + j] += to_leave
                weights_bar[i + 1, 3 * b + j] += to_change
                x[j] = to_forget * weights[i, j] + to_leave * weights[i, 2 * b + j]
                hidden_bar[layer, j] = to_enter * weights[i, b + j] + to_change * weights[i, 3 * b + j]
        for j in range(b):
            extra_bar[0, j] += x[j] * sequence[t, j]
    return -total * scale, ()


@njit
def hmm(initial, transition, emission, observed, initial_bar, transition_bar, emission_bar):
    """Forward and backward recursion."""
    alpha, scale = markov._forward(initial, transition, emission, observed)
    total = 0.0
    for t in range(scale.shape[0]):
        total += math.log(scale[t])
    i_bar, t_bar, e_bar = markov._backward(transition, emission, observed, alpha, scale)
    initial_bar[:] = i_bar
    transition_bar[:] = t_bar
    emission_bar[:] = e_bar
    return total, ()


@njit
def seismic(velocity, wavelet, receivers, data, source, dt, dx, velocity_bar, wavelet_bar):
    """The adjoint-state method over the stored wave field."""
    n = velocity.shape[0]
    courant2 = np.empty(n)
    for i in range(n):
        courant2[i] = (velocity[i] * dt / dx) ** 2
    u = waves._history(courant2, wavelet, source, dt)
    misfit = 0.0
    for t in range(wavelet.shape[0]):
        for r in range(receivers.shape[0]):
            miss = u[t + 2, receivers[r]] - data[t, r]
            misfit += 0.5 * miss * miss * dt
    c_bar, w_bar = waves._adjoint(u, courant2, receivers, data, source, dt)
    for i in range(n):
        velocity_bar[i] = 2.0 * velocity[i] * (dt / dx) ** 2 * c_bar[i]
    for t in range(wavelet.shape[0]):
        wavelet_bar[t] = w_bar[t]
    return misfit, ()


@njit
def cholesky(a, y, a_bar, y_bar):
    """Both loops run backwards over the factor, which is kept; a_bar serves as the adjoint of the factor."""
    n = a.shape[0]
    factor = np.zeros((n, n))
    for j in range(n):
        for i in range(j, n):
            rest = a[i, j]
            for k in range(j):
                rest -= factor[i, k] * factor[j, k]
            factor[i, j] = math.sqrt(rest) if i == j else rest / factor[j, j]
    z = np.empty(n)
    total = 0.5 * n * math.log(2.0 * math.pi)
    for i in range(n):
        rest = y[i]
        for k in range(i):
            rest -= factor[i, k] * z[k]
        z[i] = rest / factor[i, i]
        total += 0.5 * z[i] * z[i] + math.log(factor[i, i])
        y_bar[i] = z[i]
    a_bar.fill(0.0)
    for i in range(n - 1, -1, -1):
        y_bar[i] /= factor[i, i]
        a_bar[i, i] = (1.0 / factor[i, i]) - z[i] * y_bar[i]
        for k in range(i):
            a_bar[i, k] = -y_bar[i] * z[k]
            y_bar[k] -= y_bar[i] * factor[i, k]
    for j in range(n - 1, -1, -1):
        for i in range(n - 1, j, -1):
            rest = a_bar[i, j] / factor[j, j]
            a_bar[i, j] = rest
            a_bar[j, j] -= rest * factor[i, j]
            for k in range(j):
                a_bar[i, k] -= rest * factor[j, k]
                a_bar[j, k] -= rest * factor[i, k]
        rest = 0.5 * a_bar[j, j] / factor[j, j]
        a_bar[j, j] = rest
        for k in range(j):
            a_bar[j, k] -= 2.0 * rest * factor[j, k]
    return total, ()


@njit
def ba(
    cameras,
    points,
    weights,
    observations,
    features,
    errors,
    weight_errors,
    cameras_bar,
    points_bar,
    weights_bar,
    errors_bar,
    weight_errors_bar,
):
    """One primal and one reverse sweep for each observation."""
    cameras_bar.fill(0.0)
    points_bar.fill(0.0)
    for o in range(observations.shape[0]):
        c, p, w = cameras[observations[o, 0]], observations[o, 1], weights[o]
        y0, y1, y2 = points[p, 0] - c[3], points[p, 1] - c[4], points[p, 2] - c[5]
        angle = math.sqrt(c[0] * c[0] + c[1] * c[1] + c[2] * c[2])
        cosine, sine = math.cos(angle), math.sin(angle)
        inverse, rest = 1.0 / angle, 1.0 - cosine
        a0, a1, a2 = c[0] * inverse, c[1] * inverse, c[2] * inverse
        dot = a0 * y0 + a1 * y1 + a2 * y2
        x0, x1, x2 = a1 * y2 - a2 * y1, a2 * y0 - a0 * y2, a0 * y1 - a1 * y0
        depth = 1.0 / (y2 * cosine + x2 * sine + a2 * dot * rest)
        u = (y0 * cosine + x0 * sine + a0 * dot * rest) * depth
        v = (y1 * cosine + x1 * sine + a1 * dot * rest) * depth
        s = u * u + v * v
        distortion = 1.0 + c[9] * s + c[10] * s * s
        miss0 = u * distortion * c[6] + c[7] - features[o, 0]
        miss1 = v * distortion * c[6] + c[8] - features[o, 1]
        errors[o, 0], errors[o, 1] = w * miss0, w * miss1
        weight_errors[o] = 1.0 - w * w
        weights_bar[o] = miss0 * errors_bar[o, 0] + miss1 * errors_bar[o, 1] - 2.0 * w * weight_errors_bar[o]
        seed0, seed1 = w * errors_bar[o, 0], w * errors_bar[o, 1]
        radial = seed0 * u + seed1 * v
        bar = cameras_bar[observations[o, 0]]
        bar[6] += radial * distortion
        bar[7] += seed0
        bar[8] += seed1
        bar[9] += c[6] * radial * s
        bar[10] += c[6] * radial * s * s
        s_bar = 2.0 * c[6] * radial * (c[9] + 2.0 * c[10] * s)
        z0 = (c[6] * distortion * seed0 + u * s_bar) * depth
        z1 = (c[6] * distortion * seed1 + v * s_bar) * depth
        z2 = -(z0 * u + z1 * v)
        along = a0 * z0 + a1 * z1 + a2 * z2
        t0 = cosine * z0 + sine * (z1 * a2 - z2 * a1) + a0 * along * rest
        t1 = cosine * z1 + sine * (z2 * a0 - z0 * a2) + a1 * along * rest
        t2 = cosine * z2 + sine * (z0 * a1 - z1 * a0) + a2 * along * rest
        points_bar[p, 0] += t0
        points_bar[p, 1] += t1
        points_bar[p, 2] += t2
        bar[3] -= t0
        bar[4] -= t1
        bar[5] -= t2
        d0 = sine * (y1 * z2 - y2 * z1) + rest * (z0 * dot + y0 * along)
        d1 = sine * (y2 * z0 - y0 * z2) + rest * (z1 * dot + y1 * along)
        d2 = sine * (y0 * z1 - y1 * z0) + rest * (z2 * dot + y2 * along)
        turn = cosine * (z0 * x0 + z1 * x1 + z2 * x2) - sine * (z0 * y0 + z1 * y1 + z2 * y2 - along * dot)
        turn -= (d0 * a0 + d1 * a1 + d2 * a2) * inverse
        bar[0] += d0 * inverse + turn * a0
        bar[1] += d1 * inverse + turn * a1
        bar[2] += d2 * inverse + turn * a2
    return None, ()


BY_KERNEL: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        sumsq,
        rosenbrock,
        logsumexp,
        matmul,
        heat,
        black_scholes,
        ode_euler,
        rk4_lorenz,
        brusselator,
        fft,
        gmm,
        nbody,
        lstm,
        hmm,
        seismic,
        cholesky,
        ba,
    )
}
"""The adjoint of each kernel that has one; hand tracking has none."""
