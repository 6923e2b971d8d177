"""Shadow arrays: memory for the derivatives of arrays, with the shape and the strides of what they shadow.

Everything here emits LLVM code through llvmlite's builder, into the function that Numba is generating: compiling NumPy
overloads for the same would cost more time than the derivative of a small kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from irad.errors import BadArguments, BadArgumentType
from irad.frontend.abi import floats_in
from irad.frontend.target import need
from irad.ir.types import DOUBLE, SINGLE

_types: Any = need("numba.core.types", "Array", "BaseTuple")
_cgutils: Any = need(
    "numba.core.cgutils", "loop_nest", "for_range", "if_unlikely", "is_null", "memset", "raw_memcpy", "alloca_once"
)
_callconv: Any = need(
    "numba.core.callconv", "CPUCallConv.set_static_user_exc", "CPUCallConv._return_errcode_raw", "RETCODE_USEREXC"
)
_numpy: Any = need("numba.np.numpy_support", "as_dtype")
_intrinsic: Any = need("numba.extending", "intrinsic").intrinsic
_ir: Any = need("llvmlite.ir", "Constant", "IntType", "FloatType", "DoubleType")

ALIGNMENT = 32
_BYTE = _ir.IntType(8)
_WORD = _ir.IntType(64)
_BIT = _ir.IntType(1)


@dataclass(frozen=True)
class View:
    """An array at run time: what to call it, its Numba type, and its LLVM value.

    apart: it is the numbers of an instance or the items of a list, whose memory no array of the call shares.
    """

    name: str
    kind: Any
    value: Any
    apart: bool = False


@dataclass(frozen=True)
class Extent:
    """The bytes from an array's lowest to its highest element.

    low, high: addresses as integers, both 0 for an empty array. offset: of the array's data pointer above `low`.
    """

    low: Any
    high: Any
    offset: Any


class Code:
    """Where code goes, with the few operations that all of this file needs.

    held: types and values of which the generated function holds a reference while this code runs. An exception that
    leaves from here has to drop them, for Numba does not, and to do what `on_failure` lists.
    temporaries: types and values of what was made of arguments; the frame gives them back.
    """

    def __init__(self, context: Any, builder: Any, held: Iterable[tuple[Any, Any]] = ()) -> None:
        self.context, self.builder = context, builder
        self.on_failure: list[Callable[[], None]] = []
        self.temporaries: list[tuple[Any, Any]] = []
        self._held = list(held)
        self._leaving: dict[tuple[object, ...], Any] = {}

    def fields(self, view: View) -> Any:
        """Numba's proxy of an array value: `.data`, `.nitems`, `.shape`..."""
        return self.context.make_array(view.kind)(self.context, self.builder, view.value)

    def sizes(self, view: View) -> tuple[list[Any], list[Any]]:
        """Shape and strides, a list of integers each."""
        proxy, ndim = self.fields(view), view.kind.ndim
        unpack = _cgutils.unpack_tuple
        return unpack(self.builder, proxy.shape, ndim), unpack(self.builder, proxy.strides, ndim)

    def word(self, value: int) -> Any:
        return _ir.Constant(_WORD, value)

    def any(self, bits: Sequence[Any]) -> Any:
        found = _ir.Constant(_BIT, 0)
        for bit in bits:
            found = self.builder.or_(found, bit)
        return found

    def refuse_if(self, condition: Any, error: BadArguments) -> None:
        """Raise `error` at run time. Its whole message becomes its one argument, for Numba stores it in the code."""
        with _cgutils.if_unlikely(self.builder, condition):
            self.raise_error(type(error), str(error))

    def raise_error(self, kind: type[Exception], *arguments: str) -> None:
        self.context.call_conv.set_static_user_exc(self.builder, kind, arguments)
        self.builder.branch(self._leave())

    def _leave(self) -> Any:
        """Where the exception that is set leaves: one block for all that have the same to give back."""
        key = (len(self.temporaries), *self.on_failure)
        if key not in self._leaving:
            self._leaving[key] = block = self.builder.append_basic_block("leave")
            with self.builder.goto_block(block):
                self.drop()
                self.context.call_conv._return_errcode_raw(self.builder, _callconv.RETCODE_USEREXC)
        return self._leaving[key]

    def drop(self) -> None:
        """Give back everything, before an exception leaves."""
        for release in self.on_failure:
            release()
        for kind, value in self._held:
            self.context.nrt.decref(self.builder, kind, value)


# --- where arrays lie -----------------------------------------------------------------------------------------------


def extent(code: Code, view: View) -> Extent:
    """Where the elements of an array lie."""
    b, proxy = code.builder, code.fields(view)
    at = b.ptrtoint(proxy.data, _WORD)
    empty = b.icmp_signed("==", proxy.nitems, code.word(0))
    if view.kind.layout in "CF":
        below, above = code.word(0), b.mul(proxy.nitems, proxy.itemsize)
    else:
        below, above = code.word(0), proxy.itemsize
        for size, stride in zip(*code.sizes(view), strict=True):
            reach = b.mul(stride, b.sub(size, code.word(1)))
            backwards = b.icmp_signed("<", reach, code.word(0))
            below = b.add(below, b.select(backwards, b.neg(reach), code.word(0)))
            above = b.add(above, b.select(backwards, code.word(0), reach))
    low, high = (b.select(empty, code.word(0), end) for end in (b.sub(at, below), b.add(at, above)))
    return Extent(low, high, b.select(empty, code.word(0), below))


def overlap(code: Code, one: Extent, other: Extent) -> Any:
    """Whether two extents share a byte. Interleaved arrays count as overlapping."""
    b = code.builder
    return b.and_(b.icmp_unsigned("<", one.low, other.high), b.icmp_unsigned("<", other.low, one.high))


def overlaps_itself(code: Code, view: View) -> Any:
    """Whether two elements of an array may share memory: broadcasts, sliding windows."""
    b = code.builder
    if view.kind.layout in "CF":
        return _ir.Constant(_BIT, 0)
    shape, strides = code.sizes(view)
    long = [b.icmp_signed(">", size, code.word(1)) for size in shape]
    steps = [b.select(b.icmp_signed("<", s, code.word(0)), b.neg(s), s) for s in strides]
    spans = [b.mul(step, b.sub(size, code.word(1))) for step, size in zip(steps, shape, strict=True)]
    tight: list[Any] = []
    for k in range(view.kind.ndim):
        # a step must clear everything that the smaller steps reach
        reach = code.fields(view).itemsize
        for j in range(view.kind.ndim):
            if j != k:
                smaller = b.icmp_unsigned("<" if j > k else "<=", steps[j], steps[k])
                reach = b.add(reach, b.select(b.and_(long[j], smaller), spans[j], code.word(0)))
        tight.append(b.and_(long[k], b.icmp_unsigned("<", steps[k], reach)))
    empty = b.icmp_signed("==", code.fields(view).nitems, code.word(0))
    return b.and_(code.any(tight), b.not_(empty))


# --- making arrays --------------------------------------------------------------------------------------------------


def shadow_type(kind: Any) -> Any:
    """The type of the shadow of an array type: the same, writable."""
    return kind if kind.mutable else kind.copy(readonly=False)


def separate(code: Code, view: View, *, zeroed: bool = True) -> Any:
    """A new array of the same shape and strides, in memory of its own. Returns its LLVM value."""
    where = extent(code, view)
    size = code.builder.sub(where.high, where.low)
    meminfo, base = (_zeroed if zeroed else _buffer)(code, size)
    return _like(code, view, meminfo, code.builder.gep(base, [where.offset]))


def mirrored(code: Code, views: Sequence[View]) -> Iterator[Any]:
    """Zeroed arrays of the same shapes and strides which overlap as `views` do; each is to be held before the next.

    Arrays that share memory, directly or through others, get shadows in one buffer with the same byte distances.
    """
    b, n = code.builder, len(views)
    wheres = [extent(code, view) for view in views]
    lows, highs = _clusters(code, wheres)
    slots = [_cgutils.alloca_once(b, _BYTE.as_pointer(), zfill=True) for _ in range(n)]
    for i, (view, where) in enumerate(zip(views, wheres, strict=True)):
        low, high = (b.load(_at(code, ends, code.word(i))) for ends in (lows, highs))
        for j in range(i):
            same = b.icmp_unsigned("==", b.load(_at(code, lows, code.word(j))), low)
            shared = b.and_(same, b.icmp_unsigned("<", low, high))
            with b.if_then(shared):
                b.store(b.load(slots[j]), slots[i])
        fresh = b.icmp_unsigned("==", b.ptrtoint(b.load(slots[i]), _WORD), code.word(0))
        # the low address keeps its remainder, and with it every array its alignment
        slack = b.urem(low, code.word(ALIGNMENT))
        with b.if_else(fresh) as (then, otherwise):
            with then:
                meminfo, _ = _zeroed(code, b.add(b.sub(high, low), slack))
                b.store(meminfo, slots[i])
            with otherwise:
                code.context.nrt.incref(b, _types.MemInfoPointer(_types.voidptr), b.load(slots[i]))
        meminfo = b.load(slots[i])
        offset = b.add(b.add(b.sub(where.low, low), where.offset), slack)
        yield _like(code, view, meminfo, b.gep(code.context.nrt.meminfo_data(b, meminfo), [offset]))


def compact(code: Code, view: View) -> Any:
    """A copy of an array with a C-ordered buffer of its own, as a value of the same Numba type."""
    b, proxy = code.builder, code.fields(view)
    meminfo, base = _buffer(code, b.mul(proxy.nitems, proxy.itemsize))
    strides = _c_strides(code, code.sizes(view)[0], proxy.itemsize)
    value = _like(code, view, meminfo, base, strides, kind=view.kind)
    copy(code, view, View(view.name, view.kind, value))
    return value


def zeros(code: Code, kind: Any, shape: Sequence[Any], itemsize: int) -> Any:
    """A new C-ordered array of zeros, of array type `kind`."""
    b, size = code.builder, code.word(itemsize)
    for length in shape:
        size = b.mul(size, length)
    meminfo, data = _zeroed(code, size)
    return populated(code, kind, data, shape, itemsize, meminfo)


def reshaped(code: Code, view: View, kind: Any, shape: Sequence[Any]) -> Any:
    """A C-ordered array seen with another shape: another reference to the same memory, as array type `kind`."""
    proxy = code.fields(view)
    code.context.nrt.incref(code.builder, view.kind, view.value)
    itemsize = code.context.get_abi_sizeof(code.context.get_data_type(kind.dtype))
    return populated(code, kind, proxy.data, shape, itemsize, proxy.meminfo)


def populated(code: Code, kind: Any, data: Any, shape: Sequence[Any], itemsize: int, meminfo: Any) -> Any:
    """A C-ordered array over memory, which `meminfo` keeps alive (or somebody else, when it is None)."""
    made = code.context.make_array(kind)(code.context, code.builder)
    code.context.populate_array(
        made,
        data=code.builder.bitcast(data, made.data.type),
        shape=list(shape),
        strides=_c_strides(code, shape, code.word(itemsize)),
        itemsize=code.word(itemsize),
        meminfo=meminfo,
    )
    return made._getvalue()


def _c_strides(code: Code, shape: Sequence[Any], itemsize: Any) -> list[Any]:
    strides, step = [itemsize] * len(shape), itemsize
    for k in reversed(range(len(shape))):
        strides[k] = step
        step = code.builder.mul(step, shape[k])
    return strides


def _like(code: Code, view: View, meminfo: Any, data: Any, strides: Any = None, kind: Any = None) -> Any:
    proxy, kind = code.fields(view), kind or shadow_type(view.kind)
    made = code.context.make_array(kind)(code.context, code.builder)
    code.context.populate_array(
        made,
        data=code.builder.bitcast(data, made.data.type),
        shape=proxy.shape,
        strides=proxy.strides if strides is None else strides,
        itemsize=proxy.itemsize,
        meminfo=meminfo,
    )
    return made._getvalue()


def _buffer(code: Code, size: Any) -> tuple[Any, Any]:
    """New memory. Where there is none, a MemoryError leaves that drops what is held, which Numba's own would not."""
    meminfo = code.context.nrt.meminfo_alloc_aligned_unchecked(code.builder, size=size, align=ALIGNMENT)
    with _cgutils.if_unlikely(code.builder, _cgutils.is_null(code.builder, meminfo)):
        code.raise_error(MemoryError, "Allocation failed (probably too large).")
    return meminfo, code.context.nrt.meminfo_data(code.builder, meminfo)


def _zeroed(code: Code, size: Any) -> tuple[Any, Any]:
    meminfo, data = _buffer(code, size)
    _cgutils.memset(code.builder, data, size, 0)
    return meminfo, data


def _clusters(code: Code, wheres: Sequence[Extent]) -> tuple[Any, Any]:
    """Two arrays in memory: for each extent, the ends of the union of all that it overlaps, directly or not."""
    b, n = code.builder, len(wheres)
    lows, highs = (_cgutils.alloca_once(b, _WORD, size=n) for _ in range(2))
    for i, where in enumerate(wheres):
        b.store(where.low, _at(code, lows, code.word(i)))
        b.store(where.high, _at(code, highs, code.word(i)))
    count = code.word(n)
    with _cgutils.for_range(b, count), _cgutils.for_range(b, count) as i, _cgutils.for_range(b, count) as j:
        ends = [[_at(code, side, loop.index) for side in (lows, highs)] for loop in (i, j)]
        (low, high), (other_low, other_high) = ([b.load(end) for end in pair] for pair in ends)
        with b.if_then(overlap(code, Extent(low, high, None), Extent(other_low, other_high, None))):
            union = (_extreme(code, "<", low, other_low), _extreme(code, ">", high, other_high))
            for pair in ends:
                for end, value in zip(pair, union, strict=True):
                    b.store(value, end)
    return lows, highs


def _extreme(code: Code, sign: str, one: Any, other: Any) -> Any:
    return code.builder.select(code.builder.icmp_unsigned(sign, one, other), one, other)


def _at(code: Code, base: Any, index: Any) -> Any:
    return code.builder.gep(base, [index])


# --- element by element ---------------------------------------------------------------------------------------------


def copy(code: Code, source: View, target: View) -> None:
    """Copy the elements of `source` into `target`, of the same shape and dtype."""
    b = code.builder
    if source.kind.layout == target.kind.layout and source.kind.layout in "CF":
        proxy = code.fields(source)
        _cgutils.raw_memcpy(b, code.fields(target).data, proxy.data, proxy.nitems, proxy.itemsize)
        return
    with _cgutils.loop_nest(b, code.sizes(source)[0], intp=_WORD) as indices:
        b.store(b.load(element(code, source, indices)), element(code, target, indices))


def differ(code: Code, one: View, other: View) -> Any:
    """Whether the floats in two arrays of the same shape differ anywhere (NaN differs from everything)."""
    b = code.builder
    found = _cgutils.alloca_once_value(b, _ir.Constant(_BIT, 0))
    b.store(_ir.Constant(_BIT, 0), found)
    with _cgutils.loop_nest(b, code.sizes(one)[0], intp=_WORD) as indices:
        pairs = zip(*(floats_at(code, view, indices) for view in (one, other)), strict=True)
        # the floats of a packed record are not aligned
        values = [[b.load(at, align=1) for at in pair] for pair in pairs]
        changed = code.any([b.fcmp_unordered("!=", here, there) for here, there in values])
        b.store(b.or_(b.load(found), changed), found)
    return b.load(found)


def floats_at(code: Code, view: View, indices: Sequence[Any]) -> list[Any]:
    """Pointers to the floats in one element."""
    b, at = code.builder, code.builder.bitcast(element(code, view, indices), _BYTE.as_pointer())
    llvm = {SINGLE: _ir.FloatType(), DOUBLE: _ir.DoubleType()}
    inside = floats_in(view.kind.dtype)
    return [b.bitcast(b.gep(at, [code.word(offset)]), llvm[type].as_pointer()) for offset, type in inside]


def element(code: Code, view: View, indices: Sequence[Any]) -> Any:
    """Pointer to one element."""
    b, proxy = code.builder, code.fields(view)
    offset = code.word(0)
    for index, stride in zip(indices, code.sizes(view)[1], strict=True):
        offset = b.add(offset, b.mul(index, stride))
    raw = b.gep(b.bitcast(proxy.data, _BYTE.as_pointer()), [offset])
    return b.bitcast(raw, proxy.data.type)


def clear(code: Code, view: View) -> None:
    """Set every byte of an array's elements to zero."""
    b = code.builder
    if view.kind.layout in "CF":
        proxy = code.fields(view)
        _cgutils.memset(b, b.bitcast(proxy.data, _BYTE.as_pointer()), b.mul(proxy.nitems, proxy.itemsize), 0)
        return
    itemsize = code.fields(view).itemsize
    with _cgutils.loop_nest(b, code.sizes(view)[0], intp=_WORD) as indices:
        _cgutils.memset(b, b.bitcast(element(code, view, indices), _BYTE.as_pointer()), itemsize, 0)


def unlike(code: Code, one: View, other: View, *, strides: bool) -> Any:
    """Whether two arrays differ in shape, or, with `strides`, in the strides of dimensions longer than one."""
    b, found = code.builder, list[Any]()
    (shape, steps), (other_shape, other_steps) = code.sizes(one), code.sizes(other)
    empty = b.icmp_signed("==", code.fields(one).nitems, code.word(0))
    for size, other_size, step, other_step in zip(shape, other_shape, steps, other_steps, strict=True):
        found.append(b.icmp_signed("!=", size, other_size))
        if strides:
            matters = b.and_(b.icmp_signed(">", size, code.word(1)), b.not_(empty))
            found.append(b.and_(matters, b.icmp_signed("!=", step, other_step)))
    return code.any(found)


def any_overlap(code: Code, wheres: Sequence[Extent]) -> Any:
    """Whether any two of the extents overlap."""
    return code.any([overlap(code, one, other) for one, other in combinations(wheres, 2)])


# --- for njit code --------------------------------------------------------------------------------------------------


@_intrinsic
def shadow_like(typingctx: Any, x: Any) -> Any:
    """A zeroed array with the shape and the strides of `x`; callable in njit code.

    Raises
    ------
    BadArgumentType: `x` is not an array of floats.
    """
    _float_array(x)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return separate(Code(context, builder), View("x", x, args[0]))

    return shadow_type(x)(x), generate


@_intrinsic
def shadows_like(typingctx: Any, arrays: Any) -> Any:
    """Zeroed arrays like those of a tuple, overlapping as they do; callable in njit code.

    Raises
    ------
    BadArgumentType: not a tuple of arrays of floats.
    """
    if not isinstance(arrays, _types.BaseTuple):
        raise BadArgumentType(f"shadows_like takes a tuple of arrays, not {arrays}")
    for kind in arrays.types:
        _float_array(kind)
    result = _types.Tuple([shadow_type(kind) for kind in arrays.types])

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = Code(context, builder)
        views = [View(f"[{i}]", kind, builder.extract_value(args[0], i)) for i, kind in enumerate(arrays.types)]
        slots = [_cgutils.alloca_once(builder, context.get_value_type(kind), zfill=True) for kind in result.types]

        def release() -> None:
            for kind, slot in zip(result.types, slots, strict=True):
                context.nrt.decref(builder, kind, builder.load(slot))

        code.on_failure.append(release)
        # one after the other: when one cannot be allocated, those before it are given back
        for value, slot in zip(mirrored(code, views), slots, strict=True):
            builder.store(value, slot)
        return context.make_tuple(builder, result, [builder.load(slot) for slot in slots])

    return result(arrays), generate


def _float_array(kind: Any) -> None:
    if not (isinstance(kind, _types.Array) and floats_in(kind.dtype)):
        raise BadArgumentType(f"only arrays of floats have shadows, not {kind}")
