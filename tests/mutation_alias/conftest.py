"""The option of the matrix, and what makes it faster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sharing import lowered_once


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the whole product of the matrix, which takes hours")


@pytest.fixture(autouse=True)
def _lowered_once() -> Iterator[None]:
    """All modes of a kernel, for arrays that are disjoint and that are not, share its text."""
    with lowered_once():
        yield
