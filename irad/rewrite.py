"""LLVM text that Numba wrote, rewritten before and between LLVM's passes. Text in, text out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

# --- Numba's runtime ------------------------------------------------------------------------------------------------

CONTAINERS = "irad.containers"
"""Named metadata of a module whose arguments hold arrays in memory (jitclass, lists): references must be counted."""

_COUNTING = {"NRT_incref", "NRT_decref", "NRT_MemInfo_call_dtor", "nrt_atomic_add", "nrt_atomic_sub"}
_ALLOCATORS = {"NRT_MemInfo_alloc_aligned", "NRT_MemInfo_alloc_safe_aligned"}
_INSTANCE = "NRT_MemInfo_alloc_dtor"
_TEXT = "NRT_MemInfo_alloc"  # what a string that the kernel puts together is made of
_DATA_OF = "NRT_MemInfo_data_fast"
_HELD_BY = "irad_held_data"  # the data pointer of a list or a set, which moves when it grows
_GROWING = {"NRT_MemInfo_new_varsize_dtor", "NRT_MemInfo_varsize_alloc", "NRT_MemInfo_varsize_realloc"}
_UNUSED = {"NRT_MemInfo_varsize_free"}  # nothing is freed before the call ends
_EXCEPTIONS = {"NRT_Allocate", "NRT_Free"}  # the arguments of a raise, which nobody counts; and copies of slices
_KNOWN = _COUNTING | _ALLOCATORS | _EXCEPTIONS | _GROWING | _UNUSED | {_DATA_OF, _INSTANCE, _TEXT}
_RUNTIME = re.compile(r"@((?:NRT|nrt|_NRT)_\w+|numba_(?:list|dict|set)_\w+)")

ALLOCATE = (
    "declare noalias ptr @irad_alloc(i64, i32 allocalign) nounwind willreturn "
    'allockind("alloc,uninitialized,aligned") allocsize(0) "alloc-family"="irad" '
    "memory(inaccessiblemem: readwrite)"
)
_MOVE_APART = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
_LIST = ALLOCATE.replace("@irad_alloc(", "@irad_list(")
_ASK = f"declare ptr @{_DATA_OF}(ptr) nounwind willreturn memory(none)"
_ASK_AGAIN = _ASK.replace("memory(none)", "memory(argmem: read)")
"""The same where there are lists: their data moves, and LLVM must not carry the answer out of a loop."""
RUNTIME = f"""
{_LIST}
declare i64 @llvm.umin.i64(i64, i64)
{_MOVE_APART}

define linkonce_odr ptr @{_DATA_OF}(ptr %meminfo) alwaysinline {{
  ret ptr %meminfo
}}

define linkonce_odr ptr @{_HELD_BY}(ptr %meminfo) alwaysinline {{
  %place = getelementptr i8, ptr %meminfo, i64 24
  %data = load ptr, ptr %place
  ret ptr %data
}}

define linkonce_odr ptr @NRT_MemInfo_varsize_alloc(ptr %meminfo, i64 %size) alwaysinline {{
  %data = call ptr @irad_list(i64 %size, i32 16)
  %place = getelementptr i8, ptr %meminfo, i64 24
  store ptr %data, ptr %place
  %known = getelementptr i8, ptr %meminfo, i64 32
  store i64 %size, ptr %known
  ret ptr %data
}}

define linkonce_odr ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %dtor) alwaysinline {{
  %meminfo = call ptr @irad_list(i64 48, i32 16)
  %data = call ptr @NRT_MemInfo_varsize_alloc(ptr %meminfo, i64 %size)
  ret ptr %meminfo
}}

define linkonce_odr ptr @NRT_MemInfo_varsize_realloc(ptr %meminfo, i64 %size) alwaysinline {{
  %place = getelementptr i8, ptr %meminfo, i64 24
  %old = load ptr, ptr %place
  %known = getelementptr i8, ptr %meminfo, i64 32
  %before = load i64, ptr %known
  %data = call ptr @NRT_MemInfo_varsize_alloc(ptr %meminfo, i64 %size)
  %common = call i64 @llvm.umin.i64(i64 %before, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %old, i64 %common, i1 false)
  ret ptr %data
}}
"""
"""What stays of Numba's runtime, on top of `@irad_alloc` and `@irad_list`: an array's meminfo is its data; that of a
list or a set is laid out as Numba's, so that data and size stand where those of the caller's objects do."""


def strip_runtime(text: str) -> str | None:
    """`text` without reference counting, its arrays from `@irad_alloc`; None when it needs more of Numba's runtime.

    What `RUNTIME` defines stays as declarations: see `with_data_pointers`.
    """
    used = set(_RUNTIME.findall(text))
    if not used:
        return text
    if used - _KNOWN or f"!{CONTAINERS} =" in text:
        return None
    if _INSTANCE in used and not all(_is_instance(text, found) for found in _NEW.finditer(text)):
        return None
    kept = _kept_texts(_copied_slices(text))
    if kept is None:
        return None
    counting = ("call void @NRT_incref(", "call void @NRT_decref(", *(f"call void @{name}(" for name in _UNUSED))
    text = "\n".join(
        line for line in kept.split("\n") if not line.startswith("  ") or not any(c in line for c in counting)
    )
    # a derivative that is differentiated again has declared the allocator already
    for name in (used - _EXCEPTIONS - _GROWING) | {"irad_alloc"}:
        text = _without_function(text, name)
    text = _NEW_TEXT.sub(r"call ptr @irad_alloc(i64 \1, i32 16)", text)
    text = _NEW.sub(r"call ptr @irad_alloc(i64 \1, i32 32)", text)
    for name in used & _ALLOCATORS:
        text = text.replace(f"@{name}(", "@irad_alloc(")
    known = ((ALLOCATE, "irad_alloc"), (_ASK_AGAIN if has_lists(text) else _ASK, _DATA_OF))
    declared = [line for line, name in known if f"@{name}(" in text]
    return "\n".join([text, *declared, ""])


_NEW_TEXT = re.compile(rf"call ptr @{_TEXT}\(i64 ([^,)]+)\)")
_NEW = re.compile(rf"call ptr @{_INSTANCE}\(i64 ([^,]+), ptr (%[^\s,)]+|@[^)]+)\)")


def _is_instance(text: str, new: re.Match[str]) -> bool:
    """Whether an allocation with a destructor is an instance of a jitclass: that only gives up what it holds."""
    destructor = new[2]
    if destructor.startswith("%"):
        at = text.rfind(f"\n  {destructor} = ", 0, new.start())
        destructor = text[at + 1 : text.index("\n", at + 1)]
    return '@"_Dtor.instance.jitclass.' in destructor


_COPY = re.compile(r"call ptr @NRT_Allocate\(i64 (%[^\s,)]+)\)")
_FREE = re.compile(r"^ +(?:tail )?call void @NRT_Free\(.*\n", re.MULTILINE)


def _copied_slices(text: str) -> str:
    """`text` with the copy of an array that is assigned to a slice of itself from `@irad_alloc`, never freed.

    The function that makes such a copy frees it. Memory for the arguments of a raise is freed by the functions that
    unwrap them, and has a constant size but for the texts in it, see `_kept_texts`.
    """
    if not _COPY.search(text):
        return text
    return "".join(
        _FREE.sub("", _COPY.sub(r"call ptr @irad_alloc(i64 \1, i32 32)", body))
        if "@__excinfo_unwrap_args" not in body.split("\n", 1)[0] and _FREE.search(body)
        else body
        for body in re.split(r"^(?=define )", text, flags=re.MULTILINE)
    )


_STRING = "{ ptr, i64, i32, i32, i64, ptr, ptr }"
"""A string in Numba: data, length, kind (bytes in a character), is_ascii, hash, meminfo, parent."""
_RAISED = re.compile(r"^  (%\S+) = call ptr @NRT_Allocate\(i64 (\d+)\)", re.MULTILINE)
_PUT = re.compile(rf"^  store {re.escape(_STRING)} (%[^\s,]+), ptr (%[^\s,]+)(.*)$", re.MULTILINE)
_FIELD = re.compile(r"getelementptr (?:inbounds )?(.*), ptr (%[^\s,]+), i32 0, i32 \d+")
_SAME = re.compile(r"bitcast ptr (%[^\s,]+) to ptr")


def _kept_texts(text: str) -> str | None:
    """`text` in which the memory for the arguments of a raise holds the characters of the strings among them: what the
    kernel made ends with its call, before the arguments are unwrapped. None where a string lies deeper in them."""
    bodies: list[str] = []
    for body in re.split(r"^(?=define )", text, flags=re.MULTILINE):
        kept = _with_texts(body) if _STRING in body else body
        if kept is None:
            return None
        bodies.append(kept)
    kept = "".join(bodies)
    return declared(kept, (_MOVE_APART,)) if kept != text else text


def _with_texts(body: str) -> str | None:
    """A function in which memory for the arguments of a raise has room for strings, and they are copied there."""
    defined = dict(_DEFINED.findall(body))
    sizes = {block: int(size) for block, size in _RAISED.findall(body)}
    types: dict[str, str] = {}
    strings: dict[str, list[re.Match[str]]] = {block: [] for block in sizes}
    for made in defined.values():
        if (field := _FIELD.match(made)) and (block := _same(field[2], defined)) in sizes:
            types[block] = field[1]
    for put in _PUT.finditer(body):
        field = _FIELD.match(defined.get(put[2], ""))
        if field and (block := _same(field[2], defined)) in sizes:
            strings[block].append(put)
    if any(len(strings[block]) != type.count(_STRING) for block, type in types.items()):
        return None
    for block, puts in strings.items():
        room = str(sizes[block])
        before: list[str] = []
        for n, put in enumerate(puts):
            names = {"string": _STRING, "s": put[1], "at": f"{block}.text.{n}", "room": room}
            before.append(_MEASURED.format(**names))
            body = body.replace(put[0], _MOVED_TEXT.format(**names, block=block, to=put[2], more=put[3]))
            room = f"{block}.text.{n}.end"
        if puts:
            call = f"  {block} = call ptr @NRT_Allocate(i64 "
            body = body.replace(f"{call}{sizes[block]})", f"{''.join(before)}{call}{room})")
    return body


def _same(pointer: str, defined: dict[str, str]) -> str:
    while same := _SAME.match(defined.get(pointer, "")):
        pointer = same[1]
    return pointer


_MEASURED = """\
  {at}.length = extractvalue {string} {s}, 1
  {at}.kind = extractvalue {string} {s}, 2
  {at}.wide = sext i32 {at}.kind to i64
  {at}.bytes = mul i64 {at}.length, {at}.wide
  {at}.end = add i64 {room}, {at}.bytes
"""
_MOVED_TEXT = """\
  {at}.data = extractvalue {string} {s}, 0
  {at}.copy = getelementptr i8, ptr {block}, i64 {room}
  call void @llvm.memcpy.p0.p0.i64(ptr {at}.copy, ptr {at}.data, i64 {at}.bytes, i1 false)
  {at}.moved = insertvalue {string} {s}, ptr {at}.copy, 0
  {at}.uncounted = insertvalue {string} {at}.moved, ptr null, 5
  {at}.owned = insertvalue {string} {at}.uncounted, ptr null, 6
  store {string} {at}.owned, ptr {to}{more}"""


def declared(text: str, declarations: Iterable[str]) -> str:
    """`text` with those of `declarations` whose functions it does not mention yet."""
    missing = [line for line in declarations if f"{line[line.index('@') : line.index('(')]}(" not in text]
    return "\n".join([text, *missing, ""])


def _without_function(text: str, name: str) -> str:
    """`text` without the definition, or the declaration, of a function."""
    for at in _occurrences(text, f"@{name}("):
        start = text.rfind("\n", 0, at) + 1
        if text.startswith("declare ", start):
            return text[:start] + text[text.index("\n", at) :]
        if text.startswith("define ", start):
            return text[:start] + text[text.index("\n}\n", at) + 3 :]
    return text


def _occurrences(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


_DATA = re.compile(r"@NRT_MemInfo_data_fast\(ptr [^%\n]*(%[^\s,)]+|\w+)\)")
_DEFINED = re.compile(r"^  (%[^\s=]+) = (.*)$", re.MULTILINE)
_NOWHERE = {"null", "undef", "poison"}


def has_lists(text: str) -> bool:
    """Whether the program makes lists or sets."""
    return "@NRT_MemInfo_new_varsize_dtor(" in text


def has_instances(text: str) -> bool:
    """Whether the program, as Numba wrote it, makes instances of a jitclass."""
    return f"call ptr @{_INSTANCE}(" in text


def with_data_pointers(text: str, *, instances: bool) -> str | None:
    """`text` in which the data pointer of a list or a set is asked by another name than that of an array.

    Numba asks for an array's data where it allocates the array, and nowhere else. So what comes from `@irad_alloc` is
    an array, and what was made as a list, or was read from memory, is not; unless there are `instances` of a jitclass,
    whose data is asked for again and again. None where it may be either.
    """
    parts: list[str] = []
    for body in re.split(r"^(?=define )", text, flags=re.MULTILINE):
        asked = {(m[0], m[1]) for m in _DATA.finditer(body)}
        defined = dict(_DEFINED.findall(body)) if asked else {}
        kinds = {call: _origins(value, defined, set()) - {"nowhere"} for call, value in asked}
        if instances and any("held" in kind for kind in kinds.values()):
            return None
        if not all(kind <= {"array"} or kind <= {"held"} for kind in kinds.values()):
            return None
        held = {call for call, kind in kinds.items() if kind == {"held"}}
        parts.append(_DATA.sub(lambda m: m[0].replace(_DATA_OF, _HELD_BY) if m[0] in held else m[0], body))  # noqa: B023
    return "".join([*parts, f"declare ptr @{_HELD_BY}(ptr) nounwind willreturn\n"])


_EXTRACT = re.compile(r"extractvalue .*[ }](%[^\s,]+), (\d+)(?:,|$)")
_INSERT = re.compile(r"insertvalue .*[ }](%[^\s,]+|undef|poison|zeroinitializer), .*?([^\s,]+), (\d+)(?:, !.*)?$")


def _inserted(structure: str, field: str, defined: dict[str, str]) -> str:
    """What was put into a field of a structure; empty when that cannot be seen."""
    while found := _INSERT.match(defined.get(structure, "")):
        structure, value, at = found.groups()
        if at == field:
            return value
    return ""


def _origins(value: str, defined: dict[str, str], seen: set[str]) -> set[str]:
    """What a meminfo may be: of an "array" of this program, "held" by a list or in memory, "nowhere", or "unknown"."""
    if value in _NOWHERE or value in seen:
        return {"nowhere"}
    seen.add(value)
    made = defined.get(value, "")
    if made.startswith("phi ptr"):
        return {o for v in re.findall(r"\[ (\S+), %", made) for o in _origins(v, defined, seen)}
    if made.startswith("select"):
        return {o for v in re.findall(r"ptr ([^\s,]+)", made) for o in _origins(v, defined, seen)}
    if field := _EXTRACT.match(made):
        return _origins(_inserted(field[1], field[2], defined), defined, seen)
    if made.startswith("load ptr") or "@NRT_MemInfo_new_varsize_dtor(" in made:
        return {"held"}
    return {"array" if "call" in made and "@irad_alloc(" in made else "unknown"}


# --- records --------------------------------------------------------------------------------------------------------

_ADDED = re.compile(
    r"^(  (%\S+) = ptrtoint ptr (%\S+) to i64.*\n  (%\S+) = add i64 \2, ([^\s,]+).*\n)"
    r"  (%\S+) = inttoptr i64 \4 to ptr",
    re.MULTILINE,
)


def addresses_as_pointers(text: str) -> str:
    """`text` with pointers moved by getelementptr: before 0.66 Numba adds to their addresses as integers, and which
    memory they point to is lost."""
    return _ADDED.sub(r"\1  \6 = getelementptr i8, ptr \3, i64 \5", text)


_MOVED = re.compile(
    r"^  (%\S+) = load \[(\d+) x i8\], ptr (%[^\s,]+)(?:, align \d+)?(?:, !dbg !\d+)?\n"
    r"  store \[\d+ x i8\] \1, ptr (%[^\s,]+)(?:, align \d+)?((?:, !dbg !\d+)?)$",
    re.MULTILINE,
)
_MOVE = "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)"


def records_as_blocks(text: str) -> str:
    """`text` with assignments of whole records as memmoves, of which LLVM would make a copy of each byte by itself."""
    text, moves = _MOVED.subn(r"  call void @llvm.memmove.p0.p0.i64(ptr \4, ptr \3, i64 \2, i1 false)\5", text)
    return text if not moves or "declare void @llvm.memmove.p0.p0.i64(" in text else f"{text}\n{_MOVE}\n"


# --- complex powers -------------------------------------------------------------------------------------------------

_POWER = re.compile(r"@(irad\.cpow(?:\.real|\.imag)?f?)(?:\.\d+)?\(")
_POWERS = """
declare {type} @irad.cpow.real{f}({type}, {type}, {type}, {type}) nounwind willreturn memory(none)
declare {type} @irad.cpow.imag{f}({type}, {type}, {type}, {type}) nounwind willreturn memory(none)

define internal void @irad.cpow.memory{f}(ptr %base, ptr %exponent, ptr %result) alwaysinline {{
  %base.imag = getelementptr {type}, ptr %base, i64 1
  %exponent.imag = getelementptr {type}, ptr %exponent, i64 1
  %a = load {type}, ptr %base
  %b = load {type}, ptr %base.imag
  %c = load {type}, ptr %exponent
  %d = load {type}, ptr %exponent.imag
  %x = call {type} @irad.cpow.real{f}({type} %a, {type} %b, {type} %c, {type} %d)
  %y = call {type} @irad.cpow.imag{f}({type} %a, {type} %b, {type} %c, {type} %d)
  store {type} %x, ptr %result
  %result.imag = getelementptr {type}, ptr %result, i64 1
  store {type} %y, ptr %result.imag
  ret void
}}
"""


def powers_by_value(text: str) -> str:
    """`text` with complex powers as two functions of four numbers, in the place of one of pointers.

    A derivative that is differentiated again has definitions of these two, perhaps renamed by the linker.
    """
    if "@numba_cpow" not in text:
        return text
    text = _POWER.sub(r"@\1(", text)
    for f, type in (("", "double"), ("f", "float")):
        for name in (f"irad.cpow{f}", f"irad.cpow.real{f}", f"irad.cpow.imag{f}"):
            while (less := _without_function(text, name)) != text:
                text = less
        if f"@numba_cpow{f}(" in text:
            text = _without_function(text, f"numba_cpow{f}").replace(f"@numba_cpow{f}(", f"@irad.cpow.memory{f}(")
            text += _POWERS.format(type=type, f=f)
    return text


# --- mantissas and exponents ----------------------------------------------------------------------------------------

_FREXP = """
define internal {type} @irad.frexp{f}({type} %x, ptr %place) alwaysinline {{
  %size = call {type} @llvm.fabs.{suffix}({type} %x)
  %finite = fcmp one {type} %size, 0x7FF0000000000000
  %nonzero = fcmp one {type} %x, 0.0
  %split = and i1 %finite, %nonzero
  %log = call i32 @ilogb{f}({type} %x)
  %above = add i32 %log, 1
  %exponent = select i1 %split, i32 %above, i32 0
  store i32 %exponent, ptr %place
  %less = sub i32 0, %exponent
  %mantissa = call {type} @numba_ldexp{f}({type} %x, i32 signext %less)
  ret {type} %mantissa
}}
"""
_FREXP_CALLS = (
    "declare {type} @llvm.fabs.{suffix}({type})",
    "declare i32 @ilogb{f}({type}) nounwind willreturn memory(none)",
    "declare {type} @numba_ldexp{f}({type}, i32 signext) nounwind willreturn memory(none)",
)


def mantissas_by_scaling(text: str) -> str:
    """`text` with `math.frexp` as a product with a power of two, which is exact, and an integer without derivative."""
    for f, type, suffix in (("", "double", "f64"), ("f", "float", "f32")):
        if f"@numba_frexp{f}(" in text:
            names = {"f": f, "type": type, "suffix": suffix}
            text = _without_function(text, f"numba_frexp{f}").replace(f"@numba_frexp{f}(", f"@irad.frexp{f}(")
            text = declared(text, [line.format(**names) for line in _FREXP_CALLS]) + _FREXP.format(**names)
    return text


# --- complex square roots -------------------------------------------------------------------------------------------

_ROOT = re.compile(
    r"^define [^\n]*@_ZN5numba(?:2np4math|7cpython)9cmathimpl9sqrt_impl.*?^}\n", re.MULTILINE | re.DOTALL
)
_SIZE = re.compile(r"(%\S+) = call (double|float) @llvm\.fabs\.(f64|f32)\((?:double|float) (%[^\s)]+)\)")
_PARTS = re.compile(r"(double|float) (%[^\s,)]+), (?:double|float) (%[^\s,)]+)\)")
_SINGULAR = "declare {type} @irad.singular{f}({type}, {type}, {type}) nounwind willreturn memory(none)\n"


def roots_by_side(text: str) -> str:
    """`text` with Numba's complex square root, of unchanged value, differentiable on its branch cut.

    It takes abs(y) / 2t for the real part, whose slope at y = 0 would be that of abs: 0, where the sign of the zero
    tells the side of the cut. At the origin, where it has no derivative, it returns abs(y) and y.
    """
    text, roots = _ROOT.subn(lambda found: _root(found[0]), text)
    if roots:
        text += "".join(
            _SINGULAR.format(type=t, f=f) for t, f in (("double", ""), ("float", "f")) if f"@irad.singular{f}(" in text
        )
    return text


def _root(body: str) -> str:
    """Numba's square root: its first abs is that of the result at the origin, which two stores complete."""
    first, parts = _SIZE.search(body), _PARTS.search(body, 0, body.index("\n"))
    if first is None or parts is None or parts[1] != first[2]:
        return body
    type, x, y = parts.groups()
    f, at = "f" * (type == "float"), first.end()
    out = rf"  \1.out = call {type} @irad.singular{f}({type} \1, {type} {x}, {type} {y})\n  store {type} \1.out, "
    body = body[:at] + re.sub(rf"^  store {type} (%[^\s,]+), ", out, body[at:], count=2, flags=re.MULTILINE)
    by_side = r"\1.side = call \2 @llvm.copysign.\3(\2 1.0, \2 \4)\n  \1 = fmul \2 \4, \1.side"
    return body[:at] + _SIZE.sub(by_side, body[at:])


# --- inlining -------------------------------------------------------------------------------------------------------

_LARGE, _LARGEST = 4_000, 60_000  # raw instructions: of a helper called more than once, of the kernel
_NAME = re.compile(r'^define [^@\n]*@("[^"]+"|[^\s(]+)\(')
_AFTER_PARAMETERS = re.compile(r"(.*\)(?: (?:local_)?unnamed_addr)?)(.*)$")
_CALLEE = re.compile(r'\bcall [^@\n]*@("[^"]+"|[\w.$-]+)\(')


@dataclass
class _Size:
    """A definition as the inliner sees it."""

    own: int
    callees: dict[str, int] = field(default_factory=dict[str, int])
    fixed: bool = False  # noinline


def to_inline(text: str, name: str) -> frozenset[str]:
    """Definitions to inline everywhere: not recursive, not `noinline`, and not so large that the kernel explodes."""
    closed = set(re.findall(r"^attributes (#\d+) = \{[^}]*\bnoinline\b", text, re.MULTILINE))
    sizes = {n: _size(body, closed) for n, body in _definitions(text)}
    plan = _Inlining(sizes, name)
    plan.total(name)
    return frozenset(plan.inlined)


def mark_inline(text: str, name: str) -> str:
    """`text` with the functions of `to_inline` marked `alwaysinline`."""
    return inlined(text, to_inline(text, name))


def inlined(text: str, names: Collection[str]) -> str:
    """`text` with the functions `names` marked `alwaysinline`."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        named = _NAME.match(line)
        if named and named[1].strip('"') in names:
            lines[at] = _AFTER_PARAMETERS.sub(r"\1 alwaysinline\2", line)
    return "\n".join(lines)


class _Inlining:
    """Bottom-up sizes after inlining, and what was inlined to get them."""

    def __init__(self, sizes: dict[str, _Size], name: str) -> None:
        self.sizes = sizes
        self.kernel = name
        self.totals: dict[str, int] = {}
        self.path: list[str] = []
        self.kept: set[str] = {name}
        self.inlined: set[str] = set()

    def total(self, name: str) -> int:
        """Instructions of `name` with its callees inlined."""
        if name in self.path:
            self.kept.add(name)  # recursive
            return 0
        if name not in self.totals:
            self.path.append(name)
            size = self.sizes[name]
            self.totals[name] = size.own + sum(self._cost(c, n) for c, n in size.callees.items() if c in self.sizes)
            self.path.pop()
        return self.totals[name]

    def _cost(self, callee: str, times: int) -> int:
        total = self.total(callee)
        if callee in self.kept or self.sizes[callee].fixed or total > (_LARGEST if times == 1 else _LARGE):
            self.kept.add(callee)
            self.inlined.discard(callee)
            return 0
        self.inlined.add(callee)
        return total * times


def _size(body: str, closed: set[str]) -> _Size:
    head = body[: body.index("\n")]
    size = _Size(own=body.count("\n  "), fixed="noinline" in head or not closed.isdisjoint(head.split()))
    for line in body.split("\n"):
        found = _CALLEE.search(line) if "call " in line else None
        if found:
            callee = found[1].strip('"')
            size.callees[callee] = size.callees.get(callee, 0) + 1
    return size


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Names and texts of the functions defined in a module."""
    for body in re.split(r"^(?=define )", text, flags=re.MULTILINE)[1:]:
        named = _NAME.match(body)
        assert named, body[:80]
        yield named[1].strip('"'), body[: body.index("\n}") + 2]


# --- debug information ----------------------------------------------------------------------------------------------


def lines_only(text: str) -> str:
    """`text` with source lines as its only debug information: no variables and no types."""
    text = re.sub(r"!DISubroutineType\(types: !\d+\)", "!DISubroutineType(types: !{})", text)
    return "\n".join(line for line in text.split("\n") if not line.startswith("    #dbg_"))


def without_unused_environments(text: str) -> str:
    """`text` without `NumbaEnv` globals that nothing refers to: LLVM must keep them, nobody needs them."""
    lines = text.split("\n")
    names = [line[: line.index(" ")] for line in lines if line.startswith(("@_ZN08NumbaEnv", '@"_ZN08NumbaEnv'))]
    unused = tuple(f"{name} = " for name in names if len(list(_occurrences(text, name))) == 1)
    return "\n".join(line for line in lines if not line.startswith(unused)) if unused else text


# --- short constant loops -------------------------------------------------------------------------------------------

_MOST_TRIPS, _MOST_INSTRUCTIONS = 32, 400
_LABEL = re.compile(r'^("[^"]*"|[\w.$-]+):')
_TARGET = re.compile(r"label %(\"[^\"]*\"|[\w.$-]+)")
_LATCH = re.compile(r"  br i1 (%\S+), label %(\S+), label %(\S+?)(?:,|$)")
_COMPARE = r"^  {} = icmp (?:samesign )?(\w+) i\d+ (%\S+), (-?\d+)(?:,|$)"
_STEP = r"^  {} = (add|mul|shl|lshr|ashr) (?:n[us]w |exact )*i(\d+) (%\S+), (-?\d+)"
_PHI = r"^  {} = phi i\d+ \[ (\S+), %(\S+) \], \[ (\S+), %(\S+) \]"


@dataclass(eq=False)
class _Block:
    name: str
    lines: list[int] = field(default_factory=list[int])
    targets: list[str] = field(default_factory=list[str])


def tag_short_loops(text: str) -> str | None:
    """`text` with short innermost loops of a constant count marked to be unrolled; None when there are none.

    Short means that the unrolled loop stays small: a few trips of a long body, or more of a short one.
    """
    lines = text.split("\n")
    nodes = max((int(n) for n in re.findall(r"^!(\d+) = ", text, re.MULTILINE)), default=0) + 1
    last = nodes
    for at in _short_latches(lines, text):
        line = re.sub(r", !llvm\.loop !\d+", "", lines[at])
        lines[at] = f"{line}, !llvm.loop !{last}"
        lines += [f"!{last} = distinct !{{!{last}, !{last + 1}}}", f'!{last + 1} = !{{!"llvm.loop.unroll.full"}}']
        last += 2
    return None if last == nodes else "\n".join(lines) + "\n"


def _short_latches(lines: list[str], text: str) -> list[int]:
    decided = set(re.findall(r'^(!\d+) = !\{!"llvm\.loop\.unroll\.(?:full|disable)', text, re.MULTILINE))
    asked = {n for n, inside in re.findall(r"^(!\d+) = distinct !\{(.*)\}$", text, re.MULTILINE)
             if decided & set(inside.split(", "))}  # fmt: skip
    found: list[int] = []
    for blocks in _graphs(lines):
        back = _retreating(blocks)
        sources = _sources(blocks) if back else {}
        for latch, header in back:
            at = blocks[latch].lines[-1]
            ends = _LATCH.match(lines[at])
            if ends is None or any(lines[at].endswith(f"!llvm.loop {n}") for n in asked):
                continue
            body = _loop(blocks, sources, header, latch)
            if body and _short(lines, blocks, body, back, header, latch, ends):
                found.append(at)
    return sorted(set(found))


def _graphs(lines: list[str]) -> Iterator[dict[str, _Block]]:
    """The blocks of each function, by name; the entry block's name is empty when LLVM does not print it."""
    blocks: dict[str, _Block] | None = None
    block = _Block("")
    for at, line in enumerate(lines):
        if line.startswith("define "):
            block = _Block("")
            blocks = {"": block}
        elif line == "}":
            if blocks is not None:
                yield blocks
            blocks = None
        elif blocks is not None:
            label = _LABEL.match(line)
            if label:
                if not block.lines:  # the entry block has a name of its own
                    blocks.pop("", None)
                block = blocks[label[1]] = _Block(label[1])
            elif line.startswith("  ") and not line.startswith("    #dbg"):
                block.lines.append(at)
                block.targets += _TARGET.findall(line)


def _retreating(blocks: dict[str, _Block]) -> list[tuple[str, str]]:
    """The edges that go back to a block on the way from the entry: one in every cycle."""
    entry = next(iter(blocks))
    back: list[tuple[str, str]] = []
    path, seen = {entry}, {entry}
    stack = [(entry, iter(blocks[entry].targets))]
    while stack:
        name, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            path.discard(name)
            stack.pop()
        elif target in path:
            back.append((name, target))
        elif target not in seen:
            seen.add(target)
            path.add(target)
            stack.append((target, iter(blocks[target].targets)))
    return back


def _sources(blocks: dict[str, _Block]) -> dict[str, list[str]]:
    """The blocks from which each block is reached."""
    sources: dict[str, list[str]] = {}
    for block in blocks.values():
        for target in block.targets:
            sources.setdefault(target, []).append(block.name)
    return sources


def _loop(blocks: dict[str, _Block], sources: dict[str, list[str]], header: str, latch: str) -> set[str]:
    """The natural loop of the edge latch -> header; empty when there is none."""
    body, todo = {header, latch}, [latch] if latch != header else []
    while todo:
        for source in sources.get(todo.pop(), []):
            if source not in body:
                body.add(source)
                todo.append(source)
    return set() if next(iter(blocks)) in body else body


def _short(
    lines: list[str],
    blocks: dict[str, _Block],
    body: set[str],
    back: list[tuple[str, str]],
    header: str,
    latch: str,
    ends: re.Match[str],
) -> bool:
    """Whether a loop is innermost, of a small constant count, and small when unrolled."""
    size = sum(len(blocks[name].lines) for name in body)
    if size > _MOST_INSTRUCTIONS or any(b in body and h in body and h != header for b, h in back):
        return False
    inside = "\n".join(lines[at] for name in body for at in blocks[name].lines)
    trips = _trips(inside, ends[1], latch, continues=ends[2] == header)
    return trips is not None and trips * size <= _MOST_INSTRUCTIONS


def _trips(inside: str, test: str, latch: str, continues: bool) -> int | None:
    """How often the loop runs, when that is a small constant."""
    compare = re.search(_COMPARE.format(re.escape(test)), inside, re.MULTILINE)
    if compare is None:
        return None
    predicate, tested, bound = compare[1], compare[2], int(compare[3])
    for phi in re.finditer(_PHI.format(r"(%\S+)"), inside, re.MULTILINE):
        counter, values = phi[1], {phi[3]: phi[2], phi[5]: phi[4]}
        after = values.pop(latch, "")
        step = re.search(_STEP.format(re.escape(after)), inside, re.MULTILINE) if after.startswith("%") else None
        start = next(iter(values.values()), "")
        if step is None or step[3] != counter or tested not in (counter, after) or not re.fullmatch(r"-?\d+", start):
            continue
        move = _Step(step[1], int(step[2]), int(step[4]))
        return _count(int(start), move, predicate, bound, tested == after, continues)
    return None


@dataclass(frozen=True)
class _Step:
    """What an iteration does to a loop's counter. Halving it, as a power by squaring does, is as good as counting."""

    op: str
    bits: int
    by: int

    def after(self, value: int) -> int:
        match self.op:
            case "add":
                value += self.by
            case "mul":
                value *= self.by
            case "shl":
                value <<= self.by
            case "ashr":
                value >>= self.by
            case _:
                value = value % (1 << self.bits) >> self.by
        return _signed(value, self.bits)


def _count(start: int, step: _Step, predicate: str, bound: int, after: bool, continues: bool) -> int | None:
    value = start
    for trip in range(1, _MOST_TRIPS + 1):
        following = step.after(value)
        if _holds(predicate, following if after else value, bound, step.bits) != continues:
            return trip
        value = following
    return None


def _holds(predicate: str, left: int, right: int, bits: int) -> bool:
    if predicate.startswith("u"):
        left, right = left % (1 << bits), right % (1 << bits)
    return {
        "eq": left == right,
        "ne": left != right,
        "lt": left < right,
        "le": left <= right,
        "gt": left > right,
        "ge": left >= right,
    }[predicate[-2:]]


def _signed(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def without_used(text: str) -> str:
    """`text` without the list that keeps declarations of vector functions until LLVM has made vectors."""
    return re.sub(r"^@llvm\.compiler\.used = .*\n", "", text, flags=re.MULTILINE)
