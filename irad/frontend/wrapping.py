"""How Numba compiles the wrappers that only Python calls: what is linked into them is optimised already."""

from __future__ import annotations

from typing import Any

from irad.frontend.target import need

_compiler: Any = need("numba.core.compiler", "CompilerBase.define_pipelines", "DefaultPassBuilder")
_machinery: Any = need("numba.core.compiler_machinery", "AnalysisPass", "register_pass")
_codegen: Any = need("numba.core.codegen", "JITCodeLibrary._optimize_final_module", "CodeLibrary.enable_object_caching")
_passes: Any = need("numba.core.typed_passes", "NopythonTypeInference")


class LinkedLibrary(_codegen.JITCodeLibrary):
    """A library whose functions are optimised one by one, before others are linked in; never the whole."""

    def _optimize_final_module(self) -> None: ...


@_machinery.register_pass(mutates_CFG=False, analysis_only=True)
class UseLinkedLibrary(_machinery.AnalysisPass):
    """Gives the function being compiled such a library, before Numba makes one."""

    _name = "irad_use_linked_library"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


class WrapperCompiler(_compiler.CompilerBase):
    """Numba's pipeline for njit functions, with such a library."""

    def define_pipelines(self) -> list[Any]:
        pipeline = _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(UseLinkedLibrary, _passes.NopythonTypeInference)
        pipeline.finalize()
        return [pipeline]
