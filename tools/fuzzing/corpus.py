"""Finds as files that run on their own."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from tools.fuzzing.case import Case

FOLDER = Path(__file__).parents[2] / "tests" / "corpus"

TEMPLATE = '''"""{title}

Run it where irad's repository is: python -m tests.corpus.{name}
"""

from tools.fuzzing.case import Argument, Case, Pattern, View
from tools.fuzzing.oracle import replay

SOURCE = """
{source}"""

CASE = Case(
    SOURCE,
    arguments=(
{arguments}
    ),
    patterns=(
{patterns}
    ),
    aliased={aliased},
    level={level},
    modes={modes},
    primal={primal},
)

if __name__ == "__main__":
    replay(CASE)
'''


def text(case: Case, name: str, title: str) -> str:
    """The file of a find."""
    return TEMPLATE.format(
        title=title[:110].replace('"""', "'''"),
        name=name,
        source=case.source.lstrip("\n"),
        arguments="\n".join(f"        {a!r}," for a in case.arguments).replace("'", '"'),
        patterns="\n".join(f"        {p!r}," for p in case.patterns),
        aliased=case.aliased,
        level=case.level,
        modes=repr(case.modes).replace("'", '"'),
        primal=f'"{case.primal}"',
    )


def save(case: Case, message: str, folder: Path = FOLDER) -> Path:
    """Write a find, with the one pattern that fails where the message says which."""
    words = message.split()
    if words[0] == "pattern":
        case = replace(case, patterns=(case.patterns[int(words[1].rstrip(":"))],))
        message = message.split(": ", 1)[1]
    kind = "".join(c if c.isalnum() else "_" for c in message.split()[0])
    name = f"{kind}_{hashlib.sha256(repr(case).encode()).hexdigest()[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(text(case, name, message.splitlines()[0]))
    return path
