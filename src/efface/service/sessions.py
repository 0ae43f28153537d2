"""Sessions of the dashboard: a random id in a cookie stands for a token, for some hours."""

from __future__ import annotations

import secrets
import time
from typing import NamedTuple, final

from efface.service.tokens import Token, TokenFile

HOURS = 8
_MOST = 1_000  # sessions at a time


class _Session(NamedTuple):
    token: str  # its id
    end: float


@final
class Sessions:
    """The open sessions, in memory: a restart ends them, and so does revoking the token."""

    def __init__(self, tokens: TokenFile, *, secure: bool) -> None:
        self._tokens, self._open = tokens, dict[str, _Session]()
        self.secure = secure
        self.cookie = "__Host-efface" if secure else "efface"

    def open(self, token: Token) -> str:
        """Start a session; the value of its cookie."""
        now = time.monotonic()
        self._open = {id: each for id, each in self._open.items() if each.end > now}
        while len(self._open) >= _MOST:
            self._open.pop(next(iter(self._open)))
        id = secrets.token_urlsafe(32)
        self._open[id] = _Session(token.id, now + HOURS * 3600)
        return id

    def find(self, id: str) -> Token | None:
        """The token of a session; None if it is over."""
        session = self._open.get(id)
        if session is None or session.end <= time.monotonic():
            return None
        return self._tokens.by_id(session.token)

    def close(self, id: str) -> None:
        """End a session."""
        self._open.pop(id, None)

    def header(self, id: str) -> str:
        """The Set-Cookie header of a session; of none if the id is empty."""
        age = HOURS * 3600 if id else 0
        secure = "; Secure" if self.secure else ""
        return f"{self.cookie}={id}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"
