"""The report of a replay: one HTML page that needs no network and no server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined

from efface.charts.embedding import embed
from efface.charts.history import History, Labels
from efface.charts.replay_charts import ChartSet, draw
from efface.files.baselines import LAST, NEVER_FORGET
from efface.files.formatting import duration, figure, place_text, request_text, share
from efface.files.summary import settings_text
from efface.files.window_options import wording

_LISTED = 500  # requests in the table
_LONG = 3_000  # rows from which the page opens on the latest ones


class Card(NamedTuple):
    """A figure at the top of the page."""

    label: str
    value: str
    note: str
    tone: str = ""


def write_report(path: Path, summary: Mapping[str, Any], history: History) -> None:
    """Write the page."""
    source, requests = summary["source"], summary["requests"]
    level, contenders = summary["interval"]["level"], tuple(summary["errors"])
    labels = Labels(source["target"], tuple(source["features"]), level, contenders)
    drawn = draw(history, labels)
    assert drawn.paths is not None
    text = _template().render(
        summary=summary,
        lead=_lead(summary),
        cards=_cards(summary),
        charts=drawn.charts,
        lines=drawn.lines,
        views=drawn.views,
        first_view=_first_view(drawn, summary["rows"]["read"]),
        path_groups=list(drawn.paths.choices),
        path_features=labels.features[: history.paths.features],
        error_groups=list(history.groups),
        scores={name: _scores(summary, name) for name in contenders},
        embedded=embed(drawn),
        forgotten=_forgotten(summary),
        requests=requests[:_LISTED],
        more=max(0, len(requests) - _LISTED),
        footer=_footer(summary),
    )
    path.write_text(text, encoding="utf-8")


def _first_view(drawn: ChartSet, rows: int) -> str:
    """The view that the page opens with: a long stream is unreadable as a whole."""
    names = [label for label, _, _ in drawn.views]
    return "last 1,000" if rows > _LONG and "last 1,000" in names else names[0]


def _scores(summary: Mapping[str, Any], name: str) -> dict[str, dict[str, str]]:
    """The scores of a model or baseline as text, by kind and by group; "" is for all groups."""
    parts = {"": summary["errors"]}
    parts |= {group: found["errors"] for group, found in (summary["groups"] or {}).items()}
    form = {"mae": figure, "rmse": figure, "r2": share, "skill": share}
    return {
        key: {group: text(errors[name][key]) for group, errors in parts.items()}
        for key, text in form.items()
    }


def _template() -> Any:
    text = files("efface.files").joinpath("templates", "report.html").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"figure": figure, "share": share, "duration": duration}
    environment.filters |= {"request": request_text, "place": place_text}
    return environment.from_string(text)


def _lead(summary: Mapping[str, Any]) -> str:
    rows, span, source, model = (summary[key] for key in ("rows", "span", "source", "model"))
    text = f"{rows['read'] - rows['skipped']:,} rows with {len(source['features'])} features"
    text += f", {span[0]} to {span[1]}" if span else ""
    text += f", in {rows['groups']:,} groups with one model each" if source["group"] else ""
    text += f"{settings_text(summary)}. "
    text += "Each row was predicted first and learned afterwards. "
    ends = f", each at most until its {source['until']}" if source["until"] else ""
    text += f"The model keeps {wording(model['policy']).kept}{ends}: these are the live rows."
    if rows["started"]:
        text += f" It went on from a saved model with {rows['started']:,} live rows."
    text += f" {rows['skipped']:,} rows with gaps were skipped." if rows["skipped"] else ""
    if summary["redacted"]:
        text += f" {rows['hidden']:,} rows are hidden: no chart, table or error contains them."
    return text


def _cards(summary: Mapping[str, Any]) -> list[Card]:
    errors, interval = summary["errors"], summary["interval"]
    left = summary["left"]
    mae = figure(errors[summary["model"]["name"]]["mae"])
    cards = [Card("Mean absolute error", mae, _comparison(summary))]
    if interval["coverage"] is not None:
        cards.append(coverage_card(interval, summary["rows"]["scored"]))
    parts = [f"{count:,} {why}" for why, count in _reasons(summary).items() if count]
    note = ", ".join([*parts, f"{left['asked']:,} on request"])
    cards.append(Card("Rows forgotten", f"{sum(left.values()):,}", note))
    if summary["requests"]:
        cards += _request_cards(summary)
    rate = summary["run"]["rows_per_second"]
    cards.append(Card("Rows per second", f"{rate:,.0f}", _duration(summary)))
    return cards


def coverage_card(interval: Mapping[str, Any], rows: int) -> Card:
    """The coverage; it misses its level if chance explains less than one case in a thousand."""
    coverage, level = interval["coverage"], interval["level"]
    note = f"nominal level {level:.0%}, method {interval['method']}"
    tone = "good"
    if abs(coverage - level) > 3.3 * sqrt(level * (1.0 - level) / max(rows, 1)):
        tone = "bad" if coverage < level else "warn"
        why = (
            "too low: errors are larger, or more alike from row to row, than the live rows "
            "show; --method conformal assumes less"
            if coverage < level
            else "too high: the intervals are wider than needed"
        )
        note += f"; {why}"
    return Card("Interval coverage", f"{coverage:.1%}", note, tone)


def _request_cards(summary: Mapping[str, Any]) -> list[Card]:
    audits, took, people = (summary[key] for key in ("audits", "forgetting", "people"))
    count, cards = len(summary["requests"]), []
    if people is not None:
        note = f"of {people['seen']:,} in the file; {people['alive']:,} have live rows"
        cards.append(Card("People forgotten", f"{people['forgotten']:,}", note))
    if took["requests"]:
        note = f"median of {took['requests']:,} requests that removed rows; the slowest took "
        note += duration(took["most_seconds"])
        cards.append(Card("Time to forget", duration(took["median_seconds"]), note))
    note = "each request compared with a refit"
    tone = "bad" if audits["failed"] else "good"
    cards.append(Card("Audits passed", f"{audits['held']:,} of {count:,}", note, tone))
    return cards


def _duration(summary: Mapping[str, Any]) -> str:
    run, forgetting = summary["run"], summary["forgetting"]
    text = f"{run['seconds']:.1f} s in total"
    text += f", {forgetting['audit_seconds']:.1f} s of it audits" if forgetting else ""
    return text + (f", plus {run['compiling']:.0f} s to compile" if run["compiling"] >= 1 else "")


def _comparison(summary: Mapping[str, Any]) -> str:
    """The error against never forgetting, or else against predicting the value before."""
    errors, name = summary["errors"], summary["model"]["name"]
    other = NEVER_FORGET if NEVER_FORGET in errors else LAST
    mine, theirs = errors[name]["mae"], errors[other]["mae"]
    if mine is None or not theirs:
        return "too few rows to compare"
    what = "never forgetting" if other == NEVER_FORGET else "predicting the value before"
    change = 1 - mine / theirs
    return f"{abs(change):.0%} {'lower' if change >= 0 else 'higher'} than {what}"


def _forgotten(summary: Mapping[str, Any]) -> str:
    left = summary["left"]
    reasons = _reasons(summary) | {"were forgotten on request": left["asked"]}
    parts = [f"{count:,} rows {why}" for why, count in reasons.items() if count]
    text = "; ".join(parts) or "No row has left yet"
    text += f". {summary['rows']['alive']:,} rows are live."
    if summary["requests"]:
        text += (
            " After each request, an audit compared the model with a refit on the remaining rows "
            "and checked that no row with this id or owner is among them. The time of a request is "
            "that of removing the rows and computing new coefficients, without the audit."
        )
    return text


def _reasons(summary: Mapping[str, Any]) -> dict[str, int]:
    """Why rows left by themselves, and how many."""
    left, full = summary["left"], wording(summary["model"]["policy"]).reason
    if summary["source"]["until"] is None:
        return {full: left["window_full"] + left["time_up"]}
    over = "reached their end"
    over = f"were too old or {over}" if summary["model"]["keep"] else over
    return {full: left["window_full"], over: left["time_up"]}


def _footer(summary: Mapping[str, Any]) -> str:
    levels = summary["source"]["one_hot"]
    features = [
        f"{name} ({levels[name]} levels)" if name in levels else name
        for name in summary["source"]["columns"]
    ]
    return (
        f"Features: {', '.join(features)}. The predictions file beside this page has every row, "
        "summary.json has all figures. This page loads nothing from elsewhere."
    )
