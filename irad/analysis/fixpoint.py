"""The one worklist."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

K = TypeVar("K")


def fixpoint(work: Iterable[K], step: Callable[[K], Iterable[K]]) -> None:
    """Run `step` until nothing it returns is left to visit; `step` must be monotone for this to end."""
    queue = deque(work)
    queued = set(queue)
    while queue:
        key = queue.popleft()
        queued.discard(key)
        for other in step(key):
            if other not in queued:
                queued.add(other)
                queue.append(other)


def closure(start: Iterable[K], successors: Callable[[K], Iterable[K]]) -> set[K]:
    """Everything reachable from `start`, itself included."""
    seen = set(start)
    stack = list(seen)
    while stack:
        for other in successors(stack.pop()):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return seen
