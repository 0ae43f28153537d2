"""The code blocks of a Markdown page, and how each kind is run.

A page is run from top to bottom in one folder and one namespace. The page must show what a block of
Python prints: in the `text` block that follows it, or in a comment after each `print`.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from markdown_it import MarkdownIt

ROOT = Path(__file__).parent.parent
DIRECTIVES = {"{toctree}", "{eval-rst}", "{literalinclude}"}  # the build of the site runs them
OUTPUT, PYTHON, SHELL = "text", "python", "sh"
STAND_INS = {  # shorter commands with the same options; test_reproduction.py tests the rest
    "efface reproduce all --reading both": "efface reproduce examples --reading both",
    "efface reproduce all --reading both --out paper": "efface reproduce examples --reading both",
    "efface reproduce fig3 --runs 20": "efface reproduce examples --runs 20",
    "efface reproduce fig5 --methods all --runs 3": "efface reproduce fig1 --methods all --runs 3",
}


class BadBlock(AssertionError):
    """A block does not do what the page says."""


@dataclass(frozen=True)
class Block:
    """The text between two fences, with its page and line."""

    page: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def prompted(self) -> bool:
        """Whether the block shows outputs between lines of code, as doctests do."""
        return self.kind == PYTHON and ">>>" in self.text

    @property
    def printing(self) -> bool:
        """Whether a `text` block after it is its output."""
        return self.kind == PYTHON and not self.prompted


def blocks_of(text: str, page: str = "page") -> list[Block]:
    """All code blocks; the kind of an indented one is empty."""
    code = (t for t in MarkdownIt("commonmark").parse(text) if t.type in ("fence", "code_block"))
    return [
        Block(page, token.map[0] + 1, token.info.split(" ")[0].strip(), token.content)
        for token in code
    ]


def commands_of(text: str) -> list[str]:
    """The commands of a shell block without comments, one line each."""
    joined = re.sub(r"\\\n\s*", "", text)
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in joined.splitlines())
    return [" ".join(line.split()) for line in lines if line]


@dataclass
class Page:
    """The run of all blocks of a page; ``done`` counts the blocks of each kind."""

    folder: Path
    names: dict = field(default_factory=lambda: {"__name__": "__main__"})
    done: dict[str, int] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)  # of the shell
    services: list = field(default_factory=list)  # that run in the background: process, address

    def run(self, blocks: list[Block]) -> None:
        """Run the blocks; an error names the block."""
        for number, block in enumerate(blocks):
            follower = blocks[number + 1] if number + 1 < len(blocks) else None
            kind = self._kind(block, blocks[number - 1] if number else None)
            self.done[kind] = self.done.get(kind, 0) + 1
            if kind == PYTHON:
                self._python(block, follower)
            elif kind == SHELL:
                for command in commands_of(block.text):
                    self._command(block, command)

    def _kind(self, block: Block, before: Block | None) -> str:
        if block.kind in (PYTHON, SHELL):
            return block.kind
        if block.kind == OUTPUT:
            return "output" if before is not None and before.printing else "plain"
        if block.kind in DIRECTIVES:
            return "directive"
        raise BadBlock(f"{block}: a block of kind {block.kind!r}; tag it python, sh or text")

    def _python(self, block: Block, follower: Block | None) -> None:
        if block.prompted:
            self._doctest(block)
            return
        printed = StringIO()
        code = compile("\n" * block.line + self._moved(block.text), block.page, "exec")
        with redirect_stdout(printed), patch.dict(os.environ, self.variables):
            exec(code, self.names)
        if follower is not None and follower.kind == OUTPUT:
            shown, got = without_rounding(follower.text), without_rounding(printed.getvalue())
            if shown != got:
                raise BadBlock(f"{block} prints\n{got}\nand the page shows\n{shown}")
            return
        shown = re.findall(r"^ *print\(.*\)  # (.*)$", block.text, re.MULTILINE)
        if shown != (got := printed.getvalue().splitlines()):
            raise BadBlock(f"{block} prints {got}, and the comments show {shown}")

    def _doctest(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.text, self.names, str(block), block.page, block.line
        )
        report = StringIO()
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        if runner.run(test, out=report.write, clear_globs=False).failed:
            raise BadBlock(report.getvalue())
        self.names.update(test.globs)

    def close(self) -> None:
        """Stop the services that the page started; they must end cleanly."""
        for process, _ in self.services:
            process.terminate()
            process.communicate(timeout=60)
            if process.returncode:
                raise BadBlock(f"a service ended with {process.returncode}")

    def _command(self, block: Block, command: str) -> None:
        for name, value in self.variables.items():
            command = command.replace(f"${name}", value)
        assigned = re.fullmatch(r"([A-Z_]+)=\$\(efface (.*)\)", command)
        if assigned is not None:
            printed = self._efface(block, shlex.split(assigned[2]))
            self.variables[assigned[1]] = printed.splitlines()[-1]
            return
        runners = {
            "curl": self._curl,
            "efface": self._efface,
            "make": self._make,
            "pip": self._pip,
            "python": self._script,
        }
        first, *words = shlex.split(STAND_INS.get(command, command))
        if first not in runners:
            raise BadBlock(f"{block}: {command!r} is none of {', '.join(runners)}")
        runners[first](block, words)

    def _make(self, block: Block, targets: list[str]) -> None:
        """Targets must exist; CI runs them."""
        makefile = (ROOT / "Makefile").read_text("utf-8")
        if unknown := set(targets) - set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)):
            raise BadBlock(f"{block}: the Makefile has no target {unknown}")

    def _pip(self, block: Block, words: list[str]) -> None:
        """Only `pip install` of efface, with extras that exist."""
        asked = re.fullmatch(r"install efface(?:\[([a-z,]+)\])?", " ".join(words))
        if asked is None:
            raise BadBlock(f"{block}: {words} installs something else than efface")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        known = {"", *project["optional-dependencies"]}
        if unknown := set((asked[1] or "").split(",")) - known:
            raise BadBlock(f"{block}: efface has no extra {unknown}")

    def _efface(self, block: Block, words: list[str]) -> str:
        program = str(Path(sys.executable).with_name("efface"))
        if words[-1] == "&":
            self._start(block, [program, *words[:-1], "--port", "0"])
            return ""
        return self._call(block, [program, *map(self._moved, words)])

    def _start(self, block: Block, words: list[str]) -> None:
        """A service in the background, on a free port in the place of 8000."""
        process = subprocess.Popen(
            [sys.executable, "-W", "error", *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        line = process.stdout.readline()
        self.services.append((process, line.rpartition(" at ")[2].strip()))
        if " at http" not in line:
            raise BadBlock(f"{block}: {words} did not start: {line!r}")

    def _moved(self, word: str) -> str:
        return (
            word.replace("http://127.0.0.1:8000", self.services[-1][1]) if self.services else word
        )

    def _curl(self, block: Block, words: list[str]) -> None:
        """A request to the service that the page started; it must succeed."""
        if not self.services or not any("http://127.0.0.1:8000" in word for word in words):
            raise BadBlock(f"{block}: curl asks something else than a service of this page")
        command = ["curl", "--fail-with-body", "--max-time", "60", *map(self._moved, words)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise BadBlock(f"{block}: {words} ends with {run.returncode}\n{run.stdout}{run.stderr}")

    def _script(self, block: Block, words: list[str]) -> None:
        if words[:2] != ["-m", "benchmarks"]:
            self._call(block, [str(ROOT / words[0]), *words[1:]])
            return
        from benchmarks.__main__ import SUITES

        if unknown := set(words[2:]) - set(SUITES):
            raise BadBlock(f"{block}: there is no suite {unknown}")

    def _call(self, block: Block, words: list[str]) -> str:
        words, given = (words[:-2], words[-1]) if "<" in words[-2:-1] else (words, None)
        run = subprocess.run(
            [sys.executable, "-W", "error", *words],
            cwd=self.folder,
            input=None if given is None else (self.folder / given).read_text("utf-8"),
            env={**os.environ, "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "agg", **self.variables},
            capture_output=True,
            text=True,
            check=False,
        )
        if run.returncode:
            raise BadBlock(f"{block}: {words} ends with {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout


def without_rounding(text: str) -> str:
    """The text with rounding errors replaced, which differ between machines."""
    return re.sub(r"\d(\.\d)?e-1\d", "~0", text)
