"""Functions of generated source."""

from __future__ import annotations

import inspect
import linecache
from typing import Any


def defined(name: str, signature: inspect.Signature, body: str, namespace: dict[str, Any]) -> Any:
    """The function `name` with these parameters, whose statements are `body`, over the names in `namespace`.

    Numba finds its text through linecache.
    """
    parameters: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.default is parameter.empty:
            parameters.append(parameter.name)
        else:
            namespace[f"_default_{parameter.name}"] = parameter.default
            parameters.append(f"{parameter.name}=_default_{parameter.name}")
    text = f"def {name}({', '.join(parameters)}):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    file = f"<irad {name} {next(_number)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), namespace)
    return namespace[name]


_number = iter(range(1 << 62))


def unannotated(signature: inspect.Signature) -> inspect.Signature:
    """The same parameters without annotations, all of them positional or named."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([p.replace(annotation=p.empty, kind=kind) for p in signature.parameters.values()])


def parameters(*names: str) -> inspect.Signature:
    """A signature of ordinary parameters."""
    return inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names])
