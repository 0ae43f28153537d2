"""The one door to efface, so that its absence is said clearly and in one place."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class EffaceMissingError(RuntimeError):
    """Efface, or the name asked of it, cannot be imported."""


def efface(name: str) -> Any:
    """A public name of efface."""
    try:
        return getattr(import_module("efface"), name)
    except (ImportError, AttributeError) as error:
        raise EffaceMissingError(
            f"'efface.{name}' cannot be imported ({error}): run `pip install -e .` first"
        ) from error


def missing(*names: str) -> str | None:
    """Why efface cannot be measured, or None when every name is there."""
    try:
        for name in names:
            efface(name)
    except EffaceMissingError as error:
        return f"missing: {error}"
    return None
