"""What every test may use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# Compiling a kernel takes longer than any deadline; a failing example must be the same in every run.
settings.register_profile("irad", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("irad")


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same in every run."""
    return np.random.default_rng(20240229)
