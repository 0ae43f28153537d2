"""Tests of efface.service.people_routes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from service_cases import FEATURES, Running, add_demand, rows

from efface import Ridge
from efface.errors import UnknownOwner
from efface.service.client import Client
from efface.service.people_routes import plain_held
from efface.store import Store


def test_a_person_is_shown_in_every_model_and_then_forgotten_in_all(tmp_path):
    folder = tmp_path / "orders"
    add_demand(folder, 20)
    with Running(folder) as running:
        client = running.client()
        client.put("/models/other", json={"features": ["a"]})
        row = {"x": [1.0], "y": 2.0, "id": "o", "owner": "person 1"}
        client.post("/models/other/rows", json={"rows": [row]})
        found = client.post("/access-requests", json={"owner": "person 1"}).json()
        assert found["rows"] == 5
        assert found["models"]["other"]["features"] == {"a": [1.0]}
        assert found["models"]["demand"]["ids"] == ["r1", "r6", "r11", "r16"]
        erased = client.post("/erasures", json={"owner": "person 1"}).json()
        assert (erased["rows"], erased["number"]) == (5, 1)
        assert client.post("/access-requests", json={"owner": "person 1"}).status_code == 404
    with Store(folder) as store:
        assert store.status()["models"] == {"demand": 16, "other": 0}
        assert store.receipts()[0].head == erased["head"]


def test_rows_are_forgotten_by_id_in_one_model_and_people_for_ever(tmp_path):
    add_demand(tmp_path / "orders", 20)
    with Running(tmp_path / "orders") as running:
        client = running.client()
        erased = client.post("/erasures", json={"ids": ["r0", "r1"], "model": "demand"}).json()
        assert erased["rows"] == 2
        client.post("/erasures", json={"owner": "person 2", "forever": True}).raise_for_status()
        again = client.post("/models/demand/rows", json={"rows": rows(1, first=902)})
        assert again.status_code == 409
        assert "forgotten for ever" in again.json()["detail"]
        nobody = client.post("/erasures", json={"owner": "nobody", "missing": "ok"}).json()
        assert nobody["rows"] == 0


def test_what_is_held_has_times_as_text(tmp_path):
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(), features=FEATURES)
        times = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]
        ends = [datetime(2030, 1, 1, tzinfo=UTC), None]
        X = [[1.0, 2.0], [3.0, 4.0]]
        store.learn("demand", X, [1.0, 2.0], owners=["ann"] * 2, at=times, until=ends)
        found = plain_held(store.held("ann")["demand"])
    assert found["at"][1] == "2026-01-02T00:00:00.000000000Z"
    assert found["until"] == ["2030-01-01T00:00:00.000000000Z", None]
    assert found["features"] == {"temp": [1.0, 3.0], "hum": [2.0, 4.0]}


@pytest.mark.parametrize("times", [[1.0, 2.0], None])
def test_times_that_are_numbers_stay_numbers(tmp_path, times):
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(), features=FEATURES)
        store.learn("demand", [[1.0, 2.0]] * 2, [1.0, 2.0], owners=[7, 7], at=times)
        assert plain_held(store.held(7)["demand"])["at"] == times


def test_who_is_refused_for_ever_is_shown_as_such(tmp_path):
    add_demand(tmp_path / "orders")
    with Running(tmp_path / "orders") as running:
        client = running.client()
        assert not client.post("/access-requests", json={"owner": "person 1"}).json()["refused"]
        client.post("/erasures", json={"owner": "person 1", "forever": True}).raise_for_status()
        found = client.post("/access-requests", json={"owner": "person 1"})
        expected = {"owner": "person 1", "rows": 0, "models": {}, "refused": True}
        assert (found.status_code, found.json()) == (200, expected)
        assert client.post("/access-requests", json={"owner": "nobody"}).status_code == 404
        verbs = Client(running.url, running.all)
        with verbs, pytest.raises(UnknownOwner, match="forgotten for ever"):
            verbs.held("person 1")
    with Store(tmp_path / "orders") as store:
        assert (store.refuses("person 1"), store.refuses("person 2")) == (True, False)
        with pytest.raises(UnknownOwner, match="forgotten for ever"):
            store.held("person 1")
