"""Jobs without the command line: groups, gaps, one-hot, baselines, summary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest

from efface import OLS, AdaptiveRidge, KeepFor, Ridge, replay
from efface.errors import EffaceError
from efface.files.job import Job, run
from efface.files.model_options import MODELS
from efface.files.schema import RequestedColumns
from efface.files.window_options import WindowOptions
from efface.live.policies import as_policy

RNG = np.random.default_rng(9)
N = 260
HOURS = np.cumsum(RNG.integers(1, 4, N))
X = RNG.normal(size=(N, 2)).round(6)
SKY = RNG.choice(["clear", "rain"], N)
Y = (X @ [1.0, 2.0] + 3.0 * (SKY == "rain") + 0.1 * RNG.normal(size=N)).round(6)
WEIGHTS = RNG.choice([0.0, 0.5, 1.0, 4.0], N)
SHOP = np.where(np.arange(N) % 3, "left", "right")


@pytest.fixture
def file(tmp_path):
    times = np.datetime64("2011-01-01T00") + HOURS
    shops = np.where(np.arange(N) == 17, "", SHOP)
    rows = zip(times, shops, SKY, X[:, 0], X[:, 1], Y, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    path = tmp_path / "rows.csv"
    path.write_text("when,shop,sky,a,b,y\n" + "\n".join(lines) + "\n")
    return str(path)


def predictions(path):
    return pyarrow.parquet.read_table(path / "predictions.parquet").to_pydict()


def test_groups_times_text_and_gaps_together(file, tmp_path):
    roles = RequestedColumns("y", ["a", "b"], time="when", group="shop", one_hot={"sky": ()})
    job = Job(
        file, roles, model="ridge", options={"alpha": 0.1}, keep="5d", missing="skip", compare=True
    )
    summary = run(job, tmp_path / "out")
    found = predictions(tmp_path / "out")
    kept = np.delete(np.arange(N), 17)
    rows = np.column_stack([X, SKY == "rain"])
    at = (np.datetime64("2011-01-01T00") + HOURS).astype("datetime64[ns]")
    for shop in ("left", "right"):
        mine = kept[SHOP[kept] == shop]
        expected = replay(Ridge(KeepFor("5d"), alpha=0.1), rows[mine], Y[mine], at=at[mine])
        places = np.flatnonzero(np.array(found["group"]) == shop)
        np.testing.assert_allclose(
            np.array(found["prediction"])[places], expected.prediction, rtol=1e-9, atol=1e-9
        )
    assert found["id"] == kept.tolist()
    assert summary["rows"]["read"] == N
    assert summary["rows"]["skipped"] == 1
    assert summary["rows"]["groups"] == 2
    assert summary["rows"]["scored"] == N - 1 - 2 * 4
    assert summary["left"]["time_up"] == N - 1 - summary["rows"]["alive"]
    assert summary["source"]["features"] == ["a", "b", "sky=rain"]
    assert summary["model"] == {
        **{"name": "Ridge", "window": None, "keep": "5d", "policy": "keep-for:5d", "alpha": 0.1},
        **{"delta": None, "theta_max": None, "switch_at": None},
        **{"fit_intercept": True, "standardize": False, "halflife": None},
    }
    assert len(summary["errors"]) >= 7


@pytest.fixture
def weighted(tmp_path):
    rows = zip(SHOP, X[:, 0], 1000.0 + 50.0 * X[:, 1], Y, WEIGHTS, strict=True)
    lines = [",".join(map(str, row)) for row in rows]
    (tmp_path / "weighted.csv").write_text("shop,a,b,y,hours\n" + "\n".join(lines) + "\n")
    (tmp_path / "ids").write_text("259\n250\n3\n")
    return str(tmp_path / "weighted.csv")


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("kind", ["ridge", "adaptive"])
def test_weights_and_scaling_equal_the_library(weighted, tmp_path, kind, standardize):
    roles = RequestedColumns("y", group="shop", weight="hours")
    job = Job(weighted, roles, model=kind, window=40, options={"standardize": standardize})
    job = replace(job, forget=str(tmp_path / "ids"))
    summary = run(job, tmp_path / "out")
    found = predictions(tmp_path / "out")
    rows = np.column_stack([X[:, 0], 1000.0 + 50.0 * X[:, 1]])
    for shop in ("left", "right"):
        mine = np.flatnonzero(shop == SHOP)
        model = {"ridge": Ridge, "adaptive": AdaptiveRidge}[kind](40, standardize=standardize)
        options = {"sample_weight": WEIGHTS[mine], "diagnostics": True}
        options |= {"interval": 0.95, "method": "local"}
        expected = replay(model, rows[mine], Y[mine], **options)
        for name in ("prediction", "lower", "upper", "penalty", "frt"):
            got = np.array(found[name], dtype=float)[mine]
            want = np.where(np.isfinite(getattr(expected, name)), getattr(expected, name), np.nan)
            got = np.where(np.isfinite(got), got, np.nan)
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=name)
    plain = replay(Ridge(40), rows[mine], Y[mine]).prediction
    assert np.abs(np.array(found["prediction"])[mine] - plain)[20:].max() > 1e-3
    assert found["weight"] == WEIGHTS.tolist()
    assert summary["source"]["weight"] == "hours"
    assert summary["source"]["features"] == ["a", "b"]
    assert summary["model"]["standardize"] is standardize
    assert summary["audits"] == {"held": 3, "failed": 0}
    text = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "rows weighted by hours." in text
    assert ("features standardised" in text) is standardize


def test_baselines_use_the_same_weights_and_scaling(weighted, tmp_path):
    roles = RequestedColumns("y", ["a", "b"], weight="hours")
    job = Job(
        weighted,
        roles,
        model="ridge",
        options={"alpha": 1.0, "standardize": True},
        window=40,
        compare=True,
    )
    errors = run(job, tmp_path / "out")["errors"]
    for name, value in errors["Ridge, alpha=1"].items():
        assert value == pytest.approx(errors["Ridge"][name], rel=1e-9)
    assert errors["Ridge, alpha=100"]["mae"] != pytest.approx(errors["Ridge"]["mae"], rel=1e-3)


def test_times_may_be_numbers(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "t,x,y\n"
        + "".join(f"{t / 2},{x},{y}\n" for t, (x, _), y in zip(range(N), X, Y, strict=True))
    )
    run(
        Job(str(path), RequestedColumns("y", ["x"], time="t"), model="ols", keep="20"),
        tmp_path / "out",
    )
    expected = replay(OLS(KeepFor(20)), X[:, :1], Y, at=np.arange(N) / 2)
    np.testing.assert_allclose(
        predictions(tmp_path / "out")["prediction"], expected.prediction, rtol=1e-9, atol=1e-9
    )


def test_progress_is_reported(file, tmp_path):
    reported = []
    roles = RequestedColumns("y", ["a"])
    run(
        Job(file, roles),
        tmp_path / "out",
        progress=lambda rows, share: reported.append((rows, share)),
    )
    assert reported == [(0, 0.0), (N, 1.0)]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_can_be_used(file, tmp_path, model):
    summary = run(
        Job(file, RequestedColumns("y", ["a", "b"]), model=model, window=30), tmp_path / "out"
    )
    assert summary["left"] == {"asked": 0, "window_full": N - 30, "time_up": 0}


def test_nothing_is_written_after_an_error(file, tmp_path):
    with pytest.raises(EffaceError):
        run(Job(file, RequestedColumns("nothing")), tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize("window", [{"window": 40}, {"keep": "5d"}, {"policy": "add-drop:3,2,10"}])
def test_rows_that_reach_their_end_are_counted(tmp_path, window):
    times = np.datetime64("2011-01-01T00") + HOURS
    hours = RNG.integers(0, 200, N)  # 0: due as it comes
    ends = np.where(RNG.random(N) < 0.6, np.datetime_as_string(times + hours), "")
    who = [f"p{k % 9}" if k % 5 else "" for k in range(N)]
    lines = [",".join(map(str, row)) for row in zip(times, who, ends, X[:, 0], Y, strict=True)]
    (tmp_path / "rows.csv").write_text("when,who,end,a,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "asked.csv").write_text("row,owner\n130,p3\n260,p4\n")
    roles = RequestedColumns("y", ["a"], time="when", owner="who", until="end")
    forget = str(tmp_path / "asked.csv")
    found = run(Job(str(tmp_path / "rows.csv"), roles, **window, forget=forget), tmp_path / "out")
    reasons = {"asked": 0, "window_full": 0, "time_up": 0}
    model = AdaptiveRidge(as_policy(WindowOptions(**window).chosen()))
    for t in range(N):
        if t == 130:
            reasons["asked"] += model.forget(owner="p3", missing="ok")
        if t:
            reasons["time_up"] += model.expire(times[t])
        before = model.n_rows_ if t else 0
        owner, until = who[t] or None, np.datetime64(ends[t]) if ends[t] else None
        model.learn_one(X[t, :1], Y[t], at=times[t], owner=owner, until=until)
        due = until is not None and until <= times[t]
        reasons["time_up" if due else "window_full"] += before + 1 - model.n_rows_
    reasons["asked"] += model.forget(owner="p4", missing="ok")
    assert found["left"] == reasons
    assert reasons["asked"] > 0
    assert reasons["time_up"] > 50
    assert found["rows"]["alive"] == model.n_rows_
    assert found["people"]["alive"] == len(model.owners_)
    text = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "reached their end" in text
    assert "each at most until its end: these are the live rows." in text
