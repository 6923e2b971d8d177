"""Names, and what a Builder makes, as text that LLVM takes."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest

from irad.ir.build import Builder
from irad.ir.model import Argument, Block, Function, Instruction, Module, integer, real
from irad.ir.read import read
from irad.ir.types import DOUBLE, I32, I64, PTR, FunctionType, Vector
from irad.ir.write import text_of, write, write_function


def function(*names: str) -> Function:
    """i64 @f(i64, ...), its arguments called `names`, without blocks."""
    return Function("f", FunctionType(I64, (I64,) * len(names)), [Argument(I64, name) for name in names])


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (("a", "b"), "%a, %b"),
        (("", ""), "%0, %1"),
        (("7", "x", "3"), "%0, %x, %1"),
        (("a", "a", "a.1", "a"), "%a, %a.1, %a.1.1, %a.2"),
        (("a b", 'q"', "α", "1x"), r'%"a b", %"q\22", %"\CE\B1", %"1x"'),
    ],
)
def test_names_are_made_unique(names: tuple[str, ...], written: str) -> None:
    f = function(*names)
    f.blocks.append(Block("entry"))
    head = write_function(f).split("\n")[0]
    assert head == f"define i64 @f({', '.join('i64 ' + n for n in written.split(', '))}) {{"
    llvm.parse_assembly(write_function(f))


def test_blocks_and_results_share_the_names_of_the_arguments() -> None:
    f = function("x", "")
    f.blocks = [Block("x"), Block("")]
    out = Builder(f.blocks[0])
    total = out.binary("add", f.arguments[0], f.arguments[1])
    assert isinstance(total, Instruction)
    named = out.binary("mul", total, total)
    assert isinstance(named, Instruction)
    named.name = "x"
    out.branch(f.blocks[1])
    phi = Builder(f.blocks[1]).phi(I64)
    phi.operands, phi.blocks = [named], [f.blocks[0]]
    Builder(f.blocks[1]).ret(phi)
    text = """define i64 @f(i64 %x, i64 %0) {
x.1:
  %1 = add i64 %x, %0
  %x.2 = mul i64 %1, %1
  br label %2
2:
  %3 = phi i64 [ %x.2, %x.1 ]
  ret i64 %3
}"""
    assert write_function(f) == text
    llvm.parse_assembly(text).verify()


def test_what_the_builder_makes() -> None:
    f = Function("f", FunctionType(I32, (PTR, DOUBLE)), [Argument(PTR, "p"), Argument(DOUBLE, "x")], [Block("entry")])
    pointer, x = f.arguments
    out = Builder(f.entry, flags=("nsz", "contract"))
    slot = out.offset(pointer, 8)
    y = out.fadd(x, real(0.1, DOUBLE))
    out.store(out.call("llvm.sqrt.f64", DOUBLE, [y]), slot)
    pair = out.select(out.compare("olt", y, x), real(1.5, Vector(2, DOUBLE)), real(0.0, Vector(2, DOUBLE)))
    out.store(pair, out.alloca(Vector(2, DOUBLE), align=32), align=16)
    end = Block("end")
    f.blocks.append(end)
    out.switch(out.cast("fptosi", x, I32), end, [(3, end)])
    Builder(end).ret(integer(0, I32))
    module = Module(
        {"f": f, "llvm.sqrt.f64": read("declare double @llvm.sqrt.f64(double)\n").functions["llvm.sqrt.f64"]}
    )
    assert write(module).startswith(
        """define i32 @f(ptr %p, double %x) {
entry:
  %0 = getelementptr i8, ptr %p, i64 8
  %1 = fadd nsz contract double %x, 0x3FB999999999999A
  %2 = call nsz contract double @llvm.sqrt.f64(double %1)
  store double %2, ptr %0
  %3 = fcmp olt double %1, %x
  %4 = select i1 %3, <2 x double> splat (double 0x3FF8000000000000), <2 x double> splat (double 0x0000000000000000)
  %5 = alloca <2 x double>, align 32
  store <2 x double> %4, ptr %5, align 16
  %6 = fptosi double %x to i32
  switch i32 %6, label %end [
    i32 3, label %end
  ]
"""
    )
    llvm.parse_assembly(write(module)).verify()


def test_one_instruction_as_text() -> None:
    module = read("define i64 @f(i64 %a) {\n  %1 = add nsw i64 %a, 1\n  %b = mul i64 %1, 2, !dbg !3\n  ret i64 %b\n}\n")
    body = module.functions["f"].entry.body
    assert [text_of(i) for i in body] == ["%1 = add nsw i64 %a, 1", "%b = mul i64 %1, 2, !dbg !3"]
    body[0].name = ""
    assert text_of(body[1]) == "%b = mul i64 %?, 2, !dbg !3"
