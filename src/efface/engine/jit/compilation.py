"""How kernels are compiled: quickly, and on disk only what Python calls."""

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
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.types.containers import UniTuple
from numba.core.typing.context import Context

from efface.engine.jit.views import View, as_views, view_of

# Reductions may be reordered so that they vectorise; NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}


class _Options(Flags):  # type: ignore[misc]
    """Compiler options, with one copy for each set of values.

    Numba keeps a copy of the options in force, by which it looks up what every operation means; to
    compare two of them value by value, again and again, takes a twentieth of the time.
    """

    __slots__ = ()
    _hash = hash(Flags())  # that of any options
    _copies: ClassVar[dict[str, _Options]] = {}

    def copy(self) -> _Options:
        return self._copies.setdefault(repr(self), _Options(self))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other if type(other) is _Options else bool(super().__eq__(other))


class _Typing(Context):  # type: ignore[misc]
    """Numba's own rules for types, asked once for each sum or product of two kinds of numbers.

    An operator has dozens of rules, and each is tried in turn: an eighth of the time.
    """

    _known: ClassVar[dict[Any, Any]] = {}

    def _resolve_user_function_type(self, func: Any, args: Any, kws: Any, *rest: Any) -> Any:
        plain = isinstance(getattr(func, "typing_key", func), _OPERATOR)
        if not plain or not all(isinstance(arg, _PLAIN) for arg in args):
            return super()._resolve_user_function_type(func, args, kws, *rest)
        if (func, args) not in self._known:
            self._known[func, args] = super()._resolve_user_function_type(func, args, kws)
        return self._known[func, args]


@cache
def _typing(context: Context) -> _Typing:
    """The same rules, from the same tables."""
    own = copy(context)
    own.__class__ = _Typing
    return own


_OPERATOR = type(operator.add), type
_PLAIN = types.Number, types.Boolean, UniTuple, View


class _OwnCompiler(Compiler):  # type: ignore[misc]
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.typingctx = _typing(self.state.typingctx)
        self.state.flags = _Options(self.state.flags)
        self.state.targetctx.refresh = _nothing  # it just was; for every view it would be again
        target = self.state.targetctx.target_data
        self.state.targetctx.get_abi_sizeof = partial(_size_on, target)

    def define_pipelines(self) -> Any:
        (passes,) = super().define_pipelines()
        passes.passes = [(kind, text) for kind, text in passes.passes if kind not in _IDLE]
        return [passes]


@register_pass(mutates_CFG=False, analysis_only=False)
class _Door(FunctionPass):  # type: ignore[misc]
    """Lets a kernel have views of the arrays that it is given."""

    _name = "views_of_arrays"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        body, definitions = state.func_ir.blocks[0].body, state.func_ir._definitions
        for at in reversed(range(len(body))):
            if isinstance(body[at], ir.Assign) and isinstance(body[at].value, ir.Arg):
                kind = state.args[body[at].value.index]
                if view_of(kind) != kind:
                    body[at : at + 1] = _borrowed(body[at], definitions)
        return True


def _borrowed(given: ir.Assign, definitions: Any) -> list[ir.Assign]:
    """name = borrow(argument), in place of name = argument."""
    name, loc = given.target, given.loc
    function, array = (name.scope.redefine(f"${name.name}.{use}", loc) for use in ("cut", "of"))
    steps = [
        ir.Assign(given.value, array, loc),
        ir.Assign(ir.Global("as_views", as_views, loc), function, loc),
        ir.Assign(ir.Expr.call(function, [array], (), loc), name, loc),
    ]
    for step in steps:
        definitions[step.target.name] = [step.value]
    return steps


# Passes for what no kernel has: closures, with, raise, array expressions, threads.
_IDLE = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
    typed_passes.NopythonRewrites,
    typed_passes.NoPythonSupportedFeatureValidation,
    typed_passes.IRLegalization,
    typed_passes.DumpParforDiagnostics,
}


def _nothing() -> None:
    pass


@cache
def _size_on(target: Any, kind: Any) -> int:
    """The size of a type: asked for every variable, and found by parsing a module of its own."""
    return int(kind.get_abi_size(target))


class _KernelCompiler(_OwnCompiler):
    """Collects no garbage meanwhile: that takes an eighth of the time, and there is hardly any."""

    def define_pipelines(self) -> Any:
        (passes,) = super().define_pipelines()
        passes.add_pass_after(_Door, untyped_passes.FixupArgs)
        passes.finalize()
        return [passes]

    def compile_extra(self, func: Any) -> Any:
        self.state.library = _Code(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        collects = gc.isenabled()
        gc.disable()
        try:
            return super().compile_extra(func)
        finally:
            if collects:
                gc.enable()


class _Code(JITCodeLibrary):  # type: ignore[misc]
    """Code that is optimised once, all of it together, and without copies of loops.

    Loops are vectorised; to unroll what is left gains nothing, and small functions are called.
    """

    def _optimize_functions(self, module: Any) -> None:
        """Each for itself, before they are seen together: what makes them short."""
        module.data_layout = self._codegen._data_layout
        tuning = llvm.create_pipeline_tuning_options(1)
        builder = llvm.create_pass_builder(self._codegen._tm, tuning)
        for function in module.functions:
            builder.getFunctionPassManager().run(function, builder)

    def _optimize_final_module(self) -> None:
        tuning = llvm.create_pipeline_tuning_options(3)
        tuning.loop_vectorization = True
        tuning.loop_unrolling = False
        tuning.inlining_threshold = 100
        builder = llvm.create_pass_builder(self._codegen._tm, tuning)
        builder.getModulePassManager().run(self._final_module, builder)


class _Part(_Code):
    """Code of a function that only kernels call: optimised and turned to machine code in them."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class _PartCompiler(_OwnCompiler):
    def compile_extra(self, func: Any) -> Any:
        context = self.state.targetctx  # this function's own
        self.state.library = _Part(context.codegen(), func.__qualname__)
        context.get_executable = _no_way_in
        return super().compile_extra(func)


def _no_way_in(library: _Part, descriptor: Any, env: Any) -> Any:
    name = descriptor.qualname
    return make_function(descriptor.lookup_module(), name, name, 0, env, (library,))


# How kernels are compiled. They allocate nothing, so they count no references, and they divide like
# NumPy: less code to compile.
KERNEL: dict[str, Any] = {
    "cache": True,
    "no_cfunc_wrapper": True,
    "_nrt": False,
    "error_model": "numpy",
    "pipeline_class": _KernelCompiler,
}
# Those that only kernels call. Python must not: there is no way in. Nor on disk: what is cached
# there are the kernels.
INNER: dict[str, Any] = {
    **KERNEL,
    "cache": False,
    "no_cpython_wrapper": True,
    "pipeline_class": _PartCompiler,
}


class Shared:
    """A function that kernels call, and another that Python calls in its place."""

    def __init__(self, function: Any, outer: Callable[..., Any], options: dict[str, Any]) -> None:
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._outer = outer
        if not numba.config.DISABLE_JIT:
            self._inner = numba.njit(**INNER, **options)(function)  # its type holds it weakly
            self._numba_type_ = self._inner._numba_type_

    def __call__(self, *args: Any) -> Any:
        return self._outer(*args)


def shared(**options: Any) -> Callable[[Callable[..., Any]], Shared]:
    """Python can call it too, and only then is its way in compiled."""
    return lambda function: Shared(function, numba.njit(**KERNEL, **options)(function), options)


def carving(function: Callable[..., Any]) -> Shared:
    """A store's size and views into it: plain in Python, where a view that is not counted must not
    come, and a few integers are not worth a way in."""
    return Shared(function, function, {})
