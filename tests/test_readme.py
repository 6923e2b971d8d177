"""Every Python example of the README runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", README.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_runs(number: int, tmp_path: Path):
    file = tmp_path / f"example_{number}.py"
    file.write_text(EXAMPLES[number])
    runpy.run_path(str(file))


def test_there_are_examples():
    assert EXAMPLES
