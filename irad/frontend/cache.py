"""Native code on disk that is never stale: deep fingerprints of kernels.

Numba's own index sees the bytecode of one function and the time stamp of one file. A derivative depends on more: on
helpers and constants in other modules, on options, on versions. All of that goes into a fingerprint, which is part of
the index key of cached derivatives, and of the tokens in the code of their callers (`tokens.py`).
"""

from __future__ import annotations

import enum
import functools
import hashlib
import importlib
import inspect
import os
import platform
import sys
import types
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from irad import llvm
from irad.__about__ import __version__
from irad.emit import vectors
from irad.errors import BadArgumentValue
from irad.frontend.lower import place_of
from irad.frontend.target import need

_numba: Any = need("numba", "__version__", "config")
_llvmlite: Any = need("llvmlite", "__version__")
_types: Any = need("numba.core.types", "Type")
_caching: Any = need(
    "numba.core.caching", "FunctionCache._index_key", "FunctionCache._impl_class", "CompileResultCacheImpl.__init__"
)
_serialize: Any = need("numba.core.serialize", "dumps")
_registry: Any = need("numba.core.registry", "cpu_target")

_MARK = "_irad_derivative"
_STABLE = frozenset({*sys.stdlib_module_names, "numba", "numpy", "scipy", "llvmlite", "irad", "builtins"})
"""Packages whose contents are told by their versions."""


class Derived(ABC):
    """What fingerprints need to know of a derivative function."""

    @property
    @abstractmethod
    def kernel(self) -> Any:
        """The dispatcher of what is differentiated."""

    @property
    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """What tells this derivative of the kernel from others, in words that are the same in every process."""


def made_from(dispatcher: Any, derivative: Derived) -> None:
    """Remember that a dispatcher is one of `derivative`'s."""
    vars(dispatcher)[_MARK] = derivative


def derivative_of(value: Any) -> Derived | None:
    """The derivative function that a value is, or is a dispatcher of, else None."""
    return value if isinstance(value, Derived) else getattr(value, "__dict__", {}).get(_MARK)


PARTS = "__irad_parts__"
"""Attribute of a function: others on which code depends that is compiled with it."""

# --- fingerprints ---------------------------------------------------------------------------------------------------


def fingerprint(function: Any) -> str:
    """A digest of everything that compiled code of `function` depends on.

    function: an njit function, a plain one, or a derivative function. Code, constants, defaults, options, closures,
    globals and the arrays among them, helpers in any module, versions, and the processor. A value that nothing is known
    about makes every digest different, so that nothing is ever found by it.
    """
    walk = _Walk()
    walk.words(*versions())
    walk.value(function)
    return walk.digest()


@functools.cache
def versions() -> tuple[str, ...]:
    """Versions and settings on which the code of a derivative depends."""
    codegen = _registry.cpu_target.target_context.codegen()
    own = [__version__, *_own_files()]
    others = [_numba.__version__, _llvmlite.__version__, np.__version__, platform.python_version()]
    settings = [f"{name}={getattr(_numba.config, name, None)}" for name in ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE")]
    # stored code may call them, and they are to be found before it is loaded
    vector = sorted(llvm.vector_symbols(vectors.candidates()))
    return (*own, *others, *vector, *settings, *map(str, codegen.magic_tuple()))


def _own_files() -> Iterable[str]:
    """Names, sizes and times of irad's files: an edited checkout is another version."""
    root = os.path.dirname(os.path.dirname(__file__))
    for folder, _, files in sorted(os.walk(root)):
        for name in sorted(files):
            if name.endswith(".py"):
                known = os.stat(os.path.join(folder, name))
                yield f"{name}:{known.st_size}:{known.st_mtime_ns}"


class _Walk:
    """Feeds a hash with values, and with what they refer to, each once."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._seen: dict[int, tuple[int, Any]] = {}

    def digest(self) -> str:
        return self._hash.hexdigest()

    def words(self, *words: str | bytes) -> None:
        for word in words:
            data = word.encode() if isinstance(word, str) else word
            self._hash.update(len(data).to_bytes(8, "little") + data)

    def value(self, value: Any) -> None:
        """A value that a function refers to."""
        match value:
            case None | bool() | int() | float() | complex() | str() | bytes() if type(value) in _ATOMS:
                self.words(type(value).__name__, repr(value))
            case tuple() | list():
                self.words(_named(type(value)), str(len(value)))
                for inner in value:
                    self.value(inner)
            case _ if self._known(value):
                pass
            case types.ModuleType():
                self.words("module", value.__name__)
            case enum.Enum():
                self.words("enum", _named(type(value)), value.name)
                self.value(value.value)
            case np.ndarray() | np.generic():
                self._array(np.asarray(value), type(value))
            case np.dtype() | _types.Type():
                self.words(type(value).__name__, str(value))
            case dict() | set() | frozenset():
                self._unordered(value)
            case _:
                self._function(value)

    def _known(self, value: Any) -> bool:
        if id(value) in self._seen:
            self.words("again", str(self._seen[id(value)][0]))
            return True
        self._seen[id(value)] = len(self._seen), value  # held: an id may be used again
        return False

    def _array(self, array: Any, kind: type) -> None:
        described = (array.dtype.str, array.dtype.descr, array.shape, array.strides)
        self.words(kind.__name__, *map(str, described))
        if array.dtype.hasobject:
            self.words(uuid.uuid4().bytes)
        else:
            self.words(array.tobytes())

    def _unordered(self, values: Any) -> None:
        pairs = values.items() if isinstance(values, dict) else ((inner, None) for inner in values)
        digests: list[str] = []
        for pair in pairs:
            walk = _Walk()
            walk._seen = dict(self._seen)
            walk.value(pair)
            digests.append(walk.digest())
        self.words(type(values).__name__, *sorted(digests))

    def _function(self, value: Any) -> None:
        """A function in one of the many forms that njit code can refer to; anything else by its pickle."""
        derivative = derivative_of(value)
        if derivative is not None:
            self.words("derivative", repr(derivative.identity))
            self.value(derivative.kernel)
        elif inspect.isfunction(value):
            self._python(value)
        elif inspect.isbuiltin(value) or isinstance(value, np.ufunc):
            self.words("builtin", str(getattr(value, "__module__", "")), value.__name__)
        elif (inner := _inner_function(value)) is not None:
            options = (getattr(value, name, None) for name in ("targetoptions", "locals"))
            self.words(_named(type(value)), *(repr(sorted(map(str, (o or {}).items()))) for o in options))
            self.value(inner)
        elif isinstance(value, type) and stable(value.__module__):
            self.words("class", _named(value))
        else:
            self._pickled(value)

    def _python(self, function: Any) -> None:
        self.words("function", function.__module__ or "", function.__qualname__)
        if stable(function.__module__ or "") and not _own(function):
            return
        self._code(function.__code__)
        self.value(getattr(function, PARTS, ()))
        self.value(function.__defaults__)
        self.value(tuple(sorted((function.__kwdefaults__ or {}).items())))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self.words("cell", name)
            self._cell(cell)
        names = _names(function.__code__)
        for name in sorted(names):
            if name in function.__globals__:
                self.words("global", name)
                self._global(function.__globals__[name], names)

    def _cell(self, cell: Any) -> None:
        try:
            self.value(cell.cell_contents)
        except ValueError:  # an empty cell
            self.words("empty")

    def _global(self, value: Any, names: frozenset[str]) -> None:
        """A global, and of a module every attribute that the code may mean."""
        self.value(value)
        if isinstance(value, types.ModuleType) and not stable(value.__name__):
            for name in sorted(names & vars(value).keys()):
                inner = vars(value)[name]
                if inner is not value and not (isinstance(inner, types.ModuleType) and id(inner) in self._seen):
                    self.words("attribute", name)
                    self._global(inner, names)

    def _code(self, code: types.CodeType) -> None:
        self.words(code.co_code, *code.co_names, *code.co_varnames, *code.co_freevars, str(code.co_flags))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self.value(constant)

    def _pickled(self, value: Any) -> None:
        try:
            self.words(_named(type(value)), _serialize.dumps(value))
        except Exception:
            self.words(uuid.uuid4().bytes)


_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_INSIDE = ("py_func", "_dispatcher.py_func", "gufunc_builder.py_func", "_pyfunc", "_defn", "func")


def _inner_function(value: Any) -> Any:
    """The Python function that one of Numba's objects (dispatcher, ufunc, callback, intrinsic...) was made from."""
    if not type(value).__module__.startswith(("numba.", "irad.")):
        return None
    for path in _INSIDE:
        found = value
        for name in path.split("."):
            found = getattr(found, name, None)
        if inspect.isfunction(found):
            return found
    return None


def _names(code: types.CodeType) -> frozenset[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, types.CodeType))
    return frozenset(code.co_names).union(*inner)


def _named(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def stable(module: str) -> bool:
    """Whether a module belongs to a package whose contents its version tells."""
    return module.split(".", 1)[0] in _STABLE


def _own(function: Any) -> bool:
    """Whether a function that says it is from a stable package was made elsewhere: generated code does."""
    return not os.path.isfile(function.__code__.co_filename)


# --- derivatives on disk --------------------------------------------------------------------------------------------


class _Files(_caching.CompileResultCacheImpl):
    """Cache files beside those of the kernel."""

    def __init__(self, function: Any, suffix: str) -> None:
        super().__init__(function)
        self._filename_base += suffix


class DerivativeCache(_caching.FunctionCache):
    """Numba's cache, with the fingerprint of the kernel in the key."""

    def __init__(self, function: Any, kernel: Any, suffix: str) -> None:
        self._kernel = kernel
        home = root(kernel).py_func
        self._impl_class: Callable[[Any], Any] = lambda _: _Files(home, suffix)
        super().__init__(function)

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), fingerprint(self._kernel))


def enable(dispatcher: Any, kernel: Any, identity: tuple[object, ...], variant: str) -> None:
    """Keep what `dispatcher` compiles on disk.

    Raises
    ------
    BadArgumentValue: the kernel is not in a file.
    """
    digest = hashlib.sha256(repr((identity, variant)).encode()).hexdigest()[:12]
    try:
        dispatcher._cache = DerivativeCache(dispatcher.py_func, kernel, f".{identity[0]}.{digest}")
    except RuntimeError as error:
        hint = "put the kernel into a file, or leave cache=True out"
        raise BadArgumentValue(str(error), hint=hint, place=place_of(root(kernel))) from None


def root(kernel: Any) -> Any:
    """The user's own kernel behind derivatives of derivatives."""
    while (derivative := derivative_of(kernel)) is not None:
        kernel = derivative.kernel
    return kernel


def path_of(value: Any) -> tuple[str, str]:
    """Where a kernel is defined; an empty path when it cannot be found by name, as derivatives and closures cannot."""
    function = getattr(value, "py_func", value)
    module, path = getattr(function, "__module__", None) or "", getattr(function, "__qualname__", "")
    if isinstance(value, Derived):
        return module, ""
    try:
        found = resolved(module, path)
    except (AttributeError, ImportError, ValueError):
        return module, ""
    return module, path if found is value or getattr(found, "py_func", None) is function else ""


def resolved(module: str, path: str) -> Any:
    """What `path` names in a module.

    Raises
    ------
    AttributeError, ImportError, ValueError: nothing.
    """
    if not path:
        raise AttributeError("it cannot be found by name")
    return functools.reduce(getattr, path.split("."), importlib.import_module(module))
