"""One model per key in a store: what a fleet of the library does, also after opening again."""

from __future__ import annotations

import numpy as np
import pytest
from fleet_histories import histories, models
from hypothesis import given, settings
from hypothesis import strategies as st
from store_cases import NAMES, content, copied, data, filled

from efface import AddDrop, AutoRidge, Fleet, Ridge
from efface.errors import DamagedStore, InvalidValue, RepeatedId, UnknownKey
from efface.models.base import Keys
from efface.store import Store, restore
from efface.store.opening import without_rows
from efface.store.row_format import decode, encode
from efface.store.stored_fleet import StoredFleet
from efface.store.stored_models import Definition
from efface.store.stored_rows import StoredRows


class Disk:
    """What a store would hold of a keyed model: texts of rows by number, and records."""

    def __init__(self, model, width=2):
        self.definition = Definition.of(1, "shops", model, width, keyed=True)
        self.stored, self.texts, self.records = without_rows(self.definition), {}, {}

    def learn(self, rows):
        planned = self.stored.plan(rows)
        first = 1 + max([-1, *self.texts, *self.stored.seqs.values()])
        for id in planned.left:
            del self.texts[self.stored.seqs[id]]
        texts = encode(planned.entering())
        self.texts |= {first + k: text for k, text in enumerate(texts)}
        self.records |= planned.records
        self.stored.learn(planned, first)

    def forget(self, ids):
        for id in ids:
            del self.texts[self.stored.seqs[id]]
        self.records |= self.stored.records(ids)
        self.stored.forget(ids)

    def open_again(self):
        seqs = sorted(self.texts)
        rows = decode([self.texts[seq] for seq in seqs], self.definition.width)
        phases = [tuple(pair) for pairs in self.records.values() for pair in pairs]
        return StoredFleet(self.definition, rows, seqs, phases)


def columns(rows, ids):
    """The rows of a history as arguments."""
    found = {"ids": [row.get("id", id) for row, id in zip(rows, ids, strict=True)]}
    found["owners"] = [row["owner"] for row in rows]
    for name, given_as in (("at", "at"), ("until", "until"), ("weight", "sample_weight")):
        if name in rows[0]:
            found[given_as] = [row[name] for row in rows]
    X, y = [row["x"] for row in rows], [row["y"] for row in rows]
    return [row["key"] for row in rows], X, y, found


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_keyed_model_is_the_librarys_fleet_also_after_opening_again(data):
    model, timed = data.draw(models()), data.draw(st.booleans())
    timed = timed or model.window.needs_time
    disk, fleet, number = Disk(model), Fleet(model), 1_000
    for kind, *event in data.draw(histories(model, timed)):
        if kind == "rows":
            keys, X, y, about = columns(event[0], range(number, number + len(event[0])))
            number += len(event[0])
            try:
                fleet.learn(keys, X, y, **about)
            except RepeatedId:
                with pytest.raises(RepeatedId):
                    disk.learn(checked(disk.stored, keys, X, y, about))
            else:
                disk.learn(checked(disk.stored, keys, X, y, about))
        elif not fleet.n_rows_:
            continue
        elif kind == "forget":
            ids = fleet.ids_
            named = [ids[place % len(ids)] for place in event[0]]
            found = disk.stored.named(named, event[1])
            fleet.forget(ids=named, owners=event[1], missing="ok")
            disk.forget(found)
        elif kind == "expire":
            found = disk.stored.overdue(event[0])
            fleet.expire(event[0])
            disk.forget(found)
        if fleet.n_rows_:
            agree(fleet, disk)
        else:
            assert not disk.texts


def checked(stored, keys, X, y, about):
    marks = Keys(about["ids"], about.get("at"), about["owners"], about.get("until"))
    return stored.checked(X, y, about.get("sample_weight"), marks, keys)


def agree(fleet, disk):
    """Rows, phases and results are equal bit for bit."""
    again = disk.open_again()
    assert content(disk.stored.fleet) == content(fleet) == content(again.fleet)
    assert disk.stored.seqs == again.seqs
    keys = fleet.keys()
    X = np.linspace(-1.0, 1.0, 2 * len(keys)).reshape(-1, 2)
    wanted = fleet.predict(keys, X).tobytes()
    assert disk.stored.predict(X, keys, "raise").tobytes() == wanted
    assert again.predict(X, keys, "raise").tobytes() == wanted


def test_a_phase_survives_the_newest_row(tmp_path):
    """The phase counts arrivals, also of rows that were forgotten or passed through."""
    model, (X, y) = Ridge(window=AddDrop(4, 2)), data(9)
    fleet = Fleet(model)
    with Store(tmp_path / "orders") as store:
        store.add("demand", model, features=NAMES, keyed=True)
        about = {"ids": list(range(6)), "at": np.arange(6.0) + 10.0}
        store.learn("demand", X[:6], y[:6], keys=["a", "b"] * 3, **about)
        fleet.learn(["a", "b"] * 3, X[:6], y[:6], **about)
        store.forget(ids=[4, 5])  # the newest of each key
        fleet.forget([4, 5])
    with Store(tmp_path / "orders") as store, store.reading_fleet("demand") as mine:
        assert content(mine) == content(fleet)
        late = {"ids": [6, 7], "at": [1.0, 2.0]}  # each leaves at once: it is the oldest
        store.learn("demand", X[6:8], y[6:8], keys=["a", "a"], **late)
        fleet.learn(["a", "a"], X[6:8], y[6:8], **late)
        assert content(mine) == content(fleet)
    with Store(tmp_path / "orders") as store, store.reading_fleet("demand") as mine:
        assert content(mine) == content(fleet)
        store.learn("demand", X[8:], y[8:], keys=["b"], ids=[8], at=[30.0])
        fleet.learn(["b"], X[8:], y[8:], ids=[8], at=[30.0])
        assert content(mine) == content(fleet)


def test_a_keyed_model_beside_others(tmp_path):
    X, y = data(12)
    keys, owners = [1, 2, "c"] * 4, ["ann", "bob", "ann", None] * 3
    fleet = Fleet(AutoRidge(window=20))
    fleet.learn(keys, X, y, ids=range(12), owners=owners)
    with filled(tmp_path / "orders") as store:
        store.add("shops", AutoRidge(window=20), features=NAMES, keyed=True)
        done = store.learn("shops", X, y, ids=range(12), owners=owners, keys=keys)
        assert done == (list(range(12)), 12, 0)
        repeated = {"ids": range(12), "owners": owners}
        assert store.learn("shops", X, y, keys=keys, **repeated)[1:] == (0, 12)
        with pytest.raises(RepeatedId):  # ids are unique across keys
            store.learn("shops", X, y, keys=["z"] * 12, **repeated)
        receipt = store.forget(owner="ann")
        assert receipt.fields["rows"] == {"shops": 6}
    fleet.forget(owner="ann")
    with Store(tmp_path / "orders") as store:
        about = store.models()["shops"]
        assert (about["keyed"], about["keys"], about["rows"]) == (True, len(fleet), 6)
        some = [key for key in (1, 2, "c") if key in fleet]
        assert (store.predict("shops", X[: len(some)], keys=some)).tobytes() == fleet.predict(
            some, X[: len(some)]
        ).tobytes()
        mine = store.predict_interval("shops", X[:1], 0.9, keys=[2])
        assert mine == fleet.predict_interval([2], X[:1], 0.9)
        assert list(store.coefficients("shops", 2)[0].values()) == fleet.coef([2])[0].tolist()
        held = store.held("bob")["shops"]
        assert held.keys == fleet.held("bob").keys
        assert list(held.features) == NAMES
        found = store.audit(forgotten_owners="ann", forgotten=[0])
        assert found["shops"].holds
        assert found["demand"].holds
        with pytest.raises(RepeatedId, match="live"):
            store.learn("shops", X[:1], y[:1], ids=[held.ids[0]], keys=[2])


def test_what_needs_keys_says_so(tmp_path):
    X, y = data(2)
    with filled(tmp_path / "orders", keyed=True) as store:
        for wrong in (
            lambda: store.learn("demand", X, y),
            lambda: store.learn("demand", X, y, keys=["a"]),
            lambda: store.learn("demand", X, y, keys=["a", 1.5]),
            lambda: store.learn("demand", X, y, keys=["a", "x" * 70_000]),
            lambda: store.learn("demand", X, y, keys=["a", "b"], at=[1.0, 2.0]),
            lambda: store.learn("demand", X, y, keys=["a", "b"], ids=["i", "i"]),
            lambda: store.predict("demand", X),
            lambda: store.coefficients("demand"),
        ):
            with pytest.raises(InvalidValue):
                wrong()
        with pytest.raises(UnknownKey):
            store.predict("demand", X[:1], keys=["none"])
        assert store.predict("demand", X[:1], keys=["none"], missing="ok").tolist() == [0.0]
        with pytest.raises(InvalidValue, match="not keyed"), store.reading("demand"):
            pass
        assert store.status()["rows"] == 40
        store.forget(ids=[f"order-{k}" for k in range(40)])
        assert store.audit()["demand"].holds  # of no key
        assert store.models()["demand"]["keys"] == 0


def test_copies_and_another_master_key(tmp_path):
    folder, X = tmp_path / "orders", data(1)[0]
    with filled(folder, keyed=True, master_key=b"1" * 32) as store:
        store.backup(tmp_path / "copy")
        wanted = store.predict("demand", X, keys=["shop 1"])
        store.rotate(b"2" * 32)
        copied(folder, tmp_path / "crashed")
    with Store(tmp_path / "crashed", master_key=b"2" * 32) as store:
        assert store.predict("demand", X, keys=["shop 1"]) == wanted
    (folder / "rows.db").unlink()
    assert restore(folder, tmp_path / "copy", master_key=b"2" * 32).kept == 40
    with Store(folder, master_key=b"2" * 32) as store:
        assert store.predict("demand", X, keys=["shop 1"]) == wanted


def test_rows_that_make_no_fleet_are_refused():
    made = Definition.of(1, "m", Ridge(), 1, keyed=True)
    values = np.ones((2, 1)), np.ones(2), np.ones(2)
    for ids, keys in ((["a", "b"], None), (["a", "a"], ["k", "k"]), (["a", "b"], ["k", None])):
        with pytest.raises(DamagedStore, match="cannot be rebuilt"):
            StoredFleet(made, StoredRows(*values, ids, keys=keys), [0, 1])
