"""Operations that become a few instructions: Numba would compile a function for each of them.

Kernels write ``max(a, b)``, ``min(a, b)`` and ``a ** 2`` as usual. The compiler pass below puts
``larger``, ``smaller`` and a product in their place.
"""

from __future__ import annotations

import operator
from functools import partial, reduce
from typing import Any

from numba.core import ir, types
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.types.misc import VarArg, unliteral
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin


def larger(*numbers: Any) -> Any:
    """The largest number; of equal numbers the first, as ``max``."""
    return max(*numbers)


def smaller(*numbers: Any) -> Any:
    """The smallest number; of equal numbers the first, as ``min``."""
    return min(*numbers)


class _OfNumbers(AbstractTemplate):  # type: ignore[misc]
    def generic(self, args: Any, kws: Any) -> Any:
        kind = self.context.unify_types(*map(unliteral, args))
        return signature(kind, *[kind] * len(args))


def _emit(sign: str, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind, compare = sig.return_type, builder.fcmp_ordered
    if kind in types.integer_domain:
        compare = builder.icmp_signed if kind in types.signed_domain else builder.icmp_unsigned

    def select(best: Any, other: Any) -> Any:
        return builder.select(compare(sign, other, best), other, best)

    return reduce(select, args)


for _function, _sign in ((larger, ">"), (smaller, "<")):
    infer_global(_function)(type(_function.__name__, (_OfNumbers,), {}))
    lower_builtin(_function, VarArg(types.Number))(partial(_emit, _sign))


@register_pass(mutates_CFG=False, analysis_only=False)
class PlainOperations(FunctionPass):  # type: ignore[misc]
    """Replaces ``max``, ``min`` and squares."""

    _name = "plain_operations"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            for step in block.find_insts(ir.Assign):
                if isinstance(step.value, ir.Global):
                    step.value.value = _plain(step.value.value)
                elif _is_square(state.func_ir, step.value):
                    step.value.fn, step.value.rhs = operator.mul, step.value.lhs
        return True


def _plain(function: Any) -> Any:
    return larger if function is max else smaller if function is min else function


def _is_square(code: Any, value: Any) -> bool:
    if not (isinstance(value, ir.Expr) and value.op == "binop" and value.fn is operator.pow):
        return False
    exponent = code.get_definition(value.rhs)
    return isinstance(exponent, ir.Const) and exponent.value == 2
