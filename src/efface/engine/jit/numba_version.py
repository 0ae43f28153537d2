"""Which Numba the compiled code is tested with."""

from __future__ import annotations

from efface.errors import UnsupportedNumba, unusable

TESTED, NEXT = (0, 68), (0, 69)  # the same as in pyproject.toml


def require_tested_numba(version: str) -> None:
    """Raise an error unless this is the minor version that ``efface.engine.jit`` is tested with.

    >>> require_tested_numba("0.68.1")
    """
    if tuple(version.split(".")[:2]) != tuple(map(str, TESTED)):
        least, below = (".".join(map(str, parts)) for parts in (TESTED, NEXT))
        expected = f"{least}.x, with which efface's compiled code is tested"
        advice = f"install 'numba>={least},<{below}'"
        raise UnsupportedNumba(unusable("numba", version, expected, advice))
