"""``efface store``: models in a folder, whose rows are durable until they are forgotten.

Owners and ids of rows are read from a prompt or from standard input, never from the command line,
which other users of a machine can see.
"""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from efface.cli.replay_file import (
    Decimal,
    Delimiter,
    Encoding,
    Missing,
    MissingValues,
    Thousands,
    TimeFormat,
    as_number,
    one_hot_levels,
    split_names,
    text_format,
)
from efface.cli.store_options import (
    Folder,
    Json,
    Key,
    KeyCommand,
    KeyFile,
    Name,
    OneHot,
    counted,
    example,
    open_store,
    read_key,
    show,
)
from efface.files.model_options import DEFAULT, MODELS, OPTIONS

if TYPE_CHECKING:
    from efface.service import Client
    from efface.store import Store

store = typer.Typer(
    help="Models whose rows are durable, and cannot be read once they are forgotten.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
# -- a store and its models ------------------------------------------------------------------------


@store.command(epilog=example("efface store init orders"))
def init(
    folder: Folder,
    rows: Annotated[
        str | None,
        typer.Option(
            help="PostgreSQL database for the rows; a SQLite file by default.", metavar="URL"
        ),
    ] = None,
    destroyed: Annotated[
        Path | None,
        typer.Option(help="File elsewhere for the numbers of destroyed keys.", metavar="FILE"),
    ] = None,
    anchor: Annotated[
        Path | None,
        typer.Option(help="File elsewhere for the heads of the receipts.", metavar="FILE"),
    ] = None,
    mirror: Annotated[
        Path | None,
        typer.Option(help="Folder on another disk for a copy of the keys.", metavar="DIR"),
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="File for the public key of the receipts.", metavar="FILE")
    ] = None,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Make a new store."""
    from efface.errors import InvalidValue
    from efface.store import Store
    from efface.store.layout import is_store

    if is_store(folder):
        raise InvalidValue(f"'{folder}' is a store already: name another folder.")
    key = read_key(master_key, master_key_command)
    places: dict[str, Any] = {"destroyed": destroyed, "anchor": anchor, "mirror": mirror}
    with Store(folder, rows, master_key=key, **places) as opened:
        status = opened.status()
    if public_key is not None:
        public_key.write_text(f"{status['public_key']}\n", encoding="ascii")
    show(status, json, f"{folder}\npublic key of receipts  {status['public_key']}")


@store.command(
    epilog=example("efface store add orders demand --model ridge --features temp,hum --keep 30d")
)
def add(
    context: typer.Context,
    folder: Folder,
    name: Name,
    features: Annotated[str, typer.Option(help="Columns to predict from.", metavar="A,B,C")],
    one_hot: OneHot = None,
    model: Annotated[
        str, typer.Option(help="Regression model.", metavar=f"<{'|'.join(MODELS)}>")
    ] = DEFAULT,
    window: Annotated[
        int | None, typer.Option(help="Keep the newest ROWS rows.", metavar="ROWS")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Keep rows for this long: 90d, 3mo.", metavar="DURATION")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(help="Another rule: add-drop:3, keep-all.", metavar="POLICY")
    ] = None,
    halflife: Annotated[
        str | None,
        typer.Option("--half-life", help=OPTIONS["halflife"].help, metavar="ROWS|DURATION"),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help=OPTIONS["alpha"].help)] = None,
    delta: Annotated[float | None, typer.Option(help=OPTIONS["delta"].help)] = None,
    theta_max: Annotated[float | None, typer.Option(help=OPTIONS["theta_max"].help)] = None,
    switch_at: Annotated[float | None, typer.Option(help=OPTIONS["switch_at"].help)] = None,
    fit_intercept: Annotated[
        bool | None, typer.Option("--intercept/--no-intercept", help=OPTIONS["fit_intercept"].help)
    ] = None,
    standardize: Annotated[
        bool | None, typer.Option("--standardize", help=OPTIONS["standardize"].help)
    ] = None,
    keyed: Annotated[bool, typer.Option("--keyed", help="One model per key.")] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Add a model; rows leave only on request unless a window is given."""
    from efface.errors import invalid
    from efface.files.model_options import factory
    from efface.files.window_options import WindowOptions

    options = {option: as_number(context.params[option]) for option in OPTIONS}
    made = factory(model, WindowOptions(window, keep, policy).chosen(), options)()
    names = [*(split_names(features) or [])]
    for column, levels in one_hot_levels(one_hot or []).items():
        if len(levels) < 2:
            expected = "the column and all its levels, COL=A,B"
            raise invalid("--one-hot", column, expected, "name all its levels")
        names += [f"{column}={level}" for level in levels[1:]]
    with open_store(folder, master_key, master_key_command) as opened:
        opened.add(name, made, features=names, **({"keyed": True} if keyed else {}))
    print(f"{name}  {made!r} on {', '.join(names)}{', one per key' if keyed else ''}")


@store.command(epilog=example("efface store status orders"))
def status(
    folder: Folder,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Show the models, their rows, and the head of the receipts."""
    with open_store(folder, master_key, master_key_command) as opened:
        found, models = opened.status(), opened.models()
    lines = [f"{found['rows']:,} rows in {found['database']}, epoch {found['epoch']} of the keys"]
    for name, about in models.items():
        late = found["overdue"].get(name, 0)
        due = f", {late:,} overdue: run 'efface store expire'" if late else ""
        keys = f" of {about['keys']:,} keys" if about.get("keyed") else ""
        lines.append(f"{name}  {about['model']}, {about['rows']:,} rows{keys}{due}")
    lines.append(f"{found['receipts']:,} receipts, head {found['head']}")
    show({**found, "models": models}, json, "\n".join(lines))


# -- rows ------------------------------------------------------------------------------------------


@store.command(
    epilog=example(
        "efface store learn orders demand new.csv --target bikers --id id --owner person"
    )
)
def learn(
    folder: Folder,
    name: Name,
    file: Annotated[str, typer.Argument(help="File of rows, as for 'efface replay'.")],
    target: Annotated[str, typer.Option(help="Column to predict.")],
    one_hot: OneHot = None,
    time: Annotated[str | None, typer.Option(help="Time of each row.", metavar="COL")] = None,
    id: Annotated[
        str | None,
        typer.Option(
            help="Id of each row; without one a repeated file is learned twice.", metavar="COL"
        ),
    ] = None,
    owner: Annotated[str | None, typer.Option(help="Person of each row.", metavar="COL")] = None,
    until: Annotated[str | None, typer.Option(help="End of each row.", metavar="COL")] = None,
    weight: Annotated[str | None, typer.Option(help="Weight of each row.", metavar="COL")] = None,
    key: Key = None,
    missing: Missing = MissingValues.raise_,
    delimiter: Delimiter = None,
    time_format: TimeFormat = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = None,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Learn the rows of a file; it can be repeated: rows that are there are skipped."""
    from rich.console import Console

    from efface.files.readers import open_table
    from efface.files.row_batches import read_rows
    from efface.files.schema import RequestedColumns, resolve_schema
    from efface.files.stored_tables import check_features, columns_of, parts
    from efface.files.terminal import progress

    levels = one_hot_levels(one_hot or [])
    with open_store(folder, master_key, master_key_command) as opened:
        names = _features(opened, name)
        roles = RequestedColumns(
            target,
            columns_of(names, levels),
            time=time,
            id=id,
            one_hot=levels,
            weight=weight,
            owner=owner,
            until=until,
            group=key,
        )
        form = text_format(delimiter, time_format, encoding, decimal, thousands)
        table = open_table(file, form)
        schema = resolve_schema(table, roles)
        check_features(schema, names)
        learned = skipped = gaps = 0

        def count(rows: int) -> None:
            nonlocal gaps
            gaps += rows

        with progress(Console(stderr=True), "learn") as update:
            update(0, 0.0)
            for batch in read_rows(table, schema, missing.value, count):
                for rows in parts(batch):
                    about: dict[str, Any] = {"ids": rows.ids, "owners": rows.owners, "at": rows.at}
                    about |= {"until": rows.until, "sample_weight": rows.weights}
                    about |= {} if key is None else {"keys": rows.groups}
                    done = opened.learn(name, rows.X, rows.y, left="skip", **about)
                    learned, skipped = learned + done.learned, skipped + done.skipped
                    update(learned + skipped, table.progress())
        result = {"learned": learned, "skipped": skipped, "missing": gaps}
        result["rows"] = opened.status()["rows"]
    text = f"{learned:,} rows learned, {skipped:,} skipped: they are there already, or have left"
    text += f"; {gaps:,} skipped: values are missing" if gaps else ""
    show(result, json, text)


def _features(opened: Store | Client, name: str) -> list[str]:
    from efface.errors import UnknownModel

    models = opened.models()
    if name not in models:
        raise UnknownModel(f"'MODEL' is {name!r}: expected one of {', '.join(models) or 'none'}.")
    features: list[str] = models[name]["features"]
    return features


def _refuse_empty(opened: Store | Client, name: str) -> None:
    from efface.errors import NotFitted

    if not opened.models()[name]["rows"]:
        text = f"'MODEL' is {name!r}, which has learned no row yet: expected one with rows"
        raise NotFitted(f"{text}; run 'efface store learn' first.")


@store.command(epilog=example("efface store predict orders demand tomorrow.csv"))
def predict(
    folder: Folder,
    name: Name,
    file: Annotated[str, typer.Argument(help="File of rows, as for 'efface replay'.")],
    one_hot: OneHot = None,
    interval: Annotated[float, typer.Option(help="Level of the prediction intervals.")] = 0.95,
    lower: Annotated[float | None, typer.Option(help="Least possible response.")] = None,
    upper: Annotated[float | None, typer.Option(help="Largest possible response.")] = None,
    key: Key = None,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = None,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Predict the rows of a file: CSV on standard output, one line per row."""
    from efface.files.readers import open_table
    from efface.files.stored_tables import feature_rows

    columns = ("prediction", "lower", "upper")
    with open_store(folder, master_key, master_key_command) as opened:
        table = open_table(file, text_format(delimiter, None, encoding, decimal, thousands))
        names = _features(opened, name)
        _refuse_empty(opened, name)
        if not json:
            print(",".join(columns))
        for X, keys in feature_rows(table, names, one_hot_levels(one_hot or []), key):
            about: dict[str, Any] = {} if keys is None else {"keys": keys}
            about |= {"lower": lower, "upper": upper}
            found = opened.predict_interval(name, X, level=interval, **about)
            for row in zip(found.prediction, found.lower, found.upper, strict=True):
                values = [None if abs(value) == float("inf") else float(value) for value in row]
                if json:
                    print(json_text.dumps(dict(zip(columns, values, strict=True))))
                else:
                    print(",".join("" if value is None else repr(value) for value in values))


@store.command(epilog=example("efface store expire orders"))
def expire(
    folder: Folder,
    now: Annotated[
        str | None, typer.Option(help="Time, by default that of the clock: 2024-05-01T12:00.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also if over half of the rows of a model leave.")
    ] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Remove the rows that are too old or due."""
    with open_store(folder, master_key, master_key_command) as opened:
        left = opened.expire(None if now is None else _time(now), force=force)
    show(left, json, f"{sum(left.values()):,} rows left ({counted(left)})")


def _time(text: str) -> Any:
    from efface.inputs.times import calendar_time

    try:
        return float(text)
    except ValueError:
        return calendar_time(text, "--now")


@store.command(epilog=example("efface store audit orders"))
def audit(
    folder: Folder,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Check that models follow from their live rows alone, and that no other key is there."""
    with open_store(folder, master_key, master_key_command) as opened:
        found = opened.audit()
    result = {name: {"holds": each.holds, "verdict": each.verdict} for name, each in found.items()}
    lines = [f"{'✓' if each.holds else '✗'} {name}  {each.verdict}" for name, each in found.items()]
    show(result, json, "\n".join(lines) or "no models")
    if not all(each.holds for each in found.values()):
        raise typer.Exit(1)
