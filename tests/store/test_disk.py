"""Faults: full disks, failing system calls, lost permissions, damaged files."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from store_cases import KEYED, NAMES, Twins, content, copied, data, files, filled, slots

from efface import Ridge
from efface.errors import DamagedStore, EffaceError, StorageFailure, StoreError, StoreStopped
from efface.live.snapshot import same
from efface.store import Store
from efface.store.external_files import read_log

TESTS = Path(__file__).parent.parent
NOBODY = 65_534


@pytest.fixture
def fast(tmp_path):
    """A folder in memory where that exists: damage needs no disk."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    folder = memory / f"efface-{os.getpid()}-{tmp_path.name}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("extent", ["quick", pytest.param("full", marks=pytest.mark.slow)])
def test_every_sync_write_and_rename_may_fail(tmp_path, fast, extent):
    if shutil.which("gcc") is None or not sys.platform.startswith("linux"):
        pytest.skip("needs gcc and a preloaded library, to let system calls fail")
    library = tmp_path / "faults.so"
    source = str(TESTS / "store_faults.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": path}
    command = [sys.executable, str(TESTS / "store_faults.py"), str(library), str(fast), extent]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = dict.fromkeys(("sync", "write", "rename"), 0)
    for line in done.stdout.splitlines():
        kind, count = line.split()
        counts[kind] = max(counts[kind], int(count))
    assert counts["sync"] > 10
    assert counts["write"] > 20


@pytest.fixture
def full_disk():
    """Files that cannot grow beyond a size, until the test ends."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (before[0] if size is None else size, before[1]))

    yield limit
    limit(None)


def test_a_disk_that_is_full_loses_nothing(tmp_path, full_disk):
    store, learned = filled(tmp_path / "orders"), 40
    full_disk(3_000_000)
    failure = None
    while failure is None:
        try:
            learned += store.learn("demand", *data(1_000, seed=learned)).learned
        except StorageFailure as error:
            failure = error
    full_disk(None)
    try:
        store.learn("demand", *data(1))
        learned += 1
    except StoreStopped:  # whether the commit happened was unclear
        pass
    store.close()
    with Store(tmp_path / "orders") as store:
        assert store.status()["rows"] in (learned, learned + 1_000)
        assert store.audit()["demand"].holds
    assert learned > 1_000


def test_a_segment_that_does_not_fit_is_refused_before_anything_changed(tmp_path, full_disk):
    with filled(tmp_path / "orders") as store:
        full_disk(1_500_000)
        with pytest.raises(StorageFailure, match="keys"):
            store.learn("demand", *data(65_536))
        full_disk(None)
        assert store.learn("demand", *data(3)).learned == 3
        assert store.audit()["demand"].holds
    assert len(list((tmp_path / "orders" / "keys").glob("*.bin"))) == 1


@pytest.mark.parametrize(
    "name", ["", "store.json", "rows.db", "keys", "receipts.jsonl", "blind.key"]
)
def test_a_lost_permission_is_an_error_and_changes_nothing(tmp_path, name):
    folder = tmp_path / "orders"
    filled(folder).close()
    before, path = files(folder), folder / name
    root = os.geteuid() == 0
    if root:  # who may do everything: become someone else, who owns the store
        for place in (*tmp_path.resolve().parents, tmp_path):
            if (
                place != Path("/")
                and os.stat(place).st_uid == 0
                and place.name.startswith("pytest")
            ):
                os.chmod(place, 0o755)
        for place in (tmp_path, folder, *folder.rglob("*")):
            os.chown(place, NOBODY, -1)
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        if root:
            os.seteuid(NOBODY)
        with pytest.raises(StoreError):
            Store(folder)
    finally:
        if root:
            os.seteuid(0)
        path.chmod(mode & 0o777)
    assert files(folder) == before


def crashed(folder, target):
    """A store as a crash leaves it: with a log, rows that were forgotten, and owners refused."""
    with filled(folder) as store:
        twins = Twins(None, 3)
        store.add(KEYED, twins.counting, features=3, keyed=True)
        X, y = data(12, seed=8)
        keys, owners = ["a", "b"] * 6, [f"person {k % 3}" for k in range(12)]
        store.learn(KEYED, X, y, keys=keys, ids=range(12), owners=owners)
        for person in (1, 2):
            store.forget(owner=f"person {person}", forever=True)
        store.learn("demand", *data(5, seed=6), ids=list(range(5)))
        expected = held(store)
        copied(folder, target)
    return expected


def held(store):
    """All that a store holds of both models, and its receipts."""
    models = store._models
    return models["demand"].model._snapshot(), content(models[KEYED].fleet), store.receipts()


def opens_right_or_not_at_all(folder, expected):
    """Open a damaged store: True if it is right; False if it is refused, with unchanged keys."""
    before = files(folder / "keys")
    try:
        store = Store(folder)
    except EffaceError:
        assert files(folder / "keys") == before
        return False
    with store:
        found = held(store)
        assert same(found[0], expected[0])
        assert found[1:] == expected[1:]
        assert store.status()["refused_owners"] == 2
    return True


def damage(fast, places, alter):
    """Alter each file at random places; return how often the store was refused."""
    expected = crashed(fast / "orders", fast / "template")
    names = [name for name, content in files(fast / "template").items() if content]
    assert "rows.db-wal" in names
    draw, refused = random.Random(4), dict.fromkeys(names, 0)
    for name in names:
        # While the log holds every page, the database itself is not read: take a closed store.
        template = fast / ("orders" if name == "rows.db" else "template")
        content = (template / name).read_bytes()
        for _ in range(places):
            shutil.copytree(template, fast / "damaged")
            (fast / "damaged" / name).write_bytes(alter(draw, content, name))
            refused[name] += not opens_right_or_not_at_all(fast / "damaged", expected)
            shutil.rmtree(fast / "damaged")
    return refused


def flip(draw, content, name):
    """One bit is another; in the keys, where there are keys."""
    at = draw.randrange(57 * 32) if name.endswith(".bin") else draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]


def cut(draw, content, name):
    return content[: draw.randrange(len(content))]


@pytest.mark.parametrize("alter", [flip, cut])
def test_damaged_files_give_an_error_or_right_results(fast, alter):
    refused = damage(fast, 12, alter)
    assert refused["keys/0001-000000.bin"] == refused["blind.key"] == 12


@pytest.mark.slow
@pytest.mark.parametrize("alter", [flip, cut])
def test_files_damaged_at_200_places_give_an_error_or_right_results(fast, alter):
    refused = damage(fast, 200, alter)
    assert refused["keys/0001-000000.bin"] == refused["blind.key"] == 200
    assert all(refused.values())


def test_a_database_that_lost_its_log_is_refused(tmp_path):
    """The log held transactions that were acknowledged: the keys know of them."""
    crashed(tmp_path / "orders", tmp_path / "copy")
    (tmp_path / "copy" / "rows.db-wal").unlink()
    before = slots(tmp_path / "copy")
    with pytest.raises(DamagedStore):
        Store(tmp_path / "copy")
    assert slots(tmp_path / "copy") == before


@pytest.mark.parametrize("name", ["receipts.jsonl", "keys/refused.owners"])
def test_receipts_and_refused_owners_cannot_be_cut_unseen(tmp_path, name):
    crashed(tmp_path / "orders", tmp_path / "copy")
    path = tmp_path / "orders" / name
    lines = path.read_bytes()
    path.write_bytes(lines[: lines.index(b"\n") + 1])
    with pytest.raises(DamagedStore, match=Path(name).name):
        Store(tmp_path / "orders")


def test_a_chain_behind_its_anchor_is_refused(tmp_path):
    """A whole folder of an earlier time is in itself right; the anchor elsewhere knows better."""
    anchor = tmp_path / "anchor.txt"
    filled(tmp_path / "orders").close()
    Store(tmp_path / "orders", anchor=anchor).close()  # remembered from now on
    copied(tmp_path / "orders", tmp_path / "earlier")
    with Store(tmp_path / "orders") as store:
        receipt = store.forget(owner="person 1")
    assert read_log(anchor, "anchor")[1] == [f"1 {receipt.head}"]
    Store(tmp_path / "orders").close()
    before = files(tmp_path / "earlier")
    with pytest.raises(DamagedStore, match="copy of a store"):
        Store(tmp_path / "earlier")
    assert files(tmp_path / "earlier") == before
    os.rename(tmp_path / "orders", tmp_path / "later")
    os.rename(tmp_path / "earlier", tmp_path / "orders")  # a folder of an earlier time
    with pytest.raises(DamagedStore, match="receipts"):
        Store(tmp_path / "orders")


def test_an_anchor_that_was_deleted_or_emptied_is_not_accepted(tmp_path):
    anchor = tmp_path / "anchor.txt"
    with filled(tmp_path / "orders", anchor=anchor) as store:
        store.forget(owner="person 1")
    content = anchor.read_bytes()
    anchor.unlink()
    with pytest.raises(DamagedStore, match=r"anchor\.txt' is missing"):
        Store(tmp_path / "orders")
    anchor.touch()
    with pytest.raises(DamagedStore, match=r"anchor\.txt' is no file"):
        Store(tmp_path / "orders")
    anchor.write_bytes(content)
    Store(tmp_path / "orders").close()
    anchor.unlink()
    with Store(tmp_path / "orders", anchor=False) as store:
        assert store.audit()["demand"].holds


def test_times_and_models_are_kept_by_a_store_that_was_never_used(tmp_path):
    with Store(tmp_path / "orders") as store:
        store.add("demand", Ridge(window="30d"), features=NAMES)
        copied(tmp_path / "orders", tmp_path / "copy")
    with Store(tmp_path / "copy") as store:
        assert list(store.models()) == ["demand"]
        assert store.status()["rows"] == 0


# A forked child


def in_child(work):
    """What a forked child says, which ends as a script does."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writing, repr(work()).encode())
        except BaseException as error:
            os.write(writing, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_may_do_nothing_and_touches_nothing(tmp_path):
    with filled(tmp_path / "orders", mirror=tmp_path / "second") as store:
        store.learn("demand", *data(1), ids=["drawn ahead"])
        before = files(tmp_path)
        calls = {
            "learn": lambda: store.learn("demand", *data(1, seed=5)),
            "forget": lambda: store.forget(owner="person 1"),
            "predict": lambda: store.predict("demand", [[1.0] * 3]),
            "status": lambda: store.status(),
            "backup": lambda: store.backup(tmp_path / "copy"),
            "rotate": lambda: store.rotate(None),
            "expire": lambda: store.expire(),
            "held": lambda: store.held("person 1"),
        }
        for call in calls.values():
            assert "forked" in in_child(call)
        assert in_child(store.close) == "None"
        with store._writer.lock:  # a thread may have had it
            assert "forked" in in_child(calls["predict"])
        assert files(tmp_path) == before
        for k in range(30):
            store.learn("demand", *data(1, seed=10 + k))
    with Store(tmp_path / "orders") as store:
        assert store.status()["rows"] == 71
        assert store.audit()["demand"].holds


def test_a_child_that_ends_inside_of_a_store_touches_nothing(tmp_path):
    """Also what Python does at its end: it closes databases and collects objects."""
    script = (
        "import gc, os, sys\n"
        "from store_cases import data, filled\n"
        "with filled(sys.argv[1]) as store:\n"
        "    if not os.fork():\n"
        "        del store\n"
        "        gc.collect()\n"
        "        sys.exit(0)\n"
        "    os.wait()\n"
        "    for k in range(20):\n"
        "        store.learn('demand', *data(1, seed=k))\n"
    )
    path = os.pathsep.join([str(TESTS), *filter(None, sys.path)])
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "orders")]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    with Store(tmp_path / "orders") as store:
        assert store.status()["rows"] == 60
        assert store.audit()["demand"].holds
