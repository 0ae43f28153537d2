"""Which extra of efface installs a library that is missing."""

from __future__ import annotations

from efface.errors import MissingExtra

EXTRAS = {
    "rich": "cli",
    "typer": "cli",
    "pyarrow": "files",
    "bokeh": "report",
    "jinja2": "report",
    "joblib": "paper",
    "matplotlib": "paper",
    "distributed": "dask",
    "cryptography": "store",
    "psycopg": "store",
    "fastapi": "service",
    "httptools": "service",
    "httpx": "service",
    "prometheus_client": "service",
    "pydantic": "service",
    "starlette": "service",
    "typing_extensions": "service",
    "uvicorn": "service",
    "uvloop": "service",
}


def missing_extra(error: ImportError) -> MissingExtra | None:
    """The error that says what to install; None if no extra has the library.

    >>> print(missing_extra(ModuleNotFoundError(name="bokeh.plotting")))
    'bokeh' is not installed: it is needed here; run pip install "efface[report]", or \
pip install "efface[all]" for everything.
    """
    library = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(library)
    return None if extra is None else MissingExtra(library, extra)
