"""Products and norms."""

from __future__ import annotations

import importlib
import operator
from typing import Any

from irad.frontend import whole
from irad.frontend.linalg.operation import original, replace, wrapped
from irad.frontend.rulebook import is_numbers, overload
from irad.frontend.target import need

np: Any = importlib.import_module("numpy")
_linalg: Any = need("numba.np.linalg", "dot_2", "matmul_2", "dot_3", "vdot", "_oneD_norm_2", "_oneD_norm_2_impl")
_numba: Any = need("numba", "njit")
_types: Any = need("numba.core.types", "Array", "Complex")

# --- the product ----------------------------------------------------------------------------------------------------

product_of_numba: Any = original("product_of_numba", _linalg.dot_2)
product_into_of_numba: Any = original("product_into_of_numba", _linalg.dot_3)


def plain(a: Any, b: Any) -> Any:
    """The product as Numba computes it."""
    raise NotImplementedError


def _plain(a: Any, b: Any) -> Any:
    """As in Numba's dot_2_mm and its like, whose calls of `np.dot` must not come back here."""
    match a.ndim, b.ndim:
        case 2, 2:

            def matrices(a: Any, b: Any) -> Any:
                m, k = a.shape
                n = b.shape[1]
                if k == 0:
                    return np.zeros((m, n), a.dtype)
                return product_into_of_numba(a, b, np.empty((m, n), a.dtype))

            return matrices
        case 1, 2:

            def vector_left(a: Any, b: Any) -> Any:
                if a.shape[0] == 0:
                    return np.zeros(b.shape[1], a.dtype)
                return product_into_of_numba(a, b, np.empty(b.shape[1], a.dtype))

            return vector_left
        case 2, 1:

            def vector_right(a: Any, b: Any) -> Any:
                if a.shape[1] == 0:
                    return np.zeros(a.shape[0], a.dtype)
                return product_into_of_numba(a, b, np.empty(a.shape[0], a.dtype))

            return vector_right
        case _:
            return lambda a, b: product_of_numba(a, b)


# None stands for a derivative that is zero, and for what only such a derivative would read.


def times(a: Any, b: Any) -> Any:
    """The product, None where a factor is."""
    raise NotImplementedError


def _times(a: Any, b: Any) -> Any:
    return (lambda a, b: None) if _types.none in (a, b) else (lambda a, b: np.dot(a, b))


def plus(a: Any, b: Any) -> Any:
    """The sum, where None adds nothing."""
    raise NotImplementedError


def _plus(a: Any, b: Any) -> Any:
    if a == _types.none:
        return lambda a, b: b
    return (lambda a, b: a) if b == _types.none else (lambda a, b: a + b)


def negated(a: Any) -> Any:
    """-a, None for None."""
    raise NotImplementedError


def _negated(a: Any) -> Any:
    return (lambda a: None) if a == _types.none else (lambda a: -a)


def kept(a: Any, wanted: Any) -> Any:
    """`a` where something is wanted that reads it."""
    raise NotImplementedError


def _kept(a: Any, wanted: Any) -> Any:
    return (lambda a, wanted: None) if wanted == _types.none else (lambda a, wanted: a)


def conjugate(a: Any) -> Any:
    """The complex conjugate; real arrays and None as they are."""
    raise NotImplementedError


def _conjugate(a: Any) -> Any:
    return (lambda a: np.conj(a)) if _is_complex(a) else (lambda a: a)


def hermitian(a: Any) -> Any:
    """The conjugate transpose of a matrix."""
    raise NotImplementedError


def _hermitian(a: Any) -> Any:
    return (lambda a: np.conj(a.T)) if _is_complex(a) else (lambda a: a.T)


def _is_complex(kind: Any) -> bool:
    return isinstance(getattr(kind, "dtype", kind), _types.Complex)


def outer(a: Any, b: Any) -> Any:
    """a b^H, for vectors and for matrices."""
    raise NotImplementedError


def _outer(a: Any, b: Any) -> Any:
    if b == _types.none:
        return lambda a, b: None
    if a.ndim == 2:
        return lambda a, b: np.dot(a, hermitian(b))
    return lambda a, b: np.expand_dims(a, 1) * conjugate(b)


def left_bar(bar: Any, b: Any) -> Any:
    """Cotangent of the left factor of a product with `b`."""
    raise NotImplementedError


def _left_bar(bar: Any, b: Any) -> Any:
    if b == _types.none:
        return lambda bar, b: None
    if not isinstance(bar, _types.Array):
        return lambda bar, b: bar * conjugate(b)
    if bar.ndim == b.ndim:
        return lambda bar, b: outer(bar, b)
    return lambda bar, b: np.dot(conjugate(b), bar)


def right_bar(a: Any, bar: Any) -> Any:
    """Cotangent of the right factor of a product with `a`."""
    raise NotImplementedError


def _right_bar(a: Any, bar: Any) -> Any:
    if a == _types.none:
        return lambda a, bar: None
    if not isinstance(bar, _types.Array):
        return lambda a, bar: conjugate(a) * bar
    if a.ndim == 1:
        return lambda a, bar: outer(conjugate(a), conjugate(bar))
    return lambda a, bar: np.dot(hermitian(a), bar)


def product(a: Any, b: Any) -> Any:
    return plain(a, b)


def product_tangent(a: Any, b: Any, a_dot: Any, b_dot: Any) -> Any:
    return np.dot(a, b), plus(times(a_dot, b), times(a, b_dot))


def product_augmented(a: Any, b: Any, a_wanted: Any, b_wanted: Any) -> Any:
    return np.dot(a, b), (kept(a, b_wanted), kept(b, a_wanted))


def product_pullback(residual: Any, bar: Any, a_wanted: Any, b_wanted: Any) -> Any:
    a, b = residual
    return left_bar(bar, b), right_bar(a, bar)


def _into(a: Any, b: Any, out: Any) -> Any:
    """`np.dot(a, b, out)`: Numba's checks, and the product copied to its place."""
    if not all(map(is_numbers, (a, b, out))) or out.layout != "C":
        return _linalg.dot_3(a, b, out)
    if (a.ndim, b.ndim) == (2, 2):

        def matrices(a: Any, b: Any, out: Any) -> Any:
            if a.shape[1] == b.shape[0] and out.shape != (a.shape[0], b.shape[1]):
                raise ValueError("incompatible output array size for np.dot(a, b, out) (matrix * matrix)")
            out[:, :] = np.dot(a, b)
            return out

        return matrices
    if a.ndim == 1:

        def vector_left(a: Any, b: Any, out: Any) -> Any:
            if a.shape[0] == b.shape[0] and out.shape != (b.shape[1],):
                raise ValueError("incompatible output array size for np.dot(a, b, out) (vector * matrix)")
            out[:] = np.dot(a, b)
            return out

        return vector_left

    def vector_right(a: Any, b: Any, out: Any) -> Any:
        if a.shape[1] == b.shape[0] and out.shape != (a.shape[0],):
            raise ValueError("incompatible output array size for np.dot(a, b, out) (matrix * vector)")
        out[:] = np.dot(a, b)
        return out

    return vector_right


@_numba.njit
def columnwise(a: Any, b: Any) -> Any:
    """The inner product of each column of `a` with that of `b`; sums along an axis need Numba's runtime."""
    out = np.zeros(a.shape[1], a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j] += a[i, j] * b[i, j]
    return out


# --- the inner product, whose first factor is conjugated ------------------------------------------------------------


def inner(a: Any, b: Any) -> Any:
    """The inner product, None where a factor is."""
    raise NotImplementedError


def _inner(a: Any, b: Any) -> Any:
    return (lambda a, b: None) if _types.none in (a, b) else (lambda a, b: np.vdot(a, b))


def scaled(factor: Any, a: Any) -> Any:
    """An array times a number, None for None."""
    raise NotImplementedError


def _scaled(factor: Any, a: Any) -> Any:
    return (lambda factor, a: None) if a == _types.none else (lambda factor, a: factor * a)


def inner_tangent(a: Any, b: Any, a_dot: Any, b_dot: Any) -> Any:
    return np.vdot(a, b), plus(inner(a_dot, b), inner(a, b_dot))


def inner_augmented(a: Any, b: Any, a_wanted: Any, b_wanted: Any) -> Any:
    return np.vdot(a, b), (kept(a, b_wanted), kept(b, a_wanted))


def inner_pullback(residual: Any, bar: Any, a_wanted: Any, b_wanted: Any) -> Any:
    a, b = residual
    return scaled(np.conj(bar), b), scaled(bar, a)


# --- the Euclidean norm ---------------------------------------------------------------------------------------------


def norm_tangent(a: Any, a_dot: Any) -> Any:
    out = _linalg_norm(a)
    if out == 0:
        return out, out
    return out, np.vdot(a, a_dot).real / out


def norm_augmented(a: Any) -> Any:
    out = _linalg_norm(a)
    return out, (a, out)


def norm_pullback(residual: Any, bar: Any) -> Any:
    a, out = residual
    if out == 0:
        return (np.zeros_like(a),)
    return ((bar / out) * a,)


_linalg_norm = _linalg._oneD_norm_2


def install() -> None:
    """Make the operations known to Numba."""
    for stub, typed in (
        (plain, _plain),
        (times, _times),
        (plus, _plus),
        (negated, _negated),
        (kept, _kept),
        (conjugate, _conjugate),
        (hermitian, _hermitian),
        (outer, _outer),
        (inner, _inner),
        (scaled, _scaled),
        (left_bar, _left_bar),
        (right_bar, _right_bar),
    ):
        overload(stub, typed)
    rule: dict[str, Any] = {"tangent": product_tangent, "augmented": product_augmented, "pullback": product_pullback}
    whole_product = whole.make(product, **rule, sparse=True, complex=True)
    for function, typed in ((np.dot, _linalg.dot_2), (operator.matmul, _linalg.matmul_2)):
        replace(function, whole_product, typed, arrays=2, element=is_numbers)
    rule = {"tangent": inner_tangent, "augmented": inner_augmented, "pullback": inner_pullback}
    inner_product = wrapped("vdot", _linalg.vdot, **rule, sparse=True, complex=True)
    replace(np.vdot, inner_product, _linalg.vdot, arrays=2, element=is_numbers)
    overload(np.dot, _into)
    rule = {"tangent": norm_tangent, "augmented": norm_augmented, "pullback": norm_pullback}
    norm = wrapped("norm", _linalg._oneD_norm_2_impl, **rule, complex=True)
    replace(_linalg._oneD_norm_2, norm, _linalg._oneD_norm_2_impl, element=is_numbers)
