"""Values of a file that says what to simulate: durations, sites, and things that check themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from watersmeet.errors import WatersmeetError, choices
from watersmeet.jobs.settings import Table

Made = TypeVar("Made")


def seconds(table: Table, name: str) -> float | None:
    """A duration of a table, in seconds; None where it is left out or wrong."""
    value = table.raw(name)
    return None if value is None else to_seconds(table, name, value)


def to_seconds(table: Table, name: str, value: Any) -> float | None:
    """A duration in seconds; None where it is wrong."""
    found = table.duration(name, value)
    return None if found is None else found.total_seconds()


def spans(table: Table, name: str, value: Any) -> list[tuple[float, float]]:
    """Spans of time, in seconds."""
    found = []
    for span in value if isinstance(value, list) else [value]:
        if not isinstance(span, list) or len(span) != 2:
            table.wrong(f'{name} must be a list of spans such as ["2 s", "3 s"], not {span!r}')
            continue
        begin, end = (to_seconds(table, name, instant) for instant in span)
        if begin is not None and end is not None:
            found.append((begin, end))
    return found


def tables(table: Table, name: str) -> list[Any]:
    """A list of tables; empty where it is left out or wrong."""
    value = table.raw(name)
    if value is None or isinstance(value, list):
        return value or []
    table.wrong(f"{name} must be a list of tables")
    return []


def known_site(table: Table, site: str, sites: Sequence[str]) -> None:
    """Note a site that the file does not name."""
    if sites and site not in sites:
        table.wrong(f'unknown site "{site}"; valid are {choices(sites)}.')


def made(table: Table, make: Callable[[], Made]) -> Made | None:
    """Something that checks itself; what is wrong with it is noted."""
    try:
        return make()
    except WatersmeetError as error:
        parts = [error.fact, error.detail.rstrip("."), error.hint.rstrip(".")]
        table.wrong("; ".join(part for part in parts if part) + ".")
        return None
