"""The canonical form, property by property."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from numba import njit, types
from numba.core.runtime import rtsys

import irad
from irad import llvm, rewrite, versions
from irad.errors import InvalidIR
from irad.frontend import target
from irad.frontend.lower import lower
from tests.frontend import corpus
from tests.frontend.corpus import CASES
from tests.frontend.linked import calling, entry, runnable

VECTOR = types.float64[::1]


def normal(kernel: Any, *argtypes: Any) -> str:
    lowered = lower(kernel, argtypes)
    return llvm.normalize(lowered.text, lowered.name)


def functions(text: str) -> list[str]:
    return re.findall(r"^define [^@\n]*@([\w.]+)\(", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["swapped_buffers", "returns_several", "triangular"])
def test_reference_counts_are_gone(name: str) -> None:
    case = CASES[name]
    text = normal(case.kernel, *map(numba.typeof, case.arguments()))
    assert "NRT_incref" not in text and "NRT_decref" not in text and "NRT_MemInfo" not in text
    assert re.search(r"^declare noalias ptr @irad_alloc\(i64, i32 allocalign\)", text, re.MULTILINE)
    assert 'allockind("alloc,uninitialized,aligned") allocsize(0)' in text and '"alloc-family"="irad"' in text
    assert len(functions(text)) == 1


def test_a_scratch_array_that_is_not_needed_is_deleted() -> None:
    def kernel(x):
        t = np.zeros(3)
        t[0] = x * x
        t[1] = t[0] + 1.0
        return t[0] * t[1]

    assert "irad_alloc" not in normal(kernel, types.float64)


def test_dictionaries_of_text_keep_their_reference_counts() -> None:
    def kernel(x):
        d = {"a": x[0]}
        d["b"] = x[1]
        return d["a"]

    text = normal(kernel, numba.float64[::1])
    assert "@NRT_decref(" in text and "irad_alloc" not in text


@pytest.mark.parametrize("name", ["jitclass_argument", "typed_dict", "typed_list", "typed_list_of_arrays"])
def test_instances_and_containers_of_numbers_that_are_given_are_taken_apart(name: str) -> None:
    case = CASES[name]
    text = normal(case.kernel, *map(numba.typeof, case.arguments()))
    assert "NRT_incref" not in text and "NRT_decref" not in text and "irad.rebound" not in text
    assert not re.search(r"alloca \[\d+ x i8\]", text)


@pytest.mark.parametrize("name", ["local_list", "list_of_arrays", "local_typed_list"])
def test_lists_of_the_kernel_are_plain_memory(name: str) -> None:
    case = CASES[name]
    text = normal(case.kernel, *map(numba.typeof, case.arguments()))
    assert "@irad_list(" in text and "NRT_" not in text


def test_loops_count_from_zero_and_nothing_is_vectorised() -> None:
    def kernel(x, n):
        s = 0.0
        for i in range(n, x.size, 2):
            for j in range(n):
                s += x[i] * x[j]
        return s

    text = normal(kernel, VECTOR, types.int64)
    inner = re.search(r"^  (%\S+) = phi i64 \[ 0, %\S+ \], \[ (%\S+), %\S+ \]", text, re.MULTILINE)
    assert inner and re.search(
        rf"^  {re.escape(inner[2])} = add nuw nsw i64 {re.escape(inner[1])}, 1,", text, re.MULTILINE
    )
    assert "alloca" not in text and not re.search(r"<\d+ x double>", text)


@pytest.mark.parametrize(("trips", "unrolled"), [(3, True), (9, True), (1000, False)])
def test_short_constant_loops_are_unrolled(trips: int, unrolled: bool) -> None:
    kernel = eval("lambda x: helper(x)", {"helper": _product(trips)})
    text = normal(kernel, VECTOR)
    assert (" phi i64 " not in text) == unrolled
    assert text.count("fmul") == (trips if unrolled else 1)


def _product(trips: int) -> Any:
    @njit
    def product(x):
        p = 1.5
        for i in range(trips):
            p *= x[i]
        return p

    return product


def test_size_decides_about_unrolling() -> None:
    def kernel(x):
        s = 0.0
        for i in range(30):
            s = s * x[i] + x[i + 1] * x[i + 2] / (x[i + 3] - x[i + 4]) + (x[i + 5] * s - x[i + 6]) / x[i + 7]
        return s

    assert " phi i64 " in normal(kernel, VECTOR)


LOOP = """
define i64 @f(ptr %p) {{
entry:
  br label %loop
loop:
  %i = phi {type} [ {start}, %entry ], [ %next, %loop ]
  store {type} %i, ptr %p
  %next = {op} {type} %i, {by}
  %more = icmp {test}, {bound}
  br i1 %more, label {targets}
done:
  ret i64 0
}}
"""


@pytest.mark.parametrize(
    ("type", "start", "step", "test", "bound", "stays", "trips"),
    [
        ("i64", 0, 1, "slt i64 %next", 5, True, 5),
        ("i64", 0, 1, "sle i64 %i", 5, True, 7),
        ("i64", 5, -1, "sgt i64 %next", 0, True, 5),
        ("i64", 0, 2, "eq i64 %next", 8, False, 4),
        ("i64", 0, 1, "eq i64 %next", 0, True, 1),
        ("i8", 120, 1, "ne i8 %next", -128, True, 8),
        ("i64", 3, -1, "ult i64 %next", 10, True, 4),
        ("i64", 2, "lshr 1", "eq i64 %next", 0, False, 2),
        ("i64", -5, "ashr 1", "slt i64 %next", -1, True, 3),
        ("i64", 1, "shl 3", "ult i64 %next", 100, True, 3),
        ("i64", 1, "mul 3", "ne i64 %next", 27, True, 3),
        ("i64", 0, 1, "slt i64 %next", 500, True, None),
        ("i64", 0, 0, "slt i64 %next", 5, True, None),
    ],
)
def test_trips(
    type: str,
    start: int,
    step: int | str,
    test: str,
    bound: int,
    stays: bool,
    trips: int | None,
) -> None:
    targets = "%loop, label %done" if stays else "%done, label %loop"
    op, by = ("add", step) if isinstance(step, int) else step.split()
    text = LOOP.format(type=type, start=start, op=op, by=by, test=test, bound=bound, targets=targets)
    tagged = rewrite.tag_short_loops(text)
    assert (tagged is not None) == (trips is not None)
    if tagged:
        llvm.verify(tagged)
        assert rewrite.tag_short_loops(tagged) is None
        module = llvm.parse(tagged)
        llvm._standard(module)
        assert not re.search(r"^\S*loop.*:\n.*phi", str(module), re.MULTILINE)
        predicate = test.split(maxsplit=1)[0]
        move = rewrite._Step(op, int(type[1:]), int(by))
        assert rewrite._count(start, move, predicate, bound, "%next" in test, stays) == trips


def test_a_power_with_a_constant_exponent_is_a_product() -> None:
    def kernel(x):
        return x[0] ** 2 + x[1] ** -3 + x[2] ** 11

    assert "phi double" not in normal(kernel, numba.float64[::1])


def test_optimize_keeps_what_it_is_told_and_vectorises() -> None:
    lowered = lower(corpus.returns_new, (VECTOR,))
    text = runnable(llvm.normalize(lowered.text, lowered.name), lowered)
    run = entry(lowered)
    fast = llvm.optimize(text, [run, "irad_alloc"])
    assert set(functions(fast)) == {run, "irad_alloc"}
    assert re.search(r"fmul <\d+ x double>", fast)
    library = target.link(fast, "irad.test.optimized", libraries=(rtsys.library,))
    x = CASES["returns_new"].arguments()
    assert (calling(library, run, lowered.signature)(*x) == corpus.returns_new(*x)).all()
    assert run in llvm.assembly(fast)


def test_large_helpers_are_not_inlined_again_and_again() -> None:
    call = "  %{0} = call i64 @large(i64 %x)\n"
    large = "define i64 @large(i64 %x) {\n" + "  call void @effect(i64 %x)\n" * 5000 + "  ret i64 %x\n}\n"
    main = "define i64 @main(i64 %x) {\n" + "".join(call.format(f"c{i}") for i in range(2)) + "  ret i64 %x\n}\n"
    once = "define i64 @main(i64 %x) {\n" + call.format("c") + "  ret i64 %x\n}\n"
    assert rewrite.to_inline(large + main, "main") == frozenset()
    assert rewrite.to_inline(large + once, "main") == {"large"}


def test_recursive_functions_are_not_inlined() -> None:
    for kernel in (corpus.recursion, corpus.even):
        lowered = lower(kernel, (types.float64, types.int64))
        assert lowered.name not in rewrite.to_inline(lowered.text, lowered.name)
        llvm.normalize(lowered.text, lowered.name)


def test_broken_text_is_refused() -> None:
    with pytest.raises(InvalidIR, match="LLVM refuses the module"):
        llvm.verify("define i32 @f() {\n  ret i64 0\n}\n")


@pytest.mark.parametrize(
    ("check", "good", "bad", "named"),
    [
        (versions.check_llvm, (22, 1, 0), (21, 1, 0), "20 and 22"),
        (versions.check_llvm, (20, 1, 8), (23, 0, 0), "20 and 22"),
        (versions.check_numba, "0.62.1", "0.61.2", "0.62 to 0.68"),
        (versions.check_numba, "0.68.1", "0.70.0", "0.62 to 0.68"),
    ],
)
def test_untested_versions_are_refused(check: Any, good: Any, bad: Any, named: str) -> None:
    check(good)
    with pytest.raises(InvalidIR, match=named):
        check(bad)


def test_an_address_that_is_added_to_stays_a_pointer() -> None:
    """As Numba 0.62 moves a pointer; the sum may have another use."""
    text = """  %a = ptrtoint ptr %p to i64, !dbg !1
  %b = add i64 %a, %n, !dbg !1
  %c = inttoptr i64 %b to ptr, !dbg !1
  %d = inttoptr i64 %n to ptr
"""
    lines = rewrite.addresses_as_pointers(text).splitlines()
    assert lines[2] == "  %c = getelementptr i8, ptr %p, i64 %n, !dbg !1"
    assert [*lines[:2], lines[3]] == [*text.splitlines()[:2], text.splitlines()[3]]


def test_what_llvm_computes_wrongly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "call double @llvm.maximumnum.f64(double %a, double %b)"
    assert llvm.miscompiled(text, (20, 1, 8)) == "maximumnum"
    assert not llvm.miscompiled(text, (22, 1, 0))
    assert not llvm.miscompiled(text.replace("maximumnum", "maximum"), (20, 1, 8))
    monkeypatch.setattr(llvm, "miscompiled", lambda _: "maximumnum")
    with pytest.raises(irad.Unsupported, match=r"test_normalize\.py:\d+: .*computes maximumnum wrongly"):
        irad.grad(lambda x: max(x, 1.0))(2.0)
