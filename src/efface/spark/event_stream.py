"""``stream``: events of a Spark stream, through one model per key that is kept in Spark's state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from efface.errors import BadTime, invalid
from efface.inputs.times import as_duration
from efface.live.policies import KeepFor
from efface.models.intervals import DEFAULT_METHOD, MethodName
from efface.spark.checkpoints import apply_settings
from efface.spark.key_state import FORGET, Event, KeySettings, KeyState
from efface.spark.schemas import require_key, require_numbers, type_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def stream(
    events: DataFrame,
    *,
    key: str,
    y: str,
    x: Sequence[str],
    model: Any,
    id: str,
    at: str,
    kind: str | None = None,
    owner: str | None = None,
    until: str | None = None,
    sample_weight: str | None = None,
    interval: float | None = None,
    method: MethodName = DEFAULT_METHOD,
    lower: float | None = None,
    upper: float | None = None,
    remember: str = "7d",
    timers: bool = True,
) -> DataFrame:
    """Predict each event by the model of its key, then learn it; forget rows on request.

    The arguments name columns of ``events``. ``kind`` is "learn", "predict" or "forget". Where it
    is null, or there is no such column, an event with a response is learned and one without is
    predicted. A request to forget names an ``id``, an ``owner`` or both, within its key; see
    ``to_keys`` for requests without a key. ``at`` is a timestamp.

    The result has one row per event: the key, ``id``, ``at``, ``kind``, ``status``, ``prediction``,
    ``lower`` and ``upper`` (null without ``interval``), ``n_rows`` and ``forgotten``. Predictions
    and intervals stay within the limits that the arguments ``lower`` and ``upper`` set. No event
    stops the stream; ``status`` says what happened (``efface.spark.key_state`` lists the values).
    Events of a key within a batch are applied in the order of their times.

    With ``timers``, rows leave when the clock of Spark says that they are too old or due, even if
    no event of their key comes. Pass False to replay events of the past: rows then leave when a
    later event of their key comes.

    For the duration ``remember`` a request to forget also holds for rows that come later but are
    not newer than the request.

    ``CHECKPOINT_SETTINGS`` are set in the session of ``events``, so that checkpoints of queries
    that start afterwards keep no forgotten row.
    """
    from pyspark.sql import functions as fn

    from efface.spark.key_processor import KeyProcessor

    require_key(events, key)
    features = [x] if isinstance(x, str) else list(x)
    require_numbers(events, [y, *features])
    kept = as_duration(remember)
    if not isinstance(kept, int):
        raise invalid("remember", remember, "a duration such as '7d'", "months have no one length")
    settings = KeySettings(model, len(features), interval, method, lower, upper, kept)
    _try_out(settings, until, sample_weight)
    apply_settings(events.sparkSession)

    def column(name: str | None, of: str) -> Column:
        return fn.lit(None).cast(of) if name is None else fn.col(name).cast(of)

    names = type_of(events, id), "string" if owner is None else type_of(events, owner)
    rows = events.select(
        fn.col(key).alias("key"),
        column(kind, "string").alias("kind"),
        fn.col(id).alias("id"),
        _micros(events, at).alias("at"),
        fn.array(*(column(name, "double") for name in features)).alias("x"),
        column(y, "double").alias("y"),
        column(owner, names[1]).alias("owner"),
        (fn.lit(None).cast("bigint") if until is None else _micros(events, until)).alias("until"),
        column(sample_weight, "double").alias("weight"),
    )
    schema = (
        f"key {type_of(events, key)}, id {names[0]}, at bigint, kind string, status string, "
        "prediction double, lower double, upper double, n_rows bigint, forgotten bigint"
    )
    processor, mode = KeyProcessor(settings, timers), "ProcessingTime" if timers else "None"
    found = rows.groupBy("key").transformWithState(processor, schema, "Append", mode)
    times = fn.timestamp_micros("at").alias(at)
    others = [fn.col(name) for name in schema_names(schema) if name not in ("key", "id", "at")]
    return found.select(fn.col("key").alias(key), fn.col("id").alias(id), times, *others)


def schema_names(schema: str) -> list[str]:
    """The names of the columns of a schema.

    >>> schema_names("key string, n bigint")
    ['key', 'n']
    """
    return [part.split()[0] for part in schema.split(", ")]


def _micros(events: DataFrame, name: str) -> Column:
    """A timestamp as microseconds since 1970."""
    from pyspark.sql import functions as fn

    if type_of(events, name) != "timestamp":
        raise BadTime(
            f"'{name}' is of the type {type_of(events, name)}: expected timestamp; "
            "cast it with to_timestamp."
        )
    return fn.unix_micros(fn.col(name))


def _try_out(settings: KeySettings, until: object, weight: object) -> None:
    """Let the library refuse parameters now, before a query starts."""
    state = KeyState(settings)
    policy = state.model.live_rows.policy
    if isinstance(policy, KeepFor) and isinstance(policy.length, float):
        raise invalid("window", policy.duration, "a duration such as '90d'", "times are timestamps")
    ones = (1.0,) * settings.width
    marks = {"until": None if until is None else 2, "weight": None if weight is None else 1.0}
    row = Event(None, "a", 1, ones, 1.0, "a", **marks)  # type: ignore[arg-type]
    state.try_out(row)


def to_keys(events: DataFrame, keys: DataFrame, *, key: str, kind: str, owner: str) -> DataFrame:
    """Send each request to forget that has no key to the keys that ``keys`` lists.

    ``keys`` is a table with the column ``key``, all keys that there can be. If it also has the
    column ``owner``, a request by owner goes to the keys of that owner only. Spark reads the table
    anew for each batch. A request that reaches no key has the status "unknown".
    """
    from pyspark.sql import functions as fn

    for name, column in (("key", key), ("kind", kind), ("owner", owner)):
        if column not in events.columns:
            raise invalid(name, column, f"one of {events.columns}", "name a column of the events")
    everywhere = fn.col(key).isNull() & (fn.col(kind) == FORGET)
    known = fn.broadcast(keys.select(*{key, *(name for name in (owner,) if name in keys.columns)}))
    requests = events.where(everywhere).drop(key)
    sent = requests.join(known, owner, "left") if owner in keys.columns else requests.join(known)
    rest = events.where(~fn.coalesce(everywhere, fn.lit(False)))
    return rest.unionByName(sent.select(*events.columns))
