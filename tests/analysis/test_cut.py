"""The minimum cut, against every cut of small random graphs."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from irad.cut import Network

Edge = tuple[int, int, int]


def cost(side: set[int], edges: list[Edge]) -> int:
    return sum(c for a, b, c in edges if a in side and b not in side)


def smallest(count: int, edges: list[Edge]) -> int:
    inner = range(2, count)
    return min(cost({0, *extra}, edges) for k in range(count - 1) for extra in combinations(inner, k))


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    pairs = rng.integers(0, count, (int(rng.integers(1, 3 * count)), 2))
    edges = [(int(a), int(b), int(rng.integers(0, 9))) for a, b in pairs]
    if seed % 3 == 0:
        edges = [(a, b, Network.INFINITE if c == 8 else c) for a, b, c in edges]
    network = Network(count)
    for edge in edges:
        network.edge(*edge)
    best = smallest(count, edges)
    if best < Network.INFINITE:
        side = network.source_side(0, 1)
        assert 0 in side and 1 not in side
        assert cost(side, edges) == best


def test_no_way_costs_nothing() -> None:
    assert Network(2).source_side(0, 1) == {0}


def test_long_chain() -> None:
    network = Network(5_000)
    for n in range(1, 4_999):
        network.edge(0 if n == 1 else n, n + 1, 2 if n != 2_500 else 1)
    network.edge(4_999, 1, 3)
    assert len(network.source_side(0, 1)) == 2_500
