"""The queue in front of the one writer: requests that wait share a commit, all else runs in turn.

The thread of the queue alone calls the store. What was accepted is done, also if nobody waits for
the answer any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, final

from efface.errors import EffaceError
from efface.service.problems import RefusedRequest
from efface.store.learning import Learned, LearnRequest

GROUP = 2_000  # rows of one commit
MOST_ROWS, MOST_JOBS = 100_000, 2_000  # that may wait
T = TypeVar("T")


class _Waiting(NamedTuple):
    """A request to learn, or any other call, and who waits for it."""

    request: LearnRequest | None
    call: Callable[[], Any] | None
    future: asyncio.Future[Any]
    rows: int


class _Answer(NamedTuple):
    future: asyncio.Future[Any]
    result: Any
    error: BaseException | None


@final
class WriteQueue:
    """See the module. ``commit`` learns requests in one commit; each then has its outcome."""

    def __init__(self, commit: Callable[[Sequence[LearnRequest]], None]) -> None:
        self._commit = commit
        self._waiting: deque[_Waiting] = deque()
        self._rows = 0
        self._ready = threading.Condition()
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="efface-writer", daemon=True)
        self._thread.start()

    @property
    def rows(self) -> int:
        """How many rows wait."""
        return self._rows

    async def learn(self, request: LearnRequest) -> Learned:
        """Learn rows; returns once they are durable."""
        future = self._put(request, None, request.size)
        found: Learned = await asyncio.shield(future)
        return found

    async def call(self, job: Callable[[], T]) -> T:
        """Call something in the thread of the writer, after all that waits."""
        found: T = await asyncio.shield(self._put(None, job, 0))
        return found

    def _put(
        self, request: LearnRequest | None, job: Callable[[], Any] | None, rows: int
    ) -> asyncio.Future[Any]:
        with self._ready:
            if self._closing:
                raise RefusedRequest(503, "The service stops: send the request again.")
            full = self._rows + rows > MOST_ROWS and self._rows
            if full or len(self._waiting) >= MOST_JOBS:
                raise RefusedRequest(
                    503, "Too many requests wait for the writer: send it again later."
                )
            future = self._loop.create_future()
            future.add_done_callback(_retrieved)
            self._waiting.append(_Waiting(request, job, future, rows))
            self._rows += rows
            self._ready.notify()
        return future

    async def close(self) -> None:
        """Accept nothing more, and finish what was accepted."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while True:
            with self._ready:
                while not self._waiting and not self._closing:
                    self._ready.wait()
                if not self._waiting:
                    return
                group = self._take()
            answers = self._learned(group) if group[0].request is not None else self._called(group)
            self._loop.call_soon_threadsafe(_deliver, answers)

    def _take(self) -> list[_Waiting]:
        """The next call alone, or requests to learn up to the size of a commit."""
        group = [self._waiting.popleft()]
        rows = group[0].rows
        while (
            group[0].request is not None
            and self._waiting
            and self._waiting[0].request is not None
            and rows + self._waiting[0].rows <= GROUP
        ):
            group.append(self._waiting.popleft())
            rows += group[-1].rows
        self._rows -= rows
        return group

    def _learned(self, group: list[_Waiting]) -> list[_Answer]:
        requests = [each.request for each in group if each.request is not None]
        failure: BaseException | None = None
        try:
            self._commit(requests)
        except Exception as error:
            failure = error
        return [
            _Answer(each.future, request.result, request.error or _unless_done(request, failure))
            for each, request in zip(group, requests, strict=True)
        ]

    def _called(self, group: list[_Waiting]) -> list[_Answer]:
        (each,) = group
        assert each.call is not None
        try:
            return [_Answer(each.future, each.call(), None)]
        except Exception as error:
            return [_Answer(each.future, None, error)]


def _unless_done(request: LearnRequest, failure: BaseException | None) -> BaseException | None:
    if request.result is not None:
        return None
    return failure or EffaceError("The rows were neither learned nor refused.")


def _deliver(answers: Sequence[_Answer]) -> None:
    for future, result, error in answers:
        if future.done():
            continue
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)


def _retrieved(future: asyncio.Future[Any]) -> None:
    """Nobody may wait any more; asyncio would log the text of an exception then."""
    if not future.cancelled():
        future.exception()
