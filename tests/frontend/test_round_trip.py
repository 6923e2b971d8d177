"""The normalised program, run as the primal, is Numba's own, bit for bit: results, writes to arguments, exceptions."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

import numba
import numpy as np
import pytest

from irad.frontend.lower import lower
from tests.frontend.corpus import CASES, Case
from tests.frontend.linked import linked, normal_form

WORKERS = 2


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What happened to each case: "equal", or a description. Run in processes of their own: a crash is an outcome."""
    found: dict[str, str] = {}
    batches = [list(CASES)[i::WORKERS] for i in range(WORKERS)]
    for running in [_start(batch) for batch in batches]:
        worker: Worker | None = running
        while worker:
            worker = _finished(worker, found)
    return found


@pytest.mark.parametrize("name", CASES)
def test_equals_numba_bit_for_bit(name: str, outcomes: dict[str, str]) -> None:
    assert outcomes[name] == "equal"


@dataclass
class Worker:
    """A process that runs the cases `names`, in order. Not forked: BLAS does not survive that once it was used."""

    process: SpawnProcess
    reader: Connection
    names: list[str]


def _start(names: list[str]) -> Worker:
    spawning = multiprocessing.get_context("spawn")
    reader, writer = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_work, args=(names, writer))
    process.start()
    writer.close()
    return Worker(process, reader, names)


def _work(names: list[str], writer: Connection) -> None:
    warnings.simplefilter("ignore")
    for name in names:
        writer.send((name, _outcome(CASES[name])))


def _finished(worker: Worker, found: dict[str, str]) -> Worker | None:
    """Collect what `worker` says until it ends; when it crashed on a case, one that goes on behind that case."""
    with suppress(EOFError):
        while True:
            found.update([worker.reader.recv()])
    worker.process.join()
    left = [name for name in worker.names if name not in found]
    if not left:
        return None
    found[left[0]] = "the process crashed"
    return _start(left[1:])


def _outcome(case: Case) -> str:
    try:
        ours, numbas = case.arguments(), case.arguments()
        lowered = lower(case.kernel, tuple(map(numba.typeof, ours)))
        got = _run(linked(normal_form(lowered), lowered), ours)
        wanted = _run(case.kernel, numbas)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if not _same(got, wanted, case.exact):
        return f"result {got!r} instead of {wanted!r}"
    if not _same(ours, numbas, case.exact):
        return f"arguments {ours!r} instead of {numbas!r}"
    return "equal"


def _run(function: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return error


def _same(a: Any, b: Any, exact: bool) -> bool:
    if type(a) is not type(b):
        return False
    match a:
        case tuple() | numba.typed.List():
            return len(a) == len(b) and all(_same(x, y, exact) for x, y in zip(a, b, strict=True))
        case np.ndarray():
            return (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype) and _bits(a, b, exact)
        case Exception():
            return _same(a.args, b.args, exact)
        case numba.typed.Dict():
            return dict(a) == dict(b)
        case float() | int() | complex() | np.generic():
            return _bits(np.asarray(a), np.asarray(b), exact)
        case str() | None:
            return a == b
        case _ if hasattr(a, "_numba_type_") and hasattr(a, "v"):
            return _same((a.a, a.v), (b.a, b.v), exact)
        case _:
            return pickle.dumps(a) == pickle.dumps(b)


def _bits(a: np.ndarray, b: np.ndarray, exact: bool) -> bool:
    return a.tobytes() == b.tobytes() if exact else np.allclose(a, b, rtol=1e-13)
