"""The compiled rows, and `row`: a test that asks for it runs on every row and float type."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from irad.ir.model import Function
from tests.rules.harness import ROWS, Row, compiled


@pytest.fixture(scope="session")
def rows():
    """(name, type) -> Row, compiled."""
    engine, address = compiled([f for row in ROWS.values() for f in row.functions()])
    for row in ROWS.values():
        row.address = address
    yield ROWS
    del engine


@pytest.fixture(scope="session")
def compile_functions():
    """`compiled`, for tests that build functions of their own; engines live as long as the session."""
    engines = []

    def compile_all(functions: Sequence[Function]) -> dict[str, int]:
        engine, address = compiled(functions)
        engines.append(engine)
        return address

    return compile_all


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row_key" in metafunc.fixturenames:
        metafunc.parametrize("row_key", ROWS, ids=[f"{name}-{type}" for name, type in ROWS])


@pytest.fixture
def row(rows, row_key) -> Row:
    return rows[row_key]
