from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
from numba.core.runtime import _nrt_python, rtsys

from irad import api
from irad.frontend import calls, functions
from tests.api.standin import Pipeline


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipeline]:
    """Hand-written derivatives in the place of the pipeline, and no derivative functions from earlier tests."""
    pipeline = Pipeline()
    monkeypatch.setattr(functions, "_made", {})
    calls.use(pipeline)
    yield pipeline
    calls.use(api._derive)


@pytest.fixture
def allocations() -> Iterator[Callable[[], int]]:
    """Counts what Numba's runtime has allocated and not yet freed."""
    _nrt_python.memsys_enable_stats()

    def count() -> int:
        gc.collect()
        stats = rtsys.get_allocation_stats()
        return stats.alloc - stats.free

    yield count
    _nrt_python.memsys_disable_stats()
