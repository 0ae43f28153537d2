"""The queue in front of the one writer: requests that wait share a commit, all else runs in turn.

The thread of the queue alone calls the store. It reads bodies too: two threads that take turns on
rows cost more processor time than one. A commit has a fixed cost, so clients that were answered
together are given a moment to send again together. What was accepted is done, also if nobody waits
for the answer any more.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, final

from efface.errors import EffaceError
from efface.service.problems import RefusedRequest
from efface.store.learning import Learned, LearnRequest

GROUP = 2_000  # rows of one commit
MOST_BYTES, MOST_JOBS = 64 << 20, 2_000  # that may wait
PAUSE = 0.003  # seconds that a commit may wait for clients which the last one answered
T = TypeVar("T")


class _Waiting(NamedTuple):
    """A call that waits for the thread, and who waits for its result."""

    call: Callable[[], Any]
    rows: bool  # it reads a request to learn from a body
    future: asyncio.Future[Any]
    size: int  # bytes of the body
    since: float


class _Read(NamedTuple):
    request: LearnRequest
    future: asyncio.Future[Any]


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
        self._size, self._calls = 0, 0
        self._expected = 1  # requests that wake the thread
        self._next: _Read | None = None  # read already, but the last commit had no room for it
        self._ready = threading.Condition()
        self._closing = False
        self._since = math.inf  # when the thread began what it does now
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="efface-writer", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    @property
    def oldest(self) -> float:
        """Seconds since the oldest request that is not finished was accepted or begun."""
        first = self._waiting[0].since if self._waiting else math.inf
        return max(0.0, time.monotonic() - min(first, self._since))

    async def learn(self, read: Callable[[], LearnRequest], size: int = 0) -> Learned:
        """Learn the rows that ``read`` finds in a body of so many bytes, once they are durable.

        The thread of the writer calls ``read``, which may raise what refuses the body.
        """
        found: Learned = await asyncio.shield(self._put(read, rows=True, size=size))
        return found

    async def call(self, job: Callable[[], T]) -> T:
        """Call something in the thread of the writer, after all that waits."""
        found: T = await asyncio.shield(self._put(job))
        return found

    def _put(
        self, call: Callable[[], Any], *, rows: bool = False, size: int = 0
    ) -> asyncio.Future[Any]:
        with self._ready:
            if self._closing:
                raise RefusedRequest(503, "The service stops: send the request again.")
            full = self._size + size > MOST_BYTES and self._size
            if full or len(self._waiting) >= MOST_JOBS:
                raise RefusedRequest(
                    503, "Too many requests wait for the writer: send it again later."
                )
            future = self._loop.create_future()
            future.add_done_callback(_retrieved)
            self._waiting.append(_Waiting(call, rows, future, size, time.monotonic()))
            self._size, self._calls = self._size + size, self._calls + (not rows)
            if not rows or len(self._waiting) >= self._expected:
                self._ready.notify()
        return future

    async def close(self) -> None:
        """Accept nothing more, and finish what was accepted."""
        with self._ready:
            self._closing = True
            self._ready.notify()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        clients = 1
        while self._wait(clients):
            self._since = time.monotonic()
            call = self._take(rows=False) if self._next is None else None
            answers = self._learned() if call is None else [_called(call)]
            clients = len(answers) + len(self._waiting)
            self._since = math.inf
            self._loop.call_soon_threadsafe(_deliver, answers)

    def _wait(self, clients: int) -> bool:
        """Wait for requests, for a moment also for those of so many clients; False at the end."""
        with self._ready:
            if self._next is not None:
                return True
            self._expected = 1
            while not self._waiting and not self._closing:
                self._ready.wait()
            self._expected = clients
            if len(self._waiting) < clients and not self._calls and not self._closing:
                self._ready.wait(PAUSE)
            return bool(self._waiting)

    def _take(self, *, rows: bool) -> _Waiting | None:
        """What waits longest if it has rows, or is a call; else None."""
        with self._ready:
            if not self._waiting or self._waiting[0].rows != rows:
                return None
            taken = self._waiting.popleft()
            self._size, self._calls = self._size - taken.size, self._calls - (not rows)
        return taken

    def _learned(self) -> list[_Answer]:
        group, answers = self._read_group()
        requests, failure = [each.request for each in group], None
        try:
            if requests:
                self._commit(requests)
        except Exception as error:
            failure = error
        for request, future in group:
            wrong = request.error or _unless_done(request, failure)
            done = _Answer(future, request.result, None)
            answers.append(done if wrong is None else _failed(future, wrong))
        return answers

    def _read_group(self) -> tuple[list[_Read], list[_Answer]]:
        """Requests up to the size of a commit, and answers to those that cannot be read."""
        group, refused, rows = list[_Read](), list[_Answer](), 0
        while True:
            found, self._next = self._next, None
            if found is None:
                taken = self._take(rows=True)
                if taken is None:
                    return group, refused
                try:
                    found = _Read(taken.call(), taken.future)
                except Exception as error:
                    refused.append(_failed(taken.future, error))
                    continue
            rows += found.request.size
            if group and rows > GROUP:
                self._next = found
                return group, refused
            group.append(found)


def _failed(future: asyncio.Future[Any], error: BaseException) -> _Answer:
    """An error as an answer, without the frames it passed.

    They hold the body and the future of the error: only the collector would free this cycle.
    """
    return _Answer(future, None, error.with_traceback(None))


def _called(waiting: _Waiting) -> _Answer:
    try:
        return _Answer(waiting.future, waiting.call(), None)
    except Exception as error:
        return _failed(waiting.future, error)


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
