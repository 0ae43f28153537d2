"""Text of results as a terminal shows them."""

from __future__ import annotations

from efface.inputs.ids import Id


def aligned(title: str, entries: dict[str, object]) -> str:
    """A title and one line per entry; entries that are None are left out."""
    width = max(map(len, entries))
    known = {name: value for name, value in entries.items() if value is not None}
    lines = (f"  {name:<{width}}  {figure(value)}" for name, value in known.items())
    return "\n".join([title, *lines])


def figure(value: object) -> str:
    """A float with six digits, or with two if it is tiny; anything else as ``str`` has it."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.2g}" if 0 < abs(value) < 1e-6 else f"{value:.6g}"


def counted(count: int, noun: str) -> str:
    """A count and its noun.

    >>> counted(1, "live row"), counted(2, "live row")
    ('1 live row', '2 live rows')
    """
    return f"{count} {noun}" + ("" if count == 1 else "s")


def listed(ids: tuple[Id, ...]) -> str:
    """The first five ids, and how many more there are."""
    more = f" and {len(ids) - 5} more" if len(ids) > 5 else ""
    return ", ".join(map(repr, ids[:5])) + more
