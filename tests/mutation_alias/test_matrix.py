"""Aliasing x effect x control x mode x dtype: what the suite is there for.

Few kernels, each with several effects: every pair (aliasing, effect) and every pair (control, effect) is there.
`pytest tests/mutation_alias --full` runs the whole product.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutation_alias.generate import Row, covering, everything
from tests.oracles import assert_derivatives_right


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        full = metafunc.config.getoption("--full", default=False)
        metafunc.parametrize("row", list(everything() if full else covering()), ids=str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


def test_derivatives_are_right(row: Row, folder: Path) -> None:
    kernel = row.load(folder)
    if row.const:
        wrt = tuple(i for i in range(4) if i not in row.const)
        assert_derivatives_right(kernel, row.args(), wrt, ("gradient", "jvp"))
    assert_derivatives_right(kernel, row.args(), modes=row.modes)
