"""Every allocation is given back, whatever happens; one that fails is a MemoryError; nothing is written beside one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.safety import apart
from tests.safety.processes import run_apart


@pytest.mark.parametrize(
    "function",
    [
        apart.balanced,
        apart.raising,
        apart.refusals,
        apart.guards,
        apart.tape_bytes,
        apart.too_many_steps,
        apart.exhausted,
        apart.growth,
        apart.interrupted,
    ],
    ids=lambda function: function.__name__,
)
def test_apart(function: Callable[[], None]) -> None:
    run_apart(function, NUMBA_NRT_STATS="1")
