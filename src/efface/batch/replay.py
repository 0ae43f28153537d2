"""The replay of a stream through a model: whole arrays, as if row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from efface.batch.results import Replay
from efface.inputs.roles import column_roles
from efface.live.live_rows import Arrivals, LiveRows
from efface.live.trace import Trace
from efface.models.intervals import MethodName, as_method

if TYPE_CHECKING:
    from efface.models.regression import Model


def replay(
    model: Model,
    X: Any,
    y: Any,
    ids: Any = None,
    at: Any = None,
    coef: bool = False,
    diagnostics: bool = False,
    interval: float | None = None,
    method: MethodName = "gaussian",
    *,
    x: Any = None,
    sample_weight: Any = None,
) -> Replay:
    """Predict, then learn, row by row; the model ends as if it had learned them one by one.

    With times, rows whose time is up at ``at[t]`` leave before row t is predicted. Rows in order of
    time run compiled; otherwise each costs a rebuild.

    ``interval`` is the level of prediction intervals, by ``method``; see ``predict_interval`` of
    the models. The conformal ones cost a replay of the live rows at every row.

    Of a frame, ``y``, ``ids``, ``at`` and ``sample_weight`` may be columns by name, and ``x`` names
    the features, by default all others; results are then columns of its kind.

    >>> from efface import OLS
    >>> model = OLS(window=2, fit_intercept=False)
    >>> replay(model, [[1.0], [1.0], [1.0]], [2.0, 4.0, 9.0]).prediction
    array([0., 2., 3.])
    """
    parts = column_roles(X, x, y=y, ids=ids, at=at, sample_weight=sample_weight)
    widths = None if interval is None else as_method(interval, method, "interval").widths

    def through(live: LiveRows, new: Arrivals) -> Trace:
        return live.replay(new, coef=bool(coef), diagnostics=bool(diagnostics), widths=widths)

    rows = X if parts.table is None else parts.table.native
    roles = (parts.one(role) for role in ("y", "ids", "at", "sample_weight"))
    trace = model._feed(through, rows, *roles)._asdict()
    del trace["gauges"]
    result = Replay(**trace, keys=parts.keys)
    return result if parts.table is None else parts.table.dressed(result)
