"""Access tokens of a service: who may do what. The file holds digests, never a token.

A token is ``eff_<id>_<secret>``: the id, 8 hexadecimal digits, names it in lists and logs; the
secret is 32 random bytes. ``tokens.json`` in the folder of the store has the SHA-256 of each token,
its roles and when it was made. A running service reads the file again once it has changed. A mirror
of the store has the same file, for a takeover by another host.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

from efface.errors import DamagedStore, InvalidValue, invalid
from efface.store.durable_files import failures, open_file, replace_file
from efface.store.layout import TOKENS as FILE
from efface.store.layout import About, is_store
from efface.store.standby_files import copy_tokens

if sys.platform != "win32":  # where stores are refused
    import fcntl

ROLES = ("learn", "predict", "read", "held", "forget", "admin")
_TICK = 100_000_000  # nanoseconds: times of files are not finer everywhere
_TOKEN = re.compile(r"eff_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")


@final
@dataclass(frozen=True)
class Token:
    """What is known of a token: not the token."""

    id: str
    sha256: str
    roles: tuple[str, ...]
    created: str

    def may(self, *roles: str) -> bool:
        """Whether it has all of these roles."""
        return set(roles) <= set(self.roles)


@final
class TokenFile:
    """The tokens of a store; see the module.

    >>> import tempfile
    >>> from efface.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Store(f"{folder}/orders").close()
    ...     tokens = TokenFile(f"{folder}/orders")
    ...     token = tokens.create(["predict"])
    ...     found = tokens.find(token)
    >>> token[:4], found.roles, found.may("forget")
    ('eff_', ('predict',), False)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        if not is_store(Path(folder)):
            text = f"'{os.fspath(folder)}' is no store: expected the folder of one"
            raise InvalidValue(f"{text}; make it with 'efface store init'.")
        self._path = Path(folder) / FILE
        self._seen: tuple[int, ...] | None = None
        self._tokens: dict[str, Token] = {}
        self._known: dict[str, Token] = {}  # tokens that were found valid, by their text

    def create(self, roles: Iterable[str]) -> str:
        """Make a token with these roles and return it: it is shown this once."""
        given = tuple(dict.fromkeys(roles))
        if not given or not set(given) <= set(ROLES):
            expected = f"some of {', '.join(ROLES)}"
            raise invalid("role", ", ".join(given), expected, "name a role that exists")
        id = secrets.token_hex(4)
        text = f"eff_{id}_{secrets.token_urlsafe(32)}"
        made = datetime.now(UTC).isoformat(timespec="seconds")
        with self._locked():
            self._write([*self.all(), Token(id, _digest(text), given, made)])
        return text

    def revoke(self, id: str) -> None:
        """Remove a token; a running service refuses it from the next request on."""
        with self._locked():
            tokens = self.all()
            left = [token for token in tokens if token.id != id]
            if len(left) == len(tokens):
                known = ", ".join(token.id for token in tokens) or "none"
                raise invalid("id", id, f"the id of a token ({known})", "see 'efface token list'")
            self._write(left)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Other processes and threads that change the tokens wait, and what they wrote is read."""
        with failures(FILE), open_file(self._path.parent, os.O_RDONLY) as folder:
            fcntl.flock(folder, fcntl.LOCK_EX)
            self._seen = None
            yield

    def all(self) -> list[Token]:
        """All tokens, oldest first."""
        self._refresh()
        return list(self._tokens.values())

    def find(self, text: str) -> Token | None:
        """What is known of a token; None if it is none of this store."""
        self._refresh()
        known = self._known.get(text)
        if known is not None:
            return known
        form = _TOKEN.fullmatch(text)
        token = None if form is None else self._tokens.get(form[1])
        if token is None or not hmac.compare_digest(_digest(text), token.sha256):
            return None
        self._known[text] = token
        return token

    def by_id(self, id: str) -> Token | None:
        """The token with this id, if it was not revoked."""
        self._refresh()
        return self._tokens.get(id)

    def _refresh(self) -> None:
        try:
            about = os.stat(self._path)
        except FileNotFoundError:
            self._seen, self._tokens, self._known = None, {}, {}
            return
        seen = about.st_mtime_ns, about.st_ino, about.st_size
        if seen != self._seen:
            fresh = time.time_ns() - about.st_mtime_ns < _TICK  # the next change may look the same
            self._tokens = {token.id: token for token in self._read()}
            self._known, self._seen = {}, None if fresh else seen

    def _read(self) -> list[Token]:
        try:
            plain: list[dict[str, Any]] = json.loads(self._path.read_bytes())["tokens"]
            return [Token(**{**each, "roles": tuple(each["roles"])}) for each in plain]
        except (ValueError, KeyError, TypeError) as error:
            text = f"'{FILE}' is damaged: expected what 'efface token create' writes"
            raise DamagedStore(f"{text}; remove it and make new tokens.") from error

    def _write(self, tokens: list[Token]) -> None:
        content = json.dumps({"tokens": [asdict(token) for token in tokens]}, indent=1)
        with failures(FILE):
            replace_file(self._path, content.encode("ascii") + b"\n")
            mirror = About.read(self._path.parent).external.get("mirror")
            if mirror is not None:  # a token that was revoked must not be valid after a takeover
                copy_tokens(self._path.parent, mirror)
        self._seen = None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
