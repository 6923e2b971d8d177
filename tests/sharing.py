"""What tests of many derivatives of one kernel share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from irad import llvm, pipeline


@contextmanager
def lowered_once() -> Iterator[None]:
    """All derivatives of a kernel for the same types are made from one text, which LLVM normalises once."""
    lowered: dict[Any, Any] = {}
    texts: dict[tuple[str, str], str] = {}

    def lower(kernel: Any, argtypes: Any) -> Any:
        key = kernel, argtypes
        if key not in lowered:
            lowered[key] = original[0](kernel, argtypes)
        return lowered[key]

    def normalize(text: str, name: str) -> str:
        if (text, name) not in texts:
            texts[text, name] = original[1](text, name)
        return texts[text, name]

    original = pipeline.lower, llvm.normalize
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "lower", lower)
        patch.setattr(llvm, "normalize", normalize)
        yield
