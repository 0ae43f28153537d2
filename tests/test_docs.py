"""Every code block of every page runs and prints what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from snippets import ROOT, STAND_INS, BadBlock, Page, blocks_of, commands_of

PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "paper/*.md")
    for path in ROOT.glob(pattern)
    if path.name != "spark.md"  # run where Spark is: tests/spark/test_spark.py
)
PLAIN = {  # `text` blocks that are not the output of a code block
    "CONTRIBUTING.md": 2,  # the pictures of the layers, checked by test_project.py
    "docs/theory-errata.md": 1,  # a slow table; test_coverage.py checks its figures
}
GALLERY = sorted(path.stem for path in (ROOT / "examples" / "gallery").glob("*.py"))


def text_of(page):
    return (ROOT / page).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks, run = blocks_of(text_of(page), page), Page(tmp_path)
    try:
        run.run(blocks)
    finally:
        run.close()
    fences = re.findall(r"^ *(?:```|~~~)", text_of(page), re.MULTILINE)
    assert sum(run.done.values()) == len(blocks) == len(fences) / 2
    assert run.done.get("plain", 0) == PLAIN.get(page, 0)


def test_the_list_of_pages_is_complete():
    assert {"README.md", "CONTRIBUTING.md", "docs/index.md", "paper/README.md"} < set(PAGES)
    kinds = Counter(block.kind for page in PAGES for block in blocks_of(text_of(page)))
    assert kinds["python"] >= 20
    assert kinds["sh"] >= 5


def test_every_command_with_a_shorter_form_is_on_a_page():
    shells = [b for page in PAGES for b in blocks_of(text_of(page)) if b.kind == "sh"]
    given = {command for block in shells for command in commands_of(block.text)}
    assert given.issuperset(STAND_INS)


WRONG = {
    "an untagged block": "```\nmake test\n```\n",
    "an indented block": "text\n\n    x = 1\n",
    "an unknown kind": "```toml\na = 1\n```\n",
    "an error": "```python\n1 / 0\n```\n",
    "another output": "```python\nprint(1)\n```\n\n```text\n2\n```\n",
    "an output that is not printed": "```python\nx = 1\n```\n\n```text\n2\n```\n",
    "another comment": "```python\nprint(1)  # 1\nprint(2)  # 1\n```\n",
    "an output that is not shown": "```python\nprint(1)\n```\n",
    "another value": "```python\n>>> 1 + 1\n3\n```\n",
    "a warning": "```python\nimport warnings\nwarnings.warn('now')\n```\n",
    "no target": "```sh\nmake gold\n```\n",
    "no suite": "```sh\npython -m benchmarks gold\n```\n",
    "a command that fails": "```sh\nefface gold\n```\n",
    "another command": "```sh\nrm -rf x\n```\n",
    "another package": "```sh\npip install x\n```\n",
    "a request to elsewhere": "```sh\ncurl http://127.0.0.1:8000\n```\n",
    "no extra": "```sh\npip install 'efface[gold]'\n```\n",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_wrong_page_is_refused(text, tmp_path):
    with pytest.raises((BadBlock, ZeroDivisionError, UserWarning)):
        Page(tmp_path).run(blocks_of(text))


def test_later_blocks_use_the_names_of_earlier_ones(tmp_path):
    text = "```python\na = 1\n```\n```python\n>>> b = a + 1\n>>> b\n2\n```\n"
    text += "```python\nprint(b)  # 2\n```\n```python\nprint(b)\n```\n```text\n2\n```\n"
    run = Page(tmp_path)
    run.run(blocks_of(text))
    assert run.done == {"python": 4, "output": 1}


def test_a_text_block_that_is_no_output_is_counted_as_plain(tmp_path):
    text = "```text\na\n```\n```python\n>>> 1\n1\n```\n```text\n2\n```\n"
    run = Page(tmp_path)
    run.run(blocks_of(text))
    assert run.done == {"python": 1, "plain": 2}


def test_installing_efface_is_checked_against_its_extras(tmp_path):
    text = "```sh\npip install efface\npip install 'efface[all]'  # everything\n```\n"
    run = Page(tmp_path)
    run.run(blocks_of(text))
    assert run.done == {"sh": 1}


def test_comments_and_continued_lines_of_a_shell_block():
    text = "make test    # all\nefface replay a.csv \\\n  --target y\n# nothing\n"
    assert commands_of(text) == ["make test", "efface replay a.csv --target y"]


@pytest.mark.parametrize("name", GALLERY)
def test_the_gallery_shows_the_output_of_its_scripts(name, tmp_path):
    from matplotlib.testing.compare import compare_images

    drawn, shown = tmp_path / f"{name}.png", ROOT / "docs" / "gallery" / name
    result = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / "gallery" / f"{name}.py"), drawn],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONIOENCODING": "utf-8"},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == shown.with_suffix(".txt").read_text("utf-8"), "run `make gallery`"
    assert compare_images(shown.with_suffix(".png"), drawn, tol=2) is None, "run `make gallery`"


def test_the_gallery_has_the_figure_and_output_of_each_script():
    page = text_of("docs/gallery.md")
    assert len(GALLERY) == 4
    for name in GALLERY:
        for part in (f"../examples/gallery/{name}.py", f"gallery/{name}.png", f"{name}.txt"):
            assert part in page
    assert {path.stem for path in Path(ROOT, "docs", "gallery").iterdir()} == set(GALLERY)
