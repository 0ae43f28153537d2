"""All exceptions that efface raises on purpose, and its warnings.

::

    EffaceError
    ├── InvalidValue (ValueError)      an argument that cannot be used
    │   ├── BadRow                     a value in a row; has its ``row`` and ``column``
    │   │   └── NotANumber (TypeError) a value in a row that is not a number
    │   ├── RepeatedId                 a new row has the id of a live row
    │   ├── UnknownId (LookupError)    no live row has this id
    │   ├── UnknownOwner (LookupError) no live row has this owner
    │   ├── UnknownKey (LookupError)   no live row of a fleet has this key
    │   ├── BadTime                    a time that is missing, or not of the kind of the others
    │   ├── BadTable                   a file of rows that cannot be used
    │   ├── UnknownModel (LookupError) no model of the store has this name
    │   ├── RefusedRow                 a row that left the store, or whose owner must not come back
    │   ├── TooManyDue                 an expiry would remove over half of the rows of a model
    │   └── BadReceipt                 a receipt, or a chain of receipts, that does not verify
    ├── NotFitted (ValueError,         the model has not learned a row yet
    │              AttributeError)
    ├── StoreError                     a store cannot be opened, or cannot go on
    │   ├── StoreInUse                 another process has it open
    │   ├── DamagedStore               files are missing, altered, or not of one time
    │   ├── WrongMasterKey             the master key is missing, or is another one
    │   ├── UnsafeStorage              the storage would keep copies of destroyed keys
    │   ├── StorageFailure             the disk or the database failed: nothing was acknowledged
    │   │   ├── StorageFull            the disk is full: nothing was changed, answers go on
    │   │   └── UnclearCommit          whether a transaction was committed, only opening again tells
    │   └── StoreStopped               it was closed, or failed before: open it again
    ├── MissingExtra (ImportError)     a library of an optional extra is not installed
    └── UnreadableFile (ValueError)    ``load`` cannot read this file
        ├── ForeignFile                efface did not write it
        ├── NewerFile                  a later version of efface wrote it
        └── DamagedFile                it was truncated or altered

    EffaceWarning (UserWarning)
    └── UnevenFeatures                 a penalty meets features of very different spread

A message names its subject in quotes, the value, what was expected and what to do. An exception is
raised before any state changes.
"""

from __future__ import annotations


class EffaceError(Exception):
    """The base class of all exceptions of efface."""


class EffaceWarning(UserWarning):
    """The base class of all warnings of efface."""


class UnevenFeatures(EffaceWarning):
    """A penalty shrinks features by their units, which differ much."""


class InvalidValue(EffaceError, ValueError):
    """An argument that cannot be used."""


class BadRow(InvalidValue):
    """A value in a row that cannot be used."""

    def __init__(self, message: str, row: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.row = row
        self.column = column

    def __reduce__(self) -> tuple[type[BadRow], tuple[object, ...]]:
        return type(self), (*self.args, self.row, self.column)


class NotANumber(BadRow, TypeError):
    """A value in a row that is not a number."""


class RepeatedId(InvalidValue):
    """A new row has the id of a live row."""


class UnknownId(InvalidValue, LookupError):
    """No live row has this id."""


class UnknownOwner(InvalidValue, LookupError):
    """No live row has this owner."""


class UnknownKey(InvalidValue, LookupError):
    """No live row of a fleet has this key."""


class BadTime(InvalidValue):
    """A time that is missing, or not of the kind of the others."""


class BadTable(InvalidValue):
    """A file of rows that cannot be used."""


class UnknownModel(InvalidValue, LookupError):
    """No model of the store has this name."""


class RefusedRow(InvalidValue):
    """A row that left the store a short time ago, or whose owner must not come back."""


class TooManyDue(InvalidValue):
    """An expiry would remove over half of the rows of a model."""


class BadReceipt(InvalidValue):
    """A receipt, or a chain of receipts, that does not verify."""


class StoreError(EffaceError):
    """A store cannot be opened, or cannot go on."""


class StoreInUse(StoreError):
    """Another process has the store open."""


class DamagedStore(StoreError):
    """Files of a store are missing, altered, or not of one time."""


class WrongMasterKey(StoreError):
    """The master key of a store is missing, or is another one."""


class UnsafeStorage(StoreError):
    """The storage would keep copies of destroyed keys, or cannot make writes durable."""


class StorageFailure(StoreError):
    """The disk or the database failed: what was asked for is not acknowledged."""


class StorageFull(StorageFailure):
    """The disk is full: nothing was changed, and answers that need no write go on."""


class UnclearCommit(StorageFailure):
    """It is unknown whether a transaction was committed: only opening the store again tells."""


class StoreStopped(StoreError):
    """The store was closed, or stopped after a failure: it must be opened again."""


class NotFitted(EffaceError, ValueError, AttributeError):
    """The model has not learned a row yet."""


class MissingExtra(EffaceError, ImportError):
    """A library is not installed; ``extra`` is the extra of efface that installs it."""

    def __init__(self, library: str, extra: str) -> None:
        advice = f'run pip install "efface[{extra}]", or pip install "efface[all]"'
        text = f"'{library}' is not installed: it is needed here; {advice} for everything."
        super().__init__(text, name=library)
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[object, ...]]:
        return type(self), (self.name, self.extra)


class UnreadableFile(EffaceError, ValueError):
    """A file that ``load`` cannot read."""


class ForeignFile(UnreadableFile):
    """A file that efface did not write."""


class NewerFile(UnreadableFile):
    """A file that a later version of efface wrote."""


class DamagedFile(UnreadableFile):
    """A file that was truncated or altered."""


def unusable(subject: str, value: object, expected: str, advice: str) -> str:
    """The message of an error: its subject, the value, what was expected, what to do.

    >>> unusable("delta", 2, "a number between 0 and 1", "use 0.05 for 95 % confidence")
    "'delta' is 2: expected a number between 0 and 1; use 0.05 for 95 % confidence."
    """
    return f"'{subject}' is {value!r}: expected {expected}; {advice}."


def invalid(subject: str, value: object, expected: str, advice: str) -> InvalidValue:
    """An ``InvalidValue`` with the message that ``unusable`` makes."""
    return InvalidValue(unusable(subject, value, expected, advice))
