"""Derivatives as functions which Python and njit code both call.

A derivative function owns Numba dispatchers over generated source: `fast`, for arrays that share no memory, and
`careful`, compiled only when Python calls with arrays that do; njit callers, which cannot compile anything any more,
get `both`. Each is `def grad_f(x, w=2.0): return _call(x, w)` around one intrinsic made by a recipe, or source over
simpler derivative functions.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from irad.errors import BadArgumentType, IradError, Unsupported
from irad.frontend import cache, target, tokens, whole
from irad.frontend.arguments import Kernel
from irad.frontend.frame import AliasedArguments
from irad.frontend.lower import dispatcher_of, place_of
from irad.frontend.recipes import Recipe
from irad.frontend.source import defined, parameters, unannotated
from irad.frontend.target import need
from irad.frontend.wrapping import InnerCompiler, OuterCompiler

_numba: Any = need("numba", "njit")
_types: Any = need("numba.core.types", "Dispatcher.dispatcher", "Dispatcher.get_impl_key", "VarArg", "Any")
_registry: Any = need("numba.core.registry", "cpu_target")
_errors: Any = need("numba.core.errors", "NumbaError")
_extending: Any = need("numba.extending", "intrinsic", "lower_builtin")
_imputils: Any = need("numba.core.imputils", "lower_constant")
_models: Any = need("numba.core.datamodel.models", "OpaqueModel")
_datamodel: Any = need("numba.core.datamodel", "register_default")

VARIANTS = ("fast", "careful", "both")
_REFUSALS = (IradError, _errors.NumbaError)


class DerivativeType(_types.Dispatcher):
    """Numba's type of a derivative function: a dispatcher, whose use in compiled code leaves a token for caches."""

    def get_impl_key(self, sig: Any) -> Any:
        """Numba asks for it when it generates a call; what it finds by it is then given the caller's context."""
        context = _registry.cpu_target.target_context
        if self not in _known:
            _known.add(self)
            context.insert_func_defn([(_call_of(self.dispatcher), self, (_types.VarArg(_types.Any),))])
        return self


_known: set[DerivativeType] = set()


def _call_of(dispatcher: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        tokens.leave(context, cache.derivative_of(dispatcher))
        return context.get_function(_types.Dispatcher(dispatcher), signature)(builder, values)

    return emit


class DerivativeFunction(cache.Derived):
    """A derivative, callable from Python and from njit code with the kernel's own parameters (and some more).

    It is compiled on first use for each signature, keeps what it compiled, and can be pickled.
    """

    def __init__(self, source: Source, *, cached: bool = False) -> None:
        self._source, self._cached = source, cached
        self._dispatchers: dict[str, Any] = {}
        self._inner: dict[str, Any] = {}
        self._type: Any = None
        self._given_callbacks = False
        self._fast: Callable[..., Any] = self._fast_at_first
        self.__name__ = source.name
        self.__qualname__ = source.name
        self.__doc__ = source.doc
        self.__module__ = source.kernel.dispatcher.py_func.__module__
        self.__signature__ = source.signature

    @property
    def kernel(self) -> Any:
        return self._source.kernel.dispatcher

    @property
    def identity(self) -> tuple[object, ...]:
        return self._source.identity

    @property
    def type(self) -> Any:
        """Its Numba type."""
        if self._type is None:
            both = self.inner("both")
            cache.made_from(both, self)
            self._type = DerivativeType(both)
        return self._type

    @property
    def _numba_type_(self) -> Any:
        return self.type

    def dispatcher(self, variant: str) -> Any:
        """Numba's dispatcher that Python calls, of one variant; made on first use."""
        return self._made(self._dispatchers, variant, OuterCompiler)

    def inner(self, variant: str) -> Any:
        """Numba's dispatcher that compiled code calls, of one variant; made on first use."""
        return self._made(self._inner, variant, InnerCompiler)

    def _made(self, known: dict[str, Any], variant: str, compiler: Any) -> Any:
        found = known.get(variant)
        if found is None:
            with target.lock:
                found = known.get(variant)
                if found is None:
                    found = known[variant] = self._source.dispatcher(variant, compiler)
                    if self._cached and known is self._dispatchers:
                        cache.enable(found, self.kernel, self.identity, variant)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._fast(*args, **kwargs)
        except AliasedArguments:
            pass
        except _REFUSALS as error:
            if not self._given_callbacks and any(map(target.is_callback, (*args, *kwargs.values()))):
                self._given_callbacks, self._fast = True, self._fast_with_callbacks
                return self(*args, **kwargs)
            raise self._short(error) from None
        if self._given_callbacks:
            args, kwargs = _named(args, kwargs)
        return self.run("careful", *args, **kwargs)

    def _fast_at_first(self, *args: Any, **kwargs: Any) -> Any:
        """What `_fast` is until there is a dispatcher, which from then on is called with nothing in between."""
        self._fast = found = self.dispatcher("fast")
        return found(*args, **kwargs)

    def _fast_with_callbacks(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = _named(args, kwargs)
        return self.dispatcher("fast")(*args, **kwargs)

    def run(self, variant: str, *args: Any, **kwargs: Any) -> Any:
        """Call one variant.

        Raises
        ------
        AliasedArguments: arrays share memory and the variant is "fast"; nothing has run.
        """
        try:
            return self.dispatcher(variant)(*args, **kwargs)
        except _REFUSALS as error:
            raise self._short(error) from None

    def _short(self, error: Exception) -> Exception:
        """The error without the frames of Numba's compiler; what Numba itself says, in one line."""
        if isinstance(error, IradError):
            return error.with_traceback(None)
        lines = [line.strip(" -") for line in str(error).splitlines() if line.strip()]
        said = next((line for line in lines if "annot determine Numba type" in line), lines[0] if lines else "")
        kind = BadArgumentType if "annot determine" in said else Unsupported
        return kind(f"{self.__name__}: {said}", place=place_of(self.kernel))

    def __repr__(self) -> str:
        return f"<{self.__name__}{self.__signature__}>"

    def __reduce__(self) -> tuple[object, ...]:
        return self._source.reduce()


def _named(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with functions for which code is compiled in the place of addresses of C callbacks."""
    return tuple(map(target.named, args)), {name: target.named(value) for name, value in kwargs.items()}


class Source:
    """Where a derivative function's dispatchers come from.

    kernel, name, signature and doc describe the function; `body` is the source text of its one statement block over
    the names in `namespace(variant)`; `identity` as in `DerivativeFunction`; `reduce` pickles it.
    """

    kernel: Kernel
    name: str
    doc: str
    signature: inspect.Signature
    identity: tuple[object, ...]
    reduce: Callable[[], tuple[object, ...]]

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        doc: str,
        signature: inspect.Signature,
        body: str,
        namespace: Callable[[str], dict[str, Any]],
        identity: tuple[object, ...],
        reduce: Callable[[], tuple[object, ...]],
    ) -> None:
        self.kernel, self.name, self.doc, self.signature = kernel, name, doc, signature
        self._body, self._namespace, self.identity, self.reduce = body, namespace, identity, reduce

    def dispatcher(self, variant: str, compiler: Any) -> Any:
        """A new dispatcher."""
        namespace = {"__name__": self.kernel.dispatcher.py_func.__module__, **self._namespace(variant)}
        function = defined(self.name, self.signature, self._body, namespace)
        function.__doc__, function.__module__ = self.doc, namespace["__name__"]
        outer = compiler is OuterCompiler
        options = {"no_cpython_wrapper": not outer, "no_cfunc_wrapper": outer, "pipeline_class": compiler}
        nogil = bool(self.kernel.dispatcher.targetoptions.get("nogil"))
        return _numba.njit(nogil=nogil, **options)(function)


def kernel_of(function: Any) -> Kernel:
    """The kernel behind what a user passes: a dispatcher, a plain function or a derivative function.

    Raises
    ------
    BadArgumentType: something else, or a kernel in object mode.
    Unsupported: a kernel with `*args` or keyword-only parameters.
    """
    if isinstance(function, DerivativeFunction):
        return _kernel(function.type.dispatcher)
    return _kernel(whole.called(dispatcher_of(function)))


@functools.cache
def _kernel(dispatcher: Any) -> Kernel:
    """Looked up at every call of `irad.autodiff`, and slow to find."""
    own = inspect.signature(dispatcher.py_func).parameters.values()
    odd = [p for p in own if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    if odd:
        raise Unsupported(
            f"the parameter {odd[0]} of {dispatcher.py_func.__name__} is neither positional nor named",
            hint="write the parameters out, or take them as one tuple",
            place=place_of(dispatcher),
        )
    return Kernel(dispatcher, tuple(p.name for p in own))


def signature_of(kernel: Kernel, extras: tuple[str, ...] = ()) -> inspect.Signature:
    """The kernel's signature without annotations; further parameters at the end leave no room for defaults."""
    return parameters(*kernel.names, *extras) if extras else unannotated(inspect.signature(kernel.dispatcher.py_func))


def source_of(recipe: Recipe, doc: str, reduce: Callable[[], tuple[object, ...]]) -> Source:
    """A derivative function that is one intrinsic."""
    kernel = recipe.kernel
    extras = _fresh(recipe.inputs[len(kernel.names) :], kernel.names) if recipe.extras else ()
    if recipe.inputs[: len(kernel.names)] == kernel.names:
        signature = signature_of(kernel, extras)
    else:
        signature = parameters(*recipe.inputs)
    names = ", ".join(signature.parameters)

    def namespace(variant: str) -> dict[str, Any]:
        return {"_call": intrinsic_of(recipe, variant)}

    name = f"{recipe.verb}_{word(kernel.name)}"
    identity = (recipe.verb, recipe.wrt, recipe.strict, *_options(recipe))
    return Source(kernel, name, doc, signature, f"return _call({names})", namespace, identity, reduce)


def _options(recipe: Recipe) -> list[object]:
    names = ("single", "value", "given", "shadowed", "filled", "protect")
    return [getattr(recipe, name) for name in names if hasattr(recipe, name)]


def _fresh(names: tuple[str, ...], taken: tuple[str, ...]) -> tuple[str, ...]:
    """`names`, with underscores where the kernel's parameters have them already."""
    fresh: list[str] = []
    for name in names:
        while name in (*taken, *fresh):
            name += "_"  # noqa: PLW2901
        fresh.append(name)
    return tuple(fresh)


def word(name: str) -> str:
    """`name` where it can be an identifier; a lambda's cannot."""
    return name if name.isidentifier() else "kernel"


def intrinsic_of(recipe: Recipe, variant: str) -> Any:
    """The intrinsic of a recipe: typing it compiles the derivative, generating its code links and calls it."""

    def typed(typingctx: Any, kinds: tuple[Any, ...]) -> Any:
        signature, generate = recipe.typed(variant, typingctx, kinds)

        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            tokens.leave(context, recipe.kernel.dispatcher)
            return generate(context, builder, signature, values)

        return signature, emit

    names = ", ".join(f"a{i}" for i in range(len(recipe.inputs)))
    namespace: dict[str, Any] = {"typed": typed}
    exec(f"def irad_call(typingctx, {names}):\n    return typed(typingctx, ({names},))\n", namespace)
    return _extending.intrinsic(namespace["irad_call"])


# --- Numba sees derivative functions as dispatchers ----------------------------------------------------------------


@_datamodel.register_default(DerivativeType)
class _Model(_models.OpaqueModel): ...


@_imputils.lower_constant(DerivativeType)
def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    tokens.leave(context, value)
    return context.add_dynamic_addr(builder, id(value), info=type(value).__name__)
