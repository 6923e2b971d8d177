"""A normalised program as a function that Numba compiles into its callers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from numba import njit, types
from numba.core import cgutils, imputils
from numba.core.datamodel import ArgPacker, default_manager
from numba.core.runtime import rtsys
from numba.extending import intrinsic

from irad import llvm
from irad.emit.module import assemble
from irad.emit.runtime import resized
from irad.errors import BadArgumentValue, Unsupported
from irad.frontend import abi, entries, items, layout, listed, target
from irad.frontend.boxes import is_array_list, is_dict, opened
from irad.frontend.lower import Lowered
from irad.frontend.opening import open_value
from irad.frontend.operations import completed
from irad.frontend.shadows import Code
from irad.ir.model import Module
from irad.ir.types import PTR
from irad.ir.write import write
from irad.program import argument_leaves, normalized
from irad.rules.calls import RESIZED


def normal_form(lowered: Lowered) -> str:
    """As the pipeline has it; of arguments that irad refuses nothing is known."""
    try:
        return normalized(lowered, argument_leaves(lowered))
    except Unsupported:
        return normalized(lowered, ())


def entry(lowered: Lowered) -> str:
    """The symbol of the runnable program: its own, for symbols of one process must not collide."""
    return f"{lowered.name}.run"


# an array of Numba's runtime with its meminfo in front of the data, where `_owned` finds it again
_ALLOCATOR = """
declare noalias ptr @NRT_MemInfo_alloc_aligned(i64, i32)
define ptr @irad_alloc(i64 %size, i32 %align) noinline {
  %larger = add i64 %size, 64
  %meminfo = call ptr @NRT_MemInfo_alloc_aligned(i64 %larger, i32 64)
  %failed = icmp eq ptr %meminfo, null
  br i1 %failed, label %none, label %some
none:
  ret ptr null
some:
  %field = getelementptr i8, ptr %meminfo, i64 24
  %block = load ptr, ptr %field
  store ptr %meminfo, ptr %block
  %data = getelementptr i8, ptr %block, i64 64
  ret ptr %data
}
"""


# never freed: Numba's statistics of arrays are to stay as they are
_LISTS = """
define ptr @{name}(i64 %size, i32 %align) noinline {{
  %data = call ptr @malloc(i64 %size)
  ret ptr %data
}}
"""


def runnable(text: str, lowered: Lowered) -> str:
    """`text` with an allocator, and an `entry` that hands returned arrays over to the caller."""
    text = completed([text])
    if not re.search(r"^declare .*@irad_(alloc|tape)\(", text, re.MULTILINE) and "NRT_" in text:
        return text.replace(lowered.name, entry(lowered))  # counts its references itself
    text = re.sub(r"^declare .*@irad_alloc\(.*$", _ALLOCATOR, text, flags=re.MULTILINE)
    for name in ("irad_list", "irad_tape"):
        text = re.sub(rf"^declare .*@{name}\(.*$", _LISTS.format(name=name), text, flags=re.MULTILINE)
    text = "\n".join([text, "declare ptr @malloc(i64)", _entry_text(lowered)])
    if f"declare void @{RESIZED}(" in text:
        helper = replace(resized(), linkage=())
        text = llvm.joined([text, write(assemble(Module(), [helper], (), ""))])
    return text


def _entry_text(lowered: Lowered) -> str:
    signature = lowered.signature
    packer = ArgPacker(default_manager, list(map(opened, signature.args)))
    kinds = [layout.converted(t) for t in packer.argument_types]
    names = [f"%a{i}" for i in range(len(kinds))]
    parameters = ", ".join(["ptr %ret", "ptr %exc", *(f"{k} {n}" for k, n in zip(kinds, names, strict=True))])
    lines = [f"define i32 @{entry(lowered)}({parameters}) {{", f"  %status = call i32 @{lowered.name}({parameters})"]
    lines += ["  %ok = icmp eq i32 %status, 0", "  br i1 %ok, label %own0, label %end"]
    borrowed = [n for n, k in zip(names, kinds, strict=True) if k == PTR]
    arrays = _meminfos(signature.return_type)
    for i, offset in enumerate(arrays):
        lines += _owned(i, offset, borrowed)
    return "\n".join([*lines, f"own{len(arrays)}:", "  br label %end", "end:", "  ret i32 %status", "}", ""])


def _meminfos(kind: Any) -> list[int]:
    try:
        return [leaf.offset for leaf in abi.leaves(kind) if leaf.path.endswith(".meminfo")]
    except abi.Unsupported:
        return []


def _owned(i: int, offset: int, borrowed: list[str]) -> list[str]:
    """One more reference to the array at `offset`: of an argument as it is, of our own by its real meminfo."""
    lines = [f"own{i}:", f"  %at{i} = getelementptr i8, ptr %ret, i64 {offset}", f"  %m{i} = load ptr, ptr %at{i}"]
    test = f"%t{i}.0"
    lines.append(f"  {test} = icmp eq ptr %m{i}, null")
    lines.append(f"  br i1 {test}, label %own{i + 1}, label %some{i}")
    lines += [f"some{i}:", f"  %b{i}.0 = add i1 false, false"]
    for j, argument in enumerate(borrowed):
        lines += [f"  %e{i}.{j} = icmp eq ptr %m{i}, {argument}", f"  %b{i}.{j + 1} = or i1 %b{i}.{j}, %e{i}.{j}"]
    lines += [
        f"  br i1 %b{i}.{len(borrowed)}, label %count{i}, label %ours{i}",
        f"ours{i}:",
        f"  %block{i} = getelementptr i8, ptr %m{i}, i64 -64",
        f"  %real{i} = load ptr, ptr %block{i}",
        f"  store ptr %real{i}, ptr %at{i}",
        f"  br label %count{i}",
        f"count{i}:",
        f"  %o{i} = phi ptr [ %m{i}, %some{i} ], [ %real{i}, %ours{i} ]",
        f"  %old{i} = atomicrmw add ptr %o{i}, i64 1 monotonic",
        f"  br label %own{i + 1}",
    ]
    return lines


def linked(text: str, lowered: Lowered) -> Any:
    """An njit function that runs `text`, the normalised form of `lowered`."""
    library = target.link(runnable(text, lowered), entry(lowered), libraries=(rtsys.library,))
    return calling(library, entry(lowered), lowered.signature)


def calling(library: Any, symbol: str, signature: Any) -> Any:
    """An njit function that calls `symbol` of `library`, with Numba's calling convention. Defaults are left out."""
    given = [i for i, kind in enumerate(signature.args) if not isinstance(kind, types.Omitted)]

    def generate(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        context.active_code_library.add_linking_library(library)
        every = [context.get_constant_null(kind) for kind in signature.args]
        for i, value in zip(given, values, strict=True):
            every[i] = value
        convention, code = context.call_conv, Code(context, builder)
        pairs = [
            (kind, value, open_value(code, kind, value)) for kind, value in zip(signature.args, every, strict=True)
        ]
        containers = [one for pair in pairs for one in items.taken(code, "", *pair)]
        every = [value for _, _, value in pairs]
        taken = list(map(opened, signature.args))
        kind = convention.get_function_type(sig.return_type, taken)
        function = cgutils.get_or_insert_function(builder.module, kind, symbol)
        status, result = convention.call_function(builder, function, sig.return_type, taken, every)
        for one in containers:
            if is_dict(one.kind):
                entries.give_back(code, one, resizes=True)
            elif is_array_list(one.kind):
                listed.give_back(code, one, BadArgumentValue("other arrays are in the list"), resizes=True)
            else:
                items.give_back(code, one)
        for made, value in code.temporaries:
            context.nrt.decref(builder, made, value)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return imputils.fix_returning_optional(context, builder, sig, status, result)

    def typer(args: tuple[Any, ...]) -> Any:
        return signature.return_type(*args), generate

    starred = bool(signature.args) and isinstance(signature.args[-1], types.StarArgTuple | types.StarArgUniTuple)
    names = [f"a{i}" for i in given]
    passed = ", ".join(names)
    taken = ", ".join([*names[:-1], "*" + names[-1]]) if starred else passed
    scope: dict[str, Any] = {"typer": typer, "intrinsic": intrinsic}
    source = (
        f"@intrinsic\ndef call(typing, {passed}): return typer(({passed},))\ndef run({taken}): return call({passed})"
    )
    exec(source, scope)
    return njit(scope["run"])
