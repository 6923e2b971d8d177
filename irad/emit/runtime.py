"""What derivative code asks of the run time, made concrete: a heap that ends with the call.

Until here, `irad_alloc` is one malloc-like function without a way to free; so a derivative that is differentiated
again looks like any kernel. Before machine code is made, every function that allocates gets a parameter `heap`, the
address of a list of all blocks of this derivative call. The outermost function releases the list at its end, whatever
way it ends.

A block is an array of Numba's runtime (counted in its statistics, and fit to be returned): 64 bytes of our own, then
the data. The last three words before the data are: next block, previous block, Numba's meminfo.

The tape (`irad_tape`) is never returned and ends with the call as a whole: it comes from an arena of chunks by moving a
pointer. Each is at least twice the size of the one before, where memory allows it. Fresh pages cost more than the
arithmetic that fills them, so one chunk outlives the call, in a slot of the process (`irad_tape_cache`) that calls take
it from and give it back to.

The heap is five words: list of blocks, next free byte of the arena, its end, newest chunk, size of the newest chunk.
A chunk begins with two words: the chunk before it, its size.
"""

from __future__ import annotations

from collections.abc import Collection

from irad.ir.build import Builder
from irad.ir.model import (
    Argument,
    AtomicReadWrite,
    Block,
    Call,
    Constant,
    Function,
    Global,
    Module,
    Value,
    Variable,
    integer,
)
from irad.ir.types import I32, I64, PTR, VOID, Array, FunctionType, Int, Type
from irad.rules import calls

HEADER = 64
META, PREVIOUS, NEXT = -8, -16, -24
DATA = 24  # offset of the data pointer in Numba's MemInfo {refct, dtor, dtor_info, data, size, ...}
NULL = Constant(PTR, "null")

ALLOCATE, FREE, RELEASE, ADOPT = "irad.heap.allocate", "irad.heap.free", "irad.heap.release", "irad.heap.adopt"
TAPE, MORE = "irad.tape.take", "irad.tape.more"
MARK, SWEEP = "irad.heap.mark", "irad.heap.sweep"
ABSTRACT = {
    "irad_alloc": ALLOCATE,
    "irad_tape": TAPE,
    calls.LIST: TAPE,
    "irad_free": FREE,
    "irad_mark": MARK,
    "irad_sweep": SWEEP,
}
CACHE = "irad_tape_cache"  # a pointer: the chunk that waits for the next call, or null

HEAP = Array(5, I64)
FREE_BYTE, END, CHUNK, SIZE = 8, 16, 24, 32
CHUNK_HEADER = 64
FIRST_CHUNK = 1 << 16
LARGEST_KEPT = 1 << 28  # bytes: a larger chunk is given back to the system


def concretize(module: Module, heaps: dict[str, Value]) -> None:
    """Give `module` a heap. `heaps` tells for each outermost function where its list lies."""
    needing = allocating(module) | set(heaps)
    if needing <= set(heaps) and not any(_calls(module.functions[name], ABSTRACT) for name in heaps):
        for name in heaps:
            without_calls(module.functions[name], RELEASE)  # nothing is ever taken
    for name in needing:
        function = module.functions[name]
        heap = heaps.get(name)
        if heap is None:
            heap = Argument(PTR, "heap")
            function.arguments.append(heap)
            function.type = FunctionType(function.type.result, (*function.type.parameters, PTR), function.type.varargs)
        for instruction in function.instructions:
            if isinstance(instruction, Call):
                _give_heap(instruction, heap, needing - set(heaps))
    for name in ABSTRACT:
        module.functions.pop(name, None)
    for function in (allocate(), free(), release(), adopt(), tape(), more(), mark(), sweep()):
        module.functions[function.name] = function
    module.variables[CACHE] = Variable(CACHE, "external global ptr")


def _calls(function: Function, names: Collection[str]) -> bool:
    return any(isinstance(i, Call) and i.callee_name in names for i in function.instructions)


def without_calls(function: Function, name: str) -> None:
    """Take the calls of `name`, which return nothing, out of `function`."""
    for block in function.blocks:
        block.body = [i for i in block.body if not (isinstance(i, Call) and i.callee_name == name)]


def _give_heap(call: Call, heap: Value, needing: set[str]) -> None:
    name = call.callee_name
    if name in ABSTRACT:
        call.callee = Global(ABSTRACT[name])
        call.attributes = call.return_attributes = ()
        call.argument_attributes = []
    elif name not in needing:
        return
    call.function_type = None
    call.operands.append(heap)
    call.argument_attributes = [() for _ in call.operands]


def allocating(module: Module) -> set[str]:
    """Functions that allocate or free, or call one that does."""
    callers: dict[str, set[str]] = {}
    for function in module.functions.values():
        for instruction in function.instructions:
            if isinstance(instruction, Call) and instruction.callee_name:
                callers.setdefault(instruction.callee_name, set()).add(function.name)
    found: set[str] = set()
    stack = [name for target in ABSTRACT for name in callers.get(target, ())]
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(callers.get(name, ()))
    return found


# --- the run-time functions -----------------------------------------------------------------------------------------


def _function(
    name: str, parameters: dict[str, Type], result: Type, *attributes: str
) -> tuple[Function, list[Argument], Builder]:
    arguments = [Argument(type, key) for key, type in parameters.items()]
    type = FunctionType(result, tuple(a.type for a in arguments))
    function = Function(name, type, arguments, linkage=("internal",), attributes=("nounwind", *attributes))
    out = Builder(Block("entry"))
    function.blocks.append(out.block)
    return function, arguments, out


def _split(function: Function, out: Builder, condition: Value, name: str) -> Block:
    """Go on in a new block where `condition` holds; the block for where it does not is returned."""
    yes, no = Block(name), Block(f"not.{name}")
    function.blocks += [yes, no]
    out.branch_if(condition, yes, no)
    out.block = yes
    return no


def allocate() -> Function:
    """`ptr allocate(i64 size, i32 align, ptr heap)`: null where there is no memory."""
    function, (size, align, heap), out = _function(ALLOCATE, {"size": I64, "align": I32, "heap": PTR}, PTR, "noinline")
    function.linkage = ("internal", "noalias")
    limit = integer(1 << 62, I64)
    too_large = _split(function, out, out.compare("ult", size, limit), "sensible")
    wide = out.call("llvm.umax.i32", I32, [align, integer(HEADER, I32)])
    meta = out.call("NRT_MemInfo_alloc_aligned", PTR, [out.binary("add", size, integer(HEADER, I64)), wide])
    failed = _split(function, out, out.compare("ne", meta, NULL), "some")
    data = out.offset(out.load(PTR, out.offset(meta, DATA)), HEADER)
    first = out.load(PTR, heap)
    out.store(meta, out.offset(data, META))
    out.store(NULL, out.offset(data, PREVIOUS))
    out.store(first, out.offset(data, NEXT))
    out.store(data, heap)
    alone = _split(function, out, out.compare("ne", first, NULL), "more")
    out.store(data, out.offset(first, PREVIOUS))
    out.ret(data)
    out.block = alone
    out.ret(data)
    for block in (too_large, failed):
        out.block = block
        out.ret(NULL)
    return function


def free() -> Function:
    """`void free(ptr data, ptr heap)`: take one block out of the list, and give it up. Null is allowed."""
    function, (data, heap), out = _function(FREE, {"data": PTR, "heap": PTR}, VOID, "noinline")
    nothing = _split(function, out, out.compare("ne", data, NULL), "some")
    following, previous = out.load(PTR, out.offset(data, NEXT)), out.load(PTR, out.offset(data, PREVIOUS))
    place = out.select(out.compare("eq", previous, NULL), heap, out.offset(previous, NEXT))
    out.store(following, place)
    last = _split(function, out, out.compare("ne", following, NULL), "more")
    out.store(previous, out.offset(following, PREVIOUS))
    joint = Block("unlinked")
    function.blocks.append(joint)
    out.branch(joint)
    out.block = last
    out.branch(joint)
    out.block = joint
    _drop(function, out, data)
    out.ret()
    out.block = nothing
    out.ret()
    return function


def resized() -> Function:
    """`void resized(i64 place, ptr items, i64 size, i64 bytes)`: tell the caller that its container has another length.

    place: address of three words: 1 if the items are where they were, 2 if they are in memory of their own; how many;
    a copy of them that is to be freed, null where there is no memory. items: null where they are where they were.
    """
    function, (place, items, size, amount), out = _function(
        calls.RESIZED, {"place": I64, "items": PTR, "size": I64, "bytes": I64}, VOID, "noinline"
    )
    told = out.cast("inttoptr", place, PTR)
    out.store(size, out.offset(told, 8))
    stayed = _split(function, out, out.compare("ne", items, NULL), "moved")
    copy = out.call("malloc", PTR, [amount])
    out.store(integer(2, I64), told)
    out.store(copy, out.offset(told, 16))
    failed = _split(function, out, out.compare("ne", copy, NULL), "some")
    out.call("llvm.memcpy.p0.p0.i64", VOID, [copy, items, amount, integer(0, Int(1))])
    out.ret()
    out.block = stayed
    out.store(integer(1, I64), told)
    out.ret()
    out.block = failed
    out.ret()
    return function


def mark() -> Function:
    """`ptr mark(ptr heap)`: where the list of blocks begins, for `sweep`."""
    function, (heap,), out = _function(MARK, {"heap": PTR}, PTR, "alwaysinline")
    out.ret(out.load(PTR, heap))
    return function


def sweep() -> Function:
    """`void sweep(ptr mark, ptr kept, i64 count, ptr heap)`: give up the blocks made since the mark, but for those in
    an array of `count` pointers."""
    parameters: dict[str, Type] = {"mark": PTR, "kept": PTR, "count": I64, "heap": PTR}
    function, (start, kept, count, heap), out = _function(SWEEP, parameters, VOID, "noinline")
    head, search, entry = Block("head"), Block("search"), out.block
    function.blocks.append(head)
    newest = out.load(PTR, heap)
    out.branch(head)
    out.block = head
    data = out.phi(PTR, "data")
    done = _split(function, out, out.compare("ne", data, start), "block")
    following, block = out.load(PTR, out.offset(data, NEXT)), out.block
    function.blocks.append(search)
    out.branch(search)
    out.block = search
    index = out.phi(I64, "index")
    unknown = _split(function, out, out.compare("ult", index, count), "compare")
    known = out.load(PTR, out.offset(kept, index, PTR))
    another = _split(function, out, out.compare("eq", known, data), "same")
    same = out.block
    out.branch(head)
    out.block = another
    index.operands, index.blocks = [integer(0, I64), out.binary("add", index, integer(1, I64))], [block, another]
    out.branch(search)
    out.block = unknown
    out.call(FREE, VOID, [data, heap])
    data.operands, data.blocks = [newest, following, following], [entry, same, unknown]
    out.branch(head)
    out.block = done
    out.ret()
    return function


def release() -> Function:
    """`void release(ptr heap)`: give up every block."""
    function, (heap,), out = _function(RELEASE, {"heap": PTR}, VOID, "noinline")
    head, entry = Block("head"), out.block
    function.blocks.append(head)
    first = out.load(PTR, heap)
    out.branch(head)
    out.block = head
    data = out.phi(PTR, "data")
    done = _split(function, out, out.compare("ne", data, NULL), "some")
    following = out.load(PTR, out.offset(data, NEXT))
    _drop(function, out, data)
    data.operands, data.blocks = [first, following], [entry, out.block]
    out.branch(head)
    out.block = done
    out.store(NULL, heap)
    _release_chunks(function, out, heap)
    out.ret()
    return function


def _release_chunks(function: Function, out: Builder, heap: Value) -> None:
    """Keep the newest chunk, which is the largest, for the next call; give up the others."""
    newest = out.load(PTR, out.offset(heap, CHUNK))
    nothing = _split(function, out, out.compare("ne", newest, NULL), "tape")
    before = out.load(PTR, newest)
    small = out.compare("ule", out.load(I64, out.offset(newest, 8)), integer(LARGEST_KEPT, I64))
    large = _split(function, out, small, "keep")
    out.store(NULL, newest)
    old = out.append(
        AtomicReadWrite(op="xchg", type=PTR, operands=[Global(CACHE), newest], ordering="acq_rel", align=8)
    )
    rest, kept = Block("rest"), out.block
    function.blocks.append(rest)
    out.call("free", VOID, [old])
    out.branch(rest)
    out.block = large
    out.call("free", VOID, [newest])
    out.branch(rest)
    out.block = rest
    chunk = out.phi(PTR, "chunk")
    done = _split(function, out, out.compare("ne", chunk, NULL), "old")
    following = out.load(PTR, chunk)
    out.call("free", VOID, [chunk])
    chunk.operands, chunk.blocks = [before, before, following], [kept, large, out.block]
    out.branch(rest)
    out.block = done
    joint = Block("released")
    function.blocks.append(joint)
    for offset in (FREE_BYTE, END, CHUNK, SIZE):
        out.store(integer(0, I64), out.offset(heap, offset))
    out.branch(joint)
    out.block = nothing
    out.branch(joint)
    out.block = joint


def tape() -> Function:
    """`ptr take(i64 size, i32 align, ptr heap)`: tape memory, aligned to 64 bytes; null where there is none."""
    function, (size, _, heap), out = _function(TAPE, {"size": I64, "align": I32, "heap": PTR}, PTR, "alwaysinline")
    some = out.call("llvm.umax.i64", I64, [size, integer(1, I64)])  # of an empty arena nothing would be null
    padded = out.binary("and", out.call("llvm.uadd.sat.i64", I64, [some, integer(63, I64)]), integer(-64, I64))
    at, end = out.load(I64, out.offset(heap, FREE_BYTE)), out.load(I64, out.offset(heap, END))
    full = _split(function, out, out.compare("ule", padded, out.binary("sub", end, at)), "fits")
    out.store(out.binary("add", at, padded), out.offset(heap, FREE_BYTE))
    out.ret(out.cast("inttoptr", at, PTR))
    out.block = full
    out.ret(out.call(MORE, PTR, [padded, heap]))
    return function


def more() -> Function:
    """`ptr more(i64 size, ptr heap)`: begin a new chunk, with room for `size` bytes, and take them."""
    function, (size, heap), out = _function(MORE, {"size": I64, "heap": PTR}, PTR, "noinline")
    too_large = _split(function, out, out.compare("ult", size, integer(1 << 61, I64)), "sensible")
    newest, last = out.load(PTR, out.offset(heap, CHUNK)), out.load(I64, out.offset(heap, SIZE))
    wanted = out.binary("add", size, integer(CHUNK_HEADER, I64))
    doubled = out.call("llvm.umax.i64", I64, [out.binary("shl", last, integer(1, I64)), integer(FIRST_CHUNK, I64)])
    room = out.call("llvm.umax.i64", I64, [wanted, doubled])
    fresh, use = Block("fresh"), Block("use")
    other = _split(function, out, out.compare("eq", newest, NULL), "first")
    exchange = AtomicReadWrite(op="xchg", type=PTR, operands=[Global(CACHE), NULL], ordering="acq_rel", align=8)
    waiting = out.append(exchange)
    none = _split(function, out, out.compare("ne", waiting, NULL), "waiting")
    kept_size = out.load(I64, out.offset(waiting, 8))
    kept = out.block
    small = Block("small")
    function.blocks += [fresh, use, small]
    out.branch_if(out.compare("ule", wanted, kept_size), use, small)
    out.block = small
    out.call("free", VOID, [waiting])
    out.branch(fresh)
    for block in (other, none):
        out.block = block
        out.branch(fresh)
    out.block = fresh
    roomy = out.call("malloc", PTR, [room])
    tight = _split(function, out, out.compare("ne", roomy, NULL), "roomy")
    made = out.block
    out.branch(use)
    out.block = tight  # room to grow is only a wish
    exact = out.call("malloc", PTR, [wanted])
    failed = _split(function, out, out.compare("ne", exact, NULL), "exact")
    just = out.block
    out.branch(use)
    out.block = use
    chunk, bytes_ = out.phi(PTR, "chunk"), out.phi(I64, "bytes")
    chunk.operands, chunk.blocks = [waiting, roomy, exact], [kept, made, just]
    bytes_.operands, bytes_.blocks = [kept_size, room, wanted], [kept, made, just]
    out.store(newest, chunk)
    out.store(bytes_, out.offset(chunk, 8))
    start = out.cast("ptrtoint", chunk, I64)
    first = out.binary("and", out.binary("add", start, integer(16 + 63, I64)), integer(-64, I64))
    out.store(out.binary("add", first, size), out.offset(heap, FREE_BYTE))
    out.store(out.binary("add", start, bytes_), out.offset(heap, END))
    out.store(chunk, out.offset(heap, CHUNK))
    out.store(bytes_, out.offset(heap, SIZE))
    out.ret(out.cast("inttoptr", first, PTR))
    for block in (too_large, failed):
        out.block = block
        out.ret(NULL)
    return function


def _drop(function: Function, out: Builder, data: Value) -> None:
    """Drop our reference to a block; Numba's runtime ends it when it was the last."""
    meta = out.load(PTR, out.offset(data, META))
    before = out.append(
        AtomicReadWrite(op="sub", type=I64, operands=[meta, integer(1, I64)], ordering="acq_rel", align=8)
    )
    more = _split(function, out, out.compare("eq", before, integer(1, I64)), "last")
    joint = Block(f"dropped.{len(function.blocks)}")
    function.blocks.append(joint)
    out.call("NRT_MemInfo_call_dtor", VOID, [meta])
    out.branch(joint)
    out.block = more
    out.branch(joint)
    out.block = joint


def adopt() -> Function:
    """`void adopt(ptr slot, i1 foreign)`: the array whose meminfo lies in `*slot` goes to the caller.

    Of an array that came in as an argument (`foreign`) the meminfo is Numba's own; of ours it still is the data
    pointer, and is replaced. Either way the caller gets a reference. Null (memory that nobody counts) stays.
    """
    function, (slot, foreign), out = _function(ADOPT, {"slot": PTR, "foreign": Int(1)}, VOID, "noinline")
    value = out.load(PTR, slot)
    nothing = _split(function, out, out.compare("ne", value, NULL), "some")
    ours = _split(function, out, foreign, "foreign")
    counted = Block("counted")
    function.blocks.append(counted)
    came = out.block
    out.branch(counted)
    out.block = ours
    own = out.load(PTR, out.offset(value, META))
    out.store(own, slot)
    out.branch(counted)
    out.block = counted
    meta = out.phi(PTR, "meta")
    meta.operands, meta.blocks = [value, own], [came, ours]
    out.append(AtomicReadWrite(op="add", type=I64, operands=[meta, integer(1, I64)], ordering="monotonic", align=8))
    out.ret()
    out.block = nothing
    out.ret()
    return function
