"""From metadata to the user's line."""

from __future__ import annotations

import pytest

from irad.errors import Place
from irad.ir.lines import Lines
from irad.ir.read import read

TEXT = """
define double @f(double %x, i1 %c) !dbg !2 {
entry:
  %at = fadd double %x, 1.0, !dbg !10
  %after = fadd double %x, 2.0
  br i1 %c, label %left, label %join, !dbg !11
left:
  %unknown = fadd double %x, 3.0
  %before = fadd double %x, 4.0, !dbg !12
  br label %join, !dbg !12
join:
  %phi = phi double [ %at, %entry ], [ %before, %left ]
  %zero = fadd double %x, 5.0, !dbg !13
  %helper = fadd double %x, 6.0, !dbg !14
  %library = fadd double %x, 7.0, !dbg !15
  %generated = fadd double %x, 8.0, !dbg !16
  %block = fadd double %x, 9.0, !dbg !17
  %editable = fadd double %x, 9.0, !dbg !18
  ret double %phi
}

!1 = !DIFile(filename: "heat.py", directory: "/home/me")
!2 = distinct !DISubprogram(name: "heat", linkageName: "_ZN4heat4heatEd", scope: !1, file: !1, line: 3)
!3 = !DIFile(filename: "tools.py", directory: "/home/me")
!4 = distinct !DISubprogram(name: "sq\\75are", linkageName: "_ZN5tools6squareEd", scope: !3, file: !3, line: 1)
!5 = !DIFile(filename: "arraymath.py", directory: "/env/lib/python3.12/site-packages/numba/np")
!6 = distinct !DISubprogram(name: "array_sum", linkageName: "_ZN5numba2np9arraymathE", scope: !5, file: !5, line: 1)
!7 = distinct !DISubprogram(name: "__numba_array_expr_0x7f", linkageName: "_ZN1E", scope: !1, file: !1, line: 1)
!8 = !DIFile(filename: "arrayobj.py", directory: "/src/numba/numba/np")
!9 = distinct !DISubprogram(name: "empty", linkageName: "_ZN5numba2np8arrayobjE", scope: !8, file: !8, line: 1)
!10 = !DILocation(line: 10, column: 1, scope: !2)
!11 = !DILocation(line: 11, column: 1, scope: !2)
!12 = !DILocation(line: 12, column: 1, scope: !2)
!13 = !DILocation(line: 0, scope: !2)
!14 = !DILocation(line: 2, scope: !4, inlinedAt: !20)
!15 = !DILocation(line: 650, scope: !6, inlinedAt: !21)
!16 = !DILocation(line: 1, scope: !7, inlinedAt: !20)
!17 = !DILocation(line: 16, scope: !22)
!18 = !DILocation(line: 4700, scope: !9, inlinedAt: !20)
!20 = distinct !DILocation(line: 20, scope: !2)
!21 = distinct !DILocation(line: 3, scope: !4, inlinedAt: !20)
!22 = distinct !DILexicalBlock(scope: !2, file: !1, line: 15)
"""

PLACES = {
    "at": "heat.py:10",
    "after": "heat.py:10",  # the nearest before it
    "unknown": "heat.py:12",  # nothing before it in its block: after it
    "phi": "tools.py:2",
    "zero": "tools.py:2",  # line 0 is no line
    "helper": "tools.py:2",
    "library": "tools.py:3",
    "generated": "heat.py:20",
    "block": "heat.py:16",
    "editable": "heat.py:20",  # Numba's own, wherever it is installed
}


@pytest.fixture
def lines() -> Lines:
    return Lines(read(TEXT), "/home/me/heat.py")


def named(lines: Lines, name: str):
    return next(i for i in lines.module.functions["f"].instructions if i.name == name)


@pytest.mark.parametrize(("name", "place"), PLACES.items())
def test_place(lines, name, place):
    assert str(lines.place(named(lines, name))) == f"/home/me/{place}"


def test_predecessors_lend_their_line():
    module = read("""
define double @f(double %x) {
entry:
  br label %next, !dbg !3
next:
  ret double %x
}

!1 = !DIFile(filename: "a.py", directory: "/b")
!2 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 3)
!3 = !DILocation(line: 4, scope: !2)
""")
    assert Lines(module).place(module.functions["f"].blocks[1]) == Place("/b/a.py", 4)


def test_function_is_named_by_its_def(lines):
    assert lines.title(lines.module.functions["f"]) == "heat (heat.py:3)"


def test_no_metadata_is_no_place():
    module = read("define double @f(double %x) {\nentry:\n  ret double %x\n}\n")
    lines, f = Lines(module), module.functions["f"]
    assert (lines.place(f.entry), lines.place(f), lines.title(f)) == (None, None, "f")


def test_instructions_may_be_added_later(lines):
    assert lines.place(named(lines, "at"))
    block = lines.module.functions["f"].entry
    new = named(lines, "at").clone()
    new.metadata = {}
    block.body.insert(1, new)
    assert lines.place(new) == Place("/home/me/heat.py", 10)


def test_words(lines):
    argument = lines.module.functions["f"].arguments[0]
    argument.name = "arg.u.4"
    assert lines.label(argument) == "%arg.u.4 (u)"
    assert lines.label(named(lines, "at")) == "%at (heat.py:10)"
    assert lines.quote(Place("/home/me/heat.py", 10)) == "line 10"
    assert lines.quote(Place("/home/me/tools.py", 2)) == "tools.py line 2"


def test_program_order_follows_the_kernel(lines):
    names = ["phi", "helper", "after", "at", "block", "before"]
    ordered = lines.order([named(lines, n) for n in names])
    assert [v.name for v in ordered] == ["at", "after", "before", "block", "phi", "helper"]
