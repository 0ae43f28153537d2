"""A replay that goes on from a saved model equals one that never stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest

from efface import AdaptiveRidge, AddDrop, Ridge, WindowScaler, load
from efface.errors import BadTable, ForeignFile, InvalidValue
from efface.files.job import Job, run
from efface.files.saved_models import check_target, read_model, write_model
from efface.files.schema import RequestedColumns

RNG = np.random.default_rng(21)
N, CUT = 300, 170
X = RNG.normal(size=(N, 2)).round(6)
Y = (X @ [1.5, -2.0] + 4.0 + 0.2 * RNG.normal(size=N)).round(6)
TIMES = np.datetime64("2024-01-01T00") + np.cumsum(RNG.integers(1, 5, N))
ENDS = TIMES + RNG.integers(20, 900, N)
OWNER = RNG.integers(0, 40, N)
ROLES = RequestedColumns("y", ["a", "b"], time="at", owner="who", until="end")


def write(path, rows):
    columns = TIMES, OWNER, ENDS, X[:, 0], X[:, 1], Y
    lines = [",".join(str(column[k]) for column in columns) for k in rows]
    path.write_text("at,who,end,a,b,y\n" + "\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "all.csv", range(N))
    write(tmp_path / "one.csv", range(CUT))
    write(tmp_path / "two.csv", range(CUT, N))
    return tmp_path


def job(files, name, **options):
    options = {"model": "switching", "policy": "add-drop:3,2", "roles": ROLES, **options}
    return Job(str(files / f"{name}.csv"), **options)


def going_on(files, **options):
    saved = str(files / "one.efface")
    return job(files, "two", model=None, policy=None, start=saved, **options)


@pytest.fixture
def saved(files):
    run(job(files, "one", save=str(files / "one.efface")), files / "one")
    return files


def table(folder):
    return pyarrow.parquet.read_table(folder / "predictions.parquet").to_pydict()


def test_two_halves_equal_the_whole(saved):
    whole = run(job(saved, "all", save=str(saved / "all.efface")), saved / "all")
    second = run(going_on(saved, save=str(saved / "two.efface")), saved / "two")
    assert (saved / "two.efface").read_bytes() == (saved / "all.efface").read_bytes()
    expected, found = table(saved / "all"), table(saved / "two")
    assert found["id"] == expected["id"][CUT:] == list(range(CUT, N))
    assert found["n_rows"] == expected["n_rows"][CUT:]
    np.testing.assert_allclose(
        found["prediction"], expected["prediction"][CUT:], rtol=1e-9, atol=1e-9
    )
    model = load(saved / "two.efface")
    assert model.window == AddDrop(3, 2)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert second["rows"]["started"] == load(saved / "one.efface").n_rows_
    assert second["rows"]["alive"] == whole["rows"]["alive"] == model.n_rows_
    left = [run_["left"]["window_full"] for run_ in (whole, second)]
    assert left[0] - left[1] == dropped(CUT)


def dropped(count):
    """How many of the first rows the policy drops: it counts rows that enter, all of these do."""
    return 2 * (count // 3)


def test_requests_reach_the_rows_of_the_saved_model(saved):
    model = load(saved / "one.efface")
    owner, id = model.owners_[0], model.ids_[-1]
    (saved / "asked.csv").write_text(f"row,id,owner\n0,,{owner}\n0,{id},\n0,,999\n")
    found = run(going_on(saved, forget=str(saved / "asked.csv")), saved / "out")
    assert [each["status"] for each in found["requests"]] == ["forgotten", "forgotten", "unknown"]
    assert found["requests"][0]["rows"] == len(model.held(owner))
    assert [each["holds"] for each in found["requests"]] == [True, True, False]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "ridge"}, "'--model' is 'ridge', which contradicts the model in"),
        ({"window": 40}, "'--window' is 40, which contradicts the model in"),
        ({"policy": "add-drop:3"}, "its policy is add-drop:3,2,0; leave the option out."),
        ({"options": {"delta": 0.2}}, "'--delta' is 0.2, which contradicts the model in"),
        ({"options": {"alpha": 2.0}}, "a SwitchingRidge has no such parameter; leave the option"),
        ({"options": {"fit_intercept": False}}, "'--intercept' is False, which contradicts"),
        ({"roles": replace(ROLES, features=["b", "a"])}, "has the features a, b, but the table g"),
        ({"roles": replace(ROLES, group="who")}, "'--group' makes one model per value, but '--fr"),
        (
            {"roles": replace(ROLES, time=None, until=None)},
            "has rows with calendar times, but the table gives no times: name a --time column",
        ),
    ],
)
def test_options_that_contradict_the_model_are_refused(saved, options, expected):
    with pytest.raises(InvalidValue) as refused:
        run(replace(going_on(saved), **options), saved / "out")
    assert expected in str(refused.value)
    assert not (saved / "out").exists()


def test_options_that_agree_with_the_model_may_be_repeated(saved):
    same = {"model": "switching", "policy": "add-drop:3,2", "options": {"delta": 0.05}}
    assert run(replace(going_on(saved), **same), saved / "out")["model"]["delta"] == 0.05


def test_rows_from_before_the_model_are_refused(saved):
    again = replace(going_on(saved), file=str(saved / "one.csv"))
    expected = r"at line 2, column 'at' is '.*': expected no earlier than .* of the newest row"
    with pytest.raises(BadTable, match=expected):
        run(again, saved / "out")


def test_a_model_that_was_fitted_on_arrays_has_only_its_number_of_features(tmp_path):
    path = str(tmp_path / "m.efface")
    Ridge(40).fit(X, Y, ids=[*range(5), *map(str, range(5, N))]).save(path)
    found = read_model(path)
    assert (found.features, found.times, found.newest, found.next_id) == (None, None, None, 0)
    text = "x,y\n1,2\n2,3\n"
    (tmp_path / "t.csv").write_text(text)
    narrow = Job(str(tmp_path / "t.csv"), RequestedColumns("y"), start=path)
    with pytest.raises(InvalidValue, match="has 2 features, but the table gives 1: name the same"):
        run(narrow, tmp_path / "out")


def test_files_without_a_model_are_refused(tmp_path):
    with pytest.raises(InvalidValue, match=r"cannot be read: No such file or directory; name a f"):
        read_model(str(tmp_path / "none"))
    WindowScaler(30).fit(X).save(tmp_path / "scaler")
    with pytest.raises(InvalidValue, match="holds a WindowScaler: expected a model"):
        read_model(str(tmp_path / "scaler"))
    (tmp_path / "text").write_text("text")
    with pytest.raises(ForeignFile):
        read_model(str(tmp_path / "text"))


def test_a_file_is_replaced_only_on_request_and_only_a_model(tmp_path):
    path, model = str(tmp_path / "m.efface"), AdaptiveRidge(30).fit(X, Y)
    check_target(None, grouped=True, overwrite=False)
    check_target(path, grouped=False, overwrite=False)
    write_model(path, model, ["a", "b"])
    with pytest.raises(InvalidValue, match="already exists: name another --save, or add --over"):
        check_target(path, grouped=False, overwrite=False)
    check_target(path, grouped=False, overwrite=True)
    with pytest.raises(InvalidValue, match="'--save' writes one model, but '--group' makes one"):
        check_target(path, grouped=True, overwrite=True)
    (tmp_path / "thesis.tex").write_text("years")
    with pytest.raises(ForeignFile):
        check_target(str(tmp_path / "thesis.tex"), grouped=False, overwrite=True)
    with pytest.raises(InvalidValue, match="is not a folder: name another --save"):
        check_target(str(tmp_path / "deep" / "m.efface"), grouped=False, overwrite=False)
    with pytest.raises(InvalidValue, match="cannot be written"):
        write_model(str(tmp_path), model, ["a", "b"])
