"""The report of a replay: one HTML page that needs no network and no server."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined

from efface.charts.embedding import embed
from efface.charts.history import History, Labels
from efface.charts.replay_charts import draw
from efface.files.baselines import LAST, NEVER_FORGET
from efface.files.formatting import figure, share
from efface.files.summary import settings_text

_LISTED = 500  # requests in the table


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
    labels = Labels(source["target"], len(source["features"]), level, contenders)
    drawn = draw(history, labels)
    text = _template().render(
        summary=summary,
        lead=_lead(summary),
        cards=_cards(summary),
        charts=drawn.charts,
        lines=drawn.lines,
        views=drawn.views,
        embedded=embed(drawn),
        forgotten=_forgotten(summary),
        requests=requests[:_LISTED],
        more=max(0, len(requests) - _LISTED),
        footer=_footer(summary),
    )
    path.write_text(text, encoding="utf-8")


def _template() -> Any:
    text = files("efface.files").joinpath("templates", "report.html").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters |= {"figure": figure, "share": share}
    return environment.from_string(text)


def _lead(summary: Mapping[str, Any]) -> str:
    rows, span, source, model = (summary[key] for key in ("rows", "span", "source", "model"))
    text = f"{rows['read'] - rows['skipped']:,} rows with {len(source['features'])} features"
    text += f", {span[0]} to {span[1]}" if span else ""
    text += f", in {rows['groups']:,} groups with one model each" if source["group"] else ""
    text += f"{settings_text(summary)}. "
    kept = f"rows for {model['keep']}" if model["keep"] else f"the newest {model['window']:,} rows"
    text += "Each row was predicted first and learned afterwards. "
    text += f"The model keeps {kept}: the live rows."
    return text + (f" {rows['skipped']:,} rows with gaps were skipped." if rows["skipped"] else "")


def _cards(summary: Mapping[str, Any]) -> list[Card]:
    errors, interval = summary["errors"], summary["interval"]
    audits, left = summary["audits"], summary["left"]
    mae = figure(errors[summary["model"]["name"]]["mae"])
    cards = [Card("Mean absolute error", mae, _comparison(summary))]
    if interval["coverage"] is not None:
        note = f"nominal level {interval['level']:.0%}, method {interval['method']}"
        cards.append(Card("Interval coverage", f"{interval['coverage']:.1%}", note))
    why = "were too old" if summary["model"]["keep"] else "left a full window"
    gone = left["window_full"] + left["time_up"]
    note = f"{gone:,} {why}, {left['asked']:,} on request"
    cards.append(Card("Rows forgotten", f"{gone + left['asked']:,}", note))
    if summary["requests"]:
        tone = "bad" if audits["failed"] else "good"
        value = f"{audits['held']} of {audits['held'] + audits['failed']}"
        note = "each request compared with a refit"
        cards.append(Card("Audits passed", value, note, tone))
    rate = summary["run"]["rows_per_second"]
    cards.append(Card("Rows per second", f"{rate:,.0f}", _duration(summary["run"])))
    return cards


def _duration(run: Mapping[str, Any]) -> str:
    text = f"{run['seconds']:.1f} s in total"
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
    reasons = {
        "left because the window was full": left["window_full"],
        "left because they were too old": left["time_up"],
        "were forgotten on request": left["asked"],
    }
    parts = [f"{count:,} rows {why}" for why, count in reasons.items() if count]
    text = "; ".join(parts) or "No row has left yet"
    text += f". {summary['rows']['alive']:,} rows are live."
    if summary["requests"]:
        text += (
            " After each request, an audit compared the model with a refit on the remaining rows "
            "and checked that the id is not among them."
        )
    return text


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
