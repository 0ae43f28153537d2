"""Tests of efface.service.model_routes."""

from __future__ import annotations

import numpy as np
import pytest
from service_cases import FEATURES, Running, add_demand, rows

from efface.service.model_routes import finite


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "orders"
    add_demand(folder, 30)
    with Running(folder) as running:
        yield running


def test_predictions_and_intervals_are_those_of_the_store(service):
    client, X = service.client(), np.random.default_rng(3).normal(size=(4, 2))
    body = {"rows": [{"x": x} for x in X.tolist()]}
    path = "/models/demand/predictions"
    found = client.post(path, json=body).json()
    assert np.array_equal(found["predictions"], service.store.predict("demand", X))
    body["interval"] = 0.9
    for method in ("gaussian", "self-normalized", "conformal"):
        found = client.post(path, json={**body, "method": method}).json()
        expected = service.store.predict_interval("demand", X, 0.9, method)
        for name, values in zip(("predictions", "lower", "upper"), expected, strict=True):
            assert np.array_equal(found[name], values)
        assert found["reason"] is None


def test_intervals_that_are_infinite_say_why(service):
    client = service.client()
    client.put("/models/empty", json={"kind": "OLS", "features": 1})
    body = {"rows": [{"x": [1.0]}], "interval": 0.9}
    found = client.post("/models/empty/predictions", json=body).json()
    assert found["lower"] == found["upper"] == [None]
    assert "no row is alive" in found["reason"]


def test_events_are_predicted_before_they_are_learned(service):
    client = service.client()
    before = client.post("/models/demand/predictions", json={"rows": [{"x": [9.0, 9.0]}]}).json()[
        "predictions"
    ]
    event = {"x": [9.0, 9.0], "y": 1e3, "id": "event"}
    found = client.post("/models/demand/events", json={"rows": [event]}).json()
    assert found == {"predictions": before, "ids": ["event"], "learned": 1, "skipped": 0}
    after = client.post("/models/demand/predictions", json={"rows": [{"x": [9.0, 9.0]}]}).json()
    assert after["predictions"] != before


def test_a_model_shows_its_state(service):
    client = service.client()
    found = client.get("/models/demand").json()
    assert list(found["coefficients"]) == FEATURES
    assert (found["kind"], found["rank"], found["penalty"]) == ("Ridge", 2, 1.0)
    assert found["condition"] > 1
    assert found["rows"] == service.store.status()["models"]["demand"]
    listed = {each["name"]: each for each in client.get("/models").json()["models"]}
    assert listed["demand"]["coefficients"] == found["coefficients"]


def test_a_name_may_have_any_printable_characters(service):
    client = service.client()
    for name in ("a%2Fb", "%E2%82%AC%20%26", "..%2F..%2Fetc", "100%25"):
        assert client.put(f"/models/{name}", json={"features": 1}).status_code == 201
        body = {"rows": [{"x": [1.0], "y": 2.0}]}
        assert client.post(f"/models/{name}/rows", json=body).json()["learned"] == 1
        assert client.get(f"/models/{name}").json()["rows"] == 1
    names = [each["name"] for each in client.get("/models").json()["models"]]
    assert {"a/b", "€ &", "../../etc", "100%"} <= set(names)


def test_rows_have_times_ends_and_weights(tmp_path):
    add_demand(tmp_path / "orders", 0, window="90d")
    with Running(tmp_path / "orders") as running:
        content = rows(3)
        for k, row in enumerate(content):
            row |= {"at": f"2026-01-0{k + 1}T00:00:00Z", "weight": 2.0}
        content[2]["until"] = "2026-02-01"
        client = running.client()
        client.post("/models/demand/rows", json={"rows": content}).raise_for_status()
        assert client.get("/models/demand").json()["next_due"].startswith("2026-02-01T00:00:00")
        found = client.post("/access-requests", json={"owner": "person 2"}).json()
        held = found["models"]["demand"]
        assert held["weights"] == [2.0]
        assert held["at"] == ["2026-01-03T00:00:00.000000000Z"]


def test_finite_leaves_only_numbers_that_json_has():
    assert finite([1.0, float("nan"), {"a": (float("-inf"), "b")}]) == [
        1.0,
        None,
        {"a": [None, "b"]},
    ]
