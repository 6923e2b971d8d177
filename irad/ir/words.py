"""The words of LLVM's text that irad knows, and the lexer: what is not here stops the reader.

LLVM adds a word or two per release. A word that the reader met and did not understand could change what a kernel
means, so nothing is skipped: to accept one, add it here.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- operations and their flags ---

FAST_MATH = _words("fast nnan ninf nsz arcp contract afn reassoc")
_WRAP, _EXACT, _NONE = _words("nuw nsw"), _words("exact"), frozenset[str]()

BINARY_FLAGS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("add", "sub", "mul", "shl"), _WRAP),
    **dict.fromkeys(("sdiv", "udiv", "lshr", "ashr"), _EXACT),
    **dict.fromkeys(("srem", "urem", "and", "xor"), _NONE),
    **dict.fromkeys(("fadd", "fsub", "fmul", "fdiv", "frem"), FAST_MATH),
    "or": _words("disjoint"),
}
CAST_FLAGS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("sext", "fptoui", "fptosi", "ptrtoint", "ptrtoaddr"), _NONE),
    **dict.fromkeys(("inttoptr", "bitcast", "addrspacecast"), _NONE),
    **dict.fromkeys(("fptrunc", "fpext", "sitofp"), FAST_MATH),
    "zext": _words("nneg"),
    "uitofp": FAST_MATH | {"nneg"},
    "trunc": _WRAP,
}
COMPARE_FLAGS = {"icmp": _words("samesign"), "fcmp": FAST_MATH}
GEP_FLAGS = _words("inbounds nuw nusw")
ACCESS_FLAGS = _words("volatile")
EXCHANGE_FLAGS = _words("weak volatile")
ASSEMBLY_FLAGS = _words("sideeffect alignstack inteldialect unwind")
PREDICATES = {
    "icmp": _words("eq ne ugt uge ult ule sgt sge slt sle"),
    "fcmp": _words("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true"),
}
ORDERINGS = _words("unordered monotonic acquire release acq_rel seq_cst")
ATOMIC_OPERATIONS = _words(
    """xchg add sub and nand or xor max min umax umin fadd fsub fmax fmin fmaximum fminimum uinc_wrap udec_wrap
    usub_cond usub_sat"""
)
CONSTANT_OPERATIONS = _words("getelementptr add sub mul xor shl") | CAST_FLAGS.keys()
CONSTANT_WORDS = _words("null undef poison zeroinitializer none")

# --- attributes ---

CONVENTIONS = _words(
    """ccc fastcc coldcc ghccc anyregcc tailcc swiftcc swifttailcc cxx_fast_tlscc preserve_mostcc preserve_allcc
    preserve_nonecc win64cc x86_64_sysvcc x86_vectorcallcc"""
)
PARAMETER_WORDS = _words(
    """zeroext signext noext inreg noalias nocapture nofree nest returned nonnull swiftself swiftasync swifterror immarg
    noundef allocalign allocptr readnone readonly writeonly writable dead_on_unwind dead_on_return"""
)
FUNCTION_WORDS = _words(
    """alwaysinline builtin cold convergent hot inlinehint jumptable minsize mustprogress naked nobuiltin nocallback
    nocf_check nocreateundeforpoison nodivergencesource noduplicate nofree noimplicitfloat noinline nomerge nonlazybind
    noprofile norecurse noredzone noreturn nosanitize_bounds nosanitize_coverage nosync nounwind null_pointer_is_valid
    optdebug optforfuzzing optnone optsize readnone readonly returns_twice safestack sanitize_address sanitize_hwaddress
    sanitize_memory sanitize_memtag sanitize_thread shadowcallstack skipprofile speculatable speculative_load_hardening
    ssp sspreq sspstrong strictfp uwtable willreturn writeonly unnamed_addr local_unnamed_addr"""
)
LINKAGE_WORDS = _words(
    """private internal available_externally linkonce weak common appending extern_weak linkonce_odr weak_odr external
    dso_local dso_preemptable default hidden protected dllimport dllexport"""
)
VARIABLE_WORDS = LINKAGE_WORDS | _words("thread_local unnamed_addr local_unnamed_addr externally_initialized")

# Attributes with parentheses are one token, so that their text is kept to the letter.
PARAMETER_CALLS = _words(
    """align alignstack byref byval captures dereferenceable dereferenceable_or_null elementtype inalloca initializes
    nofpclass preallocated range sret dead_on_return"""
)
FUNCTION_CALLS = _words("alignstack allockind allocsize memory nofpclass uwtable vscale_range")
_OTHER_CALLS = _words("inrange comdat thread_local")

# --- the lexer ---

_CALLS = "|".join(sorted(PARAMETER_CALLS | FUNCTION_CALLS | _OTHER_CALLS))
_BARE = r"[-$.\w]+"
_NAME = rf'(?:{_BARE}|"[^"]*")'

# Lines whose text is kept whole (metadata, attribute groups, variables, ...) are one token each; so is every newline,
# which is how line numbers are found again. The last alternative lets no character through unseen.
LEXER = re.compile(
    rf"""[ \t\r]*+(?:;[^\n]*+)?+(
    \n
  | %{_NAME}
  | [,(){{}}\[\]<>=*|]
  | [A-Za-z_][-$.\w]*+(?![("]):?
  | -?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?(?![-$.\w:])
  | @{_NAME}(?:[ ]=[ ][^\n]+)?
  | ![-$.\w\\]*(?:[ ]=[ ][^\n]+)?
  | \#(?:dbg_[^\n]*|\d+)(?:[ ]=[ ][^\n]+)?
  | (?:{_CALLS})\((?:[^()\n"]|"[^"]*"|\((?:[^()\n]|\([^()\n]*\))*\))*\)
  | c?"[^"]*":?
  | \${_NAME}[ ]=[ ]comdat[^\n]*
  | {_BARE}:?
  | [^ \t\r]
  )""",
    re.VERBOSE | re.ASCII,
)
