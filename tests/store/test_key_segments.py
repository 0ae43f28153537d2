"""Key slots: written, read, overwritten, across segments and epochs."""

from __future__ import annotations

import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efface.errors import DamagedStore
from efface.store import key_segments
from efface.store.key_segments import (
    LENGTH,
    SLOT,
    SLOTS,
    KeySegments,
    Progress,
    decode_trailer,
    encode_trailer,
    runs,
)
from efface.store.master_key import MasterKey


def segments(folder, master=None, epoch=1):
    made = KeySegments(folder, epoch, MasterKey(master))
    made.reserve(0)
    return made


def synced(keys):
    for descriptor in keys.unsynced():
        os.fdatasync(descriptor)
    keys.synced()
    assert keys.unsynced() == []


@pytest.mark.parametrize("master", [None, b"m" * 32])
def test_keys_are_read_back_and_zeroed_across_segments(tmp_path, master):
    keys, random = segments(tmp_path, master), os.urandom(SLOT * 6)
    first = SLOTS - 3
    keys.reserve(first + 5)
    keys.write(first, random, started=4)
    synced(keys)
    keys.close()
    again = segments(tmp_path, master)
    assert again.segments == [0, 1]
    assert again.read(0)[-SLOT * 3 :] + again.read(1)[: SLOT * 3] == random
    assert again.progress == Progress(4, 0)
    again.zero(range(first + 1, first + 5))
    synced(again)
    assert [*again.occupied(0), *again.occupied(1)] == [first, first + 5]
    again.close()


def test_a_segment_is_zeros_of_full_length_for_its_owner_alone(tmp_path):
    path = segments(tmp_path).path(0)
    assert path.name == "0001-000000.bin"
    assert path.stat().st_size == LENGTH
    assert path.stat().st_blocks * 512 >= LENGTH  # real zeros, no hole
    assert path.stat().st_mode & 0o777 == 0o600


def test_many_segments_need_few_descriptors(tmp_path, monkeypatch):
    monkeypatch.setattr(key_segments, "_OPEN", 2)
    keys = segments(tmp_path)
    keys.reserve(5 * SLOTS)
    for segment in range(6):
        keys.write(segment * SLOTS, bytes([segment + 1]) * SLOT, started=0)
        synced(keys)
        assert len(keys._open) <= 3
    assert [keys.read(segment)[0] for segment in range(6)] == [1, 2, 3, 4, 5, 6]
    keys.close()


def test_segments_without_keys_are_removed_but_never_the_newest(tmp_path):
    keys = segments(tmp_path)
    keys.reserve(2 * SLOTS)
    keys.remove_empty(used={1})
    assert keys.segments == [1, 2]
    keys.zero([5])  # of a segment that is not there: nothing to do
    assert KeySegments(tmp_path, 1, MasterKey(None)).segments == [1, 2]


def test_a_segment_that_was_cut_or_altered_is_refused(tmp_path):
    path = segments(tmp_path).path(0)
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(DamagedStore, match="bytes"):
        segments(tmp_path)
    path.write_bytes(content[:-1] + b"x")
    with pytest.raises(DamagedStore, match="altered"):
        segments(tmp_path)


def test_a_trailer_is_checked():
    trailer = encode_trailer(Progress(3, 7))
    assert decode_trailer(trailer) == (3, 7)
    for at in range(len(trailer)):
        assert decode_trailer(trailer[:at] + bytes([trailer[at] ^ 1]) + trailer[at + 1 :]) is None


@given(st.sets(st.integers(0, 60)))
def test_runs_are_the_numbers(numbers):
    found = runs(numbers)
    assert [first + k for first, count in found for k in range(count)] == sorted(numbers)
    assert all(a + b < c for (a, b), (c, _) in pairwise(found))
    assert np.all([count > 0 for _, count in found])
