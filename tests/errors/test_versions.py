"""An untested LLVM or Numba is refused, and the refusal says which are tested."""

from __future__ import annotations

import importlib.util

import pytest

from irad import llvm, versions
from irad.errors import InvalidIR


@pytest.mark.parametrize("version", [(14, 0, 6), (21, 1, 0), (99, 0, 0)])
def test_untested_llvm(monkeypatch, version):
    monkeypatch.setattr(versions, "TESTED_LLVM", (20, 22))
    with pytest.raises(InvalidIR, match=r"not tested with LLVM " + r"\.".join(map(str, version))) as caught:
        versions.check_llvm(version)
    assert "LLVM 20 and 22" in caught.value.hint and "numba" in caught.value.hint


def test_untested_llvm_is_refused_on_import(monkeypatch):
    import llvmlite.binding

    spec = importlib.util.find_spec("irad.llvm")
    assert spec is not None and spec.loader is not None
    monkeypatch.setattr(llvmlite.binding, "llvm_version_info", (99, 1, 0))
    with pytest.raises(InvalidIR, match=r"not tested with LLVM 99\.1\.0"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize("version", ["0.61.2", "0.99.0", "1.0.0rc1"])
def test_untested_numba(version):
    with pytest.raises(InvalidIR, match=f"not tested with numba {version}") as caught:
        versions.check_numba(version)
    assert versions.TESTED_NUMBA[0] in caught.value.hint and versions.TESTED_NUMBA[-1] in caught.value.hint


def test_this_llvm_is_tested():
    versions.check_llvm(llvm.VERSION)
