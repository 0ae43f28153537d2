"""The bytes of bodies in flight, from their arrival to the answer, stay below a budget."""

from __future__ import annotations

from typing import final

from efface.service.problems import RefusedRequest

MOST_BYTES = 48 << 20
SMALL = 65_536  # bytes of a body that is never refused: connections are limited


@final
class BodyBudget:
    """What bodies above 64 KB may take together until they are answered.

    >>> budget = BodyBudget(100_000)
    >>> budget.take(90_000)
    >>> budget.give_back(90_000); budget.held
    0
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self.held = most, 0

    def take(self, size: int) -> None:
        """Count bytes that arrived; raises if all bodies together are too large."""
        if self.held + size > self._most:
            text = "Too many bytes of bodies are on their way: send it again later"
            raise RefusedRequest(503, f"{text}, or in smaller parts.")
        self.held += size

    def give_back(self, size: int) -> None:
        """The request of a body is answered, or it ended."""
        self.held -= size
