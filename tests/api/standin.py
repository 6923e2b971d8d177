"""Hand-written derivatives of one kernel, in the place of the pipeline: tests of the layer above it alone.

The kernel is `w * sum(x * y)` over two 1-d arrays of the same length. The version for disjoint arrays reports ALIASED
when `w` is -1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numba import njit

from irad.errors import MissingRule
from irad.frontend.abi import ALIASED
from irad.frontend.calls import Query


@njit
def kernel(x, y, w=2.0):
    """The weighted inner product."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return w * total


@njit
def refused(x, y, w=2.0):
    return x[0] * y[0] * w


@dataclass
class Written:
    abstract: str
    concrete: str
    entries: dict[str, str]
    signature: Any


@dataclass
class Pipeline:
    """Counts what it is asked for."""

    asked: list[Query] = field(default_factory=list[Query])

    def __call__(self, query: Query) -> Written:
        self.asked.append(query)
        if query.dispatcher is refused:
            raise MissingRule("no derivative is known for this kernel", hint="use another")
        signature = query.dispatcher.typingctx.resolve_function_type(query.dispatcher, query.argtypes, {})
        roles = ("augmented", "pullback", "release") if query.mode == "split" else (query.mode,)
        name = f"standin.{'.'.join(query.activity)}.{query.aliased}"
        entries = {role: f"{name}.{role}" for role in roles}
        text = "\n".join(_WRITERS[role](entries[role], query) for role in roles)
        return Written(text, text, entries, signature)


FLAT = ", ".join(
    [*(f"ptr %{a}.m, ptr %{a}.p, i64 %{a}.n, i64 %{a}.b, ptr %{a}, i64 %{a}.s, i64 %{a}.d" for a in "xy"), "double %w"]
)


def _shadows(query: Query) -> str:
    return "".join(f", ptr %{name}.bar" for name, how in zip("xy", query.activity, strict=False) if how == "duplicated")


def _loop(query: Query, body: str, *, exit: str) -> str:
    """`body` for each pair of elements %a, %b with running sum %sum, then `exit`; reports ALIASED first."""
    special = "false" if query.aliased else "%minus"
    return f"""
  %minus = fcmp oeq double %w, -1.0
  br i1 {special}, label %aliased, label %head
aliased:
  ret i32 {ALIASED}
head:
  %i = phi i64 [ 0, %entry ], [ %next, %step ]
  %sum = phi double [ 0.0, %entry ], [ %more, %step ]
  %go = icmp slt i64 %i, %x.n
  br i1 %go, label %step, label %exit
step:
  %x.at = mul i64 %i, %x.d
  %y.at = mul i64 %i, %y.d
  %x.ptr = getelementptr i8, ptr %x, i64 %x.at
  %y.ptr = getelementptr i8, ptr %y, i64 %y.at
  %a = load double, ptr %x.ptr
  %b = load double, ptr %y.ptr
  %ab = fmul double %a, %b
  %more = fadd double %sum, %ab
{body}
  %next = add i64 %i, 1
  br label %head
exit:
  %result = fmul double %w, %sum
{exit}
  ret i32 0
}}
"""


def _accumulate(query: Query, scale: str) -> str:
    lines: list[str] = []
    for name, other, how in (("x", "%b", query.activity[0]), ("y", "%a", query.activity[1])):
        if how == "duplicated":
            lines += [
                f"  %{name}.bar.ptr = getelementptr i8, ptr %{name}.bar, i64 %{name}.at",
                f"  %{name}.old = load double, ptr %{name}.bar.ptr",
                f"  %{name}.by = fmul double {scale}, {other}",
                f"  %{name}.new = fadd double %{name}.old, %{name}.by",
                f"  store double %{name}.new, ptr %{name}.bar.ptr",
            ]
    return "\n".join(lines)


def _bars(query: Query) -> str:
    if query.activity[2] != "active":
        return ""
    return "  %w.bar = fmul double %seed, %sum\n  store double %w.bar, ptr %bars"


def _reverse(name: str, query: Query) -> str:
    head = f"define i32 @{name}(ptr %ret, ptr %exc, {FLAT}{_shadows(query)}, double %seed, ptr %bars) {{\nentry:"
    exit = "  store double %result, ptr %ret\n" + _bars(query)
    return head + "\n  %scale = fmul double %seed, %w" + _loop(query, _accumulate(query, "%scale"), exit=exit)


def _forward(name: str, query: Query) -> str:
    tangents = _shadows(query) + (", double %w.dot" if query.activity[2] == "duplicated" else "")
    body, total = "", "%acc"
    for letter, other, how in (("x", "%b", query.activity[0]), ("y", "%a", query.activity[1])):
        if how == "duplicated":
            body += f"""
  %{letter}.dot.ptr = getelementptr i8, ptr %{letter}.bar, i64 %{letter}.at
  %{letter}.dot = load double, ptr %{letter}.dot.ptr
  %{letter}.part = fmul double %{letter}.dot, {other}
  %{letter}.sum = fadd double {total}, %{letter}.part"""
            total = f"%{letter}.sum"
    slot = "  %slot = alloca double\n  store double 0.0, ptr %slot"
    body = f"  %acc = load double, ptr %slot{body}\n  store double {total}, ptr %slot"
    exit = "  store double %result, ptr %ret\n  %dot = load double, ptr %slot\n  %r0 = fmul double %w, %dot\n"
    if query.activity[2] == "duplicated":
        exit += "  %r1 = fmul double %w.dot, %sum\n  %r = fadd double %r0, %r1\n  store double %r, ptr %retdot"
    else:
        exit += "  store double %r0, ptr %retdot"
    head = f"define i32 @{name}(ptr %ret, ptr %retdot, ptr %exc, {FLAT}{tangents}) {{\nentry:\n{slot}"
    return head + _loop(query, body, exit=exit)


def _augmented(name: str, query: Query) -> str:
    head = f"define i32 @{name}(ptr %ret, ptr %exc, ptr %tape, {FLAT}{_shadows(query)}) {{\nentry:"
    exit = "  store double %result, ptr %ret\n  store ptr inttoptr (i64 4242 to ptr), ptr %tape"
    return head + _loop(query, "", exit=exit)


def _pullback(name: str, query: Query) -> str:
    arguments = f"ptr %exc, ptr %tape, {FLAT}{_shadows(query)}, double %seed, ptr %bars"
    head = f"define i32 @{name}({arguments}) {{\nentry:\n  %scale = fmul double %seed, %w"
    return head + _loop(query, _accumulate(query, "%scale"), exit=_bars(query))


def _release(name: str, query: Query) -> str:
    return f"define void @{name}(ptr %tape) {{\n  ret void\n}}"


_WRITERS = {
    "reverse": _reverse,
    "forward": _forward,
    "augmented": _augmented,
    "pullback": _pullback,
    "release": _release,
}
