"""What requests carry, checked: JSON bodies, as pydantic knows them.

Numbers are finite. Types are strict: a text is no number. Unknown fields are refused.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NotRequired, TypeVar

from pydantic import BaseModel, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from efface.errors import InvalidValue
from efface.models.intervals import DEFAULT_METHOD, MethodName

MOST_ROWS = 10_000  # rows, ids and owners of one request
MOST_FEATURES = 10_000
_SPACED = (b'" ', b'"\t', b'"\n', b'"\r')
_ISO = r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$"
STRICT = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)

Name = Annotated[
    Annotated[str, Field(max_length=1_000)] | Annotated[int, Field(ge=-(2**63), lt=2**64)],
    Field(union_mode="left_to_right"),
]
Number = float
B = TypeVar("B", bound=BaseModel)
When = Annotated[
    float | Annotated[str, Field(pattern=_ISO, max_length=40)], Field(union_mode="left_to_right")
]
Features = Annotated[
    Annotated[list[Number], Field(max_length=MOST_FEATURES)]
    | Annotated[dict[str, Number], Field(max_length=MOST_FEATURES)],
    Field(union_mode="left_to_right"),
]


@with_config(STRICT)
class Row(TypedDict):
    """A row to learn: features as a list, or by name."""

    x: Features
    y: Number
    id: NotRequired[Name | None]
    owner: NotRequired[Name | None]
    at: NotRequired[When | None]
    until: NotRequired[When | None]
    weight: NotRequired[Number]
    key: NotRequired[Name | None]


@with_config(STRICT)
class Question(TypedDict):
    """A row to predict; of a keyed model it has a key."""

    x: Features
    key: NotRequired[Name | None]


class _Body(BaseModel):
    model_config = STRICT


class NewModel(_Body):
    """A model to create; ``kind`` is a class of the library, ``parameters`` its arguments."""

    kind: Annotated[str, Field(max_length=100)] = "AutoRidge"
    parameters: dict[str, Any] = {}
    features: (
        Annotated[int, Field(ge=1, le=MOST_FEATURES)]
        | Annotated[
            list[Annotated[str, Field(max_length=200)]], Field(min_length=1, max_length=10_000)
        ]
    )
    keyed: bool = False


class NewRows(_Body):
    """Rows to learn."""

    rows: Annotated[list[Row], Field(min_length=1, max_length=MOST_ROWS)]
    left: Literal["raise", "skip"] = "raise"


class Questions(_Body):
    """Rows to predict, with intervals if a level is given."""

    rows: Annotated[list[Question], Field(min_length=1, max_length=MOST_ROWS)]
    interval: Annotated[float, Field(gt=0, lt=1)] | None = None
    method: MethodName = DEFAULT_METHOD
    lower: Number | None = None
    upper: Number | None = None
    missing: Literal["raise", "ok"] = "raise"


class KeyRequest(_Body):
    """Which of the models of a keyed model to show."""

    key: Name


class AccessRequest(_Body):
    """Whose rows to show."""

    owner: Name


class Erasure(_Body):
    """What to forget: the rows of owners, or rows by id."""

    owner: Name | None = None
    owners: Annotated[list[Name], Field(min_length=1, max_length=MOST_ROWS)] | None = None
    ids: Annotated[list[Name], Field(min_length=1, max_length=MOST_ROWS)] | None = None
    model: Annotated[str, Field(max_length=200)] | None = None
    forever: bool = False
    missing: Literal["raise", "ok"] = "raise"
    secret: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class AuditRequest(_Body):
    """What to audit, and what it must not find."""

    model: Annotated[str, Field(max_length=200)] | None = None
    forgotten: Annotated[list[Name], Field(max_length=MOST_ROWS)] = []
    forgotten_owners: Annotated[list[Name], Field(max_length=MOST_ROWS)] = []


class Removal(_Body):
    """The secret under which a model is removed."""

    secret: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None


class BackupRequest(_Body):
    """A copy to write: a name below the folder of copies of the service."""

    target: Annotated[str, Field(min_length=1, max_length=200)]
    keys: bool = False


class SignIn(_Body):
    """A token, for a session of the dashboard."""

    token: Annotated[str, Field(max_length=200)]


BODIES: tuple[type[BaseModel], ...] = (
    *(NewModel, NewRows, Questions, KeyRequest, AccessRequest, Erasure, AuditRequest, SignIn),
    *(Removal, BackupRequest),
)


def parsed(kind: type[B], content: bytes | bytearray) -> B:
    """A body, checked; an object with the same name twice is refused, since the last would win.

    A name has a colon. If there are as many colons as names were found, none was dropped. Texts
    may have colons too: then the text is looked at again.
    """
    found = kind.model_validate_json(content)
    values = found.__dict__
    count = _names({name: values[name] for name in found.model_fields_set})
    if content.count(b":") != count and not _has_names(content, count):
        json.loads(content, object_pairs_hook=_refuse_repeated, parse_int=float)
    return found


def _has_names(content: bytes | bytearray, count: int) -> bool:
    """Whether so many names were in a text, as far as that is seen without reading it as JSON.

    A name ends with a quote, and its colon follows at once if no quote has a space behind it.
    """
    spaced = any(pair in content for pair in _SPACED)
    return not spaced and content.count(b'":') == count


def _names(given: dict[str, Any]) -> int:
    """The names in an object, those in its objects and in its lists of objects; never too many."""
    count = len(given)
    for value in given.values():
        if type(value) is dict:
            count += _names(value)
        elif type(value) is list and value and type(value[0]) is dict:
            count += sum(map(len, value))
            if type(value[0].get("x")) is dict:
                count += sum(len(row["x"]) for row in value if type(row.get("x")) is dict)
    return count


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) < len(pairs):
        text = "'body' has an object with the same name twice: expected each name once"
        raise InvalidValue(f"{text}; remove one of them.")
