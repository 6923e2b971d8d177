from __future__ import annotations

from tests.api.conftest import allocations

__all__ = ["allocations"]
