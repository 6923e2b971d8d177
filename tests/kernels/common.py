"""The kernels that both test modules run over, and their arguments in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import kernels
import kernels.real

COLLECTIONS = (kernels.COLLECTION, kernels.real.COLLECTION)
KERNELS = [(c, name) for c in COLLECTIONS for name in c.names]


def is_single(argument: Any) -> bool:
    """Whether an argument is an array in single precision."""
    return isinstance(argument, np.ndarray) and argument.dtype == np.dtype(np.float32)


def widened(args: Sequence[Any]) -> list[Any]:
    """`args` in double precision: differences of a kernel in single precision tell nothing."""
    return [a.astype(np.float64) if is_single(a) else a for a in args]
