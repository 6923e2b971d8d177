"""The public interface. All but the decorator works in Python and inside @njit functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from irad.frontend import annotations, calls, functions, inside, whole
from irad.frontend.annotations import (
    ANNOTATIONS,
    WITH_SHADOW,
    Active,
    Const,
    Duplicated,
    Filled,
    Forward,
    Mode,
    Reverse,
)
from irad.frontend.callable import DerivativeFunction
from irad.frontend.differentiable import Differentiable
from irad.frontend.vjp import Pullback


def grad(
    f: Any, argnums: Any = 0, *, cache: bool = False, strict: bool = False, holomorphic: bool = False
) -> DerivativeFunction:
    """The gradient of a kernel that returns one float.

    Parameters
    ----------
    f: an njit function, a plain function, or a derivative that irad made.
    argnums: the arguments to differentiate: a position, a parameter's name, or a tuple of these.
    cache: keep native code on disk across processes, as `numba.njit(cache=True)` does.
    strict: add and multiply adjoints in the order of the source; slower.
    holomorphic: the kernel returns a complex number and depends on complex arguments analytically; the result is its
    complex derivative, f(z + dz) ~ f(z) + f'(z) dz. Checked at every call.

    Returns
    -------
    A function with the parameters of `f`. It runs the kernel, and returns fresh derivatives in the shapes, dtypes and
    strides of the arguments; a tuple of them when `argnums` is a tuple. Arrays that share memory are one variable:
    the derivative of each contains every use of the shared elements. Elements of a read-only broadcast are variables of
    their own. A tuple's gradient is a tuple, with None for integers and whatever else has no derivative. The gradient
    by a complex argument z = x + iy is df/dx + i df/dy.

    Raises
    ------
    BadArgumentType, BadArgumentValue: `argnums` names no argument (now), or one that holds integers (when called);
    `holomorphic`, and the kernel is not.
    IradError: when called, if the kernel cannot be differentiated; it names the line and the reason.
    """
    return functions.gradient(f, argnums, value=False, cached=cache, strict=strict, holomorphic=holomorphic)


def value_and_grad(
    f: Any, argnums: Any = 0, *, cache: bool = False, strict: bool = False, holomorphic: bool = False
) -> DerivativeFunction:
    """As `grad`, but the function returns the kernel's result as well: (value, gradient)."""
    return functions.gradient(f, argnums, value=True, cached=cache, strict=strict, holomorphic=holomorphic)


def jvp(f: Any, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Run `f(*primals)` and push tangents through it.

    Parameters
    ----------
    tangents: for each primal its tangent, of the same structure, shape and dtype; None for one that is constant.

    Returns
    -------
    (out, tangent_out): the result of `f` and its tangent, of the same structure; integers inside are repeated.

    Raises
    ------
    BadArgumentType, BadArgumentValue: a tangent does not fit its primal.
    """
    return functions.push(f, primals, tangents)


def vjp(f: Any, *primals: Any) -> tuple[Any, Pullback]:
    """Run `f(*primals)` and return what pulls cotangents back through it.

    Returns
    -------
    (out, pullback): `pullback(cotangent)` takes something of the structure of `out` and returns a tuple with the
    cotangent of each primal, None for integers (in tuples too). It may be called any number of times; later changes to
    the arrays in `primals` or `out` do not matter to it.

    Raises
    ------
    IradError: the kernel cannot be differentiated.
    """
    return Pullback.start(f, primals)


def autodiff(mode: Mode, f: Any, *annotated: Any, seed: Any = 1.0) -> tuple[Any, Any]:
    """The call at the level of memory, where the caller owns the shadows.

    Parameters
    ----------
    mode: `irad.Forward` or `irad.Reverse`.
    annotated: for each argument of `f` its `Const(x)`, `Active(x)` (floats, in reverse), `Duplicated(x, shadow)` or
        `Filled(x, shadow)` (arrays, in reverse).
    seed: reverse only: the cotangent of the result, of its structure; not looked at when there is no float in it.

    Returns
    -------
    Reverse: (out, adjoints of the Active arguments). A shadow holds, on entry, the cotangent of its array as the call
    leaves it (zeros, or a seed) and, on exit, the cotangent of the array as the call finds it. What a `Filled` one
    holds on entry is not looked at; it counts as zeros.
    Forward: (out, tangent_out); shadows of arrays follow what the kernel writes.

    Raises
    ------
    BadArgumentType, BadArgumentValue: an annotation that does not fit; a shadow of another shape, dtype or strides than
    its array, read-only, or sharing memory with an argument.
    """
    forward = annotations.is_forward(mode)
    words = [type(one) if isinstance(one, ANNOTATIONS) else None for one in annotated]
    derivative = annotations.annotated(forward, f, words)
    shadows = [one.shadow for one in annotated if isinstance(one, WITH_SHADOW)]
    return derivative(*(one.value for one in annotated), *shadows, *(() if forward else (seed,)))


def jacfwd(f: Any, argnums: Any = 0, *, cache: bool = False) -> DerivativeFunction:
    """The Jacobian of a float or an array by one float or array argument, one forward pass a column.

    The function returns an array of the shape of the result followed by that of the argument; a float for two floats.
    """
    return functions.jacobian(f, argnums, forward=True, cached=cache)


def jacrev(f: Any, argnums: Any = 0, *, cache: bool = False) -> DerivativeFunction:
    """As `jacfwd`, one reverse pass a row."""
    return functions.jacobian(f, argnums, forward=False, cached=cache)


def hessian(f: Any, argnums: Any = 0, *, cache: bool = False) -> DerivativeFunction:
    """The Hessian of a kernel that returns one float by one float or array argument: forward over reverse.

    The function returns an array of the argument's shape twice; a float for a float.
    """
    gradient = functions.gradient(f, argnums, value=False, cached=False, strict=False)
    return functions.jacobian(gradient, argnums, forward=True, cached=cache)


def hvp(f: Any, argnums: Any = 0, *, cache: bool = False) -> DerivativeFunction:
    """The product of a Hessian and a vector, at the cost of a few gradients.

    The function takes the kernel's arguments (all of them, defaults do not count) and then the vector `v`, of the
    shape of the argument that is differentiated, whose shape the product has too.
    """
    return functions.hessian_product(f, argnums, cached=cache)


def differentiable(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit` with derivatives as attributes.

    `f.grad(x)` and `f.value_and_grad(x)` differentiate by the first argument, in njit code too; from Python,
    `f.jvp(primals, tangents)` and `f.vjp(*primals)` are `irad.jvp(f, ...)` and `irad.vjp(f, ...)`. `options` are those
    of `numba.njit`.
    """
    if function is None:
        return functools.partial(differentiable, **options)
    return Differentiable.make(function, options)


def custom_rule(
    function: Callable[..., Any],
    *,
    tangent: Callable[..., Any] | None = None,
    augmented: Callable[..., Any] | None = None,
    pullback: Callable[..., Any] | None = None,
) -> Any:
    """An njit function that computes what `function` does, with a derivative of your own.

    All are njit functions, or plain ones that can be compiled as such.

    Parameters
    ----------
    function: takes floats, integers, arrays and tuples of these, and writes to none of them; returns floats, fresh
        arrays and tuples of these.
    tangent: `tangent(*args, *dots) -> (out, out_dot)`, for forward mode. Dots are zero where arguments are constant,
        and None for integers.
    augmented, pullback: for reverse mode. `augmented(*args) -> (out, residual)`; the residual may hold arguments and
        results: irad copies arrays of which it cannot see that nobody overwrites them. `pullback(residual, out_bar) ->
        bars`; `out_bar` has the structure of `out`, None for integers; one bar for each argument, None for integers.

    `out` must be the value of `function` in every case, bit for bit.

    Raises
    ------
    BadArgumentType: `function` has parameters that are not ordinary ones.
    Unsupported: when differentiated, in a mode for which there is no rule.
    """
    return whole.make(function, tangent=tangent, augmented=augmented, pullback=pullback)


def _derive(query: calls.Query) -> calls.Derivative:
    # the pipeline is the largest part of irad, and a program that finds its derivatives on disk does not need it
    from irad import pipeline  # noqa: PLC0415

    request = pipeline.Request(
        query.dispatcher,
        query.argtypes,
        query.mode,
        query.activity,
        aliased=query.aliased,
        strict=query.strict,
        value=query.value,
        fresh=query.fresh,
    )
    return cast(calls.Derivative, pipeline.derive(request))


calls.use(_derive)
inside.register((grad, value_and_grad, jacfwd, jacrev, hessian, hvp), jvp, vjp, autodiff)

__all__ = [
    "Active",
    "Const",
    "Differentiable",
    "Duplicated",
    "Filled",
    "Forward",
    "Reverse",
    "autodiff",
    "differentiable",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacrev",
    "jvp",
    "value_and_grad",
    "vjp",
]
