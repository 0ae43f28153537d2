import numpy as np
import pytest
from fleet_histories import histories, models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twins.keyed_models import DictOfModels

from efface import Fleet, KeepFor
from efface.errors import EffaceError

LONG = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=60)


def columns(rows):
    """The arguments of ``replay`` for rows of a history."""
    names = {
        "ids": "id",
        "at": "at",
        "owners": "owner",
        "until": "until",
        "sample_weight": "weight",
    }
    found = {
        role: [row.get(name) for row in rows] for role, name in names.items() if name in rows[0]
    }
    return (
        [row["key"] for row in rows],
        [row["x"] for row in rows],
        [row["y"] for row in rows],
        found,
    )


def close(one, other):
    one, other = np.asarray(one, float), np.asarray(other, float)
    scale = max(1.0, np.abs(other).max(initial=0.0))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * scale)


def compare(fleet, twin):
    """The fleet has the keys, rows and coefficients of a dict of models, and holds nothing else."""
    assert set(fleet.keys()) == set(twin.models)
    assert fleet.n_rows_ == len(twin.ids)
    if fleet._held is not None:
        assert fleet._held.residues() == []
    for key, model in twin.models.items():
        mine = fleet[key]
        assert mine.ids_ == model.ids_
        assert mine.owners_ == model.owners_
        assert mine._live.phase == model._live.phase
        for name in ("X", "y", "weighed", "times", "until"):
            np.testing.assert_array_equal(
                getattr(mine._snapshot(), name), getattr(model._snapshot(), name)
            )
    if twin.models:
        keys = list(twin.models)
        fits = fleet.fits(keys)
        for place, key in enumerate(keys):
            model = twin.models[key]
            close(fits.coef[place], model.coef_)
            close(fits.intercept[place], model.intercept_)
            close(fits.penalty[place], model.penalty_)
        x = np.array([[0.5, -1.0]] * len(keys))
        close(fleet.predict(keys, x), [twin.models[key].predict(x[:1])[0] for key in keys])


def play(fleet, twin, event, path):
    """One event on both; both refuse it, or neither. Returns the fleet."""
    kind, *what = event
    if kind == "rows":
        keys, X, y, given_ = columns(what[0])
        try:
            shown = twin.replay(what[0])
        except EffaceError as error:
            with pytest.raises(type(error)):
                fleet.replay(keys, X, y, **given_)
            return fleet
        result = fleet.replay(keys, X, y, **given_)
        close(result.prediction, [prediction for prediction, _ in shown])
        assert result.n_rows.tolist() == [count for _, count in shown]
    elif kind == "forget":
        alive = twin.ids
        ids = [alive[place % len(alive)] for place in what[0]] if alive else []
        owners = [each for each in what[1] if any(each in m.owners_ for m in twin.models.values())]
        if twin.models:
            ids = list(dict.fromkeys(ids))
            assert fleet.forget(ids, owners=owners) == twin.forget(ids, owners)
    elif kind == "expire" and fleet._held is not None and twin.models:
        assert fleet.expire(what[0]) == twin.expire(what[0])
    elif kind == "save" and fleet._held is not None:
        fleet.save(path)
        first = path.read_bytes()
        fleet = Fleet.load(path)
        fleet.save(path)
        assert path.read_bytes() == first
    return fleet


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fleet") / "fleet.efface"


@LONG
@given(data=st.data())
def test_is_a_dict_of_models(path, data):
    model = data.draw(models())
    timed = isinstance(model.window, KeepFor) or data.draw(st.booleans())
    fleet, twin = Fleet(model, threads=1), DictOfModels(model)
    for event in data.draw(histories(model, timed)):
        fleet = play(fleet, twin, event, path)
        compare(fleet, twin)
