"""Derivatives called, and compiled, from eight threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

import irad
from tests.safety.subjects import vector

THREADS = 8


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What `work` gives in each of the threads, all of which start together."""
    barrier = threading.Barrier(THREADS)
    results: list[Any] = [None] * THREADS

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def fresh(factor: float) -> Any:
    """A kernel that nobody has compiled; it lets other threads run."""

    @njit(nogil=True)
    def kernel(x, n):
        t = x.copy()
        for _ in range(n):
            for i in range(1, t.size):
                t[i] = np.sin(t[i]) * t[i - 1] * factor
        return t.sum()

    return kernel


def test_calls_at_once() -> None:
    """All share the slot in which a chunk of tape waits."""
    gradient, pulled = irad.grad(fresh(0.9)), fresh(0.8)
    sizes = [100 * (1 + k) for k in range(THREADS)]
    wanted = [gradient(vector(20), n) for n in sizes]
    pulls = [irad.vjp(pulled, vector(20), n)[1](1.0)[0] for n in sizes]

    def work(number: int) -> bool:
        n = sizes[number]
        for _ in range(20):
            _, pull = irad.vjp(pulled, vector(20), n)
            same = np.array_equal(gradient(vector(20), n), wanted[number])
            if not same or not np.array_equal(pull(1.0)[0], pulls[number]):
                return False
        return True

    assert all(at_once(work))


@pytest.mark.parametrize("same", [True, False], ids=["one kernel", "eight kernels"])
def test_compiled_at_once(same: bool) -> None:
    shared = fresh(0.5)
    kernels = [shared if same else fresh(0.5) for _ in range(THREADS)]
    x = vector(5)
    found = at_once(lambda number: irad.grad(kernels[number])(x, 4))
    for one in found:
        np.testing.assert_array_equal(one, found[0])
    assert found[0].any()
