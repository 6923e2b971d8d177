"""Operations whose result may be discarded."""

from __future__ import annotations

import pytest

from tests.analysis.facts import DECLARE, Facts, body, names

PARAMETERS = "ptr %x, double %a, i1 %c"
DIVIDE = "%v = fdiv double 1.0, %a\n"


@pytest.mark.parametrize(
    ("code", "guarded"),
    [
        (DIVIDE + "%s = select i1 %c, double %v, double 0.0\nstore double %s, ptr %x\nbr label %out", "v"),
        (
            DIVIDE + "%k = fmul double %v, %v\n%s = select i1 %c, double %k, double %a\nstore double %s, ptr %x\n"
            "br label %out",
            "v k",
        ),
        (DIVIDE + "store double %v, ptr %x\nbr label %out", ""),
        (
            DIVIDE + "%s = select i1 %c, double %v, double 0.0\n%k = fadd double %v, %s\nstore double %k, ptr %x\n"
            "br label %out",
            "",
        ),
        (DIVIDE + "br i1 %c, label %side, label %out\nside:\nstore double %v, ptr %x\nbr label %out", "v"),
    ],
)
def test_guarded(code: str, guarded: str) -> None:
    text = body(f"entry:\n{code}\nout:\nret void", PARAMETERS)
    facts = Facts(text, active=["a"], shadowed=["x"])
    assert names(facts.guarded) == set(guarded.split())


@pytest.mark.parametrize(("true", "guarded"), [("out", False), ("side", True)])
def test_phis(true: str, guarded: bool) -> None:
    text = f"""entry:
  {DIVIDE}  br i1 %c, label %{true}, label %out
side:
  br label %out
out:
  %p = phi double [ %v, %entry ]{", [ 0.0, %side ]" if true == "side" else ", [ %v, %entry ]"}
  store double %p, ptr %x
  ret void"""
    text = text if true == "side" else text.replace("side:\n  br label %out\n", "")
    facts = Facts(body(text, PARAMETERS) + DECLARE, active=["a"], shadowed=["x"])
    assert ("v" in names(facts.guarded)) is guarded
