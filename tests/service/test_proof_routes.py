"""Tests of efface.service.proof_routes."""

from __future__ import annotations

from service_cases import Running, add_demand

from efface.service import proof_routes
from efface.store.receipts import Receipt


def test_receipts_are_listed_newest_first_with_the_state_of_the_chain(tmp_path, monkeypatch):
    monkeypatch.setattr(proof_routes, "NEWEST", 2)
    add_demand(tmp_path / "orders")
    with Running(tmp_path / "orders") as running:
        client = running.client()
        heads = [
            client.post("/erasures", json={"owner": f"person {k}"}).json()["head"] for k in range(3)
        ]
        found = client.get("/receipts").json()
        assert (found["count"], found["holds"], found["head"]) == (3, True, heads[-1])
        assert [each["number"] for each in found["receipts"]] == [3, 2]
        one = client.get("/receipts/1").json()
        assert one["models"] == {"demand": 4}
        Receipt.parse(one["receipt"]).verify(found["public_key"])
        path = running.folder / "receipts.jsonl"
        path.write_bytes(path.read_bytes().replace(b"demand", b"demanD", 1))
        broken = client.get("/receipts").json()
        assert not broken["holds"]
        assert "altered" in broken["finding"]


def test_an_audit_covers_all_models_or_one(tmp_path):
    add_demand(tmp_path / "orders")
    with Running(tmp_path / "orders") as running:
        client = running.client()
        client.put("/models/other", json={"features": 1})
        found = client.post("/audits", json={}).json()
        assert found["holds"]
        assert list(found["models"]) == ["demand", "other"]
        one = client.post("/audits", json={"model": "demand", "forgotten_owners": ["person 1"]})
        assert list(one.json()["models"]) == ["demand"]
        assert not one.json()["holds"]
        assert one.json()["models"]["demand"]["remembered_owners"] == ["person 1"]
