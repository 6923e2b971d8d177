"""What calls do, by name: allocation, copies, functions without a derivative, and why the rest is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irad.ir.types import Float
from irad.rules.scalar import rule_name

LIST = "irad_list"
LIST_HEAD = 24
"""The function that returns memory for a list or a set of the kernel, and how many bytes of it are no elements."""

ALLOCATORS = frozenset({"irad_alloc", "irad_tape", LIST})
"""Functions that return fresh memory; see `irad.llvm` for how Numba's allocator becomes the first."""

RAISED = "NRT_Allocate"
"""The function that returns memory for the description of an exception."""

ARRAYS = frozenset({"irad_alloc"})
"""Those whose memory is the data of an array, whose elements are never pointers."""

RESIZED = "irad_resized"
"""The function that tells the caller what a container of its own has become, when the kernel changed its length."""

_SIZES = ("i32", "i64")

COPIES = frozenset(f"llvm.{name}.p0.p0.{size}" for name in ("memcpy", "memcpy.inline", "memmove") for size in _SIZES)
"""(destination, source, bytes, volatile): bytes move, and with them the derivatives that they carry."""

FILLS = frozenset(f"llvm.{name}.p0.{size}" for name in ("memset", "memset.inline") for size in _SIZES)
"""(destination, byte, bytes, volatile): memory becomes constant."""

# --- whole operations -----------------------------------------------------------------------------------------------

WHOLE_NAME = ("irad", "frontend", "whole", "Whole")
"""The module and class to which functions with a derivative rule of their own claim to belong."""

WHOLE_SYMBOL = f"_ZN{''.join(f'{len(word)}{word}' for word in WHOLE_NAME)}"
"""How Numba's symbols of such functions begin."""


def is_whole(name: str) -> bool:
    """Whether the function has a derivative rule of its own: its calls stay as they are, its body is never read."""
    return name.startswith(WHOLE_SYMBOL)


@dataclass(frozen=True)
class Whole:
    """What a call of a whole operation leaves in the memory of its result, and it writes no other.

    values: types of the floats there. arrays: of those in arrays, whose memory is fresh. fresh: whether there are
    arrays at all.
    """

    values: frozenset[Float]
    arrays: frozenset[Float]
    fresh: bool


# --- functions without a derivative ---------------------------------------------------------------------------------

_INTEGER_INTRINSICS = frozenset(
    {
        *("smax", "smin", "umax", "umin", "abs", "scmp", "ucmp"),
        *("cttz", "ctlz", "ctpop", "bswap", "bitreverse", "fshl", "fshr"),
        *(f"{op}.with.overflow" for op in ("sadd", "uadd", "ssub", "usub", "smul", "umul")),
        *(f"{op}.sat" for op in ("sadd", "uadd", "ssub", "usub", "sshl", "ushl", "fptosi", "fptoui")),
        *("is.fpclass", "is.constant", "lround", "llround", "lrint", "llrint"),
        *(f"vector.reduce.{op}" for op in ("add", "mul", "and", "or", "xor", "smax", "smin", "umax", "umin")),
    }
)

_INTEGER_FUNCTIONS = frozenset(
    {
        *(name + f for name in ("lround", "llround", "lrint", "llrint", "ilogb") for f in ("", "f")),
        *("abs", "labs", "llabs", "numba_fptoui", "numba_fptouif"),
        *(f"numba_{op}" for op in ("sdiv", "srem", "udiv", "urem")),
    }
)

_HINTS_TO_LLVM = frozenset(
    {
        *("assume", "expect", "expect.with.probability", "donothing", "sideeffect", "prefetch"),
        *("lifetime.start", "lifetime.end", "invariant.start", "invariant.end"),
        *("experimental.noalias.scope.decl", "dbg.declare", "dbg.value", "dbg.label", "dbg.assign"),
        *("stacksave", "stackrestore", "trap", "ubsantrap", "debugtrap", "pseudoprobe", "var.annotation"),
    }
)

_RUNTIME = frozenset(
    {
        # reference counts, and memory that Numba's runtime frees
        *("NRT_incref", "NRT_decref", "NRT_Free", "NRT_MemInfo_call_dtor", "NRT_get_api"),
        # exceptions
        *("numba_unpickle", "numba_do_raise", "numba_runtime_build_excinfo_struct", "numba_fatal_error", "abort"),
        *("PyErr_SetString", "PyErr_SetNone", "PyErr_SetObject", "PyErr_Format", "PyErr_Clear", "PyErr_Occurred"),
        *("PyErr_WriteUnraisable", "Py_FatalError"),
        # printing, but for the conversion of numbers: BOXES
        *("printf", "puts", "putchar", "fflush", "PySys_FormatStdout", "PySys_WriteStdout", "PyObject_Str"),
        *("PyUnicode_AsUTF8", "PyUnicode_FromString", "PyUnicode_FromStringAndSize", "PyUnicode_FromFormat"),
        *("PyBool_FromLong", "PyLong_FromLongLong", "PyLong_FromUnsignedLongLong", "PyLong_FromSsize_t"),
        *("Py_IncRef", "Py_DecRef", "numba_gil_ensure", "numba_gil_release", "numba_gdb_breakpoint"),
        # threads
        *("get_num_threads", "get_thread_id", "get_parallel_chunksize", "set_parallel_chunksize"),
    }
)

BOXES = frozenset({"PyFloat_FromDouble", "PyComplex_FromDoubles", "NRT_adapt_ndarray_to_python_acqref", "PyTuple_Pack"})
"""Functions that make Python objects of values, to print them or to put them into an exception. They are inactive in a
program that never calls into Python (RUNS_PYTHON); otherwise the derivative would be lost in the object."""

RUNS_PYTHON = re.compile(
    r"PyObject_Call\w*|PyFloat_AsDouble|PyComplex_\w+AsDouble|PyNumber_\w+|NRT_adapt_\w+from_python"
)
"""Functions that run Python code, or bring a number back from a Python object."""


RELEASES = frozenset({"NRT_decref", "NRT_Free", "NRT_MemInfo_call_dtor"})
"""Functions after which memory may be gone."""

SHAPERS = frozenset({"numba_attempt_nocopy_reshape"})
"""Functions that write nothing but shapes and strides."""


def _bare(name: str) -> str:
    """`llvm.sadd.sat.v4i32` -> `sadd.sat`; empty for what is not an intrinsic."""
    if not name.startswith("llvm."):
        return ""
    return re.sub(r"(\.(v\d+)?[ifp]\d+)+$", "", name.removeprefix("llvm."))


def is_inactive(name: str) -> bool:
    """Whether the function neither takes part in any derivative nor writes memory of the kernel."""
    bare = _bare(name)
    return bare in _HINTS_TO_LLVM or name in _RUNTIME or name == RESIZED or is_integer(name)


def is_integer(name: str) -> bool:
    """Whether the function computes integers, and nothing else."""
    return _bare(name) in _INTEGER_INTRINSICS or name in _INTEGER_FUNCTIONS


def is_pure(name: str) -> bool:
    """Whether the result depends on the arguments' values alone, so that the call may be made again."""
    return rule_name(name) is not None or is_integer(name)


# --- refusals -------------------------------------------------------------------------------------------------------

_REASONS: tuple[tuple[str, str, str], ...] = (
    (
        r"frexpf?|llvm\.frexp\..*",
        "this form of frexp is not known",
        "write math.frexp",
    ),
    (
        r"modff?|llvm\.modf\..*",
        "modf returns its second result through memory",
        "write x - np.trunc(x) and np.trunc(x)",
    ),
    (
        r"sincosf?|llvm\.sincos(pi)?\..*",
        "sincos returns two results at once, which is not differentiated",
        "write math.sin and math.cos",
    ),
    (
        r"numba_(get_(np|py|internal)_random_state|rnd_\w+|poisson\w*)",
        "random numbers are drawn inside the kernel",
        "draw them before the call and pass them as an argument",
    ),
    (
        r"numba_(xx\w+|xgesv|ez_\w+)|(cblas_)?[sdcz](gemm|gemv|dot|axpy|nrm2|getrf|getri|potrf|gesv)_?",
        "a BLAS or LAPACK routine on active data is not differentiated",
        "write the product as loops, or pass the result in as a constant",
    ),
    (
        r"numba_parallel_for|do_scheduling_\w+|(de)?allocate_sched|get_sched_size",
        "a parallel loop was compiled as such",
        "compile the kernel with parallel=False",
    ),
    (
        r"NRT_MemInfo_(new_varsize|varsize)\w*|numba_(list|dict|set)_\w+",
        "lists, dictionaries and sets of active values are not differentiated",
        "use arrays, and numbers as keys of dictionaries",
    ),
    (
        r"NRT_\w+",
        "memory of this sort (an object with a destructor, a string) is not differentiated",
        "use arrays and scalars",
    ),
    (
        r"_?Py\w+",
        "an active value is given to Python (objmode, print or an exception's argument)",
        "keep active values out of Python code inside the kernel",
    ),
    (
        r"llvm\.masked\..*|llvm\.vector\..*|llvm\.vp\..*",
        "vectorised code on active values is not differentiated",
        "do not vectorise before differentiating",
    ),
    (
        r"llvm\.mem\w+\..*",
        "this form of memory copy or fill is not known",
        "report the kernel: this form is unexpected",
    ),
)


def explain_missing(name: str) -> tuple[str, str]:
    """Why the function `name` is refused, and what to write instead."""
    for pattern, why, hint in _REASONS:
        if re.fullmatch(pattern, name):
            return why, hint
    return (
        f"no derivative is known for {name}",
        "add a row to irad/rules/scalar.py, or to irad/rules/calls.py if its result cannot vary",
    )
