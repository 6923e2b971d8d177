"""The cases, a module for each group, in the order of the page."""

from __future__ import annotations

from tools.support.case import Group
from tools.support.cases import (
    creation,
    data,
    dtypes,
    fft,
    functions,
    indexing,
    linalg,
    python,
    random,
    rearrangement,
    reductions,
    signal,
    sorting,
    ufuncs,
)

GROUPS: tuple[Group, ...] = (
    python.GROUP,
    functions.GROUP,
    creation.GROUP,
    indexing.GROUP,
    ufuncs.GROUP,
    reductions.GROUP,
    rearrangement.GROUP,
    sorting.GROUP,
    signal.GROUP,
    linalg.GROUP,
    random.GROUP,
    fft.GROUP,
    dtypes.GROUP,
    data.GROUP,
)
