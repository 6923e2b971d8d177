"""A process that checks kernels, so that a crash or an endless loop of generated code is a find and not the end."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import traceback
from collections import Counter
from multiprocessing.connection import Connection
from typing import Any

from tools.fuzzing.case import Case
from tools.fuzzing.report import Report

KERNELS = 300
"""Kernels that one process checks: machine code is never given back."""

COLLECT = 25
"""Kernels between collections of garbage, which otherwise walk all that Numba remembers time and again."""

_spawn = multiprocessing.get_context("spawn")


def _serve(pipe: Connection) -> None:
    from tools.fuzzing.oracle import check  # noqa: PLC0415  (only this process loads Numba)

    pipe.send(None)
    gc.disable()
    for number in itertools.count():
        if number % COLLECT == 0:
            gc.collect()
            gc.freeze()
        try:
            case = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            pipe.send(check(case))
        except Exception as error:
            pipe.send(Report(Counter(), [f"harness: {error!r} {traceback.format_exc(limit=-3)}"]))


class Worker:
    """Checks one kernel at a time in a process of its own."""

    def __init__(self, timeout: float = 90.0) -> None:
        self.timeout = timeout
        self._process: Any = None
        self._left = 0

    def check(self, case: Case) -> Report:
        """As `oracle.check`; the death of the process and silence are finds."""
        if self._left == 0:
            self.start()
        self._left -= 1
        self._pipe.send(case)
        try:
            if self._pipe.poll(self.timeout):
                return self._pipe.recv()
            word = "hang: no answer"
        except EOFError:
            self._process.join()
            word = f"crash: the process died with code {self._process.exitcode}"
        self.stop()
        return Report(Counter(), [word])

    def start(self) -> None:
        self.stop()
        self._pipe, other = _spawn.Pipe()
        self._process = _spawn.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self._pipe.recv()
        self._left = KERNELS

    def stop(self) -> None:
        if self._process is not None:
            self._pipe.close()
            self._process.kill()
            self._process.join()
        self._process, self._left = None, 0
