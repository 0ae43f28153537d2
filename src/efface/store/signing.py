"""A change of the key that signs receipts: a record of the chain, signed by both keys.

The next key is written beside the present one, then the record is appended, then ``store.json``
names the next key, and its file takes the place of the old one, which is overwritten. Opening a
store finishes a change whose record is in the chain, and undoes any other.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from efface.store.durable_files import overwrite, replace_file, sync_folder
from efface.store.layout import RECEIPTS, SECRET, SIGNING, About
from efface.store.receipts import Receipt, ReceiptChain, SigningKey

NEXT = f"{SIGNING}.next"


def change_key(
    folder: Path, about: About, chain: ReceiptChain, time: str, written: Callable[[], None]
) -> tuple[About, Receipt]:
    """Sign by a new key from now on; return what ``store.json`` says then, and the record.

    ``written`` is called once the next key is on the disk, before the record names it.
    """
    content = secrets.token_bytes(SECRET)
    key = SigningKey(content)
    replace_file(folder / NEXT, content)
    written()
    record = chain.append({"time": time}, key)
    chain.key = key
    return _install(folder, about, key), record


def finish_change(folder: Path, about: About) -> About:
    """Finish or undo a change that was interrupted; return what ``store.json`` says then."""
    if not (folder / NEXT).exists():
        return about
    content = (folder / NEXT).read_bytes()
    if len(content) == SECRET:
        key = SigningKey(content)
        if _newest_key(folder / RECEIPTS) == key.public:
            return _install(folder, about, key)
    overwrite(folder / NEXT)
    (folder / NEXT).unlink()
    sync_folder(folder)
    return about


def _install(folder: Path, about: About, key: SigningKey) -> About:
    made = replace(about, signer=key.public)
    made.write(folder)
    overwrite(folder / SIGNING)
    os.replace(folder / NEXT, folder / SIGNING)
    sync_folder(folder)
    return made


def _newest_key(receipts: Path) -> str | None:
    """The key to which the last whole record of a chain changes, if it does."""
    content = receipts.read_bytes()
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        return None
    found = Receipt.parse(lines[-1].decode("utf-8")).fields.get("next_key")
    return None if found is None else str(found)
