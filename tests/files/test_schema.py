"""Column roles are checked against a table."""

from __future__ import annotations

import pytest

from efface.errors import BadTable
from efface.files.readers import open_table
from efface.files.schema import RequestedColumns, resolve_schema

TEXT = """when,who,sky,x,z,y
2011-01-01,7,clear,1,10,1.5
2011-01-02,9,rain,2,20,2.5
2011-01-02,8,clear,3,30,3.5
2011-01-04,3,snow,4,40,4.5
"""


def table(tmp_path, text=TEXT, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return open_table(str(path))


def test_by_default_all_columns_without_a_role_are_features(tmp_path):
    roles = RequestedColumns("y", time="when", id="who", one_hot={"sky": ()})
    assert resolve_schema(table(tmp_path), roles).names == ["sky=rain", "sky=snow", "x", "z"]


def test_levels_are_numbered_if_names_are_redacted(tmp_path):
    schema = resolve_schema(table(tmp_path), RequestedColumns("y", ["x"], one_hot={"sky": ()}))
    assert schema.feature_names(redact=False) == ["x", "sky=rain", "sky=snow"]
    assert schema.feature_names(redact=True) == ["x", "sky, level 2", "sky, level 3"]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (RequestedColumns("Y"), "has no column 'Y': did you mean 'y'?"),
        (
            RequestedColumns("y", ["q"]),
            "has no column 'q': check its name. Its columns are when, who",
        ),
        (
            RequestedColumns("y", ["sky"]),
            "at line 2, column 'sky' is 'clear': expected a number; add --one-hot sky",
        ),
        (
            RequestedColumns("y", ["when"]),
            "column 'when' holds times: expected numbers; name it with --time when",
        ),
        (RequestedColumns("y", ["x", "y"]), "'y' is already the --target"),
        (RequestedColumns("y", ["x", "x"]), "'x' is named twice"),
        (RequestedColumns("y", ["x"], id="y"), "column 'y' holds numbers: expected ids"),
        (
            RequestedColumns("y", ["x"], time="sky"),
            "column 'sky' is 'clear': expected a number or a time",
        ),
        (RequestedColumns("y", ["x"], weight="heft"), "has no column 'heft'"),
        (
            RequestedColumns("y", ["x", "z"], weight="z"),
            "'z' is already the --weight: remove it from the feat",
        ),
        (
            RequestedColumns("y", ["x"], weight="y"),
            "'y' is already the --target: name another --weight",
        ),
        (
            RequestedColumns("y", ["x"], id="who", weight="who"),
            "'who' is already the --id: name another",
        ),
        (
            RequestedColumns("y", ["x"], weight="sky"),
            "at line 2, column 'sky' is 'clear': expected a number; name another --weight.",
        ),
        (
            RequestedColumns("y", ["x"], weight="when"),
            "column 'when' holds times: expected numbers; name another --weight",
        ),
        (
            RequestedColumns("y", ["x"], owner="y"),
            "'y' is already the --target: name another --owner.",
        ),
        (
            RequestedColumns("y", ["x"], owner="when"),
            "column 'when' holds times: expected owners, which are whole numbers or text; name",
        ),
        (
            RequestedColumns("y", ["x"], until="when"),
            "'--until' is 'when', but rows have no time: name their --time column.",
        ),
        (
            RequestedColumns("y", ["x"], time="when", until="when"),
            "'when' is already the --time: name another --until.",
        ),
        (
            RequestedColumns("y", ["x"], time="when", until="z"),
            "column 'z' holds numbers: expected times; the ends of rows are of the kind of 'when'",
        ),
        (
            RequestedColumns("y", ["x"], time="z", until="when"),
            "column 'when' holds times: expected numbers; the ends of rows are of the kind of 'z'",
        ),
        (RequestedColumns("y", []), "has no column left to predict 'y' from"),
    ],
)
def test_unusable_roles_are_refused(tmp_path, roles, expected):
    with pytest.raises(BadTable) as refused:
        resolve_schema(table(tmp_path), roles)
    assert expected in str(refused.value)


def test_owners_and_ends_may_have_gaps_unless_they_are_ids_or_groups_too(tmp_path):
    roles = RequestedColumns("y", ["x"], time="when", owner="who", until="end")
    text = TEXT.replace("y\n", "y,end\n", 1).replace(".5\n", ".5,\n")
    found = resolve_schema(table(tmp_path, text), roles)
    assert found.optional == {"who", "end"}
    assert found.whole_owners is True
    assert found.types["end"] == found.types["when"]  # a column without a value
    roles = RequestedColumns("y", ["x"], id="who", owner="who")
    assert resolve_schema(table(tmp_path), roles).optional == set()
    roles = RequestedColumns("y", ["x"], group="who", owner="who")
    assert resolve_schema(table(tmp_path), roles).whole_owners is False
    assert resolve_schema(table(tmp_path), RequestedColumns("y", ["x"])).whole_owners is None


def test_too_many_levels_are_refused(tmp_path):
    text = "name,y\n" + "".join(f"n{k},1\n" for k in range(101))
    found = table(tmp_path, text)
    with pytest.raises(BadTable, match="more than 100 different texts"):
        resolve_schema(found, RequestedColumns("y", one_hot={"name": ()}))
    with pytest.raises(BadTable, match=r"is 'n0': expected a number; choose --features without it"):
        resolve_schema(found, RequestedColumns("y"))
