"""What a mirror has beside the keys, so that another host can go on with the store.

::

    standby.json     what ``store.json`` says, and the secrets, sealed under the master key
    receipts.jsonl   the chain of receipts, written together with that of the store
    tokens.json      the tokens of the service

``standby.json`` names the epoch of the keys. Keys of the epoch before are removed after it was
written: at every moment the mirror holds all keys of the epoch that it names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from efface.errors import DamagedStore
from efface.store.durable_files import replace_file, replace_secret, wipe
from efface.store.key_folder import IDENTITY, wipe_strange
from efface.store.layout import BLIND, RECEIPTS, SIGNING, TOKENS, About, check_master
from efface.store.master_key import MasterKey
from efface.store.receipts import ReceiptChain
from efface.store.signing import NEXT

STANDBY = "standby.json"
KEPT = frozenset({IDENTITY, STANDBY, RECEIPTS, TOKENS})
_SECRETS = (SIGNING, NEXT, BLIND)


class Standby(NamedTuple):
    """What ``standby.json`` says: the description of the store, and its secret files by name."""

    about: About
    secrets: dict[str, bytes]


def follow(
    mirror: Path, folder: Path, about: About, master: MasterKey, chain: ReceiptChain
) -> None:
    """Let a mirror that has the keys of an epoch be all that a takeover needs."""
    if not (mirror / RECEIPTS).exists() or (mirror / RECEIPTS).read_bytes() != chain.content:
        replace_file(mirror / RECEIPTS, chain.content)
    copy_tokens(folder, mirror)
    write_standby(mirror, folder, about, master)
    wipe_strange(mirror, about.epoch, keep=KEPT)


def write_standby(mirror: Path, folder: Path, about: About, master: MasterKey) -> None:
    """Write ``standby.json``; secrets of an earlier time are overwritten."""
    secrets = {
        name: (folder / name).read_bytes().hex() for name in _SECRETS if (folder / name).exists()
    }
    sealed = master.seal(json.dumps(secrets).encode("ascii"), bytes.fromhex(about.store))
    plain = {"about": about.alone(about.instance).encode().decode("ascii"), "secrets": sealed.hex()}
    replace_secret(mirror / STANDBY, json.dumps(plain).encode("ascii") + b"\n")


def read_standby(mirror: Path, master: MasterKey) -> Standby:
    """What ``standby.json`` says; the master key must be that of the store."""
    try:
        plain = json.loads((mirror / STANDBY).read_bytes())
        text, sealed = plain["about"].encode("ascii"), bytes.fromhex(plain["secrets"])
    except FileNotFoundError:
        text = f"'{mirror}' is no mirror that another host can take over"
        raise DamagedStore(f"{text}: expected '{STANDBY}' in it; open its store once.") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"'{STANDBY}' is damaged: it is no whole JSON"
        raise DamagedStore(f"{text}; open the store of the mirror again.") from error
    about = About.decode(text, mirror, STANDBY)
    check_master(about, master)
    found = json.loads(master.unseal(sealed, bytes.fromhex(about.store)))
    return Standby(about, {name: bytes.fromhex(content) for name, content in found.items()})


def copy_tokens(folder: Path, mirror: Path) -> None:
    """Let a mirror have the tokens of a store."""
    if (folder / TOKENS).exists():
        replace_file(mirror / TOKENS, (folder / TOKENS).read_bytes())
    else:
        wipe(mirror / TOKENS)
