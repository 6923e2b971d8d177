"""LLVM itself: normalise, verify, optimise. The only user of llvmlite.binding; text in, text out."""

from __future__ import annotations

import ctypes
import functools
import importlib
import re
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

from irad import rewrite, typed_dicts, typed_lists
from irad.errors import InvalidIR
from irad.versions import check_llvm

_ll: Any = importlib.import_module("llvmlite.binding")
VERSION: tuple[int, ...] = tuple(_ll.llvm_version_info)
"""The version of LLVM inside llvmlite."""

check_llvm(VERSION)

_SINCE_21 = re.compile(r"@llvm\.(maximumnum|minimumnum)\.")
SMALL = 400
"""Instructions of a function that its callers take in."""

_host: dict[str, str] = {}
_machines: dict[tuple[str, str], Any] = {}


_tape = ctypes.c_void_p()
_ll.add_symbol("irad_tape_cache", ctypes.addressof(_tape))
_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]
_libc.malloc.argtypes, _libc.malloc.restype = [ctypes.c_size_t], ctypes.c_void_p


def release_tape() -> None:
    """Give the tape memory that waits for the next gradient back to the system (at most 256 MB; see emit.runtime).

    Not to be called while another thread runs a gradient.
    """
    waiting, _tape.value = _tape.value, None
    _libc.free(waiting)


_BLANK = 0xA5  # what tape memory holds before it is used, while it is measured


def tape_bytes(run: Callable[[], object], most: int = 1 << 28) -> int | None:
    """How much tape memory one run of a derivative writes, in bytes; None when that is more than `most` (of 256 MB).

    `run` must have been compiled before. It finds a chunk of memory waiting that is large enough for all of its tape,
    and what it leaves in there is looked at afterwards: derivative code itself counts nothing. Not to be called while
    another thread runs a derivative.
    """
    release_tape()
    chunk: int | None = _libc.malloc(most)
    if chunk is None:
        raise MemoryError
    ctypes.memset(chunk, _BLANK, most)
    header = (ctypes.c_uint64 * 2).from_address(chunk)
    header[:] = (0, most)
    _tape.value = chunk
    run()
    if _tape.value != chunk:  # it was too small, and another one took its place
        return None
    first = (chunk + ctypes.sizeof(header) + 63) & -64
    used = ctypes.string_at(first, chunk + most - first).rstrip(bytes([_BLANK]))
    release_tape()
    return len(used)


def use_machine(cpu: str, features: str) -> None:
    """Optimise for this processor from now on: the one that Numba compiles for."""
    _host.update(cpu=cpu, features=features)


@functools.cache
def vector_symbols(names: frozenset[str]) -> frozenset[str]:
    """Those of `names`, vector versions of libm's functions by the x86-64 vector function ABI, that can be called here.

    Empty where glibc's libmvec is missing. The letter in `_ZGVdN4v_exp` tells which instructions it needs.
    """
    try:
        _ll.load_library_permanently("libmvec.so.1")
    except RuntimeError:
        return frozenset()
    features = _cpu()[1].split(",")
    fit = {letter for letter, needed in {"b": "+sse2", "d": "+avx2", "e": "+avx512f"}.items() if needed in features}
    return frozenset(name for name in names if name[4] in fit and _ll.address_of_symbol(name))


def parse(text: str) -> Any:
    """The llvmlite module of `text`, verified.

    Raises
    ------
    InvalidIR: with LLVM's message.
    """
    try:
        module = _ll.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise InvalidIR(f"LLVM refuses the module: {str(error).strip()}") from None
    return module


def verify(text: str) -> None:
    """Check a module with LLVM's parser and verifier.

    Raises
    ------
    InvalidIR: with LLVM's message.
    """
    parse(text)


@functools.lru_cache(4)  # the modes of one kernel are compiled one after the other
def normalize(text: str, name: str) -> str:
    """The canonical form of a raw program whose kernel is `@name`; every other definition becomes internal.

    Reference counting is gone and arrays come from `@irad_alloc`, helpers are inlined, memory is in registers, loops
    are simplified and closed (LCSSA), counters canonical, short constant loops unrolled. Nothing is vectorised, and
    no floating-point operation is added, dropped or reordered: run as it is, it computes what Numba computes.
    A program that uses Numba's runtime for more than plain arrays keeps its calls.

    Raises
    ------
    InvalidIR: LLVM cannot read `text`.
    """
    text = rewrite.mantissas_by_scaling(rewrite.addresses_as_pointers(rewrite.lines_only(text)))
    text = rewrite.records_as_blocks(rewrite.roots_by_side(rewrite.powers_by_value(text)))
    module = _stripped(text, name)
    if module is None:
        module = _inlined(text, name)
        _standard(module)
    for _ in range(3):
        tagged = rewrite.tag_short_loops(str(module))
        if tagged is None:
            break
        module = parse(tagged)
        _standard(module)
    return _finished(module)


def miscompiled(text: str, version: tuple[int, ...] = VERSION) -> str:
    """An intrinsic in `text` of which that LLVM makes wrong machine code; empty where there is none.

    LLVM 20 takes the wrong operand of maximumnum and minimumnum on x86. The Numba that has it writes neither.
    """
    found = _SINCE_21.search(text) if version < (21,) else None
    return found[1] if found else ""


def simplify(text: str) -> str:
    """A normalised program of which something was decided, in normal form again.

    Raises
    ------
    InvalidIR: LLVM cannot read `text`.
    """
    module = parse(text)
    _standard(module)
    return _finished(module)


def joined(texts: Sequence[str]) -> str:
    """One module of several; what the first defines keeps its names.

    Raises
    ------
    InvalidIR: LLVM cannot read one of them.
    """
    first, *others = texts
    if not others:
        return first
    module = parse(first)
    for other in others:
        module.link_in(parse(other))
    return rewrite.lines_only(str(module))


def optimize(text: str, keep: Collection[str], level: int = 3) -> str:
    """`text` at `level`, loops vectorised, functions outside `keep` internal. SLP stays off: it stalls adjoints.

    Small functions of `keep` become part of the compiled functions that call them: the numbers that go in and out stay
    in registers, and what two calls have in common is computed once.

    Raises
    ------
    InvalidIR: LLVM cannot read `text`.
    """
    module = parse(text)
    _internalize(module, keep)
    _pipeline(module, level, vectorize=True)
    small = [name for name in keep if _joins_callers(module.get_function(name))]
    return rewrite.inlined(rewrite.without_used(str(module)), small)


def assembly(text: str) -> str:
    """The host's assembly of `text` as it is."""
    return str(_machine().emit_assembly(parse(text)))


def _stripped(text: str, name: str) -> Any:
    """The inlined, optimised program without Numba's runtime; None when it needs more of that than plain arrays."""
    contained = typed_lists.in_memory(typed_dicts.in_memory(text))
    stripped = rewrite.strip_runtime(contained)
    if stripped is None:
        return None
    module = _inlined(stripped, name)
    if stripped is not text:
        if rewrite.has_lists(stripped):
            _run(module, "instruction_combine")  # a list is a pair of pointers, which is taken apart and made anew
        pointed = rewrite.with_data_pointers(str(module), instances=rewrite.has_instances(contained))
        if pointed is None:
            return None
        module = parse(pointed)
        module.link_in(_ll.parse_assembly(rewrite.RUNTIME))
    _standard(module)
    return module


# --- passes ---------------------------------------------------------------------------------------------------------


def _inlined(text: str, name: str) -> Any:
    """Every helper that is not recursive nor too large inlined; memory to registers while lines still hold."""
    module = parse(rewrite.mark_inline(text, name))
    _internalize(module, (name,))
    # helpers first: LLVM's time for the stack slots of one function grows with their number times that of its blocks
    _run(module, "sroa", "always_inliner", "global_dead_code_eliminate", "sroa", "loop_rotate", "simplify_cfg")
    return module


def _standard(module: Any) -> None:
    """Level 2 as it comes (only the full pipeline canonicalises counters), without what undoes the source's shape."""
    _pipeline(module, 2, vectorize=False)


def _finished(module: Any) -> str:
    _run(module, "global_dead_code_eliminate", "loop_simplify", "lcssa", "instruction_namer")
    return rewrite.without_unused_environments(rewrite.lines_only(str(module)))


def _internalize(module: Any, keep: Collection[str]) -> None:
    for function in module.functions:
        if not function.is_declaration and function.name not in keep:
            function.linkage = "internal"


def _joins_callers(function: Any) -> bool:
    if any(b"noinline" in group for group in function.attributes):
        return False
    instructions = (i for block in function.blocks for i in block.instructions)
    return next(islice(instructions, SMALL, None), None) is None


def _pipeline(module: Any, level: int, *, vectorize: bool) -> None:
    builder = _ll.create_pass_builder(_machine(), _options(level, vectorize=vectorize))
    builder.getModulePassManager().run(module, builder)


def _run(module: Any, *passes: str) -> None:
    builder = _ll.create_pass_builder(_machine(), _options(2, vectorize=False))
    manager = _ll.create_new_module_pass_manager()
    for one in passes:
        getattr(manager, f"add_{one}_pass")()
    manager.run(module, builder)


def _options(level: int, *, vectorize: bool) -> Any:
    options = _ll.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.loop_interleaving = options.loop_unrolling = vectorize
    options.slp_vectorization = False
    return options


def _cpu() -> tuple[str, str]:
    """The processor to compile for, and its features as LLVM writes them."""
    cpu = _host.get("cpu") or _ll.get_host_cpu_name()
    return str(cpu), str(_host.get("features") or _ll.get_host_cpu_features().flatten())


def _machine() -> Any:
    cpu, features = _cpu()
    if (cpu, features) not in _machines:
        _ll.initialize_native_target()
        _ll.initialize_native_asmprinter()
        target = _ll.Target.from_triple(_ll.get_process_triple())
        machine = target.create_target_machine(
            cpu=cpu, features=features, opt=3, jit=True, reloc="default", codemodel="jitdefault"
        )
        _machines[cpu, features] = machine
    return _machines[cpu, features]
