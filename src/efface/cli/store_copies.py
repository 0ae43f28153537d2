"""``efface store backup``, ``restore``, ``mirror``, ``takeover`` and others.

They are about copies of a store, its keys, and what belongs to it elsewhere.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from efface.cli.store_options import (
    Folder,
    Json,
    KeyCommand,
    KeyFile,
    example,
    open_folder,
    open_store,
    read_key,
    show,
)

if TYPE_CHECKING:
    from efface.store import RestoreCounts, Store


def backup(
    folder: Folder,
    target: Annotated[Path, typer.Argument(help="New folder of the copy; of a service, its name.")],
    keys: Annotated[
        bool,
        typer.Option(
            "--keys",
            help="With keys: it can be read, also for rows forgotten later. Keep it for days.",
        ),
    ] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Write a copy of the rows, or with --keys of everything; a service goes on meanwhile."""
    with open_store(folder, master_key, master_key_command) as store:
        store.backup(target, keys=keys)
    held = "rows and keys: delete it within days" if keys else "rows without keys"
    print(f"{target}  {held}")


def restore(
    folder: Folder,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Copy of the rows; by default those of the store.", metavar="COPY"
        ),
    ] = None,
    destroyed: Annotated[
        Path | None, typer.Option(help="Log of destroyed numbers, applied first.", metavar="FILE")
    ] = None,
    mirror: Annotated[
        Path | None, typer.Option(help="Mirror that has the keys, if those of the store are lost.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
    json: Json = False,
) -> None:
    """Bring rows and keys together that are not of one time; shows what is lost, then asks."""
    from efface.store import restore as bring_together

    answered = False

    def confirm(counts: RestoreCounts) -> bool:
        nonlocal answered
        print(_restored(counts), file=sys.stderr)
        answered = yes or typer.confirm("Go on?", err=True)
        return answered

    key = read_key(master_key, master_key_command)
    places: dict[str, Any] = {"destroyed": destroyed, "mirror": mirror}
    counts = bring_together(folder, source, **places, master_key=key, confirm=confirm)
    if not answered:
        raise typer.Exit(2)
    show(counts._asdict(), json, f"{counts.kept:,} rows are there")


def _restored(counts: RestoreCounts) -> str:
    return "\n".join(
        [
            f"{counts.kept:>12,}  rows are kept",
            f"{counts.forgotten:>12,}  rows were forgotten since: they do not come back",
            f"{counts.unreadable:>12,}  rows cannot be read: they are lost, with their keys",
            f"{counts.without_row:>12,}  keys have no row: they are destroyed",
        ]
    )


def rotate(
    folder: Folder,
    new_master_key: Annotated[
        Path | None, typer.Option(help="File of the next master key.", metavar="FILE")
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove-master-key", help="Store keys without one from now on.")
    ] = False,
    signing_key: Annotated[
        bool, typer.Option("--signing-key", help="Sign receipts by a new key from now on.")
    ] = False,
    public_key: Annotated[
        Path | None,
        typer.Option(help="File for the public key, with --signing-key.", metavar="FILE"),
    ] = None,
    changes: Annotated[
        Path | None, typer.Option(help="File to which the record is appended, with --signing-key.")
    ] = None,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Wrap the keys of rows by another master key, or sign receipts by another key."""
    from efface.errors import InvalidValue
    from efface.store.master_key import from_file

    if (new_master_key is not None) + remove + signing_key != 1:
        text = "'--new-master-key', '--remove-master-key' or '--signing-key'"
        raise InvalidValue(f"{text}: expected one of them; a master key is 32 random bytes.")
    with open_folder(folder, master_key, master_key_command) as store:
        if signing_key:
            _change_signer(store, public_key, changes)
            return
        store.rotate(None if new_master_key is None else from_file(new_master_key))
        epoch = store.status()["epoch"]
    print(f"epoch {epoch} of the keys; destroy the old master key and its copies")


def _change_signer(store: Store, public_key: Path | None, changes: Path | None) -> None:
    record = store.rotate_signing_key()
    key = record.fields["next_key"]
    if public_key is not None:
        public_key.write_text(f"{key}\n", encoding="ascii")
    if changes is not None:
        with changes.open("a", encoding="utf-8") as file:
            file.write(f"{record.json}\n")
    print(f"public key of receipts  {key}\nrecord {record.number} of the chain is signed by both")


def mirror(
    folder: Folder,
    place: Annotated[
        Path | None, typer.Argument(help="New folder on another disk.", metavar="DIR")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Mirror the keys no longer.")] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Keep a second copy of the keys, which is written and destroyed together with them."""
    _place(folder, "mirror", place, stop, read_key(master_key, master_key_command))
    print("the keys are not mirrored; delete the mirror" if stop else f"{place}  mirrors the keys")


def takeover(
    folder: Folder,
    mirror: Annotated[Path, typer.Option(help="Mirror of the store that is gone.", metavar="DIR")],
    rows: Annotated[
        str, typer.Option(help="PostgreSQL address of its rows, as it is now.", metavar="ADDRESS")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Also if the database still has its connection.")
    ] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Go on with a store whose host is gone, in a new folder, from its mirror."""
    from efface.store import take_over

    key = read_key(master_key, master_key_command)
    take_over(folder, mirror, rows, master_key=key, force=force)
    print(f"{folder}  has the store; its earlier folder cannot write any more")


def retire(
    folder: Folder,
    rows: Annotated[
        str | None, typer.Option(help="PostgreSQL address, if it is another.", metavar="ADDRESS")
    ] = None,
) -> None:
    """Overwrite and remove the folder of a store that another host has taken over."""
    from efface.store.takeover import retire as remove

    remove(folder, rows=rows)
    print(f"{folder}  is overwritten and removed")


def anchor(
    folder: Folder,
    place: Annotated[
        Path | None, typer.Argument(help="New file on another disk.", metavar="FILE")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Write it no longer.")] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Write the heads of the chain of receipts to a file elsewhere, or give that up."""
    _place(folder, "anchor", place, stop, read_key(master_key, master_key_command))
    print("the receipts are not anchored" if stop else f"{place}  anchors the receipts")


def destroyed(
    folder: Folder,
    place: Annotated[
        Path | None, typer.Argument(help="New file on another disk.", metavar="FILE")
    ] = None,
    stop: Annotated[bool, typer.Option("--stop", help="Write it no longer.")] = False,
    master_key: KeyFile = None,
    master_key_command: KeyCommand = None,
) -> None:
    """Write the numbers of destroyed keys to a file elsewhere, or give that up."""
    _place(folder, "destroyed", place, stop, read_key(master_key, master_key_command))
    print("destroyed numbers are not logged" if stop else f"{place}  logs destroyed numbers")


def _place(folder: Path, kind: str, place: Path | None, stop: bool, key: bytes | None) -> None:
    """Let something elsewhere belong to a store, or no longer."""
    from efface.errors import InvalidValue
    from efface.store import Store
    from efface.store.layout import is_store

    if (place is None) is not stop or not is_store(folder):
        text = "a new place or '--stop'"
        raise InvalidValue(f"'{kind}' needs {text}: expected one of them, and a store; name both.")
    chosen: dict[str, Any] = {kind: False if place is None else place}
    Store(folder, master_key=key, **chosen).close()


COMMANDS = (
    (backup, example("efface store backup orders /backup/orders-monday")),
    (restore, example("efface store restore orders --from /backup/orders-monday")),
    (mirror, example("efface store mirror orders /second/orders-keys")),
    (
        takeover,
        example("efface store takeover orders --mirror /srv/orders-keys --rows host=two"),
    ),
    (retire, example("efface store retire orders")),
    (anchor, example("efface store anchor orders /second/orders-heads")),
    (destroyed, example("efface store destroyed orders /second/orders-destroyed")),
    (
        rotate,
        example(
            "efface store rotate orders --master-key old.key --new-master-key new.key",
            "efface store rotate orders --signing-key --public-key orders.pub --changes keys.jsonl",
        ),
    ),
)
