"""Random numbers: draws are whole operations, so that a derivative makes each of them once, in the kernel's order.

What Numba computes by a formula from a uniform or normal draw differentiates as any code (reparameterisation, after
D. Kingma and M. Welling, Auto-Encoding Variational Bayes, 2014). Samplers that reject, or return integers, are whole:
their results are constants, and they are refused where their parameters are differentiated.
"""

from __future__ import annotations

import importlib
import inspect
import random
from collections.abc import Iterator
from typing import Any

from irad.frontend import whole
from irad.frontend.linalg.operation import original, replace, wrapped
from irad.frontend.rulebook import overload
from irad.frontend.source import defined, parameters
from irad.frontend.target import need

np: Any = importlib.import_module("numpy")
_types: Any = need("numba.core.types", "Float", "Integer")
_registry: Any = need("numba.core.registry", "cpu_target.typing_context")
need("numba.core.typing.templates", "_OverloadFunctionTemplate")

UNSMOOTH = (
    *("gamma", "standard_gamma", "beta", "vonmises", "wald", "binomial", "poisson", "geometric", "hypergeometric"),
    *("zipf", "logseries", "negative_binomial", "dirichlet", "multinomial", "randint"),
    "seed",
)
"""Functions of `np.random` whose draws do not depend smoothly on their parameters."""

UNSMOOTH_OF_PYTHON = ("gammavariate", "betavariate", "vonmisesvariate", "randrange", "randint", "getrandbits", "seed")
"""The same of `random`."""

NORMAL = ((np.random.normal, "loc scale"), (random.gauss, "mu sigma"), (random.normalvariate, "mu sigma"))
UNIFORM = ((np.random.uniform, "low high", np.random.random), (random.uniform, "a b", random.random))
GENERATOR = (
    *(f"random_{name}" for name in ("standard_normal", "standard_normal_f")),
    *(f"random_{name}" for name in ("standard_exponential", "standard_exponential_f")),
    *(f"random_{name}" for name in ("standard_gamma", "standard_gamma_f", "beta", "wald", "binomial", "poisson")),
    *(f"random_{name}" for name in ("geometric", "negative_binomial", "logseries", "zipf")),
)
"""Functions of `numba.np.random.distributions` that draw from a `np.random.Generator`: without parameters, or with
parameters on which the draws do not depend smoothly. Numba computes what else a generator draws by formulas from these
and from `WORDS`."""

WORDS = ("next_double", "next_float", "next_uint32", "next_uint64")
"""What the bit generator gives, in `numba.np.random.generator_core`."""

BASES = (np.random.random, np.random.random_sample, np.random.sample, np.random.ranf, random.random)


def install() -> None:
    """Make the operations known to Numba, for our target."""
    for module, names in ((np.random, UNSMOOTH), (random, UNSMOOTH_OF_PYTHON)):
        for name in names:
            for typed in of_numba(getattr(module, name)):
                _whole(getattr(module, name), typed, name)
    for module, names in (("distributions", GENERATOR), ("generator_core", WORDS)):
        drawing = need(f"numba.np.random.{module}", *names)
        for function in (getattr(drawing, name) for name in names):
            for typed in of_numba(function):
                _whole(function, _with_parameters_of(function, typed), function.__name__)
    for function in BASES:
        for typed in of_numba(function, ()):
            _whole(function, typed, "random")
    for function, names in NORMAL:
        for typed in of_numba(function, names.split()):
            standard = whole.make(_standard(typed), tangent=None, augmented=None, pullback=None)
            _formula(function, names, "float({0}) + float({1}) * draw()", standard)
    for function, names, draw in UNIFORM:
        _formula(function, names, "float({0}) + (float({1}) - float({0})) * draw()", draw)


def of_numba(function: Any, names: Any = None) -> Iterator[Any]:
    """What Numba's cpu target overloads `function` with; with `names`, only for these parameters."""
    for template in _registry.cpu_target.typing_context.resolve_value_type(function).templates:
        typed = getattr(template, "_overload_func", None)
        if typed is not None and (names is None or [*inspect.signature(typed).parameters] == [*names]):
            yield typed


def _with_parameters_of(function: Any, typed: Any) -> Any:
    """`typed`, with the parameters of what it implements: Numba gives those of its own functions as `*args`."""

    def same(*kinds: Any) -> Any:
        return typed(*kinds)

    same.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return same


def _whole(function: Any, typed: Any, name: str) -> None:
    reason = "its draws do not depend smoothly on their parameters"
    constant = dict.fromkeys(range(len(inspect.signature(typed).parameters)), reason)
    made = wrapped(name, typed, tangent=None, augmented=None, pullback=None, constant=constant)
    replace(function, made, typed, arrays=0)


def _standard(typed: Any) -> Any:
    """A standard normal draw, by Numba's normal one."""
    names = {"__name__": __name__, "normal": original("normal_of_numba", typed)}
    return defined("standard_normal", parameters(), "return normal(0.0, 1.0)", names)


def _formula(function: Any, names: str, formula: str, draw: Any) -> None:
    """Let our target compile `function`, for numbers, as a formula in a draw: the one that Numba computes."""
    both = parameters(*names.split())
    body = f"return {formula.format(*names.split())}"

    def typed(*kinds: Any) -> Any:
        if not all(isinstance(kind, _types.Float | _types.Integer) for kind in kinds):
            return None
        return defined(function.__name__, both, body, {"__name__": __name__, "draw": draw})

    typed.__signature__ = both  # type: ignore[attr-defined]
    overload(function, typed)
