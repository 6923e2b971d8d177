"""What has to be measured in a process of its own: first calls, with and without a cache on disk, and memory.

`python -m tools.bench.fresh WHAT KERNEL SIZE FASTMATH FOLDER` prints one JSON value.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tools.bench.cases import Case
from tools.bench.results import First, Memory

PROCESSES = 3  # whose median counts


def first_calls(case: Case, processes: int = PROCESSES) -> First:
    """First calls of the kernel and of its gradient."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, float] = {}
        for what in ("numba", "irad", "numba_cached", "irad_cached"):
            if what.endswith("cached"):
                _ask(what, case, folder)
            found[what] = statistics.median(_ask(what, case, folder) for _ in range(processes))
    return First(**found)


def memory(case: Case) -> Memory:
    """Memory of a call of the kernel and of a gradient in shadows that the caller owns."""
    with tempfile.TemporaryDirectory() as folder:
        return Memory(**_ask("memory", case, folder))


def _ask(what: str, case: Case, folder: str) -> Any:
    """The answer of a fresh process.

    Raises
    ------
    RuntimeError: it failed, with the last line that it said.
    """
    given = (what, case.kernel, case.size, str(int(case.fastmath)), folder)
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, *given],
        capture_output=True,
        text=True,
        env=_environment(folder),
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{what} of {case.label}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def _environment(folder: str) -> dict[str, str]:
    """That of a process for which irad is installed: modules are found as bytecode, Numba's cache in `folder`."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "NUMBA_CACHE_DIR": folder}


# --- in the fresh process -------------------------------------------------------------------------------------------


def main(what: str, kernel: str, size: str, fastmath: str, folder: str) -> Any:
    """Measure one thing here."""
    case = Case(kernel, size, fastmath=fastmath == "1")
    if what == "memory":
        return _memory(case)
    call = _first(what, case, Path(folder))
    began = time.process_time()
    call()
    return time.process_time() - began


def _first(what: str, case: Case, folder: Path) -> Callable[[], object]:
    """The call whose time is asked for, everything imported and nothing compiled."""
    import numba  # noqa: PLC0415 (not needed to ask)

    module, kernel = case.module, case.function
    args = module.make_args(case.size, seed=1)
    if what == "numba":
        return partial(kernel, *args)
    if what == "numba_cached":
        return partial(numba.njit(cache=True, fastmath=case.fastmath)(kernel.py_func), *args)
    import irad  # noqa: PLC0415 (not part of Numba's own first call)
    from tools.kernel_times import gradient, prepare  # noqa: PLC0415

    if not module.OUTPUTS:
        return partial(irad.value_and_grad(kernel, module.WRT, cache=what == "irad_cached"), *args)
    args, shadows = prepare(module, args)
    if what == "irad":
        return partial(gradient, kernel, module, args, shadows)
    return partial(_cached_gradient(case, folder), *args, *(shadows[i] for i in sorted(shadows)))


def _cached_gradient(case: Case, folder: Path) -> Callable[..., Any]:
    """The gradient of a kernel that fills arrays, in an njit function of a file that Numba can keep a cache for."""
    from tools.bench.contenders import source_of_gradient  # noqa: PLC0415

    path = folder / f"gradient_of_{case.kernel}.py"
    if not path.exists():
        source = source_of_gradient(case.module, case.function)
        head = f"import irad\nimport kernels\nfrom numba import njit\n\nkernel = kernels.function({case.kernel!r})\n"
        path.write_text(f"{head}\n\n@njit(cache=True)\n{source}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = made
    spec.loader.exec_module(made)
    return made.value_and_gradient


def _memory(case: Case) -> dict[str, int | None]:
    from irad import llvm  # noqa: PLC0415
    from tools.kernel_times import gradient, prepare  # noqa: PLC0415

    module, kernel = case.module, case.function
    args, shadows = prepare(module, module.make_args(case.size, seed=1))
    primal, back = partial(kernel, *args), partial(gradient, kernel, module, args, shadows)
    primal()
    back()
    llvm.release_tape()
    peaks = {"primal_peak": _peak(primal), "gradient_peak": _peak(back)}
    return {"tape": llvm.tape_bytes(back), **peaks}


def _peak(run: Callable[[], object]) -> int:
    """Bytes of resident memory that a call adds for its time."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _status("VmRSS")
    run()
    return max(0, _status("VmHWM") - before)


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    raise KeyError(name)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
