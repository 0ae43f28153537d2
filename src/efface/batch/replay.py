"""``replay``: a stream of rows through a model, as whole arrays."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from efface.batch.fleet import Fleet
from efface.batch.results import Replay, replay_result
from efface.errors import invalid
from efface.inputs.roles import column_roles
from efface.live.replays import replay_rows
from efface.models.base import Keys
from efface.models.intervals import DEFAULT_METHOD, MethodName, as_limits, as_method

if TYPE_CHECKING:
    from efface.models.regression import Model


def replay(
    model: Model | Fleet,
    X: Any,
    y: Any,
    *,
    by: Any = None,
    ids: Any = None,
    at: Any = None,
    coef: bool = False,
    diagnostics: bool = False,
    interval: float | None = None,
    method: MethodName = DEFAULT_METHOD,
    lower: float | None = None,
    upper: float | None = None,
    x: Any = None,
    sample_weight: Any = None,
    owners: Any = None,
    until: Any = None,
    one_hot: Any = None,
) -> Replay:
    """Predict each row, then learn it; the model ends as if it had learned the rows one by one.

    With times, the rows that are too old or due (``until``) at ``at[t]`` leave before row t is
    predicted. Rows in order of time run in compiled code. A rebuild is the cost of a row that comes
    late, of a row that is due as it comes, and of each time at which other rows are due.

    ``interval`` is the level of the prediction intervals, computed by ``method``; see
    ``predict_interval`` of the models. Conformal intervals cost a replay of the live rows per row.
    Predictions and intervals stay within ``lower`` and ``upper``, limits of the response.

    A Fleet has one model per key: ``by`` then holds the key of each row.

    If X is a frame, ``y``, ``by``, ``ids``, ``at``, ``sample_weight``, ``owners`` and ``until`` may
    be column names, and ``x`` names the features (default: all other columns). ``one_hot`` names
    features that are encoded as 0/1 columns, as in ``rolling``. The results are then columns of the
    same kind.

    >>> from efface import OLS
    >>> model = OLS(window=2, fit_intercept=False)
    >>> replay(model, [[1.0], [1.0], [1.0]], [2.0, 4.0, 9.0]).prediction
    array([0., 2., 3.])
    """
    given = {"ids": ids, "at": at, "owners": owners, "until": until}
    if isinstance(model, Fleet):
        told: Any = {"coef": coef, "diagnostics": diagnostics, "interval": interval}
        told |= {"method": method, "lower": lower, "upper": upper}
        columns: Any = {"x": x, "one_hot": one_hot, "sample_weight": sample_weight}
        return model.replay(X=X, y=y, by=by, **given, **told, **columns)
    if by is not None:
        raise invalid("by", by, "None for a single model", "pass a Fleet of the model")
    roles = column_roles(X, x, one_hot, y=y, sample_weight=sample_weight, **given)
    limits, subject = as_limits(lower, upper), "interval"
    chosen = interval, method, lower, upper
    intervals = None if interval is None else as_method(*chosen, subject=subject)
    wanted: Any = {"coef": bool(coef), "diagnostics": bool(diagnostics), "intervals": intervals}
    run = partial(replay_rows, **wanted)
    rows = X if roles.features is None else roles.features.native
    keys = Keys(*(roles.one(role) for role in Keys._fields))
    trace = model._process(run, rows, roles.one("y"), roles.one("sample_weight"), keys)
    weighted = sample_weight is not None or model.halflife is not None
    return replay_result(trace, roles, limits, weighted=weighted)
