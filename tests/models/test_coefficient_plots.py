"""Plots draw what the results hold; without matplotlib the error names the extra."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from efface import OLS, AdaptiveRidge, replay, rolling
from efface.errors import InvalidValue, MissingExtra

mpl.use("Agg")

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(80, 3)), columns=["mkt", "smb", "hml"])
Y = FRAME @ [1.0, -2.0, 0.5] + RNG.normal(size=80)


@pytest.fixture(autouse=True)
def closed():
    yield
    mpl.pyplot.close("all")


def test_a_rolling_plot_has_a_line_and_a_band_for_each_feature():
    result = rolling(FRAME, Y, 20, stats=True)
    ax = result.plot(["smb", "mkt"], x=pd.date_range("2024-01-01", periods=80))
    lines = {line.get_label(): line for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["smb"].get_ydata(), result.coef["smb"])
    assert len(ax.collections) == 2
    top = ax.collections[0].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx((result.coef["smb"] + 1.96 * result.stats.bse["smb"]).max())
    assert rolling(FRAME, Y, 20).plot(ax=ax) is ax


def test_a_replay_plot_shows_predictions_or_coefficients():
    result = replay(AdaptiveRidge(window=20), FRAME, Y, coef=True, interval=0.9)
    ax = result.plot(y=Y)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["interval", "prediction", "observed"]
    ax = result.plot("hml")
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), result.coef["hml"])


def test_a_model_plot_shows_the_coefficients_by_size():
    model = OLS().fit(FRAME, Y)
    ax = model.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["hml", "mkt", "smb"]


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InvalidValue, match="'features' is 'x9': expected some of"):
        rolling(FRAME, Y, 20).plot("x9")
    with pytest.raises(InvalidValue, match="'outputs' is \"without 'coef'\""):
        rolling(FRAME, Y, 20, outputs="fitted").plot()
    with pytest.raises(InvalidValue, match="expected None without coef=True"):
        replay(OLS(5), FRAME, Y).plot("mkt")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtra, match=r"efface\[plot\]"):
        OLS().fit(FRAME, Y).plot()
