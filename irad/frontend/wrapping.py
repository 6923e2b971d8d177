"""How Numba compiles generated functions: what is linked into them is optimised already, or by their callers."""

from __future__ import annotations

from typing import Any

from irad.frontend.target import CompiledLibrary, RawLibrary, need, set_environments

_compiler: Any = need("numba.core.compiler", "CompilerBase.define_pipelines", "DefaultPassBuilder")
_machinery: Any = need("numba.core.compiler_machinery", "AnalysisPass", "register_pass")
_codegen: Any = need(
    "numba.core.codegen",
    "JITCodeLibrary._optimize_functions",
    "JITCodeLibrary._optimize_final_module",
    "JITCodeLibrary._finalize_final_module",
    "JITCodeLibrary.get_pointer_to_function",
    "CodeLibrary.enable_object_caching",
)
_passes: Any = need("numba.core.typed_passes", "NopythonTypeInference")


class LinkedLibrary(_codegen.JITCodeLibrary):
    """Of a function that Python calls: its own code is optimised, before others are linked in, never the whole."""

    def _optimize_final_module(self) -> None: ...


class InnerLibrary(RawLibrary):
    """Of a function that only compiled code calls: becomes machine code as a part of its callers."""

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        set_environments(self._codegen, str(self._final_module), every=True)

    def get_pointer_to_function(self, name: str) -> int:
        """As Numba asks for when the function is used as a value; then it is compiled after all."""
        self._ensure_finalized()
        if name not in {function.name for function in self.get_defined_functions()}:
            return 0
        if self._native is None:
            self._native = CompiledLibrary(self._codegen, f"{self.name}.native")
            self._native.add_llvm_module(self._final_module.clone())
            self._native.finalize()
        return self._native.get_pointer_to_function(name)

    _native: Any = None


class _UseLibrary(_machinery.AnalysisPass):
    """Gives the function being compiled a library of another class, before Numba makes one."""

    library: Any

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


@_machinery.register_pass(mutates_CFG=False, analysis_only=True)
class UseLinkedLibrary(_UseLibrary):
    _name = "irad_use_linked_library"
    library = LinkedLibrary


@_machinery.register_pass(mutates_CFG=False, analysis_only=True)
class UseInnerLibrary(_UseLibrary):
    _name = "irad_use_inner_library"
    library = InnerLibrary


class _Compiler(_compiler.CompilerBase):
    """Numba's pipeline for njit functions, with one pass more."""

    first: Any

    def define_pipelines(self) -> list[Any]:
        pipeline = _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(self.first, _passes.NopythonTypeInference)
        pipeline.finalize()
        return [pipeline]


class OuterCompiler(_Compiler):
    """For functions that Python calls."""

    first = UseLinkedLibrary


class InnerCompiler(_Compiler):
    """For functions that compiled code calls."""

    first = UseInnerLibrary
