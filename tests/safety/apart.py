"""What runs in a process of its own, with doubles for the allocators; see test_allocations."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core.runtime import rtsys

import irad
from irad import pipeline
from irad.frontend.shadows import shadows_like
from irad.ir.types import size_of
from tests.safety.doubles import Doubles
from tests.safety.subjects import array, decay, filtered, filters, halving, history, picky, scratch, vector

DEEPEST = 40  # refused allocations tried one after the other, at most
COMPOSED = ("jacobian",)
"""These are njit source over simpler derivatives, and an exception that passes through njit code leaves behind what the
code held: Numba's way (a copy made before one that fails is never given back), as in any other kernel."""


def pulled(x: Any, n: int) -> Any:
    out, pull = irad.vjp(array, x, n)
    return out, pull(np.ones(x.size))


def aliased(x: Any, y: Any) -> Any:
    return irad.grad(shared, argnums=(0, 1))(x, y)


@numba.njit
def shared(x, y):
    total = 0.0
    for i in range(x.size):
        x[i] = x[i] * y[i]
        total += x[i] * y[i]
    return total


@numba.njit
def made_inside(x, y):
    return shadows_like((x, y, x))


def by_instances(*args: Any) -> Any:
    one, x_bar, other = irad.grad(filtered, (0, 1, 2))(*args)
    return one.gain, one.state, x_bar, other.gain, other.state


def in_place(x: Any, n: int) -> Any:
    bar = np.zeros(x.size)
    return irad.autodiff(irad.Reverse, history, irad.Duplicated(x, bar), irad.Const(n)), bar


def actions() -> dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]]:
    """Each way to differentiate, with its arguments: these are made outside of what is measured."""
    tangent = np.ones(9)
    return {
        "sized tape": (irad.grad(history), lambda: (vector(), 300)),
        "growing tape": (irad.grad(halving), lambda: (np.array([1.0, 0.9, 2.0]), 1e-300)),
        "scratch": (irad.value_and_grad(scratch), lambda: (vector(), 5)),
        "array": (pulled, lambda: (vector(), 2)),
        "forward": (lambda x, n: irad.jvp(array, (x, n), (tangent, None)), lambda: (vector(), 2)),
        "jacobian": (irad.jacrev(array), lambda: (vector(4), 2)),
        "in place": (in_place, lambda: (vector(), 300)),
        "same array": (aliased, lambda: (vector(),) * 2),
        "second order": (irad.hvp(history), lambda: (vector(), 5, tangent)),
    }


def flat(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in flat(part)]
    return [np.copy(value)]


def balance() -> tuple[int, int]:
    gc.collect()
    stats = rtsys.get_allocation_stats()
    return stats.alloc - stats.free, stats.mi_alloc - stats.mi_free


def refusals() -> None:
    """MemoryError at each refused allocation, nothing leaked, and the next call is right."""
    doubles = Doubles()
    made = actions()
    del made["second order"]  # nothing but longer
    made["instances"] = by_instances, filters
    for name, (action, arguments) in made.items():
        right = flat(action(*arguments()))
        for persistent in (True, False):
            failures = 0
            for k in range(DEEPEST):
                doubles.drop_cached()
                doubles.tape.clear()
                given = ()  # those of the last call must not count
                given, before = arguments(), balance()
                start = doubles.calls
                doubles.refuse = lambda n, at=start + k, more=persistent: n == at or (more and n > at)
                try:
                    found = flat(action(*given))
                except MemoryError:
                    failures += 1
                else:
                    np.testing.assert_equal(found, right)
                    del found
                doubles.refuse = lambda number: False
                doubles.drop_cached()
                if name not in COMPOSED:
                    assert balance() == before, (name, k, persistent, before, balance())
                    assert not doubles.tape, (name, k)
                if doubles.calls - start <= k:
                    break
            np.testing.assert_equal(flat(action(*arguments())), right)
            assert failures or not persistent, name

    # Numba leaves the arguments behind here; of the shadows before the one that failed nothing stays
    assert left_by_shadows(doubles, 1) == left_by_shadows(doubles, 0)


def left_by_shadows(doubles: Doubles, k: int) -> tuple[int, ...]:
    """Allocations that are left when shadow `k` cannot be made."""
    given = vector(), vector()
    made_inside(*given)
    before, start = balance(), doubles.calls
    doubles.refuse = lambda number: number == start + k
    try:
        made_inside(*given)
    except MemoryError:
        doubles.refuse = lambda number: False
        return tuple(now - then for now, then in zip(balance(), before, strict=True))
    raise AssertionError(k)


def guards() -> None:
    """Nothing is written beside arrays, shadows and chunks of the tape, which are made no larger than asked."""
    doubles = Doubles(guard=True)
    for action, arguments in actions().values():
        for _ in range(2):
            given, doubles.tape_sizes = arguments(), []
            doubles.refuse_tape = lambda number: number % 2 == 0  # the larger chunk is refused: the exact one is made
            kept = action(*given)
            doubles.check()
            doubles.refuse_tape = lambda number: False
            doubles.drop_cached()
            assert not doubles.tape
            del kept
    assert not doubles.broken


def tape_bytes() -> None:
    """Ten million steps take the bytes of one step, as planned, ten million times."""
    doubles = Doubles()
    kinds = (numba.float64, numba.int64)
    (analysed,) = pipeline.derive(
        pipeline.Request(decay, kinds, "reverse", ("active", "const"))
    ).derivation.functions.values()
    (buffer,) = [b for buffers in analysed.plan.buffers.values() for b in buffers]
    steps = 10_000_000
    irad.grad(decay)(0.5, 10)
    doubles.drop_cached()
    doubles.tape_sizes = []
    slope = irad.grad(decay)(0.5, steps)
    assert 0.0 < slope < 1.0
    (size,) = doubles.tape_sizes
    step = sum(size_of(member.type) for member in buffer.members)
    planned = step * steps
    assert step == 8
    assert 0 <= size - planned <= 256


def too_many_steps() -> None:
    """A trip count whose tape cannot be is a MemoryError, and at once."""
    doubles = Doubles()
    before = balance()
    for count in (1 << 61, 1 << 60, (1 << 63) - 1, 1 << 58):
        try:
            irad.grad(decay)(0.5, count)
        except MemoryError:
            continue
        raise AssertionError(count)
    assert balance() == before
    assert not doubles.tape
    assert irad.grad(decay)(0.5, 0) == 1.0


def exhausted() -> None:
    """The same with the system's own limit."""
    irad.grad(history)(vector(), 3)
    irad.grad(halving)(np.array([1.0, 0.9, 2.0]), 1e-300)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 30), resource.RLIM_INFINITY))
    before = balance()
    try:
        irad.grad(history)(vector(1000), 10_000_000)
    except MemoryError:
        assert balance() == before
        return
    raise AssertionError("80 GB were found")


def raising() -> None:
    """An exception of the kernel leaves nothing behind; the message is the kernel's."""
    gradient = irad.grad(picky)
    for limit, fails in ((0.0, False), (0.2, True), (0.3, True)):
        for call in (
            lambda: gradient(vector(), limit),  # noqa: B023
            lambda: irad.vjp(picky, vector(), limit),  # noqa: B023
            lambda: irad.jvp(picky, (vector(), limit), (vector(), None)),  # noqa: B023
        ):
            call_once(call)
            before = balance()
            assert call_once(call) == ("too small" if fails else "")
            assert balance() == before


def call_once(call: Callable[[], Any]) -> str:
    try:
        call()
    except ValueError as error:
        return str(error)
    return ""


def balanced() -> None:
    """A derivative's results, once dropped, leave as many allocations as before; pullbacks too, called or not.

    The second call gives the bits of the first.
    """
    made = actions()
    made["dropped pullback"] = (lambda x, n: irad.vjp(array, x, n)[0], lambda: (vector(), 2))
    made["pulled twice"] = (twice, lambda: (vector(), 2))
    for name, (action, arguments) in made.items():
        first = flat(action(*arguments()))
        given, before = arguments(), balance()
        second = flat(action(*given))
        assert balance() == before, (name, before, balance())
        for one, other in zip(first, second, strict=True):
            assert one.tobytes() == other.tobytes(), name


def twice(x: Any, n: int) -> Any:
    _, pull = irad.vjp(array, x, n)
    first, second = pull(np.ones(x.size)), pull(np.ones(x.size))
    np.testing.assert_equal(flat(first), flat(second))
    return first


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(open("/proc/self/statm").read().split()[1])  # noqa: SIM115
    return pages * resource.getpagesize()


def growth() -> None:
    """Twenty thousand gradients later the process is as large as before."""
    gradient, x = irad.grad(scratch), vector()

    def run(times: int) -> None:
        for _ in range(times):
            gradient(x, 5)

    run(2000)
    before = resident()
    run(20_000)
    assert resident() - before < 1 << 18, resident() - before


def interrupted() -> None:
    """Ctrl-C during a gradient is a KeyboardInterrupt when it returns, as of any Numba function; all is given back."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in what it starts in the background
    gradient = irad.grad(decay)
    right = gradient(0.5, 1000)
    gradient(0.5, 10)
    before, started = balance(), time.monotonic()
    steps = 20_000_000  # most of a second
    sender = subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -INT {os.getpid()}"])
    try:
        gradient(0.5, steps)
        time.sleep(30)
    except KeyboardInterrupt:
        elapsed = time.monotonic() - started
    sender.wait()
    assert elapsed < 20
    assert balance() == before
    assert gradient(0.5, 1000) == right
