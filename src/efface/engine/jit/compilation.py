"""How kernels are compiled: options, compiler classes, and functions shared with Python.

A *kernel* (options KERNEL) is called by Python and cached on disk. A function that only kernels
call has the options INNER: it is compiled as a part of each kernel and has no entry point for
Python. The compiler classes below exist to make first calls fast, and use private parts of Numba.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable
from copy import copy
from functools import cache, partial
from typing import Any, ClassVar

import llvmlite.binding as llvm
import numba
from numba._dynfunc import make_function
from numba.core import ir, typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.types.containers import UniTuple
from numba.core.typing.context import Context

from efface.engine.jit.plain_operations import PlainOperations
from efface.engine.jit.views import View, as_views, view_of

# Reductions may be reordered so that they vectorise; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}


class _Typing(Context):  # type: ignore[misc]
    """Numba's type inference, with a cache for operators on numbers and views.

    Numba tries dozens of rules for each use of an operator.
    """

    _known: ClassVar[dict[Any, Any]] = {}

    def _resolve_user_function_type(self, func: Any, args: Any, kws: Any, *rest: Any) -> Any:
        plain = isinstance(getattr(func, "typing_key", func), _OPERATOR)
        if not plain or not all(isinstance(arg, _PLAIN) for arg in args):
            return super()._resolve_user_function_type(func, args, kws, *rest)
        if (func, args) not in self._known:
            self._known[func, args] = super()._resolve_user_function_type(func, args, kws)
        return self._known[func, args]


_OPERATOR = type(operator.add), type
_PLAIN = types.Number, types.Boolean, UniTuple, View


@cache
def _typing(context: Context) -> _Typing:
    """A copy of Numba's context that shares its tables."""
    own = copy(context)
    own.__class__ = _Typing
    return own


# Passes for features that no kernel uses: closures, with, raise, array expressions, threads.
_UNUSED_PASSES = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    untyped_passes.InlineInlinables,
    untyped_passes.IRProcessing,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.NoPythonSupportedFeatureValidation,
    typed_passes.IRLegalization,
    typed_passes.DumpParforDiagnostics,
}


@cache
def _size_on(target: Any, kind: Any) -> int:
    """The size of a type, which Numba asks for at every variable."""
    return int(kind.get_abi_size(target))


class _FastCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler with caches for types, and without the unused passes."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.typingctx = _typing(self.state.typingctx)
        self.state.targetctx.get_abi_sizeof = partial(_size_on, self.state.targetctx.target_data)

    def define_pipelines(self) -> Any:
        (passes,) = super().define_pipelines()
        passes.passes = [(kind, text) for kind, text in passes.passes if kind not in _UNUSED_PASSES]
        passes.add_pass_after(PlainOperations, untyped_passes.FixupArgs)
        passes.finalize()
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _ArgumentsAsViews(FunctionPass):  # type: ignore[misc]
    """Replaces the arrays that a kernel is called with by views: see ``views``."""

    _name = "arguments_as_views"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        body, definitions = state.func_ir.blocks[0].body, state.func_ir._definitions
        for at in reversed(range(len(body))):
            if isinstance(body[at], ir.Assign) and isinstance(body[at].value, ir.Arg):
                kind = state.args[body[at].value.index]
                if view_of(kind) != kind:
                    body[at : at + 1] = _through_as_views(body[at], definitions)
        return True


def _through_as_views(given: ir.Assign, definitions: Any) -> list[ir.Assign]:
    """name = as_views(argument), in place of name = argument."""
    name, loc = given.target, given.loc
    function, array = (name.scope.redefine(f"${name.name}.{use}", loc) for use in ("call", "of"))
    steps = [
        ir.Assign(given.value, array, loc),
        ir.Assign(ir.Global("as_views", as_views, loc), function, loc),
        ir.Assign(ir.Expr.call(function, [array], (), loc), name, loc),
    ]
    for step in steps:
        definitions[step.target.name] = [step.value]
    return steps


class _KernelCode(JITCodeLibrary):  # type: ignore[misc]
    """Machine code of a kernel: optimised once, together with all inner functions.

    Loops are vectorised. They are neither unrolled nor interleaved, and larger functions are not
    inlined: all that would take longer to compile and gain nothing.
    """

    def _optimize_functions(self, module: Any) -> None:
        """A cheap pass over each function, which makes the module smaller."""
        module.data_layout = self._codegen._data_layout
        tuning = llvm.create_pipeline_tuning_options(1)
        builder = llvm.create_pass_builder(self._codegen._tm, tuning)
        for function in module.functions:
            builder.getFunctionPassManager().run(function, builder)

    def _optimize_final_module(self) -> None:
        tuning = llvm.create_pipeline_tuning_options(2)
        tuning.loop_vectorization = True
        tuning.loop_interleaving = tuning.loop_unrolling = False
        tuning.inlining_threshold = 100
        builder = llvm.create_pass_builder(self._codegen._tm, tuning)
        builder.getModulePassManager().run(self._final_module, builder)


class _KernelCompiler(_FastCompiler):
    """Compiles a kernel, without garbage collection meanwhile: there is hardly any garbage."""

    def define_pipelines(self) -> Any:
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_ArgumentsAsViews, untyped_passes.FixupArgs)
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Any) -> Any:
        self.state.library = _KernelCode(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


class _InnerCode(_KernelCode):
    """LLVM code of an inner function: the kernels that call it make machine code of it."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _InnerCompiler(_FastCompiler):
    """Compiles an inner function, without an entry point for Python."""

    def compile_extra(self, func: Any) -> Any:
        context = self.state.targetctx  # a copy for this function
        self.state.library = _InnerCode(context.codegen(), func.__qualname__)
        context.get_executable = _not_executable
        return super().compile_extra(func)


class _ApartCompiler(_InnerCompiler):
    """Compiles an inner function whose arrays do not overlap."""

    def compile_extra(self, func: Any) -> Any:
        self.state.flags.noalias = True
        return super().compile_extra(func)


def _not_executable(library: _InnerCode, descriptor: Any, env: Any) -> Any:
    name = descriptor.qualname
    return make_function(descriptor.lookup_module(), name, name, 0, env, (library,))


# Kernels allocate nothing, so they need no reference counts (_nrt), and divide as NumPy does.
KERNEL: dict[str, Any] = {
    "cache": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "error_model": "numpy",
    "pipeline_class": _KernelCompiler,
}
# Functions that only kernels call. They are not cached on disk: kernels contain them.
INNER: dict[str, Any] = {
    **KERNEL,
    "cache": False,
    "no_cpython_wrapper": True,
    "pipeline_class": _InnerCompiler,
}

# Inner functions whose arguments are arrays that do not overlap, also not by way of a record: the
# compiler needs no checks of that at run time, which it makes for a few arrays only.
APART: dict[str, Any] = {**INNER, "pipeline_class": _ApartCompiler}


class SharedFunction:
    """An inner function for kernels, and another function that Python calls in its place."""

    def __init__(self, function: Any, outer: Callable[..., Any], options: dict[str, Any]) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._outer = outer
        if not numba.config.DISABLE_JIT:
            self._inner = numba.njit(**INNER, **options)(function)  # its type refers to it weakly
            self._numba_type_ = self._inner._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self._outer(*args)


def shared(**options: Any) -> Callable[[Callable[..., Any]], SharedFunction]:
    """A function for kernels and Python; for Python it is compiled when Python first calls it."""
    return lambda function: SharedFunction(
        function, numba.njit(**KERNEL, **options)(function), options
    )


def carving(function: Callable[..., Any]) -> SharedFunction:
    """A function that lays out arrays; in Python it runs as it is, and its views are NumPy's."""
    return SharedFunction(function, function, {})
