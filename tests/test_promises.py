"""Every sentence of docs/store.md has a test that would break it, or says that it needs none."""

from __future__ import annotations

import re
from functools import cache

import pytest
from promises import PROMISES
from snippets import ROOT


def sentences(text):
    """The sentences outside of code, tables and titles."""
    text = re.sub(r"^```.*?^```\n", "", text, flags=re.DOTALL | re.MULTILINE)
    found = []
    for part in re.split(r"\n\s*\n|\n(?=- |\d\. |\| )", text):
        line = re.sub(r"^(- |\d\. )", "", " ".join(part.split()))
        if line and not line.startswith(("#", "|")):
            found += re.split(r"(?<=[.:])\s+(?=[A-Z*`\"(])", line)
    return found


SENTENCES = sentences((ROOT / "docs" / "store.md").read_text("utf-8"))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_has_its_tests(sentence):
    assert len([start for start in PROMISES if sentence.startswith(start)]) == 1


@pytest.mark.parametrize("start", PROMISES)
def test_what_is_listed_is_on_the_page_and_its_tests_are_there(start):
    assert len([each for each in SENTENCES if each.startswith(start)]) == 1
    tests = PROMISES[start]
    if isinstance(tests, tuple):
        assert tests
        for test in tests:
            path, _, name = test.partition("::")
            assert name in names_in(path), test


@cache
def names_in(path):
    text = (ROOT / "tests" / path).read_text("utf-8")
    return set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))


def test_most_sentences_are_promises():
    tested = [start for start, tests in PROMISES.items() if isinstance(tests, tuple)]
    assert len(tested) > 100
