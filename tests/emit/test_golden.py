"""What we emit for one feature each: the text, and that it computes derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from irad.ir.write import write
from tests.emit.derived import Derived, dot_product_gap
from tests.emit.golden import NAMES, Golden, mismatch


@pytest.fixture(params=NAMES, scope="module")
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


@pytest.fixture(scope="module")
def derived(golden: Golden) -> Derived:
    return Derived(golden.text, **golden.asked)


def test_text(golden: Golden, derived: Derived) -> None:
    assert golden.checks
    assert not mismatch(golden.checks, "\n".join(write(m) for m in derived.modules))


def test_forward_and_reverse_agree(golden: Golden, derived: Derived, rng: np.random.Generator) -> None:
    for arguments in golden.runs(rng):
        assert dot_product_gap(derived, arguments, rng) <= 1e-12, arguments
