"""Notes come back from their records, and hold no name."""

from __future__ import annotations

from efface.store.notes import Note


def test_a_note_comes_back_from_its_record():
    note = Note.of([5, 3, 4, 9], counts={"m": 4}, subject="ab", refused=("cd",), time="now")
    assert note.seqs == [3, 4, 5, 9]
    assert note.requested
    assert Note.from_plain(note.name, note.to_plain()) == note


def test_a_note_of_rows_that_left_by_themselves_owes_no_receipt():
    assert not Note.of([1]).requested
    assert Note.of([1]).id != Note.of([1]).id
