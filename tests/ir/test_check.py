"""Every fault that the checker knows, in a function of five lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from irad.errors import InvalidIR
from irad.ir.check import check
from irad.ir.model import Argument, Binary, Block, Branch, Constant, Function, Global, Phi, Return, integer
from irad.ir.read import read
from irad.ir.types import DOUBLE, I1, I32, I64, PTR, Vector

HEAD = "define i64 @f(i64 %n, double %x, ptr %p, i1 %c, <2 x double> %v, { i64, i1 } %s) {\nentry:\n"
TAIL = "\n  ret i64 0\n}\ndeclare double @g(double)\ndeclare i32 @h(ptr, ...)\n"


def refused(function: Function) -> str:
    with pytest.raises(InvalidIR) as caught:
        check(function)
    return str(caught.value)


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("%r = fadd i64 %n, 1", "fadd of i64"),
        ("%r = and <2 x double> %v, %v", "and of <2 x double>"),
        ("%r = fneg i64 %n", "fneg of i64"),
        ("%r = trunc i64 %n to i64", "trunc from i64 to i64"),
        ("%r = zext i64 %n to i32", "zext from i64 to i32"),
        ("%r = fpext double %x to float", "fpext from double to float"),
        ("%r = sitofp i64 %n to i32", "sitofp from i64 to i32"),
        ("%r = fptosi <2 x double> %v to i64", "fptosi from <2 x double> to i64"),
        ("%r = bitcast ptr %p to i64", "bitcast from ptr to i64"),
        ("%r = bitcast i64 %n to float", "bitcast from i64 to float"),
        ("%r = inttoptr double %x to ptr", "inttoptr from double to ptr"),
        ("%r = icmp eq double %x, %x", "icmp of double"),
        ("%r = fcmp oeq i64 %n, %n", "fcmp of i64"),
        ("%r = select i64 %n, double %x, double %x", "a condition of type i64"),
        ("%r = select i1 %c, double %x, i64 %n", "both values must be double"),
        ("%r = load double, i64 %n", "something else than a pointer"),
        ("store double %x, double %x", "something else than a pointer"),
        ("%r = getelementptr i8, i64 %n, i64 1", "takes a pointer and integers"),
        ("%r = getelementptr i8, ptr %p, double %x", "takes a pointer and integers"),
        ("%r = insertvalue { i64, i1 } %s, double %x, 0", "the field is i64, not double"),
        ("%r = extractelement <2 x double> %v, double %x", "a vector and an integer"),
        ("%r = insertelement <2 x double> %v, i64 %n, i64 0", "puts i64 into <2 x double>"),
        ("%r = shufflevector <2 x double> %v, <4 x double> undef, <2 x i32> undef", "two vectors of one type"),
        ("%r = cmpxchg ptr %p, i64 0, i32 0 seq_cst seq_cst", "exchanges i64 and i32"),
        ("%r = call double @g(i64 %n)", "called as double (i64), but it is double (double)"),
        ("%r = call double @g(double %x, double %x)", "called as"),
        ("%r = call i64 @g(double %x)", "called as"),
        ("%r = call i32 @h(ptr %p, i64 %n)", "without its type"),
        ("%r = call i32 (ptr, ...) @h()", "called as"),
        ("%r = call double @unknown(double %x)", "@unknown is neither declared nor defined"),
        ("store ptr @unknown, ptr %p", "@unknown is neither declared nor defined"),
        ("store double %y, ptr %p\n  %y = fadd double %x, %x", "%y is not defined on every path"),
        (
            "br i1 %c, label %a, label %b\na:\n  %y = add i64 %n, 1\n  br label %b\nb:\n  %z = add i64 %y, 1",
            "%y is not",
        ),
        ("br label %a\na:\n  %y = phi i64 [ 1, %entry ], [ 2, %a ]", "the predecessors are entry"),
        ("br label %a\na:\n  %y = phi i64 [ %z, %entry ]\n  %z = add i64 %n, 1", "%z is not defined on every path"),
        ("br i1 %c, label %a, label %a\na:\n  %y = phi i64 [ 1, %entry ], [ 2, %entry ]", "two values from entry"),
        ("br i64 %n, label %a, label %a\na:", "branches on i64"),
        ("br label %entry\na:", "leads to the entry block"),
        ("switch double %x, label %a [\n  ]\na:", "something else than an integer"),
        ("switch i64 %n, label %a [\n  i64 1, label %a\n  i64 1, label %a\n  ]\na:", "a case stands twice"),
        ("ret void\na:", "returns void, not i64"),
        ("ret double %x\na:", "returns double, not i64"),
    ],
)
def test_faults_in_text(lines: str, why: str) -> None:
    with pytest.raises(InvalidIR) as caught:
        check(read(f"{HEAD}  {lines}{TAIL}"))
    assert str(caught.value).startswith("in @f: ")
    assert why in str(caught.value)


def diamond() -> Function:
    """entry branches to left and right, which meet in join."""
    text = """
define double @f(double %x, i1 %c) {
entry:
  br i1 %c, label %left, label %right
left:
  %y = fmul double %x, %x
  br label %join
right:
  br label %join
join:
  %z = phi double [ %y, %left ], [ %x, %right ]
  ret double %z
}
"""
    return read(text).functions["f"]


def damage(change: Callable[[Function, Block, Block, Block], object]) -> Function:
    function = diamond()
    _, left, right, join = function.blocks
    change(function, left, right, join)
    return function


def _set(thing: object, name: str, value: object) -> None:
    setattr(thing, name, value)


BROKEN: dict[str, Callable[[Function, Block, Block, Block], object]] = {
    "the arguments are not": lambda f, left, right, join: f.arguments.pop(),
    "a block stands twice": lambda f, left, right, join: f.blocks.append(left),
    "an instruction stands twice": lambda f, left, right, join: right.body.append(left.body[0]),
    "stands in the body": lambda f, left, right, join: left.body.append(Return(operands=[f.arguments[0]])),
    "a phi or a terminator": lambda f, left, right, join: join.body.append(Phi(type=DOUBLE)),
    "Binary where join has its Phi": lambda f, left, right, join: join.phis.append(left.body.pop()),  # type: ignore[arg-type]
    "Binary where left has its Terminator": lambda f, left, right, join: _set(left, "end", left.body.pop()),
    "the block away is not": lambda f, left, right, join: left.end.targets.append(Block("away")),
    "1 values from 2 blocks": lambda f, left, right, join: join.phis[0].operands.pop(),
    "comes from left, but": lambda f, left, right, join: (join.phis[0].operands.pop(), join.phis[0].blocks.pop()),
    "comes from left, right, but": lambda f, left, right, join: _set(right, "end", Branch(targets=[right])),
    "a value of type i64": lambda f, left, right, join: _set(join.phis[0], "operands", [integer(0, I64)] * 2),
    "%w is not defined in": lambda f, left, right, join: _set(left.body[0], "operands", [Argument(DOUBLE, "w")] * 2),
    "%y is not defined in": lambda f, left, right, join: left.body.clear(),
    "both operands must be": lambda f, left, right, join: left.body[0].operands.pop(),
    "an operand without a value": lambda f, left, right, join: _set(join.end, "operands", [left.end]),
    "a global without a name": lambda f, left, right, join: _set(join.end, "operands", [Global("")]),
    "unknown operation fxor": lambda f, left, right, join: _set(left.body[0], "op", "fxor"),
    "1 conditions for 1 targets": lambda f, left, right, join: _set(left.end, "operands", [f.arguments[1]]),
}


@pytest.mark.parametrize("why", BROKEN)
def test_faults_in_objects(why: str) -> None:
    check(diamond())
    assert why in refused(damage(BROKEN[why]))


@pytest.mark.parametrize(
    "constant",
    [
        Constant(DOUBLE, 0),
        Constant(I64, "1.0"),
        Constant(I64, True),
        Constant(I1, 1),
        Constant(DOUBLE, "null"),
        Constant(PTR, 0),
        Constant(Vector(2, DOUBLE), (Constant(DOUBLE, "1.0"),)),
        Constant(Vector(2, DOUBLE), (Constant(DOUBLE, "1.0"), Constant(DOUBLE, 1))),
    ],
)
def test_literals_fit_their_type(constant: Constant) -> None:
    function = diamond()
    function.entry.body.append(Binary(op="fadd", type=constant.type, operands=[constant, constant]))
    assert "is no constant of type" in refused(function)


def test_code_that_never_runs_may_use_anything() -> None:
    function = diamond()
    dead = Block("dead", end=Branch(targets=[function.blocks[1]]))
    dead.body.append(Binary(op="fadd", type=DOUBLE, operands=[function.blocks[3].phis[0], integer(0, I32)]))
    function.blocks.append(dead)
    assert "both operands must be double" in refused(function)
    dead.body[0].operands[1] = function.blocks[1].body[0]
    check(function)
