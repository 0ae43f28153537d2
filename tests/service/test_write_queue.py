"""Tests of efface.service.write_queue."""

from __future__ import annotations

import asyncio
import functools
import gc
import threading
import weakref

import pytest

from efface.errors import InvalidValue
from efface.service import write_queue
from efface.service.problems import RefusedRequest
from efface.service.write_queue import GROUP, WriteQueue
from efface.store.learning import Learned, LearnRequest


class Recorder:
    """Learns by writing down which requests came together."""

    def __init__(self):
        self.groups, self.gate = [], threading.Event()
        self.gate.set()

    def __call__(self, requests):
        self.gate.wait(30)
        self.groups.append([request.name for request in requests])
        for request in requests:
            if request.name == "bad":
                request.error = InvalidValue("'y' cannot be used")
            elif request.name != "lost":
                request.result = Learned([], request.size, 0)
        if any(request.name == "lost" for request in requests):
            raise OSError("disk")


def rows(name, count=1):
    """What reads a body with rows."""
    return lambda: LearnRequest(name, [[1.0]] * count, [1.0] * count)


def test_requests_that_wait_share_a_commit_and_calls_run_in_turn():
    recorder, order = Recorder(), []

    async def run():
        queue = WriteQueue(recorder)
        recorder.gate.clear()
        first = asyncio.create_task(queue.learn(rows("a")))
        await asyncio.sleep(0.05)
        later = [asyncio.create_task(queue.learn(rows(name))) for name in ("b", "bad", "c")]
        await asyncio.sleep(0)
        call = asyncio.create_task(queue.call(lambda: order.append(list(recorder.groups))))
        await asyncio.sleep(0)
        last = asyncio.create_task(queue.learn(rows("d")))
        await asyncio.sleep(0)
        assert len(queue) == 5
        recorder.gate.set()
        results = await asyncio.gather(first, *later, call, last, return_exceptions=True)
        await queue.close()
        return results

    results = asyncio.run(run())
    assert recorder.groups == [["a"], ["b", "bad", "c"], ["d"]]
    assert order == [[["a"], ["b", "bad", "c"]]]  # a call sees all that was queued before it
    assert isinstance(results[2], InvalidValue)
    assert results[3].learned == 1


def test_a_commit_has_at_most_so_many_rows():
    recorder = Recorder()

    async def run():
        queue = WriteQueue(recorder)
        recorder.gate.clear()
        first = asyncio.create_task(queue.learn(rows("a")))
        await asyncio.sleep(0.05)
        parts = [asyncio.create_task(queue.learn(rows("b", GROUP // 2))) for _ in range(5)]
        await asyncio.sleep(0)
        recorder.gate.set()
        await asyncio.gather(first, *parts)
        await queue.close()

    asyncio.run(run())
    assert list(map(len, recorder.groups)) == [1, 2, 2, 1]


def test_a_full_queue_and_a_closed_one_refuse(monkeypatch):
    monkeypatch.setattr(write_queue, "MOST_BYTES", 10)
    recorder = Recorder()

    async def run():
        queue = WriteQueue(recorder)
        recorder.gate.clear()
        first = asyncio.create_task(queue.learn(rows("a"), 50))  # alone it may be larger
        await asyncio.sleep(0.05)
        second = asyncio.create_task(queue.learn(rows("b"), 8))
        await asyncio.sleep(0)
        with pytest.raises(RefusedRequest, match="wait for the writer") as full:
            await queue.learn(rows("c"), 8)
        recorder.gate.set()
        await asyncio.gather(first, second)
        await queue.close()
        with pytest.raises(RefusedRequest, match="stops"):
            await queue.learn(rows("d"))
        return full.value.status

    assert asyncio.run(run()) == 503
    assert recorder.groups == [["a"], ["b"]]


def test_a_body_that_cannot_be_read_is_refused_and_the_others_share_a_commit():
    recorder = Recorder()

    def unreadable():
        raise InvalidValue("'body' is no JSON")

    async def run():
        queue = WriteQueue(recorder)
        recorder.gate.clear()
        first = asyncio.create_task(queue.learn(rows("a")))
        await asyncio.sleep(0.05)
        reads = rows("b"), unreadable, rows("c")
        later = [asyncio.create_task(queue.learn(read)) for read in reads]
        await asyncio.sleep(0)
        recorder.gate.set()
        results = await asyncio.gather(first, *later, return_exceptions=True)
        with pytest.raises(InvalidValue, match="no JSON"):
            await queue.learn(unreadable)
        await queue.close()
        return results

    results = asyncio.run(run())
    assert recorder.groups == [["a"], ["b", "c"]]
    assert isinstance(results[2], InvalidValue)
    assert [result.learned for result in results[:2] + results[3:]] == [1, 1, 1]


def test_bodies_that_arrive_while_others_are_read_join_the_commit():
    recorder, reading, arrived = Recorder(), threading.Event(), threading.Event()

    def slow():
        reading.set()
        arrived.wait(30)
        return LearnRequest("a", [[1.0]], [1.0])

    async def run():
        queue = WriteQueue(recorder)
        first = asyncio.create_task(queue.learn(slow))
        await asyncio.to_thread(reading.wait, 30)
        second = asyncio.create_task(queue.learn(rows("b")))
        await asyncio.sleep(0)
        arrived.set()
        await asyncio.gather(first, second)
        await queue.close()

    asyncio.run(run())
    assert recorder.groups == [["a", "b"]]


def test_clients_that_were_answered_together_share_the_next_commit(monkeypatch):
    recorder = Recorder()

    async def run():
        queue = WriteQueue(recorder)
        recorder.gate.clear()
        first = [asyncio.create_task(queue.learn(rows("a")))]
        await asyncio.sleep(0.05)
        first += [asyncio.create_task(queue.learn(rows(name))) for name in "bc"]
        await asyncio.sleep(0)
        recorder.gate.set()
        await asyncio.gather(*first)
        monkeypatch.setattr(write_queue, "PAUSE", 60.0)
        second = [asyncio.create_task(queue.learn(rows("d")))]
        await asyncio.sleep(0.2)
        assert recorder.groups == [["a"], ["b", "c"]]
        second.append(asyncio.create_task(queue.learn(rows("e"))))
        await asyncio.gather(*second)
        third = asyncio.create_task(queue.learn(rows("f")))
        await asyncio.sleep(0.05)
        await queue.call(lambda: None)  # which waits for nobody
        await third
        await queue.learn(rows("g"))  # nor does a client that was answered alone
        await queue.close()

    asyncio.run(run())
    assert recorder.groups == [["a"], ["b", "c"], ["d", "e"], ["f"], ["g"]]


def test_closing_finishes_what_was_accepted_also_if_nobody_waits():
    recorder = Recorder()

    async def run():
        queue = WriteQueue(recorder)
        recorder.gate.clear()
        tasks = [asyncio.create_task(queue.learn(rows(name))) for name in ("a", "b", "bad")]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        recorder.gate.set()
        await queue.close()

    asyncio.run(run())
    assert sorted(name for group in recorder.groups for name in group) == ["a", "b", "bad"]


def test_a_failure_of_a_commit_or_a_call_goes_to_who_waits():
    async def run():
        queue = WriteQueue(Recorder())
        with pytest.raises(OSError, match="disk"):
            await queue.learn(rows("lost"))
        with pytest.raises(ZeroDivisionError):
            await queue.call(lambda: 1 // 0)
        assert await queue.call(lambda: 7) == 7
        await queue.close()

    asyncio.run(run())


def test_a_refused_body_is_freed_without_the_collector():
    class Body:
        """Something that can be referred to weakly."""

    async def ask():
        queue = WriteQueue(lambda requests: None)
        bodies = [Body(), Body()]
        seen = [weakref.ref(body) for body in bodies]

        def refuse(body):
            raise InvalidValue("refused")

        calls = [functools.partial(refuse, body) for body in bodies]
        for send, call in zip((queue.learn, queue.call), calls, strict=True):
            with pytest.raises(InvalidValue, match="refused"):
                await send(call)
        del bodies[:], calls[:], call
        await queue.call(int)  # the thread has begun another round
        await queue.close()
        return [reference() for reference in seen]

    gc.disable()
    try:
        assert asyncio.run(ask()) == [None, None]
    finally:
        gc.enable()
