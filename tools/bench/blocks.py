"""Bundle adjustment's Jacobian: the nonzero blocks (2 x 15) of every observation, as ADBench asks for them.

One observation is a function of fifteen numbers with two results, so that a block is two sweeps, one for each row, and
a loop in njit code fills them all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numba.np.unsafe.ndarray import to_fixed_tuple

import irad
from kernels import ba
from tools.bench.contenders import Contender
from tools.bench.timing import Runner
from tools.kernel_times import Arguments

Active, Const = irad.Active, irad.Const


@njit
def residuals(camera, point, w, m):
    """The two errors of an observation m of a point with weight w, by a camera (r, c, f, p, k); tuples of floats."""
    r0, r1, r2, c0, c1, c2, f, p0, p1, k1, k2 = camera
    z0, z1, z2 = ba.rotate(r0, r1, r2, point[0] - c0, point[1] - c1, point[2] - c2)
    u = z0 / z2
    v = z1 / z2
    s = u * u + v * v
    scale = f * (1.0 + k1 * s + k2 * s * s)
    return w * (u * scale + p0 - m[0]), w * (v * scale + p1 - m[1])


@njit
def _fill_block(camera, x, w, m, errors, block):
    """Write the errors of an observation and their derivatives, a row (15) each."""
    c, p, o = Active(to_fixed_tuple(camera, 11)), Active(to_fixed_tuple(x, 3)), Const((m[0], m[1]))
    (errors[0], errors[1]), first = irad.autodiff(irad.Reverse, residuals, c, p, Active(w), o, seed=(1.0, 0.0))
    _, second = irad.autodiff(irad.Reverse, residuals, c, p, Active(w), o, seed=(0.0, 1.0))
    for row, (c_bar, x_bar, w_bar) in enumerate((first, second)):
        for j in range(11):
            block[row, j] = c_bar[j]
        for j in range(3):
            block[row, 11 + j] = x_bar[j]
        block[row, 14] = w_bar


@njit
def blocks_by_irad(cameras, points, weights, observations, features, errors, weight_errors, blocks, diagonal):
    """Fill the errors, blocks (o, 2, 15) and the derivatives (o) of the weights' errors."""
    for o in range(observations.shape[0]):
        c, x = cameras[observations[o, 0]], points[observations[o, 1]]
        w, m = weights[o], features[o]
        _fill_block(c, x, w, m, errors[o], blocks[o])
        weight_errors[o] = 1.0 - w * w
        diagonal[o] = -2.0 * w


@njit
def blocks_by_hand(cameras, points, weights, observations, features, errors, weight_errors, blocks, diagonal):
    """The same by the hand-written sweeps of the kernel's module."""
    ba._fill_blocks(cameras, points, weights, observations, features, blocks)
    for o in range(observations.shape[0]):
        errors[o, 0] = weights[o] * blocks[o, 0, 14]
        errors[o, 1] = weights[o] * blocks[o, 1, 14]
        weight_errors[o] = 1.0 - weights[o] * weights[o]
        diagonal[o] = -2.0 * weights[o]


class Blocks:
    """The problem of `contenders.Problem`, for the blocks instead of one cotangent."""

    def __init__(self, size: str) -> None:
        self.args: Arguments = ba.make_args(size, seed=1)

    def expected(self) -> Arguments:
        """The blocks by the kernel's module."""
        return ba.jacobian(self.args)

    def primal(self) -> Contender:
        """The kernel as it is."""
        return Contender(Runner(partial(ba.ba, *self.args)))

    def irad(self) -> Contender:
        """Two sweeps an observation by `irad.autodiff`."""
        return self._filled(blocks_by_irad)

    def hand(self) -> Contender:
        """Two sweeps an observation by hand."""
        return self._filled(blocks_by_hand)

    def _filled(self, function: Callable[..., Any]) -> Contender:
        count = len(self.args[2])
        blocks, diagonal = np.zeros((count, 2, 15)), np.zeros(count)
        run = partial(function, *self.args, blocks, diagonal)

        def bars() -> Arguments:
            run()
            return blocks, diagonal

        return Contender(Runner(run), bars)
