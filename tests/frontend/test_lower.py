"""Lowering: the right program, the user's options, source lines, refusals, and no traces left in Numba."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest
from numba import jit, njit, objmode, prange, types

from irad import llvm
from irad.errors import BadArgumentType, IradError, Unsupported
from irad.frontend.lower import Lowered, lower
from tests.frontend import corpus
from tests.frontend.linked import linked, normal_form

F8, I8, VECTOR = types.float64, types.int64, types.float64[::1]


def ours(kernel: Any, *arguments: Any) -> Any:
    """What the normalised program computes."""
    lowered = lower(kernel, tuple(map(numba.typeof, arguments)))
    return linked(normal_form(lowered), lowered)(*arguments)


def test_a_plain_function_is_made_njit_once() -> None:
    def kernel(x: float) -> float:
        return x * x

    first, second = lower(kernel, (F8,)), lower(kernel, (F8,))
    assert isinstance(first, Lowered) and first.dispatcher is second.dispatcher
    assert first.signature == F8(F8)
    assert f"define i32 @{first.name}(" in first.text


def test_the_whole_program_is_in_the_text() -> None:
    lowered = lower(corpus.two_helpers, (F8,))
    called = set(re.findall(r"call [^@\n]*@([\w.]+)\(", lowered.text))
    defined = set(re.findall(r"^define [^@\n]*@([\w.]+)\(", lowered.text, re.MULTILINE))
    assert called <= defined and len(defined) == 3


def test_helpers_with_equal_types_stay_apart() -> None:
    # a shared entry point made Numba resolve both calls to one of them, silently
    assert ours(corpus.two_helpers, 2.0) == 501.0


@pytest.mark.parametrize(("option", "word"), [({"fastmath": True}, "fmul fast"), ({"fastmath": {"nsz"}}, "fmul nsz")])
def test_fastmath_is_kept(option: dict[str, Any], word: str) -> None:
    assert word in lower(njit(**option)(lambda x: x * x), (F8,)).text


def test_fastmath_is_not_added() -> None:
    text = llvm.optimize(llvm.normalize(*_text_and_name(corpus.sum_of_squares)), [])
    assert not re.search(r"\b(fast|reassoc|contract|nnan|ninf|arcp|afn)\b", text)


def _text_and_name(kernel: Any) -> tuple[str, str]:
    lowered = lower(kernel, (VECTOR,))
    return lowered.text, lowered.name


def test_error_model_is_kept() -> None:
    assert math.isinf(ours(njit(error_model="numpy")(lambda x, y: x / y), 1.0, 0.0))
    with pytest.raises(ZeroDivisionError):
        ours(njit(lambda x, y: x / y), 1.0, 0.0)


@pytest.mark.parametrize("checked", [True, False])
def test_boundscheck_is_kept(checked: bool) -> None:
    text = lower(njit(boundscheck=checked)(lambda x: x[3]), (VECTOR,)).text
    assert ("IndexError" in text) == checked


def test_a_raise_with_run_time_arguments_keeps_its_class() -> None:
    with pytest.raises(KeyError, match=r"'from a helper', -2\.0"):
        ours(corpus.helper_raises, np.array([1.0, -2.0]))


@njit
def descend(x: Any, n: int) -> float:
    if n <= 0:
        return x[0]
    x[0] += 0.5 * descend(x, n - 1)
    return x[0]


@pytest.mark.parametrize("kernel", [corpus.even, njit(lambda x, n: descend(x, 2))], ids=["mutual", "from a literal"])
def test_recursive_calls_are_direct(kernel: Any) -> None:
    text = lower(kernel, (F8 if kernel is corpus.even else VECTOR, I8)).text
    assert ".numba.unresolved$" not in text
    called = set(re.findall(r'call i32 @"?([^"( ]+)', text))
    assert called <= set(re.findall(r'^define [^@]*@"?([^"( ]+)', text, re.MULTILINE))


def test_parallel_loops_are_lowered_serially() -> None:
    @njit(parallel=True)
    def kernel(x: Any) -> float:
        s = 0.0
        for i in prange(x.size):
            s += x[i]
        return s

    assert "numba_parallel_for" not in lower(kernel, (VECTOR,)).text
    assert kernel.targetoptions["parallel"] is True


# --- source lines ---------------------------------------------------------------------------------------------------


def helper(x):
    return math.sin(x) * 2.0


def located(x):
    y = np.empty_like(x)
    for i in range(x.size):
        y[i] = helper(x[i])
    return y.sum()


helper = njit(helper)


def test_every_operation_carries_the_users_line() -> None:
    lowered = lower(located, (VECTOR,))
    text = llvm.normalize(lowered.text, lowered.name)
    assert "#dbg" not in text
    first = located.__code__.co_firstlineno
    lines = _lines(text, r"@irad_alloc\("), _lines(text, r"@llvm\.sin"), _lines(text, "fadd")
    assert lines == ([first + 1], [helper.py_func.__code__.co_firstlineno + 1, first + 3], [first + 4])


def _lines(text: str, pattern: str) -> list[int]:
    """The lines of the first instruction that matches: its own, then those it was inlined at, inside out."""
    node = re.search(rf"^  .*{pattern}.*!dbg (!\d+)", text, re.MULTILINE)
    assert node, pattern
    name: str | None = node[1]
    lines: list[int] = []
    while name:
        location = rf"^{name} = (?:distinct )?!DILocation\(line: (\d+).*?(?:inlinedAt: (!\d+))?\)$"
        found = re.search(location, text, re.MULTILINE)
        assert found
        lines.append(int(found[1]))
        name = found[2]
    return lines


# --- refusals -------------------------------------------------------------------------------------------------------


@njit
def with_objmode(x):
    with objmode(y="float64"):
        y = math.gamma(x)
    return y * x


def unknown_name(x):
    return x + undefined_name  # noqa: F821


def unsupported_call(x):
    z = x * 2.0
    return np.fft.fft(z)


def wrong_types(x):
    return x + "text"


@pytest.mark.parametrize(
    ("kernel", "argtypes", "error", "line", "why"),
    [
        (with_objmode, (F8,), Unsupported, 2, "objmode"),
        (unknown_name, (F8,), Unsupported, 1, "undefined_name"),
        (unsupported_call, (VECTOR,), Unsupported, 2, "fft"),
        (wrong_types, (F8,), Unsupported, 1, "No implementation of function"),
        (wrong_types, (F8, F8), BadArgumentType, 0, "too many positional arguments"),
        (wrong_types, (), BadArgumentType, 0, "missing a required argument: 'x'"),
        (wrong_types, (types.pyobject,), BadArgumentType, 0, "no Numba type"),
        (wrong_types, (1.0,), BadArgumentType, 0, "no Numba type"),
        (jit(forceobj=True)(lambda x: x), (F8,), BadArgumentType, 0, "object mode"),
        (math.sin, (F8,), BadArgumentType, None, "not a function"),
    ],
)
def test_refusals_are_short_and_say_where(
    kernel: Any, argtypes: tuple[Any, ...], error: type[IradError], line: int | None, why: str
) -> None:
    with pytest.raises(error) as caught:
        lower(kernel, argtypes)
    message = str(caught.value)
    assert why in message and message.count("\n") <= 2
    if line is not None:
        function = getattr(kernel, "py_func", kernel)
        assert message.startswith(f"{__file__}:{function.__code__.co_firstlineno + line}: ")


# --- Numba itself stays as it is ------------------------------------------------------------------------------------


def test_numba_computes_the_same_after_and_between() -> None:
    @njit
    def kernel(x: Any) -> Any:
        return corpus.array_helper(x.copy(), 2.0).sum() + corpus.raised(x[0])

    x = np.arange(1.0, 5.0)
    lower(kernel, (VECTOR,))
    before = kernel(x)
    lower(kernel, (types.float32[::1],))
    assert kernel(x) == before == kernel.py_func(x) and kernel.signatures == [(VECTOR,)]
    assert kernel(x.astype(np.float32)) == kernel.py_func(x.astype(np.float32))


PRISTINE = """
    import numpy as np
    from numba import njit, types, vectorize
    from numba.extending import intrinsic
    from irad.frontend.lower import lower

    @vectorize
    def ufunc(a):
        return np.sinc(a)

    @njit
    def recursive(x, n):
        if n == 0:
            return x
        return other(x, n - 1)

    @njit
    def other(x, n):
        if n < 0:
            return x
        return recursive(x * 2, n)

    @njit
    def kernel(x):
        y = np.empty_like(x)
        y[:] = x + ufunc(x)
        return y.sum() + recursive(x[0], 2)

    @intrinsic
    def while_typing(context, x):
        lower(kernel, (x,))

        def generate(context, builder, signature, arguments):
            return context.get_constant(types.float64, 1.0)

        return types.float64(x), generate

    @njit
    def caller(x):
        y = np.empty_like(x)
        y[:] = x + ufunc(x)
        s = y.sum() + recursive(x[0], 2)
        return s + while_typing(x) - 1.0

    x = np.arange(1.0, 4.0)
    assert caller(x) == kernel(x) == caller.py_func.__globals__["kernel"].py_func(x), (caller(x), kernel(x))
    assert kernel.inspect_llvm(kernel.signatures[0])
"""


@pytest.mark.parametrize("first", ["", "lower(kernel, (types.float64[::1],))"])
def test_numba_in_a_fresh_process_is_not_disturbed(first: str) -> None:
    # whichever of the two targets comes first in a process; also with irad compiling while Numba types a function
    source = textwrap.dedent(PRISTINE).replace("x = np.arange", f"{first}\nx = np.arange", 1)
    subprocess.run([sys.executable, "-W", "error", "-c", source], check=True, cwd=".")


def test_nothing_is_made_at_import() -> None:
    check = (
        "import irad.frontend.lower, irad.frontend.target as t;"
        "from numba.core.target_extension import target_registry;"
        "assert t.target._contexts is None and 'irad' not in target_registry"
    )
    subprocess.run([sys.executable, "-c", check], check=True, cwd=".")


def test_threads_may_lower_at_once() -> None:
    kernels = [njit(eval(f"lambda x, k={k}: x * {k} + np.sum(np.ones({k}))", {"np": np})) for k in range(2, 8)]
    with ThreadPoolExecutor(6) as pool:
        texts = list(pool.map(lambda kernel: lower(kernel, (F8,)), kernels))
        normal = list(pool.map(lambda lowered: llvm.normalize(lowered.text, lowered.name), texts))
    for k, (kernel, lowered, text) in enumerate(zip(kernels, texts, normal, strict=True), start=2):
        assert linked(text, lowered)(1.5) == kernel(1.5) == 1.5 * k + k


def test_twins_are_kept_alive() -> None:
    # a cache by id() alone would hand a new helper the twin of a dead one
    def program(k: float) -> Any:
        part = njit(eval(f"lambda x: x * {k}"))
        return njit(lambda x: part(x) + 1.0)

    assert [ours(program(float(k)), 2.0) for k in range(4)] == [1.0, 3.0, 5.0, 7.0]
