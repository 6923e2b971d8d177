"""NumPy functions that our target compiles in another way than Numba's CPU target."""

from __future__ import annotations

from typing import Any

from irad.frontend import target
from irad.frontend.target import need

_arrays: Any = need("numba.np.arrayobj", "raise_with_shape_context", "ol_raise_with_shape_context_cpu")
_extending: Any = need("numba.extending", "overload")


class _AnySubclass(type):
    """Every class passes for a subclass, so that Python keeps an instance of another class as it is."""

    def __subclasscheck__(cls, subclass: type) -> bool:
        return True


class SliceError(ValueError, metaclass=_AnySubclass):
    """Numba's ValueError for a slice assigned from another shape, worded only when it is raised.

    Numba builds the message in compiled code, whose strings need reference counts; this takes the two shapes instead,
    and calling it makes a plain ValueError.
    """

    def __new__(cls, source: Any, slice: Any = None) -> Any:
        if isinstance(source, ValueError):
            return source
        return ValueError(f"cannot assign slice of shape {slice} from input of shape {source}")


_installed: list[bool] = []


def install() -> None:
    """Make the overloads known to Numba, once, when our target is."""
    if not _installed:
        _installed.append(True)
        _extending.overload(_arrays.raise_with_shape_context, target=target.NAME)(_raise_with_shapes)


def _raise_with_shapes(src_shapes: Any, index_shape: Any) -> Any:
    if _arrays.ol_raise_with_shape_context_cpu(src_shapes, index_shape) is None:
        return None

    def implementation(src_shapes: Any, index_shape: Any) -> None:
        raise SliceError(src_shapes, index_shape)

    return implementation
