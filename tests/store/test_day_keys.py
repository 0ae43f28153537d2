"""The keys of days: drawn, kept under a master key, destroyed, and checked."""

from __future__ import annotations

import pytest
from store_cases import traces

from efface.errors import DamagedStore
from efface.store.day_keys import LENGTH, DayKeys, decode_days, encode_days
from efface.store.master_key import MasterKey


@pytest.mark.parametrize("master", [MasterKey(None), MasterKey(b"m" * 32)])
def test_keys_are_read_back_and_destroyed_in_all_folders(tmp_path, master):
    folders = [tmp_path / "keys", tmp_path / "mirror"]
    for folder in folders:
        folder.mkdir()
        (folder / "0003.days").write_bytes(encode_days({}, master))
    days = DayKeys(folders, 3, master)
    drawn = {day: days.draw(day) for day in (20_000, 20_001)}
    for folder in folders:
        assert DayKeys([folder], 3, master).keys == drawn
    days.destroy(20_000)
    assert traces(tmp_path, [drawn[20_000], master.wrap(drawn[20_000])]) == []
    assert DayKeys(folders, 3, master).keys == {20_001: drawn[20_001]}


def test_altered_keys_are_refused():
    content = encode_days({17: b"k" * 32}, MasterKey(None))
    assert len(content) == LENGTH
    for at in range(64, 112):
        altered = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        with pytest.raises(DamagedStore):
            decode_days(altered, MasterKey(None))
    with pytest.raises(DamagedStore, match="bytes"):
        decode_days(content[:-1], MasterKey(None))
