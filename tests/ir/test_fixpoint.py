"""What Numba and LLVM make is read completely and written back to the letter, at every stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import llvmlite.binding as llvm
import pytest

from irad.ir.check import check
from irad.ir.model import Alloca, Call, Instruction, MetadataOperand, Module, Shuffle, Terminator
from irad.ir.read import read
from irad.ir.write import text_of, write
from tests.ir.corpus import CASES, SMALL, clean, printed, texts
from tests.ir.shape import difference, shape
from tests.ir.vocabulary import VOCABULARY


@dataclass(frozen=True)
class Sample:
    """One module: the text as LLVM prints it, and what we read."""

    stage: str
    text: str
    module: Module


@pytest.fixture(params=["vocabulary", *CASES], scope="module")
def samples(request: pytest.FixtureRequest) -> list[Sample]:
    stages = {"by hand": clean(VOCABULARY)} if request.param == "vocabulary" else texts(request.param)
    return [Sample(stage, text, read(text)) for stage, text in stages.items()]


def test_text_is_a_fixpoint(samples: list[Sample]) -> None:
    for sample in samples:
        again = printed(write(sample.module))
        assert not difference(again.split("\n"), sample.text.split("\n")), sample.stage


def test_structure_is_a_fixpoint(samples: list[Sample]) -> None:
    for sample in samples:
        again = read(write(sample.module))
        assert not difference(shape(again), shape(sample.module)), sample.stage


def test_what_llvm_accepts_passes_the_check(samples: list[Sample]) -> None:
    for sample in samples:
        check(sample.module)


def test_llvm_sees_the_same_instructions(samples: list[Sample]) -> None:
    for sample in samples:
        if len(sample.text) > 60_000:  # LLVM's objects take ten times as long as reading
            continue
        for ours, theirs in _pairs(sample.module, llvm.parse_assembly(sample.text)):
            assert _opcode(ours) == theirs.opcode, text_of(ours)
            assert str(ours.type) == str(theirs.type), text_of(ours)
            types = [str(o.type) for o in theirs.operands]
            if theirs.opcode == "switch":  # LLVM 20 counts the cases too
                types = types[:1] + [t for t in types if t == "label"]
            assert _operand_types(ours) == sorted(types), text_of(ours)


def test_the_corpus_is_large_and_has_vectors() -> None:
    assert 4 * len(SMALL) + 3 * (len(CASES) - len(SMALL)) >= 60
    assert any("x float>" in text for text in texts("saxpy").values())


# --- LLVM's own view of a module ---


def _pairs(module: Module, theirs: llvm.ModuleRef) -> Iterator[tuple[Instruction, llvm.ValueRef]]:
    for function in theirs.functions:
        ours = module.functions[function.name]
        assert len(ours.blocks) == len(list(function.blocks))
        for block, other in zip(ours.blocks, function.blocks, strict=True):
            yield from zip(block.instructions, other.instructions, strict=True)


def _opcode(instruction: Instruction) -> str:
    """LLVM's word: the first of the right-hand side that says what is done."""
    words = text_of(instruction).split(" = ", 1)[-1].split()
    return next(w for w in words if w not in ("tail", "musttail", "notail"))


def _operand_types(instruction: Instruction) -> list[str]:
    """Types, sorted, of what LLVM counts as operands: blocks and the callee too, but no shuffle mask."""
    found = ["metadata" if isinstance(v, MetadataOperand) else str(v.type) for v in instruction.operands]
    match instruction:
        case Call():
            found.append("ptr")
        case Shuffle():
            found.pop()
        case Alloca(operands=[]):
            found.append("i32")
    if isinstance(instruction, Terminator):
        found += ["label"] * len(instruction.targets)
    return sorted(found)
