"""The entry point of ``efface``: runs the application and turns errors into exit codes.

====  ============================================================================
0     done
1     done, but an audit failed or a request named an unknown id or owner
2     nothing was done: an argument or a file cannot be used; stderr says why
3     nothing was done: a library is not installed; stderr names the extra
130   interrupted
143   terminated
====  ============================================================================

This module imports nothing that an extra installs, so that it can report a missing one.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from efface.errors import EffaceError, MissingExtra

_LIBRARIES = {  # which each extra of efface installs
    "cli": ("rich", "typer"),
    "files": ("pyarrow",),
    "report": ("bokeh", "jinja2"),
    "paper": ("joblib", "matplotlib"),
    "store": ("cryptography", "psycopg"),
    "service": (
        *("fastapi", "httptools", "httpx", "prometheus_client", "pydantic", "starlette"),
        *("typing_extensions", "uvicorn", "uvloop"),
    ),
}
EXTRAS = {library: extra for extra, libraries in _LIBRARIES.items() for library in libraries}


def run() -> None:
    """``main`` as a process of its own, which ends at once where nothing was done.

    A thread of the reader of a table may still be alive then. The interpreter would abort.
    """
    try:
        main()
    except SystemExit as stop:
        if stop.code not in (2, 3):
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(stop.code))


def main() -> None:
    """Run the command line; errors of efface become one line on stderr and an exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        from efface.cli.app import app

        app()
    except EffaceError as error:
        _fail(error, 2)
    except ImportError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        _fail(missing, 3)


def _fail(error: Exception, code: int) -> NoReturn:
    print(f"efface: {error}", file=sys.stderr)
    raise SystemExit(code) from None


def _terminate(*_: object) -> None:
    """Exit on SIGTERM through the normal path, so that temporary folders are removed."""
    raise SystemExit(128 + signal.SIGTERM)


def missing_extra(error: ImportError) -> MissingExtra | None:
    """The error that says what to install; None if no extra has the library.

    >>> print(missing_extra(ModuleNotFoundError(name="bokeh.plotting")))
    'bokeh' is not installed: it is needed here; run pip install "efface[report]", or \
pip install "efface[all]" for everything.
    """
    library = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(library)
    return None if extra is None else MissingExtra(library, extra)
