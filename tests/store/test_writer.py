"""The writer: what follows a failure, and what a transaction holds."""

from __future__ import annotations

import pytest
from store_cases import copied, counted, data, filled, slots, slots_of_rows

from efface import Ridge
from efface.errors import DamagedStore, StorageFailure, StoreStopped, UnclearCommit
from efface.store import Store
from efface.store.external_files import read_log
from efface.store.key_pool import AHEAD


def fail(error):
    def failing(*_, **__):
        raise error

    return failing


def test_a_commit_that_changed_nothing_can_be_tried_again(tmp_path, monkeypatch):
    with filled(tmp_path / "orders", model=Ridge(window=40)) as store:
        with monkeypatch.context() as patched:
            patched.setattr(store._disk.database, "apply", fail(StorageFailure("full")))
            for call in (
                lambda: store.learn("demand", *data(3)),
                lambda: store.forget(owner="person 1"),
                lambda: store.add("other", Ridge(), features=2),
            ):
                with pytest.raises(StorageFailure, match="full"):
                    call()
        assert store.status()["rows"] == 40
        assert store.learn("demand", *data(3)).learned == 3
        assert store.forget(owner="person 1").rows == 4
        assert store.audit()["demand"].holds
    assert len(slots(tmp_path / "orders")) == 36


@pytest.mark.parametrize("error", [UnclearCommit("unclear"), MemoryError(), KeyboardInterrupt()])
def test_after_any_other_failure_the_store_stops(tmp_path, monkeypatch, error):
    store = filled(tmp_path / "orders")
    monkeypatch.setattr(store._disk.database, "apply", fail(error))
    with pytest.raises(type(error)):
        store.learn("demand", *data(3))
    for call in (
        lambda: store.learn("demand", *data(3)),
        lambda: store.predict("demand", [[1.0] * 3]),
        lambda: store.forget(owner="person 1"),
    ):
        with pytest.raises(StoreStopped, match="stopped"):
            call()
    before = slots(tmp_path / "orders")
    assert len(before) == AHEAD  # no slot is touched after an unclear commit
    store.close()
    assert slots(tmp_path / "orders") == before
    with Store(tmp_path / "orders") as again:
        assert again.status()["rows"] == 40
    assert len(slots(tmp_path / "orders")) == 40


def test_a_model_that_fails_after_the_commit_stops_the_store(tmp_path, monkeypatch):
    store = filled(tmp_path / "orders")
    with monkeypatch.context() as patched:
        patched.setattr(store._models["demand"].model.live_rows, "learn", fail(MemoryError()))
        with pytest.raises(MemoryError):
            store.learn("demand", *data(3))
    with pytest.raises(StoreStopped):
        store.status()
    store.close()
    with Store(tmp_path / "orders") as again:
        assert again.status()["rows"] == 43  # they were committed


def test_a_failure_of_the_shredder_is_told_by_the_next_call(tmp_path, monkeypatch):
    store = filled(tmp_path / "orders", model=Ridge(window=40))
    store.learn("demand", *data(3))
    with monkeypatch.context() as patched:
        patched.setattr(store._disk, "sync_keys", fail(OSError(5, "Input/output error")))
        store._writer._shred_in_time()
    with pytest.raises(StoreStopped) as caught:
        store.predict("demand", [[1.0] * 3])
    assert "Input/output error" in str(caught.value.__cause__)
    store.close()
    with Store(tmp_path / "orders") as again:
        assert again.audit()["demand"].holds
    assert len(slots(tmp_path / "orders")) == 40


def test_notes_are_removed_and_none_is_left_behind(tmp_path):
    with filled(tmp_path / "orders", model=Ridge(window=40)) as store:
        for k in range(4):
            store.learn("demand", *data(2, seed=k))
            store.forget(owner=f"person {k + 1}", missing="ok")
        notes = [name for name in store._disk.database.records() if name.startswith("note")]
        assert 1 <= len(notes) <= 2
    with Store(tmp_path / "orders") as store:
        names = {name.split()[0] for name in store._disk.database.records()}
        assert names == {"state", "models"}
        assert store._disk.state.receipts == 4


# Keys that are drawn ahead


def test_most_single_rows_need_one_sync(tmp_path, monkeypatch):
    syncs = []
    with filled(tmp_path / "orders", 0) as store:
        sync = store._disk.sync_keys
        monkeypatch.setattr(store._disk, "sync_keys", lambda: (syncs.append(1), sync()))
        for k in range(2 * AHEAD):
            store.learn("demand", *data(1, seed=k))
        assert len(syncs) == 2
        store.learn("demand", *data(1_000))
        assert len(slots(tmp_path / "orders")) == 2 * AHEAD + 1_000  # none ahead of many rows
        assert len(set(slots(tmp_path / "orders").values())) == 2 * AHEAD + 1_000


def test_a_closed_store_has_the_keys_of_its_rows_alone(tmp_path):
    with filled(tmp_path / "orders", 3) as store:
        before = slots_of_rows(store)
        assert len(slots(tmp_path / "orders")) == AHEAD
        assert store.audit()["demand"].holds
        assert slots(tmp_path / "orders") == before
        store.learn("demand", *data(1))
        assert len(slots(tmp_path / "orders")) == 3 + AHEAD
        store.backup(tmp_path / "copy", keys=True)
        assert len(slots(tmp_path / "copy")) == 4
        store.learn("demand", *data(1))
    assert len(slots(tmp_path / "orders")) == 5


def test_audit_sees_a_key_without_a_row(tmp_path):
    with filled(tmp_path / "orders", 3) as store:
        store._disk.write_keys(store._disk.state.next_seq + AHEAD, b"k" * 32, 0)
        with pytest.raises(DamagedStore, match="keys"):
            store.audit()


def test_keys_of_rows_that_were_not_committed_encrypt_nothing_else(tmp_path, monkeypatch):
    with filled(tmp_path / "orders", 3) as store:
        ahead = set(slots(tmp_path / "orders").values()) - set(slots_of_rows(store).values())
        with monkeypatch.context() as patched:
            patched.setattr(store._disk.database, "apply", fail(StorageFailure("full")))
            with pytest.raises(StorageFailure, match="full"):
                store.learn("demand", *data(1))
        assert len(slots(tmp_path / "orders")) == 3
        store.learn("demand", *data(2))
        assert not ahead & set(slots(tmp_path / "orders").values())
        assert store.audit()["demand"].holds


def test_keys_drawn_ahead_are_destroyed_after_a_crash_and_not_logged(tmp_path):
    log, crashed = tmp_path / "destroyed.log", tmp_path / "crashed"
    with filled(tmp_path / "orders", 3, destroyed=log) as store:
        copied(tmp_path / "orders", crashed)
        assert len(slots(crashed)) == AHEAD
        assert read_log(log, "destroyed")[1] == []
    own = tmp_path / "own.log"
    with Store(crashed, destroyed=own) as store:
        assert len(slots(crashed)) == 3
        store.learn("demand", *data(2, seed=1))  # under numbers that had other keys
        store.forget(owner="person 1")
    assert read_log(own, "destroyed")[1] == ["1 1"]
    assert read_log(log, "destroyed")[1] == []


def test_rows_alone_are_committed_without_a_record_and_tell_the_state(tmp_path):
    store = filled(tmp_path / "orders")
    store.learn("demand", *data(1, seed=1))  # the state that "add" left is complete now
    commits, written = counted(store), store._disk.state.transaction
    for k in range(5):
        store.learn("demand", *data(2, seed=k), ids=[f"new {k}", f"other {k}"])
    assert [puts for _, _, puts, _ in commits] == [{}] * 5
    assert store._disk.state.transaction == written
    killed, state = copied(tmp_path / "orders", tmp_path / "killed"), store._disk.state
    store.close()
    with Store(killed) as again:
        assert again._disk.state == state
        assert state.next_seq == 51
        assert again.audit()["demand"].holds


def test_the_number_of_the_newest_row_is_not_given_again(tmp_path):
    store = filled(tmp_path / "orders", 3)
    store.learn("demand", *data(1, seed=1), ids=["newest"])
    store.forget("newest")
    killed = copied(tmp_path / "orders", tmp_path / "killed")
    store.close()
    with Store(killed) as again:
        again.learn("demand", *data(1, seed=2), ids=["next"])
        assert sorted(slots_of_rows(again)) == [0, 1, 2, 4]


def test_an_older_database_that_lacks_rows_alone_is_refused(tmp_path):
    store = filled(tmp_path / "orders", 3)
    store.learn("demand", *data(1, seed=1))
    older = copied(tmp_path / "orders", tmp_path / "older")
    store.learn("demand", *data(1, seed=2))
    newer = copied(tmp_path / "orders", tmp_path / "newer")
    store.close()
    for path in newer.glob("rows.db*"):
        path.unlink()
    for path in older.glob("rows.db*"):
        path.rename(newer / path.name)
    before = slots(newer)
    with pytest.raises(DamagedStore, match="older copy"):
        Store(newer)
    assert slots(newer) == before
