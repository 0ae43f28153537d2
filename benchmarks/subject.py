"""Access to the public names of efface, with one clear error if they cannot be imported."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class EffaceMissingError(RuntimeError):
    """Efface, or one of its names, cannot be imported."""


def efface(name: str) -> Any:
    """A public name of efface."""
    try:
        return getattr(import_module("efface"), name)
    except (ImportError, AttributeError) as error:
        raise EffaceMissingError(
            f"'efface.{name}' cannot be imported ({error}): run `pip install -e .` first"
        ) from error


def missing(*names: str) -> str | None:
    """Why efface cannot be measured, or None if every name can be imported."""
    try:
        for name in names:
            efface(name)
    except EffaceMissingError as error:
        return f"missing: {error}"
    return None
