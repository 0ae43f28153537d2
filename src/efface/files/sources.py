"""The bytes of a file or of a pipe, decompressed; text is read as UTF-8, whatever its encoding is.

Compression and encoding are recognised by the first bytes. A pipe can be read only once.
"""

from __future__ import annotations

import codecs
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, final

import pyarrow as pa

from efface.errors import BadTable

HEAD = 1 << 20  # bytes from which formats and column types are inferred
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}
_COMPRESSED_BY = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"(\xb5/\xfd": "zstd", b'\x04"M\x18': "lz4"}
_MARKS = {  # byte order marks; the longer one of those with a common beginning comes first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
}


def one_line(error: Exception) -> str:
    """The message of a library's error, shortened to one line."""
    return " ".join(str(error).split())[:160].rstrip(".")


def kind_by_magic(head: bytes, kinds: Mapping[bytes, str]) -> str | None:
    """The kind of data whose first bytes these are; None if they are none of ``kinds``."""
    return next((kind for magic, kind in kinds.items() if head.startswith(magic)), None)


def open_source(name: str) -> Source:
    """The bytes at a path; "-" is standard input."""
    if name == "-":
        return Pipe("standard input", sys.stdin.buffer)
    path = Path(name)
    if path.is_dir():
        advice = f"expected a file; name its files, for instance '{name}/*.csv'"
        raise BadTable(f"'{name}' is a folder: {advice}.")
    try:
        if path.exists() and not path.is_file():  # a named pipe, or one of the shell's <(command)
            return Pipe(name, path.open("rb"))
        return File(name, path)
    except FileNotFoundError:
        raise BadTable(f"'{name}' does not exist: expected a file; check its path.") from None
    except (OSError, pa.ArrowException) as error:
        raise BadTable(f"'{name}' cannot be read: {one_line(error)}.") from error


class Source(ABC):
    """Bytes with a name; ``head`` are the first ones, decompressed."""

    head: bytes
    rereadable: bool

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def open(self) -> Any:
        """A stream of all bytes, decompressed."""

    @abstractmethod
    def seekable(self) -> Any:
        """All bytes as pyarrow reads them in any order: mapped from the disk, or in memory."""

    def progress(self) -> float:
        """The share that has been read; NaN if unknown."""
        return float("nan")

    def refuse_foreign(self) -> None:
        """Raise if these are bytes of a format that efface does not read."""
        if kind := kind_by_magic(self.head, _FOREIGN):
            advice = "unpack it, or save the sheet as CSV"
            raise BadTable(f"'{self.name}' is {kind}: expected a table; {advice}.")
        if not self.head.strip():
            raise BadTable(f"'{self.name}' is empty: expected a header and rows; check the file.")


@final
class File(Source):
    """A file, which can be read several times."""

    rereadable = True

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self._path, self._size = path, path.stat().st_size
        self._raw: Any = None
        with pa.OSFile(str(path)) as raw:
            self._codec = kind_by_magic(raw.read(8), _COMPRESSED_BY) or COMPRESSED.get(path.suffix)
        with self.open() as stream:
            self.head = bytes(stream.read(HEAD))

    def open(self) -> Any:
        self._raw = pa.OSFile(str(self._path))
        return pa.CompressedInputStream(self._raw, self._codec) if self._codec else self._raw

    def seekable(self) -> Any:
        return _in_memory(self) if self._codec else pa.memory_map(str(self._path))

    def progress(self) -> float:
        if not self._size or self._raw is None or self._raw.closed:
            return float("nan")
        return min(1.0, float(self._raw.tell()) / self._size)


@final
class Pipe(Source):
    """Bytes that can be read once; the head is read ahead and returned again first."""

    rereadable = False

    def __init__(self, name: str, stream: BinaryIO) -> None:
        super().__init__(name)
        start = stream.read(8)
        self._stream = with_head(start, stream)
        if codec := kind_by_magic(start, _COMPRESSED_BY):
            self._stream = pa.CompressedInputStream(self._stream, codec)
        try:
            self.head = bytes(self._stream.read(HEAD))
        except (OSError, pa.ArrowException) as error:
            raise BadTable(f"'{name}' cannot be read: {one_line(error)}.") from error

    def open(self) -> Any:
        return with_head(self.head, self._stream)

    def seekable(self) -> Any:
        return _in_memory(self)


def _in_memory(source: Source) -> Any:
    with source.open() as stream:
        return pa.BufferReader(read_all(stream))


def read_all(stream: Any) -> bytes:
    """The rest of a stream whose length is not known."""
    return b"".join(iter(lambda: bytes(stream.read(HEAD)), b""))


def with_head(head: bytes, rest: Any) -> Any:
    """A stream of bytes that were read ahead, then of the rest."""
    return pa.PythonFile(_WithHead(head, rest), mode="r")


class _WithHead(io.RawIOBase):
    def __init__(self, head: bytes, rest: Any) -> None:
        self._head, self._rest = io.BytesIO(head), rest

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._rest.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        head = self._head.read(size)
        return head + bytes(self._rest.read(size - len(head)))


@final
class Text:
    """The text of a source as UTF-8; ``encoding`` None means the one that its first bytes show."""

    def __init__(self, source: Source, encoding: str | None = None) -> None:
        self.source = source
        self._encoding = _known(encoding) if encoding else _encoding(source.head)
        if self._encoding is None:
            self.head = source.head
        else:
            self._stream = self._transcoded()
            self.head = self._read_head()
        self._check()

    @property
    def rereadable(self) -> bool:
        """Whether the text can be read more than once."""
        return self.source.rereadable

    def open(self) -> Any:
        """A stream of the whole text."""
        if self._encoding is None:
            return self.source.open()
        return self._transcoded() if self.rereadable else with_head(self.head, self._stream)

    def _transcoded(self) -> Any:
        return pa.transcoding_input_stream(self.source.open(), self._encoding, "utf-8")

    def _read_head(self) -> bytes:
        try:
            return bytes(self._stream.read(HEAD))
        except UnicodeDecodeError as error:
            name = self.source.name
            text = f"'{name}' is not text in {self._encoding!r}: name another --encoding"
            raise BadTable(f"{text} ({one_line(error)}).") from error

    def _check(self) -> None:
        name = self.source.name
        if b"\0" in self.head[:4096]:
            raise BadTable(
                f"'{name}' is not text, it contains zero bytes: expected CSV, TSV, JSON Lines, "
                "Parquet or Arrow; check the file name extension."
            )
        try:
            codecs.getincrementaldecoder("utf-8")().decode(self.head, len(self.head) < HEAD)
        except UnicodeDecodeError as error:
            advice = "convert it to UTF-8, or add --encoding, for instance cp1252"
            raise BadTable(f"'{name}' is not UTF-8 text: {advice}.") from error


def _encoding(head: bytes) -> str | None:
    """The encoding that the first bytes show; None for UTF-8 without a byte order mark."""
    if marked := kind_by_magic(head, _MARKS):
        return marked
    start = head[: min(len(head), 64) & ~1]  # UTF-16 without a mark: ASCII beside zero bytes
    if start and not any(start[1::2]) and all(start[::2]):
        return "utf-16-le"
    return "utf-16-be" if start and not any(start[::2]) and all(start[1::2]) else None


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        text = f"'--encoding' is {encoding!r}: expected the name of an encoding"
        raise BadTable(f"{text}, such as cp1252 or utf-16.") from None
