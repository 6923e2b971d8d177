"""A Numba target of our own: whole programs as unoptimised LLVM text, without changing Numba for anybody else.

The only file that uses Numba's private names. Each is asked for through `need`, which refuses to start when one has
gone: an override that Numba no longer calls would be a silent fault.
"""

from __future__ import annotations

import importlib
import os
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

from irad import llvm
from irad.errors import InvalidIR, Place, Unsupported
from irad.rules.calls import is_whole
from irad.versions import check_numba

NAME = "irad"


def need(module: str, *names: str) -> Any:
    """The module of Numba, checked to have `names` (dotted for members of a class).

    Raises
    ------
    InvalidIR: when a name has gone.
    """
    loaded = importlib.import_module(module)
    for name in names:
        try:
            attrgetter(name)(loaded)
        except AttributeError:
            raise InvalidIR(f"this Numba has no {module}.{name}", hint="install a tested version of numba") from None
    return loaded


numba: Any = importlib.import_module("numba")
check_numba(numba.__version__)
PACKAGE = os.path.dirname(numba.__file__) + os.sep

types: Any = need("numba.core.types", "ObjModeDispatcher", "Dispatcher", "Type")
typing: Any = need("numba.core.typing", "Context.resolve_value_type", "Context.resolve_function_type")
_codegen: Any = need(
    "numba.core.codegen",
    "JITCodeLibrary._optimize_functions",
    "JITCodeLibrary._optimize_final_module",
    "JITCodeLibrary._finalize_final_module",
    "JITCodeLibrary._finalize_specific",
    "JITCodeLibrary._ensure_finalized",
    "JITCPUCodegen._library_class",
    "JITCPUCodegen.set_env",
    "JITCPUCodegen.insert_unresolved_ref",
    "JITCPUCodegen._get_host_cpu_name",
    "JITCPUCodegen._get_host_cpu_features",
)
_cpu: Any = need(
    "numba.core.cpu",
    "CPUContext.init",
    "CPUContext.get_executable",
    "CPUContext.call_unresolved",
    "CPUContext.add_linking_libs",
    "CPUContext.get_function",
    "CPUContext.create_cpython_wrapper",
    "CPUContext.create_cfunc_wrapper",
    "CPUContext.load_additional_registries",
    "CPUContext.install_registry",
    "CPUContext._compile_subroutine_no_cache",
    "CPUContext.subtarget",
    "CPUContext.enable_debuginfo",
    "CPUTargetOptions.finalize",
)
_cgutils: Any = need("numba.core.cgutils", "get_or_insert_function")
_descriptors: Any = need("numba.core.descriptors", "TargetDescriptor")
_dispatcher: Any = need(
    "numba.core.dispatcher", "Dispatcher.add_overload", "Dispatcher.compile", "Dispatcher.get_function_type"
)
_extension: Any = need(
    "numba.core.target_extension", "CPU", "target_registry", "jit_registry", "dispatcher_registry", "target_override"
)
_registry: Any = need("numba.core.registry", "CPUDispatcher", "cpu_target")
_environment: Any = need("numba.core.environment", "lookup_environment")
_compiler: Any = need(
    "numba.core.compiler", "Compiler.define_pipelines", "Flags.dbg_directives_only", "Flags.dbg_optnone"
)
_lowering: Any = need("numba.core.lowering", "Lower._compute_def_location")
_passes: Any = need("numba.core.typed_passes", "NativeLowering.lowering_class")
_machinery: Any = need("numba.core.compiler_machinery", "register_pass", "PassManager.finalize")
_ccallback: Any = need("numba.core.ccallback", "CFunc")
_npyimpl: Any = need("numba.np.npyimpl", "_Kernel", "numpy_ufunc_kernel", "numpy_gufunc_kernel")
_dufunc: Any = need("numba.np.ufunc.dufunc", "DUFunc.find_ewise_function")
_gufunc: Any = need("numba.np.ufunc.gufunc", "GUFunc", "make_gufunc_kernel")
_ufunc_base: Any = need("numba.np.ufunc.ufunc_base", "UfuncLowererBase")
_stencil: Any = need("numba.stencils.stencil", "StencilFunc._install_type", "StencilFuncLowerer")
_jitclass: Any = need("numba.experimental.jitclass.base", "JitClassType")
lock: Any = need("numba.core.compiler_lock", "global_compiler_lock").global_compiler_lock

CPUDispatcher: Any = _registry.CPUDispatcher


class Target(_extension.CPU):
    """What `@overload(..., target="irad")` names: everything that the CPU has, and our own overloads first."""


# --- libraries ------------------------------------------------------------------------------------------------------


class RawLibrary(_codegen.JITCodeLibrary):
    """A code library that is linked but neither optimised nor compiled to machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def _finalize_specific(self) -> None: ...


class RawCodegen(_codegen.JITCPUCodegen):
    _library_class = RawLibrary

    def set_env(self, env_name: str, env: Any) -> None:
        """Nothing: there is no machine code that could read the environment."""

    def insert_unresolved_ref(self, builder: Any, fnty: Any, name: str) -> Any:
        """The function that a recursive call names: linking finds it."""
        return _cgutils.get_or_insert_function(builder.module, fnty, name)


class CompiledLibrary(_codegen.JITCodeLibrary):
    """A library of Numba's cpu target that is compiled to machine code as it stands."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None: ...


def link(text: str, name: str, *, raw: bool = False, libraries: tuple[Any, ...] = ()) -> Any:
    """A code library of `text`, to be linked into callers with `add_linking_library`.

    Under Numba's cpu target, for callers compiled by Numba; with `raw`, under ours, for callers that are to be
    differentiated themselves. `libraries` are linked into it. It becomes machine code only as a part of its callers.
    """
    with lock:
        start()
        codegen = (target if raw else _registry.cpu_target).target_context.codegen()
        library = RawLibrary(codegen, name)
        for other in libraries:
            library.add_linking_library(other)
        library.add_llvm_module(llvm.parse(text))
        library.finalize()
        if not raw:
            set_environments(codegen, text)
    return library


_environments: dict[str, Any] = {}  # with the libraries that define them, for they must not be freed


def set_environments(codegen: Any, text: str, *, every: bool = False) -> None:
    """Fill the `NumbaEnv` globals that `text` reads, without which a `raise` with run-time arguments changes its class.

    Such globals are common symbols: what the first library loaded defines, those loaded later share. With `every`,
    those that are not read too: Numba itself is going to fill them.
    """
    counts = Counter(re.findall(r'@"?(_ZN08NumbaEnv[^\s",()]+)', text))
    wanted = (name for name, count in counts.items() if count > 1 or every)
    for name in (name for name in wanted if name not in _environments):
        environment = _environment.lookup_environment(name)
        if environment is not None:
            library = CompiledLibrary(codegen, f"{NAME}.environment")
            library.add_llvm_module(llvm.parse(f'@"{name}" = common global ptr null\n'))
            library.finalize()
            codegen.set_env(name, environment)
            _environments[name] = environment, library


# --- contexts -------------------------------------------------------------------------------------------------------


class EntryPoint:
    """The unique identity of a compiled function: Numba resolves calls by it, so it must not be shared, nor None."""

    def __init__(self, name: str) -> None:
        self.name = name


class TypingContext(typing.Context):
    """Sees, in place of functions that are compiled for the cpu target, their twins compiled for ours."""

    def resolve_value_type(self, val: Any) -> Any:
        match val:
            case _registry.CPUDispatcher() | _ccallback.CFunc():
                return super().resolve_value_type(callee(val))
            case _dufunc.DUFunc() | _gufunc.GUFunc():
                return _ufunc_type(val)
            case _stencil.StencilFunc():
                return _stencil_type(val)
            case _jitclass.JitClassType():
                return val.class_type
            case _:
                return super().resolve_value_type(val)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if isinstance(func, types.ObjModeDispatcher):
            where = func.dispatcher.func_ir.loc
            raise Unsupported(
                "an objmode block runs in the Python interpreter and has no derivative",
                hint="move it out of the kernel, or pass its result in as an argument",
                place=Place(where.filename, where.line),
            )
        return super().resolve_function_type(_retarget(func), args, kws)


class Context(_cpu.CPUContext):
    """Generates code as the cpu target does, into libraries that keep the whole program as text."""

    def init(self) -> None:
        super().init()
        self._internal_codegen = RawCodegen(f"{NAME}.raw")
        self._library_of: dict[str, Any] = {}  # by symbol
        self.apart: dict[str, Any] = {}  # the libraries of whole operations, which stay declarations in their callers

    def load_additional_registries(self) -> None:
        super().load_additional_registries()
        for registry in registries:
            self.install_registry(registry)

    def get_executable(self, library: Any, fndesc: Any, env: Any) -> EntryPoint:
        self._library_of[fndesc.llvm_func_name] = library
        return EntryPoint(fndesc.llvm_func_name)

    def add_linking_libs(self, libs: Any) -> None:
        super().add_linking_libs([lib for lib in libs if lib not in self.apart.values()])

    def call_unresolved(self, builder: Any, name: str, sig: Any, args: Any) -> Any:
        """A recursive call of another overload: Numba finds it in the process, here it has to be linked."""
        if name in self._library_of:
            self.add_linking_libs([self._library_of[name]])
        return super().call_unresolved(builder, name, sig, args)

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        other = _retarget(fn)
        if other is not fn:
            other.dispatcher.compile(tuple(sig.args))
        return super().get_function(other, sig, _firstcall)

    def _compile_subroutine_no_cache(self, *args: Any, flags: Any = None, **kws: Any) -> Any:
        """Parts of Numba's own implementations: without lines, so that they take the line that calls them."""
        if flags is not None:
            flags = flags.copy()
            flags.debuginfo = False
        plain = self.subtarget(enable_debuginfo=False)
        return super(Context, plain)._compile_subroutine_no_cache(*args, flags=flags, **kws)

    def create_cpython_wrapper(self, *args: Any, **kws: Any) -> None: ...

    def create_cfunc_wrapper(self, *args: Any, **kws: Any) -> None: ...


class Options(_cpu.CPUTargetOptions):
    """The user's own options mean what they mean to Numba; source lines come on top."""

    def finalize(self, flags: Any, options: Any) -> None:
        # before debuginfo is set, from which Numba would take it where the user has not said
        flags.boundscheck = bool(flags.boundscheck if flags.is_set("boundscheck") else options.get("debug"))
        # lines only: `debug=True` would put noinline on every function
        flags.debuginfo = True
        flags.dbg_directives_only = True
        flags.dbg_extend_lifetimes = False
        flags.dbg_optnone = False
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        super().finalize(flags, options)


class Lower(_lowering.Lower):
    """Numba's lowering. Functions of Numba's own carry no lines: what is inlined from them takes the user's."""

    def __init__(self, context: Any, library: Any, fndesc: Any, func_ir: Any, metadata: Any = None) -> None:
        if func_ir.loc.filename.startswith(PACKAGE):
            context = context.subtarget(enable_debuginfo=False)
        super().__init__(context, library, fndesc, func_ir, metadata)

    def _compute_def_location(self) -> Any:
        """The line that the debugger shows for a function as a whole: Numba parses its whole source file to find it."""
        return self.func_ir.loc


@_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class Lowering(_passes.NativeLowering):
    _name = f"{NAME}_native_lowering"

    @property
    def lowering_class(self) -> Any:
        return Lower


@cache
def _pipeline(base: Any) -> Any:
    """The user's compiler pipeline with our lowering in the place of Numba's."""

    class Pipeline(base):
        def define_pipelines(self) -> Any:
            managers = super().define_pipelines()
            for manager in managers:
                manager.passes = [(Lowering if p is _passes.NativeLowering else p, text) for p, text in manager.passes]
                manager.finalize()
            return managers

    return Pipeline


class Descriptor(_descriptors.TargetDescriptor):
    """Makes the two contexts on first use; under Numba's own lock, for a second lock could deadlock with it."""

    options = Options
    _contexts: tuple[Any, Any] | None = None

    def _made(self) -> tuple[Any, Any]:
        if self._contexts is None:
            with lock:
                if self._contexts is None:
                    _register()
                    # Numba's runtime functions are compiled by whichever context comes first: it has to be Numba's
                    _registry.cpu_target.target_context.refresh()
                    typed = TypingContext()
                    self._contexts = typed, Context(typed, NAME)
        return self._contexts

    @property
    def typing_context(self) -> Any:
        return self._made()[0]

    @property
    def target_context(self) -> Any:
        return self._made()[1]


target: Any = Descriptor(NAME)
registries: list[Any] = []
"""Lowering registries of ours, installed in our context only (see `numba.core.imputils.Registry`)."""


class Dispatcher(_dispatcher.Dispatcher):
    """A dispatcher for our target. Its overloads cannot be called."""

    targetdescr = target

    def __init__(self, py_func: Any, locals: Any, targetoptions: Any, pipeline_class: Any = _compiler.Compiler) -> None:
        super().__init__(py_func, locals, targetoptions, _pipeline(pipeline_class))

    def add_overload(self, cres: Any) -> None:
        self.overloads[tuple(cres.signature.args)] = cres
        if is_whole(cres.fndesc.llvm_func_name):
            target.target_context.apart[cres.fndesc.llvm_func_name] = cres.library

    def compile(self, sig: Any) -> Any:
        with _extension.target_override(NAME):
            return super().compile(sig)


class FixedDispatcher(Dispatcher):
    """Of a function that is compiled for given signatures and no others: arguments are converted to these."""

    def __init__(self, py_func: Any, signatures: Any, **kwargs: Any) -> None:
        super().__init__(py_func, **kwargs)
        self._signatures = list(signatures)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        self._complete()
        return super().get_call_template(args, kws)

    def get_function_type(self) -> Any:
        """Its type as one of several functions, which are to have the same."""
        self._complete()
        return super().get_function_type()

    def _complete(self) -> None:
        while self._signatures:
            self.compile(self._signatures.pop(0))
        self.disable_compile()

    def compile(self, sig: Any) -> Any:
        known = self.overloads.get(tuple(getattr(sig, "args", sig)))
        return super().compile(sig) if known is None else known.entry_point


def _jit(function: Any = None, **options: Any) -> Any:
    """The decorator that Numba applies to the implementations of overloads for our target."""
    local = dict(options.pop("locals", {}))
    for ignored in ("_target", "target", "cache", "pipeline_class"):
        options.pop(ignored, None)
    options |= {"nopython": True, "boundscheck": options.get("boundscheck")}

    def decorate(function: Any) -> Any:
        return Dispatcher(function, locals=local, targetoptions=dict(options))

    return decorate if function is None else decorate(function)


def _register() -> None:
    if NAME not in _extension.target_registry:
        _extension.target_registry[NAME] = Target
        _extension.dispatcher_registry[Target] = Dispatcher
        _extension.jit_registry[Target] = _jit


def start() -> None:
    """Make the target. Called by everything that needs it; costs nothing the second time."""
    if target._contexts is None:
        context = target.target_context
        codegen = context.codegen()
        llvm.use_machine(codegen._get_host_cpu_name(), codegen._get_host_cpu_features())


# --- twins ----------------------------------------------------------------------------------------------------------

_twins: dict[Any, Any] = {}  # strong references on both sides: a key by id() would be reused


def _once(key: Any, make: Callable[[], Any]) -> Any:
    with lock:
        if key not in _twins:
            _twins[key] = make()
        return _twins[key]


def twin(function: Any) -> Any:
    """The dispatcher of our target for the same Python function, compiled with the same options.

    `parallel=True` becomes serial loops.
    """
    if isinstance(function, Dispatcher):
        return function
    return _once(function, lambda: Dispatcher(function.py_func, **_options(function)))


def callee(function: Any) -> Any:
    """What stands for `function` where compiled code calls it: a twin that takes what `function` takes."""
    if isinstance(function, _ccallback.CFunc):
        compiler = function._compiler
        options = {"locals": compiler.locals, "targetoptions": {**compiler.targetoptions, "nopython": True}}
        return _once(function, lambda: FixedDispatcher(function._pyfunc, [function._sig], **options))
    if isinstance(function, Dispatcher) or function._can_compile:
        return twin(function)
    signatures = function.nopython_signatures
    return _once((function, "fixed"), lambda: FixedDispatcher(function.py_func, signatures, **_options(function)))


def is_callback(value: Any) -> bool:
    """Whether `value` is what `numba.cfunc` makes, which Numba passes as an address."""
    return isinstance(value, _ccallback.CFunc)


def named(value: Any) -> Any:
    """An njit function in the place of a cfunc, of the same body and signature; other values as they are."""
    if not is_callback(value):
        return value
    options = {k: v for k, v in value._compiler.targetoptions.items() if k != "nopython"}
    make = numba.njit([value._sig], locals=value._compiler.locals, **options)
    return _once((value, "named"), lambda: make(value._pyfunc))


def _options(function: Any) -> dict[str, Any]:
    return {
        "locals": function.locals,
        "targetoptions": dict(function.targetoptions, parallel=False),
        "pipeline_class": function._compiler.pipeline_class,
    }


def _retarget(function: Any) -> Any:
    if isinstance(function, types.Dispatcher) and isinstance(function.dispatcher, CPUDispatcher):
        return types.Dispatcher(callee(function.dispatcher))
    return function


# --- vectorize, guvectorize, stencil: Numba's loops around kernels compiled by our target ---------------------------

_UFUNC_OPTIONS = ("fastmath", "boundscheck", "error_model", "debug")


def _ufunc_twin(dispatcher: Any) -> Any:
    kept = {k: v for k, v in dispatcher.targetoptions.items() if k in _UFUNC_OPTIONS}
    options = {"nopython": True, "error_model": "numpy", **kept}
    return Dispatcher(dispatcher.py_func, locals=dict(dispatcher.locals), targetoptions=options)


def _compiled(dispatcher: Any, args: tuple[Any, ...]) -> Any:
    dispatcher.compile(args)
    return dispatcher.overloads[args]


def _dufunc_kernel(ufunc: Any) -> Any:
    dispatcher = _ufunc_twin(ufunc._dispatcher)

    class Kernel(_npyimpl._Kernel):
        dufunc = ufunc

        def __init__(self, context: Any, builder: Any, outer_sig: Any) -> None:
            super().__init__(context, builder, outer_sig)
            found, _ = ufunc.find_ewise_function(outer_sig.args)
            self.cres = _compiled(dispatcher, tuple(getattr(found, "args", found)))
            self.inner_sig = self.cres.signature
            context.add_linking_libs((self.cres.library,))

    return Kernel


def _gufunc_kernel(gufunc: Any) -> Any:
    dispatcher = _ufunc_twin(gufunc.gufunc_builder.nb_func)
    base: Any = _gufunc.make_gufunc_kernel(gufunc)

    class Kernel(base):
        def __init__(self, context: Any, builder: Any, outer_sig: Any) -> None:
            super().__init__(context, builder, outer_sig)  # finds the types of Numba's own loop
            if self.cres is None:
                raise Unsupported(f"no loop of the guvectorize function {gufunc.__name__} fits its arguments")
            self.cres = _compiled(dispatcher, tuple(self.cres.signature.args))
            self.inner_sig = self.cres.signature

    return Kernel


def _ufunc_type(ufunc: Any) -> Any:
    def make() -> Any:
        if isinstance(ufunc, _gufunc.GUFunc):
            lowerer = _ufunc_base.UfuncLowererBase(ufunc, _gufunc_kernel, _npyimpl.numpy_gufunc_kernel)
        else:
            lowerer = _ufunc_base.UfuncLowererBase(ufunc, _dufunc_kernel, _npyimpl.numpy_ufunc_kernel)
        inputs = (types.Any,) * ufunc.ufunc.nin
        both = inputs + (types.Array,) * ufunc.ufunc.nout
        target.target_context.insert_func_defn([(lowerer, ufunc, signature) for signature in (both, inputs)])
        return _registry.cpu_target.typing_context._lookup_global(ufunc)

    return _once(ufunc, make)


def _stencil_type(stencil: Any) -> Any:
    def make() -> Any:
        copy = _stencil.StencilFunc.__new__(_stencil.StencilFunc)
        copy.__dict__.update(stencil.__dict__)
        copy._typingctx, copy._targetctx = target.typing_context, target.target_context
        copy._type_cache, copy.kernel_ir = {}, stencil.kernel_ir.copy()
        copy._lower_me = _stencil.StencilFuncLowerer(copy)
        copy._install_type(copy._typingctx)
        return copy

    return target.typing_context._lookup_global(_once(stencil, make))


def original(function: Any) -> Any:
    """The dispatcher that a twin was made for; any other as it is."""
    known = next((known for known, made in _twins.items() if made is function), function)
    return known[0] if isinstance(known, tuple) else known
