"""The page on Spark: every block runs and prints what the page shows."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from snippets import ROOT, Page, blocks_of


def test_every_block_of_the_page_runs(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = "docs/spark.md"
    blocks, run = blocks_of((ROOT / page).read_text("utf-8"), page), Page(tmp_path)
    run.run(blocks)
    assert run.done["python"] == 5
    assert sum(run.done.values()) == len(blocks)
