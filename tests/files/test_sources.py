"""Bytes from files and pipes, compressed or not, in any encoding."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import threading
import zipfile

import pyarrow as pa
import pytest

from efface.errors import BadTable
from efface.files.sources import HEAD, Pipe, Text, one_line, open_source, read_all

WORDS = "wer;wo\nJürgen;Köln\n"
COMPRESS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "zstd": lambda data: pa.compress(data, "zstd", asbytes=True),
}


def once(data):
    return Pipe("standard input", io.BytesIO(data))


def as_file(tmp_path, data, name="data"):
    (tmp_path / name).write_bytes(data)
    return open_source(str(tmp_path / name))


@pytest.mark.parametrize("form", COMPRESS)
@pytest.mark.parametrize("length", [10, 3 * HEAD])
def test_compression_is_recognised_by_content(tmp_path, form, length):
    data = os.urandom(length // 2) * 2
    packed = COMPRESS[form](data)
    for source in (as_file(tmp_path, packed), once(packed)):
        assert source.head == data[:HEAD]
        assert read_all(source.open()) == data
    assert as_file(tmp_path, packed).seekable().read() == data
    assert once(packed).seekable().read() == data


def test_a_file_can_be_read_twice_and_has_a_progress(tmp_path):
    source = as_file(tmp_path, gzip.compress(b"x" * 100))
    assert [read_all(source.open()) for _ in range(2)] == [b"x" * 100] * 2
    assert source.rereadable
    stream = source.open()
    assert read_all(stream) == b"x" * 100
    assert source.progress() == 1.0
    assert not once(b"x").rereadable
    assert once(b"x").progress() != once(b"x").progress()  # NaN


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("rows", [1, 100_000])
def test_encodings_are_recognised_by_their_marks(tmp_path, encoding, rows):
    data = (WORDS * rows).encode(encoding)
    for source in (as_file(tmp_path, data), once(data), once(gzip.compress(data))):
        text = Text(source)
        assert read_all(text.open()).decode() == WORDS * rows
        assert (WORDS * rows).encode().startswith(text.head)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised(tmp_path, encoding):
    lines = "time,place,amount of rain\n2011-01-01,Köln,3\n" * 3
    text = Text(as_file(tmp_path, lines.encode(encoding)))
    assert read_all(text.open()).decode() == lines


def test_other_encodings_are_named(tmp_path):
    data = WORDS.encode("cp1252")
    with pytest.raises(BadTable, match=r"is not UTF-8 text: .* add --encoding, for instance cp125"):
        Text(once(data))
    assert read_all(Text(as_file(tmp_path, data), "cp1252").open()).decode() == WORDS
    with pytest.raises(BadTable, match="'--encoding' is 'klingon'"):
        Text(once(data), "klingon")
    with pytest.raises(BadTable, match="is not text in 'ascii'"):
        Text(once(data), "ascii")


def test_an_encoding_that_gives_zero_bytes_is_refused():
    with pytest.raises(BadTable, match="is not text, it contains zero bytes"):
        Text(once(WORDS.encode("utf-16-le")), "latin-1")


def test_a_named_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(gzip.compress(b"a,b\n1,2\n"),))
    writer.start()
    source = open_source(str(path))
    with source.open() as stream:
        assert read_all(stream) == b"a,b\n1,2\n"
    assert not source.rereadable
    writer.join()


def test_what_is_no_table_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.csv", "w") as archive:
        archive.writestr("t.csv", "a,b")
    with pytest.raises(
        BadTable, match="is a ZIP archive or an Excel workbook: expected a table; u"
    ):
        open_source(str(tmp_path / "t.csv")).refuse_foreign()
    with pytest.raises(BadTable, match="is a folder: expected a file; name its files"):
        open_source(str(tmp_path))
    with pytest.raises(BadTable, match="does not exist"):
        open_source(str(tmp_path / "none"))
    with pytest.raises(BadTable, match="cannot be read"):
        once(gzip.compress(b"x" * 10_000)[:-20] + b"y" * 20)


def test_library_errors_become_one_short_line():
    assert one_line(ValueError("one\n  two.")) == "one two"
    assert len(one_line(ValueError("x" * 1000))) == 160
