"""NumPy functions that our target compiles in another way than Numba's CPU target."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from irad.frontend import rulebook, target
from irad.frontend.target import need

_arrays: Any = need("numba.np.arrayobj", "raise_with_shape_context", "ol_raise_with_shape_context_cpu")
_math: Any = need("numba.np.arraymath")
_extending: Any = need("numba.extending", "overload", "register_jitable")
_types: Any = need("numba.core.types", "Integer", "UniTuple", "Tuple", "BaseTuple", "intp")
_numpy: Any = importlib.import_module("numpy")

tuple_setitem: Any = need("numba.cpython.unsafe.tuple", "tuple_setitem").tuple_setitem
literal_unroll: Any = need("numba", "literal_unroll").literal_unroll


class _Worded(type):
    """Calling such a class makes the error that its `worded` returns; every class passes for a subclass, so it stays.

    Numba builds some messages in compiled code, whose strings need reference counts. Compiled code raises one of these
    instead, with the numbers that go into the message, which is worded when Python makes the exception.
    """

    def __call__(cls, *numbers: Any) -> Any:
        if len(numbers) == 1 and isinstance(numbers[0], BaseException):
            return numbers[0]
        return cls.worded(*numbers)

    def worded(cls, *numbers: Any) -> BaseException:
        raise NotImplementedError

    def __subclasscheck__(cls, subclass: type) -> bool:
        return True


class SliceError(ValueError, metaclass=_Worded):
    """Numba's ValueError for a slice assigned from another shape, in the words of the Numba at hand."""

    @classmethod
    def worded(cls, source: tuple[int, ...], index: tuple[int, ...]) -> BaseException:
        kinds = (_types.UniTuple(_types.intp, len(shape)) for shape in (source, index))
        try:
            _arrays.ol_raise_with_shape_context_cpu(*kinds)(source, index)
        except ValueError as error:
            return error.with_traceback(None)
        raise AssertionError("Numba's own implementation raises")


class AxisError(ValueError, metaclass=_Worded):
    """Numba's error for an axis that an array does not have."""

    @classmethod
    def worded(cls, axis: int, dimensions: int) -> BaseException:
        return _math.axis_bound_err(f"axis {axis} is out of bounds for array of dimension {dimensions}")


installers: list[Callable[[], None]] = [rulebook.install]
"""What else makes overloads known; modules that need more of irad than this one does put their own here."""

_installed: list[bool] = []


def install() -> None:
    """Make the overloads known to Numba, once, when our target is."""
    if not _installed:
        _installed.append(True)
        _extending.overload(_arrays.raise_with_shape_context, target=target.NAME)(_raise_with_shapes)
        for install_more in installers:
            install_more()
        if hasattr(_math, "check_axis_bounds"):  # older versions have a message without numbers
            _extending.overload(_math.check_axis_bounds, target=target.NAME)(_check_axis_bounds)
        _extending.overload(_numpy.broadcast_shapes, target=target.NAME)(_broadcast_shapes)


# --- slice assignment -----------------------------------------------------------------------------------------------


def _raise_with_shapes(src_shapes: Any, index_shape: Any) -> Any:
    if _arrays.ol_raise_with_shape_context_cpu(src_shapes, index_shape) is None:
        return None

    def implementation(src_shapes: Any, index_shape: Any) -> None:
        raise SliceError(src_shapes, index_shape)

    return implementation


# --- axes -----------------------------------------------------------------------------------------------------------


def _check_axis_bounds(a: Any, axis: Any) -> Any:
    if isinstance(axis, _types.BaseTuple):

        def every(a: Any, axis: Any) -> None:
            for one in literal_unroll(axis):
                if one < -a.ndim or one >= a.ndim:
                    raise AxisError(one, a.ndim)

        return every
    if not isinstance(axis, _types.Integer):
        return lambda a, axis: None

    def implementation(a: Any, axis: Any) -> None:
        if axis < -a.ndim or axis >= a.ndim:
            raise AxisError(axis, a.ndim)

    return implementation


# --- broadcasting, which np.where and index arrays use --------------------------------------------------------------


def _broadcast_shapes(*args: Any) -> Any:
    """`np.broadcast_shapes` as Numba has it, without the list: lists need reference counts."""
    dimensions = max((len(kind) if isinstance(kind, _types.BaseTuple) else 1 for kind in args), default=0)
    if not all(map(_is_shape, args)) or dimensions == 0:
        return None
    ones = (1,) * dimensions

    def implementation(*args: Any) -> Any:
        shape = ones
        for arg in literal_unroll(args):
            if isinstance(arg, tuple) and len(arg) > 0:
                shape = _widened(shape, arg)
            elif isinstance(arg, int):
                shape = _widened(shape, (arg,))
        return shape

    return implementation


def _is_shape(kind: Any) -> bool:
    if isinstance(kind, _types.UniTuple):
        return isinstance(kind.dtype, _types.Integer)
    return isinstance(kind, _types.Integer) or (isinstance(kind, _types.Tuple) and len(kind.types) == 0)


@_extending.register_jitable
def _widened(shape: Any, other: Any) -> Any:
    for i in range(len(other)):
        k = len(shape) - len(other) + i
        size = other[i]
        if size < 0:
            raise ValueError("negative dimensions are not allowed")
        if size != 1:
            if shape[k] == 1:
                shape = tuple_setitem(shape, k, size)
            elif shape[k] != size:
                raise ValueError("shape mismatch: objects cannot be broadcast to a single shape")
    return shape
