"""Tests that need a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_apart(function: Callable[[], None], **environment: str) -> str:
    """Run a function of a module without arguments in a new Python; what it prints. Fails when it does."""
    module = Path(sys.modules[function.__module__].__file__ or "")
    name = ".".join(module.relative_to(ROOT).with_suffix("").parts)
    code = f"import importlib; importlib.import_module({name!r}).{function.__name__}()"
    setting = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=setting, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{function.__name__} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
