"""Everything efface raises on purpose.

::

    EffaceError
    ├── InvalidValue (ValueError)      an argument that cannot be used
    │   ├── BadRow                     a value in a row; knows its ``row`` and ``column``
    │   │   └── NotANumber (TypeError) a value that is no number at all
    │   ├── RepeatedId                 a new row carries the id of a live one
    │   ├── UnknownId (LookupError)    no live row carries this id
    │   ├── BadTime                    a time that is missing, or of another kind than the others
    │   └── BadTable                   a file of rows that cannot be used
    ├── NotFitted (ValueError,         the model has not seen a row yet
    │              AttributeError)
    ├── UnsupportedNumba (ImportError) the installed Numba is not one that efface is tested with
    └── UnreadableFile (ValueError)    ``load`` cannot use this file
        ├── ForeignFile                not written by efface
        ├── NewerFile                  written by a later efface
        └── DamagedFile                cut short or altered

A message names its subject in quotes, the value it got, what was expected and what to do. Whatever
is raised is raised before anything changed.
"""

from __future__ import annotations


class EffaceError(Exception):
    """The root of the tree."""


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
    """A value in a row that is no number at all."""


class RepeatedId(InvalidValue):
    """A new row carries the id of a live one."""


class UnknownId(InvalidValue, LookupError):
    """No live row carries this id."""


class BadTime(InvalidValue):
    """A time that is missing, or of another kind than the others."""


class BadTable(InvalidValue):
    """A file of rows that cannot be used."""


class NotFitted(EffaceError, ValueError, AttributeError):
    """The model has not seen a row yet."""


class UnsupportedNumba(EffaceError, ImportError):
    """The installed Numba is not one that efface is tested with."""


class UnreadableFile(EffaceError, ValueError):
    """A file that ``load`` cannot use."""


class ForeignFile(UnreadableFile):
    """A file that efface did not write."""


class NewerFile(UnreadableFile):
    """A file that a later efface wrote."""


class DamagedFile(UnreadableFile):
    """A file that was cut short or altered."""


def unusable(subject: str, value: object, expected: str, advice: str) -> str:
    """The text of an error: what it is about, what it got, what it wants, what to do.

    >>> unusable("delta", 2, "a number between 0 and 1", "use 0.05 for 95 % confidence")
    "'delta' is 2: expected a number between 0 and 1; use 0.05 for 95 % confidence."
    """
    return f"'{subject}' is {value!r}: expected {expected}; {advice}."
