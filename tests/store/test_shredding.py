"""Slots that wait for their destruction, and the thread that sees to it."""

from __future__ import annotations

import threading

from efface.store.notes import Note
from efface.store.shredding import Shredder


def test_what_waits_is_shredded_soon_and_once():
    called, taken = threading.Event(), []

    def shred():
        taken.append(shredder.take())
        called.set()

    shredder = Shredder(shred)
    assert not shredder
    shredder.add(Note.of([3, 4], id="a"))
    shredder.add(Note.of([9], id="b"))
    assert called.wait(1.0)
    shredder.stop()
    assert [[note.id for note in notes] for notes in taken] == [["a", "b"]]
    assert not shredder


def test_what_was_taken_is_not_shredded_again_unless_it_is_put_back():
    shredder = Shredder(lambda: None)
    shredder.add(Note.of([1], id="a"))
    shredder.add(None)
    taken = shredder.take()
    assert shredder.take() == []
    shredder.put_back(taken)
    assert shredder.take() == taken != []
    shredder.stop()
    assert "0 notes" in repr(shredder)
