"""Loss of a character model with diagonal LSTM layers (ADBench LSTM).

Row 2i of `weights` multiplies, row 2i+1 adds, for layer i; the gates stand side by side: forget and output see what
enters the layer, input and change see its hidden state. With the layers' output x the prediction is y = x e1 + e2, and
the loss is -mean of target * (y - log(2 + sum exp y)).
Source: Srajer, Kukelova and Fitzgibbon, Optimization Methods and Software 33 (2018) 889; ADBench.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[np.float64]
Args = tuple[Array, Array, Array, Array]

SIZES = {
    "tiny": (2, 5, 3),
    "demo": (2, 100, 14),
    "c100": (2, 100, 14),
    "c1024": (2, 1024, 14),
    "c10000": (2, 10000, 14),
}
WRT = (0, 1)
OUTPUTS = ()


def make_args(size: str, seed: int = 0) -> Args:
    """weights (2l, 4b), extra (3, b), state (2l, b) and a 0/1 sequence (c, b); SIZES holds (l, c, b)."""
    layers, length, width = SIZES[size]
    rng = np.random.default_rng(seed)
    sequence = (rng.random((length, width)) < 0.5).astype(np.float64)
    weights = 0.5 * rng.normal(size=(2 * layers, 4 * width))
    return weights, 0.5 * rng.normal(size=(3, width)), rng.normal(size=(2 * layers, width)), sequence


@njit
def sigmoid(z: float) -> float:
    """The logistic function."""
    return 1.0 / (1.0 + math.exp(-z))


@njit
def lstm(weights: Array, extra: Array, state: Array, sequence: Array) -> float:
    """Loss of predicting every character of sequence (c, b) from those before; all float64.

    weights (2l, 4b); extra (3, b): input scale, output scale, output bias; state (2l, b): hidden, cell of each layer.
    """
    length, b = sequence.shape
    s = state.copy()
    x = np.empty(b)
    y = np.empty(b)
    total = 0.0
    for t in range(length - 1):
        for j in range(b):
            x[j] = sequence[t, j] * extra[0, j]
        for i in range(0, weights.shape[0], 2):
            for j in range(b):
                h = s[i, j]
                forget = sigmoid(x[j] * weights[i, j] + weights[i + 1, j])
                enter = sigmoid(h * weights[i, b + j] + weights[i + 1, b + j])
                leave = sigmoid(x[j] * weights[i, 2 * b + j] + weights[i + 1, 2 * b + j])
                change = math.tanh(h * weights[i, 3 * b + j] + weights[i + 1, 3 * b + j])
                s[i + 1, j] = s[i + 1, j] * forget + enter * change
                s[i, j] = leave * math.tanh(s[i + 1, j])
                x[j] = s[i, j]
        partition = 2.0
        for j in range(b):
            y[j] = x[j] * extra[1, j] + extra[2, j]
            partition += math.exp(y[j])
        log_partition = math.log(partition)
        for j in range(b):
            total += sequence[t + 1, j] * (y[j] - log_partition)
    return -total / ((length - 1) * b)


@njit
def _run(weights: Array, extra: Array, state: Array, sequence: Array) -> tuple[Array, Array, Array]:
    """Per step and layer: the gates, tanh of the cell, hidden, cell and input before; per step: output and softmax."""
    length, b = sequence.shape
    layers = weights.shape[0] // 2
    tape = np.empty((length - 1, layers, 8, b))
    output = np.empty((length - 1, b))
    softmax = np.empty((length - 1, b))
    s = state.copy()
    for t in range(length - 1):
        partition = 2.0
        for j in range(b):
            x = sequence[t, j] * extra[0, j]
            for layer in range(layers):
                i = 2 * layer
                h, cell = s[i, j], s[i + 1, j]
                forget = 1.0 / (1.0 + math.exp(-(x * weights[i, j] + weights[i + 1, j])))
                enter = 1.0 / (1.0 + math.exp(-(h * weights[i, b + j] + weights[i + 1, b + j])))
                leave = 1.0 / (1.0 + math.exp(-(x * weights[i, 2 * b + j] + weights[i + 1, 2 * b + j])))
                change = math.tanh(h * weights[i, 3 * b + j] + weights[i + 1, 3 * b + j])
                s[i + 1, j] = cell * forget + enter * change
                bent = math.tanh(s[i + 1, j])
                for k, value in enumerate((forget, enter, leave, change, bent, h, cell, x)):
                    tape[t, layer, k, j] = value
                x = leave * bent
                s[i, j] = x
            output[t, j] = x
            softmax[t, j] = math.exp(x * extra[1, j] + extra[2, j])
            partition += softmax[t, j]
        for j in range(b):
            softmax[t, j] /= partition
    return tape, output, softmax


@njit
def _adjoint(
    weights: Array, extra: Array, sequence: Array, tape: Array, output: Array, softmax: Array
) -> tuple[Array, Array]:
    steps, layers, _, b = tape.shape
    weights_bar = np.zeros(weights.shape)
    extra_bar = np.zeros(extra.shape)
    hidden_bar = np.zeros((layers, b))
    cell_bar = np.zeros((layers, b))
    for t in range(steps - 1, -1, -1):
        target = 0.0
        for j in range(b):
            target += sequence[t + 1, j]
        for j in range(b):
            y_bar = (target * softmax[t, j] - sequence[t + 1, j]) / (steps * b)
            extra_bar[2, j] += y_bar
            extra_bar[1, j] += y_bar * output[t, j]
            x_bar = y_bar * extra[1, j]
            for layer in range(layers - 1, -1, -1):
                i = 2 * layer
                f, e, o, a, bent, h, cell, x = tape[t, layer, :, j]
                h_bar = hidden_bar[layer, j] + x_bar
                c_bar = cell_bar[layer, j] + h_bar * o * (1.0 - bent * bent)
                cell_bar[layer, j] = c_bar * f
                z = (c_bar * cell * f * (1.0 - f), c_bar * a * e * (1.0 - e), h_bar * bent * o * (1.0 - o))
                z_change = c_bar * e * (1.0 - a * a)
                weights_bar[i, j] += z[0] * x
                weights_bar[i, b + j] += z[1] * h
                weights_bar[i, 2 * b + j] += z[2] * x
                weights_bar[i, 3 * b + j] += z_change * h
                weights_bar[i + 1, j] += z[0]
                weights_bar[i + 1, b + j] += z[1]
                weights_bar[i + 1, 2 * b + j] += z[2]
                weights_bar[i + 1, 3 * b + j] += z_change
                x_bar = z[0] * weights[i, j] + z[2] * weights[i, 2 * b + j]
                hidden_bar[layer, j] = z[1] * weights[i, b + j] + z_change * weights[i, 3 * b + j]
            extra_bar[0, j] += x_bar * sequence[t, j]
    return weights_bar, extra_bar


def derivative(args: Args, seeds: tuple[float] | None = None) -> tuple[Array, Array]:
    """Hand-written adjoint: backpropagation through time over stored gates."""
    (seed,) = seeds or (1.0,)
    weights, extra, _, sequence = args
    weights_bar, extra_bar = _adjoint(weights, extra, sequence, *_run(*args))
    return seed * weights_bar, seed * extra_bar
