"""Which storage is refused: where overwriting leaves copies of keys."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest
from store_cases import filled

from efface.errors import UnsafeStorage
from efface.store import Store, file_systems, restore
from efface.store.file_systems import mount_of, parse_mounts, refuse_unsafe

MOUNTS = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw,errors=remount-ro
30 22 0:40 / /pool rw shared:7 - zfs pool rw
31 22 254:2 / /journal rw - ext4 /dev/vdb rw,data=journal
32 22 0:41 / /pool/with\040space rw - xfs /dev/vdc rw
33 22 0:42 / /far rw - nfs4 server:/far rw
34 22 0:43 / /ssh rw - fuse.sshfs host: rw
35 22 0:44 / /copies rw - btrfs /dev/vdd rw
""".strip()


@pytest.mark.parametrize(
    ("folder", "type", "fault"),
    [
        ("/home/orders", "ext4", None),
        ("/pool/orders", "zfs", "keeps the old blocks"),
        ("/pool/with space/orders", "xfs", None),
        ("/poolside", "ext4", None),
        ("/journal", "ext4", "journal"),
        ("/far/orders", "nfs4", "another machine"),
        ("/ssh/orders", "fuse.sshfs", "another program"),
        ("/copies/orders", "btrfs", "keeps the old blocks"),
    ],
)
def test_the_file_system_of_a_folder_and_its_fault(folder, type, fault):
    mount = mount_of(Path(folder), parse_mounts(MOUNTS))
    assert mount is not None
    assert mount.type == type
    assert (mount.fault is None) if fault is None else (fault in mount.fault)


def test_unsafe_storage_needs_a_master_key(tmp_path, monkeypatch):
    listed = tmp_path / "mountinfo"
    listed.write_text("22 1 254:0 / / rw - btrfs /dev/vda rw\n")
    monkeypatch.setattr(file_systems, "_MOUNTS", listed)
    with pytest.raises(UnsafeStorage, match=r"btrfs.*master key"):
        refuse_unsafe(tmp_path, wrapped=False)
    refuse_unsafe(tmp_path, wrapped=True)


@pytest.mark.parametrize(("platform", "text"), [("win32", "Windows"), ("darwin", "APFS")])
def test_other_platforms(tmp_path, monkeypatch, platform, text):
    monkeypatch.setattr(file_systems.sys, "platform", platform)
    with pytest.raises(UnsafeStorage, match=text):
        refuse_unsafe(tmp_path, wrapped=False)


def test_a_store_that_was_made_elsewhere_is_refused_on_windows(tmp_path, monkeypatch):
    filled(tmp_path / "orders").close()
    monkeypatch.setattr(file_systems.sys, "platform", "win32")
    for call in (Store, restore):
        with pytest.raises(UnsafeStorage, match="Windows"):
            call(tmp_path / "orders")


@contextmanager
def image(folder, *options):
    """A mounted disk with ext4, whose superblock sets options."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("needs root and mkfs.ext4, to mount an image")
    disk, place = folder / "disk.img", folder / "mounted"
    place.mkdir()
    with open(disk, "wb") as file:
        file.truncate(48 << 20)
    subprocess.run(["mkfs.ext4", "-q", disk], check=True)
    if options:
        subprocess.run(["tune2fs", *options, disk], check=True, capture_output=True)
    if subprocess.run(["mount", "-o", "loop", disk, place], capture_output=True).returncode:
        pytest.skip("loop mounts are not allowed here")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("source", ["kernel", "superblock"])
def test_a_journal_that_the_superblock_asks_for_is_seen_everywhere(tmp_path, monkeypatch, source):
    if source == "superblock":  # as in a container, which does not see what the kernel lists
        monkeypatch.setattr(file_systems, "_EXT4", tmp_path / "none")
    with filled(tmp_path / "orders") as store:
        store.backup(tmp_path / "copy", keys=True)
    with image(tmp_path, "-o", "journal_data") as place:
        shutil.copytree(tmp_path / "orders", place / "orders")
        calls = (
            lambda: Store(place / "new"),
            lambda: Store(place / "orders"),
            lambda: restore(place / "orders"),
            lambda: restore(place / "restored", tmp_path / "copy"),
            lambda: Store(tmp_path / "orders", mirror=place / "second"),
        )
        for call in calls:
            with pytest.raises(UnsafeStorage, match="journal"):
                call()
        Store(place / "wrapped", master_key=b"m" * 32).close()
        with (
            Store(place / "wrapped", master_key=b"m" * 32) as store,
            pytest.raises(UnsafeStorage, match="journal"),
        ):
            store.rotate(None)


def test_the_attribute_of_a_folder_is_seen(tmp_path):
    if shutil.which("chattr") is None:
        pytest.skip("needs chattr")
    with image(tmp_path) as place:
        filled(place / "orders").close()
        command = ["chattr", "+j", place / "orders" / "keys"]
        if subprocess.run(command, capture_output=True).returncode:
            pytest.skip("the attribute cannot be set here")
        with pytest.raises(UnsafeStorage, match="attribute"):
            Store(place / "orders")
