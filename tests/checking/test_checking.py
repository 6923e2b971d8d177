"""`check_grads` and `irad check`: they accept what is right, and say where something is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from numba import njit

import irad
from irad import api
from irad.checking.copies import copies
from irad.checking.differences import slope
from irad.cli import main
from tests.mutants.planted import MUTANTS

ROOT = Path(__file__).parents[2]


@njit
def product(x, y, n):
    total = 0.0
    for i in range(n):
        total += math.sin(x[i]) * y * x[i]
    return total


@njit
def writes(out, x, k):
    for i in range(x.size):
        out[i] = math.exp(x[i]) * k
        x[i] *= k


@njit
def returns_arrays(x, n):
    return x * x, n, x.sum()


@njit
def of_tuple(pair, scales=(2.0, 3.0)):
    return (pair[0] * pair[1]).sum() * scales[0] / scales[1]


@njit
def overlapping(x, y):
    for i in range(x.size):
        x[i] = y[i] * y[i]


@njit
def bounded(x):
    if x < 0.999:
        raise ValueError("too small")
    return math.sqrt(x - 0.99)


@njit
def cancelling(x, y):
    """The slope by y is 3 x + 4 y."""
    return (x + y) * (x + 2.0 * y)


X = np.linspace(0.3, 1.7, 6)
SINGLE = X.astype(np.float32)
CONSTANT = X.copy()
CONSTANT.flags.writeable = False
RIGHT: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "loop": (product, (X, 0.7, 6), {}),
    "argnums": (product, (X, 0.7, 6), {"argnums": "y"}),
    "strided": (product, (np.repeat(X, 2)[::-2], 0.7, 6), {}),
    "read-only": (product, (CONSTANT, 0.7, 6), {}),
    "empty": (product, (X[:0], 0.7, 0), {}),
    "single": (product, (SINGLE, 0.7, 6), {}),
    "single scalars": (product, (SINGLE, np.float32(0.7), 6), {}),
    "second order": (product, (X[:3], 0.7, 3), {"order": 2}),
    "written arrays": (writes, (np.zeros(6), X, 0.7), {}),
    "written, constant": (writes, (np.zeros(6), X, 0.7), {"argnums": "k"}),
    "returned arrays": (returns_arrays, (X, 3), {}),
    "tuples, and a default": (of_tuple, ((X, X + 1.0),), {}),
    "one array twice": (overlapping, (X, X), {}),
    "overlap": (overlapping, (np.arange(1.0, 9.0)[2:], np.arange(1.0, 9.0)[:6]), {}),
    "forward": (product, (X, 0.7, 6), {"modes": ("forward",)}),
    "reverse": (product, (X, 0.7, 6), {"modes": ("reverse",)}),
    "a slope that cancels": (cancelling, (0.4, -0.3), {}),
    "refuses what lies beside": (bounded, (1.0,), {}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_kernels_pass(name: str) -> None:
    kernel, args, options = RIGHT[name]
    before = copies(args)
    report = irad.check_grads(kernel, args, **options)
    assert not report.failures
    assert not report.warnings
    for now, then in zip(args, before, strict=True):
        np.testing.assert_equal(now, then)


def test_memory_shared_by_views() -> None:
    buffer = np.arange(1.0, 12.0)
    irad.check_grads(overlapping, (buffer[3:9], buffer[1:7]))


# --- what is wrong is found -----------------------------------------------------------------------------------------


def accumulates() -> Callable[..., Any]:
    """A fresh kernel: derivatives are remembered, and a mutant must not meet a right one."""

    @njit
    def kernel(x, y):
        t = x.copy()
        for i in range(1, x.size):
            t[i] = t[i - 1] * t[i] + y
            t[i - 1] = 0.5 * y * x[i - 1]
        return t.sum() + x.sum()

    return kernel


@pytest.mark.parametrize("name", ["does_not_clear_after_a_store", "overwrites_in_a_loads_adjoint", "forgets_a_tangent"])
def test_a_bug_in_irad_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    irad.check_grads(accumulates(), (X, 0.7))
    MUTANTS[name].plant(monkeypatch)
    with pytest.raises(AssertionError, match="wrong"):
        irad.check_grads(accumulates(), (X, 0.7))


@pytest.mark.parametrize(
    ("mode", "modes", "said"),
    [
        (api.Reverse, ("reverse",), r"reverse, x\[3\]: irad .* off by 1\.0e-02"),
        (api.Reverse, ("forward", "reverse"), "forward against reverse"),
        (api.Forward, ("forward",), r"forward, x"),
    ],
)
def test_the_argument_and_the_entry_are_named(
    mode: Any, modes: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = api.autodiff

    def wrong(how: Any, f: Any, *words: Any, **more: Any) -> Any:
        out, found = real(how, f, *words, **more)
        if how is mode and mode is api.Reverse:
            words[0].shadow[3] += 0.01
        elif how is mode:
            found += 0.01 * float(np.sum(words[0].shadow))
        return out, found

    monkeypatch.setattr(api, "autodiff", wrong)
    with pytest.raises(irad.WrongGradient, match=said) as caught:
        irad.check_grads(product, (X, 0.7, 6), modes)
    assert "wrong: forward, y" not in str(caught.value)
    assert "wrong: reverse, y" not in str(caught.value)


def test_a_changed_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = api.autodiff

    def wrong(*words: Any, **more: Any) -> Any:
        out, found = real(*words, **more)
        return 1.5 * out, found

    monkeypatch.setattr(api, "autodiff", wrong)
    with pytest.raises(irad.WrongGradient, match="own results differ"):
        irad.check_grads(product, (X, 0.7, 6))


@pytest.mark.parametrize(("factor", "accepted"), [(1.0 + 1e-14, True), (1.0 + 1e-6, False)])
def test_rounding_is_allowed_where_sums_may_be_reordered(
    factor: float, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = api.autodiff

    def other(*words: Any, **more: Any) -> Any:
        out, found = real(*words, **more)
        return factor * out, found

    monkeypatch.setattr(api, "autodiff", other)
    monkeypatch.setitem(product.targetoptions, "fastmath", True)
    if accepted:
        irad.check_grads(product, (X, 0.7, 6))
    else:
        with pytest.raises(irad.WrongGradient, match="own results differ"):
            irad.check_grads(product, (X, 0.7, 6))


# --- kinks ----------------------------------------------------------------------------------------------------------


@njit
def largest(x):
    return x.max()


@njit
def absolute(x):
    total = 0.0
    for i in range(x.size):
        total += abs(x[i]) * (i + 1)
    return total


@njit
def step(x):
    return math.floor(x) + x


@pytest.mark.parametrize(
    ("kernel", "x", "where"),
    [
        (largest, np.array([1.0, 2.0, 2.0, 0.5]), r"x\[1\], x\[2\]\)"),
        (absolute, np.array([1.0, 0.0, -2.0]), r"x\[1\]\)"),
        (step, 2.0, r"x\)"),
    ],
)
def test_kinks_and_ties_are_warned_of(kernel: Any, x: Any, where: str) -> None:
    report = irad.check_grads(kernel, (x,))
    (warning,) = [w for w in report.warnings if "kink" in w]
    assert re.search(where, warning), warning
    assert not irad.check_grads(kernel, (x + np.arange(1, np.size(x) + 1) * 0.11 if np.ndim(x) else x + 0.4,)).warnings


# --- differences ----------------------------------------------------------------------------------------------------

CURVES: dict[str, tuple[Callable[[float], float], float]] = {
    "sin": (lambda t: math.sin(1.0 + t), math.cos(1.0)),
    "stiff": (lambda t: math.exp(20.0 * t), 20.0),
    "wave": (lambda t: math.sin(100.0 * t), 100.0),
    "large offset": (lambda t: 1e6 + t, 1.0),
    "constant": (lambda t: 3.0, 0.0),
    "kink nearby": (lambda t: abs(t - 1e-3), -1.0),
}


@pytest.mark.parametrize("name", CURVES)
def test_slope_and_its_error(name: str) -> None:
    curve, right = CURVES[name]
    found = slope(lambda t: np.array([curve(t)]), single=False)
    assert found is not None
    assert abs(found.value[0] - right) <= found.error[0] <= 1e-6 * max(1.0, abs(right))
    assert not found.kinked[0]


def test_slope_where_nothing_can_be_evaluated() -> None:
    assert slope(lambda t: None if t else np.zeros(1), single=False) is None
    assert slope(lambda t: np.array([math.nan if t > 0 else 0.0]), single=False) is None


# --- wrong use, and the command -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: irad.check_grads(product, (X, 0.7)), TypeError),
        (lambda: irad.check_grads(product, (X, 0.7, 6), ("sideways",)), ValueError),
        (lambda: irad.check_grads(product, (X, 0.7, 6), order=0), ValueError),
        (lambda: irad.check_grads(product, (X, 0.7, 6), argnums="n"), TypeError),
        (lambda: irad.check_grads(writes, (np.zeros(6), X, 0.7), order=2), ValueError),
        (lambda: irad.check_grads(bounded, (math.nan,)), ValueError),
    ],
)
def test_wrong_use(call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(irad.BadArguments) as caught:
        call()
    assert isinstance(caught.value, error)


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["check", *words])


@pytest.mark.parametrize(
    "words",
    [
        ["kernels/matmul.py:matmul"],
        ["kernels.rosenbrock:rosenbrock", "--args", "np.array([1.0, 2.0, 3.0])", "--order", "2"],
    ],
)
def test_command(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert ": right" in result.output


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--args", "np.ones(2)"], 2, "takes 2 arguments"),
        ([], 2, "no make_args"),
        (["--args", "np.ones(2), 1", "--wrt", "z"], 2, "choose from x, n"),
        (["--args", "np.ones(2) * 1j, 1"], 1, "no argument of floats"),
    ],
)
def test_command_used_wrongly(tmp_path: Path, words: list[str], code: int, said: str) -> None:
    path = tmp_path / "some_kernel_to_check.py"
    path.write_text("import numba\n\n@numba.njit\ndef f(x, n):\n    return x[0] * n\n")
    result = run(f"{path}:f", *words)
    assert result.exit_code == code, result.output
    assert said in result.output


def test_command_fails_when_a_derivative_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "another_kernel_to_check.py"
    path.write_text("import numba\n\n@numba.njit\ndef f(x):\n    return x * x\n")
    real = api.autodiff
    monkeypatch.setattr(api, "autodiff", lambda *words, **more: (real(*words, **more)[0], (3.5,)))
    result = run(f"{path}:f", "--args", "2.0", "--mode", "reverse")
    assert result.exit_code == 1, result.output
    assert "wrong: reverse, x: irad 3.5, differences 4" in result.output
