"""A kernel and the types of its arguments -> the LLVM text of the whole program, unoptimised, with source lines."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irad.errors import BadArgumentType, IradError, Place, Unsupported
from irad.frontend import adapter, boxes, overloads
from irad.frontend import target as irad_target
from irad.frontend.target import need
from irad.rewrite import CONTAINERS

_numba: Any = need("numba", "njit")
_errors: Any = need("numba.core.errors", "NumbaError", "TypingError", "ForceLiteralArg")
_ir: Any = need("numba.core.ir", "Loc")
_types: Any = need(
    "numba.core.types", "Type", "pyobject", "BaseTuple", "Optional", "ClassInstanceType", "ListType", "DictType"
)
_PLAIN: tuple[Any, ...] = tuple(
    getattr(_types, name)
    for name in (
        "Number",
        "Boolean",
        "Array",
        "NoneType",
        "Omitted",
        "Literal",
        "Record",
        "Dispatcher",
        "FunctionType",
        "UnicodeType",
        "NPDatetime",
        "NPTimedelta",
        "EnumMember",
        "CPointer",
        "NumPyRandomGeneratorType",
        "NumPyRandomBitGeneratorType",
        "RangeType",
        "SliceType",
    )
)


@dataclass(frozen=True)
class Lowered:
    """A program as Numba wrote it.

    text: LLVM module text. name: the symbol in it of the kernel, or of the function that takes the kernel's structures
    opened (see `irad.frontend.adapter`). signature: Numba's signature of the kernel, result included. dispatcher: the
    njit dispatcher of the kernel (made here for a plain Python function).
    """

    text: str
    name: str
    signature: Any
    dispatcher: Any


def lower(kernel: Any, argtypes: tuple[Any, ...]) -> Lowered:
    """Lower an njit function, or a plain Python function, for Numba types `argtypes`.

    The kernel's own options hold (`fastmath`, `error_model`, `boundscheck`, `locals`...); `parallel=True` is lowered
    to serial loops. Nothing that Numba does elsewhere in the process changes.

    Raises
    ------
    BadArgumentType: `kernel` is not a function; a wrong number of arguments, or not Numba types.
    Unsupported: Numba cannot compile the kernel for these types; an objmode block.
    """
    dispatcher = dispatcher_of(kernel)
    argtypes = _checked(dispatcher, argtypes)
    with irad_target.lock:
        irad_target.start()
        overloads.install()
        compiled = _compile(dispatcher, argtypes)
        compiled.library._ensure_finalized()
        text = str(compiled.library._final_module)
    if not all(map(_plain_type, argtypes)):
        text += f"\n!{CONTAINERS} = !{{}}\n"
    name, kinds = compiled.fndesc.llvm_func_name, compiled.signature.args
    if adapter.takes_structures(kinds):
        try:
            text, name = adapter.adapted(text, name, kinds, parameter_names(dispatcher, len(kinds)))
        except IradError as error:
            raise error.at(place_of(dispatcher)) from None
    return Lowered(text, name, compiled.signature, dispatcher)


def parameter_names(dispatcher: Any, count: int) -> list[str]:
    """The names of a kernel's first `count` parameters."""
    found = list[str](dispatcher.py_func.__code__.co_varnames[:count])
    return found + [f"argument{i}" for i in range(len(found), count)]


def dispatcher_of(kernel: Any) -> Any:
    """The njit dispatcher of `kernel`; a plain function is made njit, once.

    Raises
    ------
    BadArgumentType: `kernel` is neither.
    """
    if isinstance(kernel, irad_target.CPUDispatcher):
        if kernel.targetoptions.get("forceobj"):
            raise BadArgumentType("a kernel in object mode cannot be differentiated", place=place_of(kernel))
        return kernel
    if inspect.isfunction(kernel):
        with irad_target.lock:
            if kernel not in _plain:
                _plain[kernel] = _numba.njit(kernel)
            return _plain[kernel]
    raise BadArgumentType(f"{kernel!r} is not a function that Numba compiles", hint="decorate it with numba.njit")


def place_of(dispatcher: Any) -> Place:
    """Where a kernel is defined."""
    code = dispatcher.py_func.__code__
    return Place(code.co_filename, code.co_firstlineno)


_plain: dict[Any, Any] = {}


def _checked(dispatcher: Any, argtypes: tuple[Any, ...]) -> tuple[Any, ...]:
    place, name = place_of(dispatcher), dispatcher.py_func.__name__
    for at, kind in enumerate(argtypes):
        if not isinstance(kind, _types.Type) or kind == _types.pyobject:
            raise BadArgumentType(f"argument {at} of {name} has no Numba type: {kind!r}", place=place)
    try:
        inspect.signature(dispatcher.py_func).bind(*argtypes)
    except TypeError as error:
        raise BadArgumentType(f"{name}: {error}", place=place) from None
    return tuple(argtypes)


def _plain_type(kind: Any) -> bool:
    """Whether a kernel cannot put arrays of its own into a value of this type (as it can into a list)."""
    match kind:
        case _types.BaseTuple():
            return all(map(_plain_type, kind.types))
        case _types.Optional():
            return _plain_type(kind.type)
        case _types.ClassInstanceType():
            # that its attributes are not given other arrays is seen to elsewhere
            return all(map(_plain_type, kind.struct.values()))
        case _types.ListType() | _types.DictType():
            return boxes.is_box(kind)
        case _:
            return isinstance(kind, _PLAIN)


def _compile(dispatcher: Any, argtypes: tuple[Any, ...]) -> Any:
    twin = irad_target.twin(dispatcher)
    _, folded = twin._compiler.fold_argument_types(argtypes, {})
    try:
        twin.compile(folded)
    except _errors.ForceLiteralArg as error:
        # as Numba's own dispatcher does on `literally`: the types of these arguments cannot be literals here
        raise _failure(dispatcher, error) from None
    except (IradError, MemoryError):
        raise
    except (_errors.NumbaError, NotImplementedError, AssertionError) as error:
        raise _failure(dispatcher, error) from None
    except Exception as error:
        # whatever the code behind a function raises while it is compiled: Numba passes it on as it is
        raise _failure(dispatcher, error) from error
    return twin.overloads[folded]


# --- one line out of thirty ---------------------------------------------------------------------------------------


def _failure(dispatcher: Any, error: Exception) -> IradError:
    inner = error.__cause__
    if isinstance(inner, IradError):
        return inner
    cause = _cause(str(error)) or type(error).__name__
    place = _place(error) or _place_of_lowering(error) or place_of(dispatcher)
    return Unsupported(f"Numba cannot compile {dispatcher.py_func.__name__}: {cause}", place=place)


_NOISE = re.compile(r"^(Failed in \w+ mode pipeline|- Resolution failure|There are \d+ candidate)")


def _cause(message: str) -> str:
    """The first sentence of Numba's message that says something, with the call it could not resolve."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    said = [line for line in lines if line and not _NOISE.match(line)]
    if not said:
        return ""
    first = said[0].rstrip(".:")
    asked = next((line for line in said[1:3] if line.startswith(">>>")), "")
    return f"{first}: {asked.removeprefix('>>>').strip()}" if asked else first


def _place(error: Any) -> Place | None:
    """The user's line: the innermost that Numba names outside its own package."""
    return next(_places(error), None)


def _place_of_lowering(error: Exception) -> Place | None:
    """The line that Numba had got to: an exception that is not of its own does not say."""
    found, step = None, error.__traceback__
    while step is not None:
        where: Any = getattr(step.tb_frame.f_locals.get("self"), "loc", None)
        if isinstance(where, _ir.Loc) and not where.filename.startswith(irad_target.PACKAGE):
            found = Place(where.filename, where.line)
        step = step.tb_next
    return found


def _places(error: Any) -> Iterator[Place]:
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', str(error)):
        path = os.path.abspath(os.path.expanduser(file))
        if os.path.isfile(path) and not path.startswith(irad_target.PACKAGE):
            yield Place(path, int(line))
    where = getattr(error, "loc", None)
    if where is not None and not where.filename.startswith(irad_target.PACKAGE):
        yield Place(where.filename, where.line)
