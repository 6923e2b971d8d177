"""What irad raises, and how a refusal is worded.

Every refusal says where (the user's line), why, and what to write instead. None of these derive from
`numba.core.errors.NumbaError`: those reach the caller as thirty lines of typing trace, ours in one.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the user's source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """The source text of the line, stripped; empty when the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()


class IradError(Exception):
    """Base of everything irad raises on purpose.

    Parameters
    ----------
    why: what is wrong, one sentence, no full stop.
    hint: what to write instead.
    place: the line of the kernel, when it is known.
    instruction: the LLVM instruction at fault, as text.

    `culprit` is that instruction itself (or a function, a block), from which the pipeline finds the place.
    """

    culprit: object | None = None

    def __init__(self, why: str, *, hint: str = "", place: Place | None = None, instruction: str = "") -> None:
        self.why, self.hint, self.place, self.instruction = why, hint, place, instruction
        super().__init__(self._message())

    def _message(self) -> str:
        lines = [f"{self.place}: {self.why}" if self.place else self.why]
        if self.place and self.place.text:
            lines.append(f"    {self.place.text}")
        if self.instruction:
            lines.append(f"  in: {self.instruction}")
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self._message()

    def at(self, place: Place | None) -> IradError:
        """The same error with its place filled in, where it had none."""
        if self.place is None and place is not None:
            self.place = place
            self.args = (self._message(),)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.why, self.hint, self.place, self.instruction)


def _rebuild(kind: type[IradError], why: str, hint: str, place: Place | None, instruction: str) -> IradError:
    return kind(why, hint=hint, place=place, instruction=instruction)


class Unsupported(IradError):
    """The kernel uses something that irad does not differentiate."""


class MissingRule(IradError):
    """No derivative is known for an operation or a function."""


class AmbiguousKind(IradError):
    """Bytes that may be a float or an integer, where the answer changes the derivative."""


class InvalidIR(IradError):
    """LLVM text that irad cannot read or has written wrongly: a bug of irad, or an LLVM that was not tested."""


class BadArguments(IradError):
    """The caller's mistake. Raised as one of its two subclasses, which are also TypeError or ValueError."""


class BadArgumentType(BadArguments, TypeError):
    """An argument of a wrong type or dtype."""


class BadArgumentValue(BadArguments, ValueError):
    """An argument of a wrong shape, layout or value."""
