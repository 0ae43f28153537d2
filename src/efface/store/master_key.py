"""The master key: wraps the keys of rows, so that older copies of the keys die with it.

It is 32 bytes from outside the store's folder: a file, a systemd credential, or the output of a
command. Keys of rows are random and used once, so each is wrapped by AES-256 without a mode, as two
blocks. A slot of zeros means a destroyed key, whether keys are wrapped or not.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
from pathlib import Path
from typing import final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from efface.errors import WrongMasterKey

SIZE = 32
_NONCE = 12
CREDENTIAL = "efface-master-key"


@final
class MasterKey:
    """A master key, or none: then keys are stored as they are.

    >>> MasterKey(b"k" * 32).unwrap(MasterKey(b"k" * 32).wrap(b"a" * 64)) == b"a" * 64
    True
    >>> MasterKey(None).wrap(b"a" * 32) == b"a" * 32
    True
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes | None) -> None:
        if key is not None and len(key) != SIZE:
            text = f"'master_key' has {len(key)} bytes: expected {SIZE} random bytes"
            raise WrongMasterKey(f"{text}; make one with os.urandom({SIZE}).")
        self._key = key

    def __repr__(self) -> str:
        return "MasterKey(None)" if self._key is None else "MasterKey(...)"

    def __bool__(self) -> bool:
        return self._key is not None

    @property
    def fingerprint(self) -> str | None:
        """What tells master keys apart without revealing them; None for none."""
        if self._key is None:
            return None
        return hmac.digest(self._key, b"efface master key 1", hashlib.sha256).hex()

    def wrap(self, keys: bytes) -> bytes:
        """Wrap keys that lie one after another."""
        return keys if self._key is None else self._cipher(self._key).encryptor().update(keys)

    def unwrap(self, keys: bytes) -> bytes:
        """The keys back."""
        return keys if self._key is None else self._cipher(self._key).decryptor().update(keys)

    def seal(self, content: bytes, about: bytes) -> bytes:
        """Encrypt a text that is about something; without a master key it stays as it is."""
        if self._key is None:
            return content
        nonce = os.urandom(_NONCE)
        return nonce + self._sealing(self._key).encrypt(nonce, content, about)

    def unseal(self, content: bytes, about: bytes) -> bytes:
        """The text back; raises if it was altered, or is about something else."""
        if self._key is None:
            return content
        try:
            return self._sealing(self._key).decrypt(content[:_NONCE], content[_NONCE:], about)
        except (InvalidTag, ValueError) as error:
            text = "'master_key' does not open what was sealed: it is another key, or altered"
            raise WrongMasterKey(f"{text}; nothing was changed.") from error

    @staticmethod
    def _sealing(key: bytes) -> AESGCM:
        return AESGCM(hmac.digest(key, b"efface sealed 1", hashlib.sha256))

    @staticmethod
    def _cipher(key: bytes) -> Cipher[modes.ECB]:
        return Cipher(algorithms.AES(key), modes.ECB())


def from_file(path: str | os.PathLike[str]) -> bytes:
    """A master key from a file of 32 bytes, or of 64 hexadecimal digits."""
    try:
        return _parsed(Path(path).read_bytes())
    except OSError as error:
        text = f"'{os.fspath(path)}' cannot be read: {error.strerror}"
        raise WrongMasterKey(f"{text}; name the file of the master key.") from error


def from_command(command: str) -> bytes:
    """A master key from the output of a command, which a shell runs."""
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        text = f"'master key command' ended with exit code {done.returncode}: expected 0"
        raise WrongMasterKey(f"{text} and the key on its output; run it by hand.")
    return _parsed(done.stdout)


def from_credential() -> bytes | None:
    """The master key in the systemd credential ``efface-master-key``; None if there is none."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    path = None if folder is None else Path(folder) / CREDENTIAL
    return from_file(path) if path is not None and path.exists() else None


def _parsed(content: bytes) -> bytes:
    if len(content) == SIZE:
        return content
    try:
        return bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        text = f"'master key' has {len(content)} bytes: expected {SIZE} bytes"
        raise WrongMasterKey(f"{text}, or {2 * SIZE} hexadecimal digits.") from None
