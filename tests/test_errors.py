"""The exception tree: base classes, and the text of messages."""

from __future__ import annotations

import pickle

import pytest

from efface import errors


@pytest.mark.parametrize(
    ("error", "parents"),
    [
        (errors.InvalidValue, (errors.EffaceError, ValueError)),
        (errors.BadRow, (errors.InvalidValue,)),
        (errors.NotANumber, (errors.BadRow, TypeError)),
        (errors.RepeatedId, (errors.InvalidValue,)),
        (errors.UnknownId, (errors.InvalidValue, LookupError)),
        (errors.UnknownOwner, (errors.InvalidValue, LookupError)),
        (errors.BadTime, (errors.InvalidValue,)),
        (errors.EffaceWarning, (UserWarning,)),
        (errors.UnevenFeatures, (errors.EffaceWarning,)),
        (errors.NotFitted, (errors.EffaceError, ValueError, AttributeError)),
        (errors.ForeignFile, (errors.UnreadableFile,)),
        (errors.NewerFile, (errors.UnreadableFile,)),
        (errors.DamagedFile, (errors.UnreadableFile,)),
        (errors.UnreadableFile, (errors.EffaceError, ValueError)),
        (errors.MissingExtra, (errors.EffaceError, ImportError)),
    ],
)
def test_every_error_has_its_base_classes(error, parents):
    assert all(issubclass(error, parent) for parent in parents)


def test_the_docstring_names_every_error():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    assert all(kind.__name__ in errors.__doc__ for kind in kinds)


def test_bad_row_keeps_row_and_column_through_pickle():
    again = pickle.loads(pickle.dumps(errors.BadRow("wrong", row=3, column=1)))
    assert (str(again), again.row, again.column) == ("wrong", 3, 1)


def test_text_names_subject_value_expectation_and_advice():
    text = errors.unusable("alpha", -1.0, "a finite number of at least 0", "check its sign")
    assert text == "'alpha' is -1.0: expected a finite number of at least 0; check its sign."
