"""Pullbacks as values of njit code: what `irad.vjp` returns there, called in the function that made it or beyond."""

from __future__ import annotations

from typing import Any

from irad.frontend import functions, target
from irad.frontend.callable import DerivativeFunction, kernel_of
from irad.frontend.shadows import Code
from irad.frontend.split import CAREFUL, TAPE, Release, own_types, release_tape
from irad.frontend.target import need

_types: Any = need("numba.core.types", "Callable", "MemInfoPointer", "voidptr", "Any", "VarArg")
_typing: Any = need("numba.core.typing", "signature")
_models: Any = need("numba.core.datamodel.models", "StructModel")
_datamodel: Any = need("numba.core.datamodel", "register_default")
_extending: Any = need("numba.extending", "intrinsic")
_registry: Any = need("numba.core.registry", "cpu_target")
_cgutils: Any = need("numba.core.cgutils", "create_struct_proxy", "voidptr_t")
_ir: Any = need("llvmlite.ir", "Function", "FunctionType", "IRBuilder", "LiteralStructType", "VoidType", "IntType")

_HELD = _ir.LiteralStructType([_ir.IntType(64), _ir.IntType(8)])
_known: set[Any] = set()


class PullbackType(_types.Callable):
    """Numba's type of a pullback: the kernel, what it differentiates, and the type of the state."""

    def __init__(self, pull: DerivativeFunction, state: Any) -> None:
        self.pull, self.state = pull, state
        super().__init__(f"pullback({pull!r} {id(pull)}, {state})")

    @property
    def key(self) -> Any:
        return self.pull, self.state

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        """Types the call by compiling the pullback function for the state and these arguments."""
        inner = self.pull.type.get_call_type(context, (self.state, *args), kws)
        return _typing.signature(inner.return_type, *inner.args[1:], recvr=self)

    def get_call_signatures(self) -> Any:
        return (), True

    def get_impl_key(self, sig: Any) -> Any:
        if self not in _known:
            _known.add(self)
            for one in (_registry.cpu_target, target.target):
                one.target_context.insert_func_defn([(self._call, self, (_types.VarArg(_types.Any),))])
        return self

    def _call(self, context: Any, builder: Any, signature: Any, values: Any) -> Any:
        held, *rest = values
        state = _cgutils.create_struct_proxy(self)(context, builder, value=held).state
        inner = _typing.signature(signature.return_type, self.state, *signature.args[1:])
        return context.get_function(self.pull.type, inner)(builder, [state, *rest])


@_datamodel.register_default(PullbackType)
class _Model(_models.StructModel):
    """The state, and an object whose destructor gives its tape back."""

    def __init__(self, manager: Any, kind: Any) -> None:
        members = [("tape", _types.MemInfoPointer(_types.voidptr)), ("state", kind.state)]
        super().__init__(manager, kind, members)


def bind(f: Any, wrt: tuple[int, ...]) -> Any:
    """An intrinsic that makes a pullback of a state."""
    pull = functions.pullback(f, wrt)

    def irad_bind(typingctx: Any, state: Any) -> Any:
        kind = PullbackType(pull, state)
        choice = Release(kernel_of(f), wrt, False).choice(own_types(state), typingctx)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            made = _cgutils.create_struct_proxy(kind)(context, builder)
            if context.target_name != target.NAME:  # in code that is differentiated in turn, tapes end with it
                made.tape = _holder(context, builder, choice, values[0])
            context.nrt.incref(builder, state, values[0])
            made.state = values[0]
            return made._getvalue()

        return kind(state), generate

    return _extending.intrinsic(irad_bind)


def _holder(context: Any, builder: Any, choice: Any, state: Any) -> Any:
    """An object of the runtime with whose last reference the tape of `state` is given back."""
    size = context.get_constant(_types.intp, context.get_abi_sizeof(_HELD))
    holder = context.nrt.meminfo_alloc_dtor(builder, size, _destructor(context, builder.module, choice))
    data = builder.bitcast(context.nrt.meminfo_data(builder, holder), _HELD.as_pointer())
    for at, part in enumerate((TAPE, CAREFUL)):
        value = builder.extract_value(state, part)
        slot = builder.gep(data, [_ir.IntType(32)(0), _ir.IntType(32)(at)])
        builder.store(builder.zext(value, slot.type.pointee) if value.type.width < 8 else value, slot)
    return holder


def _destructor(context: Any, module: Any, choice: Any) -> Any:
    """A function for the runtime, called when nothing refers to the pullback any more."""
    pointer = _cgutils.voidptr_t
    kind = _ir.FunctionType(_ir.VoidType(), [pointer, _ir.IntType(64), pointer])
    function = _ir.Function(module, kind, module.get_unique_name("irad.pullback.destructor"))
    function.linkage = "internal"
    builder = _ir.IRBuilder(function.append_basic_block("entry"))
    data = builder.load(builder.bitcast(function.args[0], _HELD.as_pointer()))
    release_tape(Code(context, builder), choice, builder.extract_value(data, 0), builder.extract_value(data, 1))
    builder.ret_void()
    return function
