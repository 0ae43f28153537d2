"""What files of live rows have in common: no pickle, a checksum, equal bytes for equal rows.

A file is, in this order: a line with the name of the format and its version; one line of JSON in
ASCII, keys sorted, whose ``arrays`` lists the name, dtype and shape of each array; the arrays, in C
order, little-endian; and the SHA-256 of everything before.

A file is written beside its destination and then moved there, so a reader sees the old file or the
new one, never half of one.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from efface.errors import DamagedFile, ForeignFile, NewerFile
from efface.inputs.types import Matrix, Vector

_DIGEST = 32
_DTYPES = {"<f8": np.float64, "<i8": np.int64}

Arrays = dict[str, NDArray[Any]]
Parsed = TypeVar("Parsed")


class FileFormat(NamedTuple):
    """A kind of file.

    >>> form = FileFormat("efface example", 1, "is no example")
    >>> content = b"".join(form.encode(1, {"a": 5}, {"y": np.ones(2)}))
    >>> form.decode(content, "file", lambda header, arrays: (header["a"], arrays["y"]))
    (5, array([1., 1.]))
    """

    name: str
    newest: int  # version
    foreign: str  # what the error says of other files

    def encode(
        self, version: int, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Iterator[bytes]:
        """The bytes of a file, in parts."""
        digest = hashlib.sha256()
        for part in self._parts(version, header, arrays):
            digest.update(part)
            yield part
        yield digest.digest()

    def _parts(
        self, version: int, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> Iterator[bytes]:
        stored = {
            name: np.ascontiguousarray(each, dtype=each.dtype.newbyteorder("<"))
            for name, each in arrays.items()
        }
        listed = [[name, each.dtype.str, list(each.shape)] for name, each in stored.items()]
        whole = {**header, "arrays": listed}
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"), allow_nan=False)
        yield f"{self.name} {version}\n{text}\n".encode("ascii")
        for each in stored.values():
            yield each.tobytes()

    def decode(
        self, content: bytes, source: str, parse: Callable[[dict[str, Any], Arrays], Parsed]
    ) -> Parsed:
        """What ``parse`` makes of header and arrays; ``source`` is what errors call the file."""
        start = self._check_version(content, source)
        body, digest = content[:-_DIGEST], content[-_DIGEST:]
        if len(body) < start or hashlib.sha256(body).digest() != digest:
            raise _damaged(source, "its checksum does not match")
        try:
            return parse(*_content(body, start))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(source, f"its content contradicts itself ({error})") from error

    def _check_version(self, content: bytes, source: str) -> int:
        """Where the header starts."""
        name = f"{self.name} ".encode("ascii")
        line = content[: len(name) + 20].split(b"\n")[0]
        if not line.startswith(name) or not line[len(name) :].isdigit():
            if content and name.startswith(content[: len(name)]):
                raise _damaged(source, "its first line is not whole")
            raise ForeignFile(f"'{source}' {self.foreign}.")
        version = int(line[len(name) :])
        if version > self.newest:
            text = f"'{source}' has version {version}: this efface reads up to {self.newest}"
            raise NewerFile(f"{text}; upgrade efface to load it.")
        return len(line) + 1


def _content(body: bytes, start: int) -> tuple[dict[str, Any], Arrays]:
    end = body.index(b"\n", start)
    header, at, arrays = json.loads(body[start:end]), end + 1, {}
    for name, dtype, shape in header["arrays"]:
        kind, count = _DTYPES[dtype], int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(body, dtype=dtype, count=count, offset=at)
        arrays[name] = values.astype(kind).reshape(shape)
        at += values.nbytes
    if at != len(body):
        raise ValueError(f"{len(body) - at} bytes too many")
    return header, arrays


def _damaged(source: str, finding: str) -> DamagedFile:
    return DamagedFile(f"'{source}' is damaged: {finding}; restore it from a backup.")


def check_values(X: Matrix, y: Vector, weights: Vector) -> None:
    """Raise ValueError unless rows may have these values, and a weight each."""
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError("values that are not finite")
    if not (weights.shape == y.shape and np.isfinite(weights).all() and (weights >= 0.0).all()):
        raise ValueError("weights that are no weights")


def write_file(path: str | os.PathLike[str], content: Iterable[bytes]) -> None:
    """Write a file beside its destination, then move it there."""
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(beside, "xb") as file:
            file.writelines(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)
