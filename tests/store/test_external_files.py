"""What belongs to a store outside of it: it names its owner, and is refused by others."""

from __future__ import annotations

import pytest

from efface.errors import DamagedStore, InvalidValue, StoreInUse
from efface.store.external_files import (
    ExternalLocks,
    Identity,
    append,
    create_identity,
    create_log,
    read_log,
    refuse_foreign,
    refuse_unusable,
)

OWNER, OTHER = Identity("a", "1"), Identity("a", "2")


def test_a_log_belongs_to_one_instance(tmp_path):
    path = tmp_path / "log"
    create_log(path, "anchor", OWNER, "1 x\n")
    append(path, "2 y\n3")
    assert read_log(path, "anchor") == (OWNER, ["1 x", "2 y"])
    refuse_foreign(path, "anchor", OWNER)
    for owner, kind in ((OTHER, "anchor"), (Identity("b", "1"), "anchor"), (OWNER, "destroyed")):
        with pytest.raises(DamagedStore):
            refuse_foreign(path, kind, owner)


def test_a_mirror_belongs_to_one_instance(tmp_path):
    with pytest.raises(DamagedStore, match="missing"):
        refuse_foreign(tmp_path, "mirror", OWNER)
    refuse_unusable(tmp_path, "mirror", OWNER)
    create_identity(tmp_path, OWNER)
    refuse_foreign(tmp_path, "mirror", OWNER)
    with pytest.raises(DamagedStore, match="another instance"):
        refuse_unusable(tmp_path, "mirror", OTHER)
    (tmp_path / "instance.json").write_text("{")
    with pytest.raises(DamagedStore, match="damaged"):
        refuse_foreign(tmp_path, "mirror", OWNER)


def test_other_folders_are_not_used(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "none" / "second"):
        with pytest.raises(InvalidValue, match="mirror"):
            refuse_unusable(path, "mirror", OWNER)


def test_one_process_has_them(tmp_path):
    one, two = ExternalLocks(), ExternalLocks()
    one.take([tmp_path])
    with pytest.raises(StoreInUse):
        two.take([tmp_path])
    one.release()
    two.take([tmp_path])
    two.release()
