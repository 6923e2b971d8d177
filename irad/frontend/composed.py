"""Jacobians, Hessians and Hessian-vector products: generated njit source over simpler derivative functions."""

from __future__ import annotations

from typing import Any

from irad.errors import BadArgumentType, BadArgumentValue
from irad.frontend import arguments, shadows
from irad.frontend.boxes import Opened, closed
from irad.frontend.frame import Frame, Shadows
from irad.frontend.opening import close_value
from irad.frontend.shadows import Code, View
from irad.frontend.slope import Slope
from irad.frontend.target import need

_types: Any = need("numba.core.types", "Array", "Complex", "BaseTuple", "boolean", "intp", "none")
_extending: Any = need("numba.extending", "intrinsic")
_cgutils: Any = need("numba.core.cgutils", "loop_nest")
_ir: Any = need("llvmlite.ir", "IntType")

JACFWD = """\
count = size({x})
if count == 0:
    out = kernel({names})
    return shaped(matrix(out, size(out), 0), out, {x})
own = apart(({names},)) if count > 1 else ({names},)
out, out_dot = push({own}, basis({x}, 0))
rows = matrix(out, size(out), count)
put_column(rows, 0, out_dot)
for i in range(1, count):
    again = apart(({names},)) if i + 1 < count else ({names},)
    _, out_dot = push({again}, basis({x}, i))
    put_column(rows, i, out_dot)
return shaped(rows, out, {x})
"""
"""One forward pass a column. All but the last run on copies, so that the kernel writes to its arguments once."""

JACREV = """\
out, state = augmented({names})
rows = matrix(out, size(out), size({x}))
for i in range(size(out)):
    put_row(rows, i, pullback(state, basis(out, i))[{at}])
release(state)
return shaped(rows, out, {x})
"""
"""One augmented run, one reverse pass a row."""

HVP = """\
_, product = push({names}, {v})
return product
"""


HOLOMORPHIC = """\
out, state = augmented({names})
along_one, along_i = pullback(state, unit(out, False)), pullback(state, unit(out, True))
release(state)
slope = analytic(({one}), ({i}))
return {returned}
"""
"""One augmented run; two reverse passes tell whether the function is holomorphic where it was called."""


def _flat(kind: Any, what: str) -> None:
    if not arguments.is_float(kind.dtype if arguments.is_array(kind) else kind):
        raise BadArgumentType(
            f"{what} is {kind}: Jacobians are of one float or one array of floats by another",
            hint="irad.jvp and irad.vjp take other arguments and results",
        )


def _scalar(kind: Any) -> Any:
    return kind if arguments.is_float(kind) else kind.dtype


@_extending.intrinsic
def size(typingctx: Any, x: Any) -> Any:
    """The number of floats in a float or an array."""
    _flat(x, "an argument or result")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Code(context, builder)
        return code.word(1) if arguments.is_float(x) else code.fields(View("x", x, args[0])).nitems

    return _types.intp(x), generate


@_extending.intrinsic
def basis(typingctx: Any, x: Any, i: Any) -> Any:
    """Zeros like a float or an array, but one at flat position `i` (in C order)."""
    _flat(x, "an argument or result")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one = context.get_constant(_scalar(x), 1.0)
        if arguments.is_float(x):
            return one
        code = Code(context, builder)
        made = View("x", shadows.shadow_type(x), shadows.separate(code, View("x", x, args[0])))
        indices, left = list[Any](), args[1]
        for length in reversed(code.sizes(made)[0]):
            indices.insert(0, builder.urem(left, length))
            left = builder.udiv(left, length)
        builder.store(one, shadows.element(code, made, indices))
        return made.value

    result = x if arguments.is_float(x) else shadows.shadow_type(x)
    return result(x, _types.intp), generate


@_extending.intrinsic
def apart(typingctx: Any, values: Any) -> Any:
    """A tuple of arguments with copies of its arrays, of the same strides, overlapping as they do."""
    kernel = arguments.Kernel(None, tuple(f"[{i}]" for i in range(len(values.types))))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Code(context, builder)
        inside = [builder.extract_value(args[0], i) for i in range(len(values.types))]
        frame = Frame(code, kernel, values.types, inside)
        copies = Shadows(frame, range(len(inside)), arguments.is_array)
        copies.fill(range(len(inside)), mirror=len(frame.all_arrays()) > 1)
        made = {view.name: copies.view(view.name) for view in frame.all_arrays()}
        for view in frame.all_arrays():
            shadows.copy(code, view, made[view.name])
        for i, kind in enumerate(frame.kinds):
            if not arguments.is_array(kind) and not isinstance(kind, _types.BaseTuple):
                context.nrt.incref(builder, kind, inside[i])
            copied = arguments.with_arrays(code, kernel.names[i], kind, frame.values[i], lambda v: made[v.name].value)
            inside[i] = _closed(code, kind, copied)
        frame.release()
        return context.make_tuple(builder, values, inside)

    return values(values), generate


def _closed(code: Code, kind: Any, value: Any) -> Any:
    """An opened argument with its structures put together; the arrays in it change hands."""
    if not isinstance(kind, _types.BaseTuple) or closed(kind) == kind:
        return value
    if not isinstance(kind, Opened):
        inside = [_closed(code, inner, code.builder.extract_value(value, i)) for i, inner in enumerate(kind.types)]
        return code.context.make_tuple(code.builder, closed(kind), inside)
    made = close_value(code, kind, value)
    for view in arguments.views(code, "", kind, value):
        code.context.nrt.decref(code.builder, view.kind, view.value)
    return made


@_extending.intrinsic
def matrix(typingctx: Any, out: Any, rows: Any, columns: Any) -> Any:
    """A new zeroed matrix of the dtype of `out`."""
    _flat(out, "the result")
    result = _types.Array(_scalar(out), 2, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Code(context, builder)
        itemsize = context.get_abi_sizeof(context.get_data_type(result.dtype))
        return shadows.zeros(code, result, args[1:], itemsize)

    return result(out, _types.intp, _types.intp), generate


def _put(rows: Any, i: Any, values: Any, *, down: bool) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Code(context, builder)
        target = View("rows", rows, args[0])

        def store(value: Any, at: Any) -> None:
            place = [at, args[1]] if down else [args[1], at]
            value = context.cast(builder, value, _scalar(values), rows.dtype)
            builder.store(value, shadows.element(code, target, place))

        if arguments.is_float(values):
            store(args[2], code.word(0))
        else:
            source = View("values", values, args[2])
            shape, _ = code.sizes(source)
            with _cgutils.loop_nest(builder, shape, intp=_ir.IntType(64)) as indices:
                at = code.word(0)
                for index, length in zip(indices, shape, strict=True):
                    at = builder.add(builder.mul(at, length), index)
                store(builder.load(shadows.element(code, source, indices)), at)
        return context.get_dummy_value()

    return _types.none(rows, _types.intp, values), generate


@_extending.intrinsic
def put_row(typingctx: Any, rows: Any, i: Any, values: Any) -> Any:
    """Write a float or an array into row `i`, in C order."""
    return _put(rows, i, values, down=False)


@_extending.intrinsic
def put_column(typingctx: Any, rows: Any, i: Any, values: Any) -> Any:
    """Write a float or an array into column `i`, in C order."""
    return _put(rows, i, values, down=True)


@_extending.intrinsic
def shaped(typingctx: Any, rows: Any, out: Any, x: Any) -> Any:
    """The matrix with the shape of `out` followed by that of `x`; a float when both are floats."""
    ndim = sum(0 if arguments.is_float(kind) else kind.ndim for kind in (out, x))
    scalar = arguments.is_float(out) and arguments.is_float(x)
    result = rows.dtype if scalar else _types.Array(rows.dtype, ndim, "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Code(context, builder)
        source = View("rows", rows, args[0])
        if scalar:
            return builder.load(shadows.element(code, source, [code.word(0), code.word(0)]))
        shape: list[Any] = []
        for kind, value in ((out, args[1]), (x, args[2])):
            if not arguments.is_float(kind):
                shape += code.sizes(View("", kind, value))[0]
        return shadows.reshaped(code, source, result, shape)

    return result(rows, out, x), generate


@_extending.intrinsic
def unit(typingctx: Any, out: Any, imaginary: Any) -> Any:
    """1, or i, of the complex type of a result."""
    if not isinstance(out, _types.Complex):
        raise BadArgumentType(
            f"holomorphic=True is for functions that return a complex number, not {out}",
            hint="leave it out for a function that returns a real number",
        )

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        real, imag = (context.get_constant(out.underlying_float, x) for x in (1.0, 0.0))
        made = context.make_complex(builder, out)
        made.real, made.imag = (builder.select(args[1], x, y) for x, y in ((imag, real), (real, imag)))
        return made._getvalue()

    return out(out, _types.boolean), generate


@_extending.intrinsic
def analytic(typingctx: Any, along_one: Any, along_i: Any) -> Any:
    """Derivatives by complex numbers or arrays, from the cotangents that 1 and i pull back.

    Raises, at run time, BadArgumentValue: the two do not fit together, so that the function has no such derivative.
    """
    for kind in along_one.types:
        if not isinstance(kind.dtype if arguments.is_array(kind) else kind, _types.Complex):
            raise BadArgumentType(
                f"holomorphic=True differentiates by complex arguments, not by {kind}", hint="pass it as complex"
            )

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Code(context, builder, zip((along_one, along_i), args, strict=True))
        why = (
            "the function is not holomorphic here: its real and imaginary parts violate Cauchy and Riemann's equations"
        )
        error = BadArgumentValue(why, hint="irad.vjp gives the derivatives of its real and of its imaginary part")
        extract = builder.extract_value
        slopes = [Slope(code, k, *(extract(each, i) for each in args)) for i, k in enumerate(along_one.types)]
        for slope in slopes:
            code.refuse_if(slope.is_wrong(), error)
        for slope in slopes:
            slope.conjugate()
            context.nrt.incref(builder, slope.kind, slope.value)
        return context.make_tuple(builder, along_one, [slope.value for slope in slopes])

    return along_one(along_one, along_i), generate


HELPERS = {f.__name__: f for f in (size, basis, apart, matrix, put_row, put_column, shaped, unit, analytic)}
