"""Where a generator's decisions come from: a seeded stream, or Hypothesis, which can shrink them."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Choices(Protocol):
    """Decisions. The first of several alternatives should be the simplest."""

    def below(self, n: int) -> int:
        """A number in 0..n-1."""
        ...

    def span(self, make: Callable[[], T]) -> T:
        """Make something whose decisions belong together."""
        ...


class Seeded:
    """Decisions from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, n: int) -> int:
        return self._random.randrange(n)

    def span(self, make: Callable[[], T]) -> T:
        return make()


class Drawn:
    """Decisions that Hypothesis draws."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def below(self, n: int) -> int:
        return self._draw(_below(n))

    def span(self, make: Callable[[], T]) -> T:
        return self._draw(st.builds(make))


@functools.cache
def _below(n: int) -> Any:
    return st.integers(0, n - 1)


def pick(choices: Choices, items: Sequence[T]) -> T:
    return items[choices.below(len(items))]


def chance(choices: Choices, percent: int) -> bool:
    """True in `percent` of 100."""
    return choices.below(100) >= 100 - percent


def weighted(choices: Choices, items: Sequence[tuple[int, T]]) -> T:
    """An item by its weight."""
    at = choices.below(sum(w for w, _ in items))
    for weight, item in items:
        if at < weight:
            return item
        at -= weight
    raise AssertionError(items)
