"""The cache of compiled kernels belongs to the sources that are there now."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from numba_cache import PACKAGE, ROOT, cache_folder, sources_digest

KERNELS = sorted(path.relative_to(PACKAGE) for path in (PACKAGE / "engine").rglob("*.py"))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the sources that a test may change."""
    copy = tmp_path_factory.mktemp("sources") / "efface"
    return shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "sample"))


@contextmanager
def one_more_byte(path):
    content = path.read_bytes()
    path.write_bytes(content + b"\n")
    yield
    path.write_bytes(content)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_one_changed_byte_in_a_kernel_changes_the_folder(package, kernel):
    before = sources_digest(package)
    with one_more_byte(package / kernel):
        assert sources_digest(package) != before
    assert sources_digest(package) == before


def test_other_modules_do_not_change_the_folder(package):
    before = sources_digest(package)
    with one_more_byte(package / "errors.py"):
        assert sources_digest(package) == before


def test_folders_of_older_sources_are_removed(package, tmp_path):
    first = cache_folder(package, tmp_path)
    (first / "kernel.nbc").touch()
    assert cache_folder(package, tmp_path) == first
    assert (first / "kernel.nbc").exists()
    with one_more_byte(package / KERNELS[0]):
        second = cache_folder(package, tmp_path)
    assert second != first
    assert list(tmp_path.iterdir()) == [second]


def test_the_tests_use_the_folder_of_the_sources():
    assert Path(os.environ["NUMBA_CACHE_DIR"]) == cache_folder()


def test_make_gives_the_folder_to_the_commands_that_compile():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.search(
        r"^(.*): export NUMBA_CACHE_DIR = .*numba_cache\.py", makefile, re.MULTILINE
    )
    assert targets is not None
    assert set(targets[1].split()) == {"demo", "gallery", "paper", "serve"}
    assert "use_cache_folder()" in (ROOT / "benchmarks" / "__main__.py").read_text("utf-8")
