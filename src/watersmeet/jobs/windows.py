"""The window of a stream as files say it: a length of time, a word, or a table of settings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from watersmeet.errors import choices
from watersmeet.jobs.settings import Table
from watersmeet.query import Window, parse_duration
from watersmeet.query.window import FROM_CONDITIONS, KINDS, TimeWindow

_WORDS: dict[str, Any] = {kind.keyword: kind for kind in KINDS if kind.keyword and not kind.settings}
_TABLES: dict[str, Any] = {kind.keyword: kind for kind in KINDS if kind.settings}


def read_window(stream: Table) -> Window:
    """The window of a stream; it is left to the conditions where nothing is said, or something wrong."""
    value = stream.raw("window")
    found: Window | None = None
    if isinstance(value, str):
        found = _WORDS[value]() if value in _WORDS else _time_window(stream, value)
    elif isinstance(value, dict):
        found = _from_table(stream.table("window"), value)
    elif value is not None:
        others = [*(f'"{word}"' for word in _WORDS), *(f"{{ {name} = ... }}" for name in _TABLES)]
        stream.wrong(f'window must be a duration such as "10 minutes", or {choices(others)}')
    return FROM_CONDITIONS if found is None else found


def _time_window(stream: Table, text: str) -> Window | None:
    length = _duration(stream, "window", text, may_be_nothing=True)
    return None if length is None else TimeWindow(length)


def _from_table(table: Table, given: dict[str, Any]) -> Window | None:
    # Without the word of any kind, the usual one says what is missing.
    kind = next((_TABLES[name] for name in given if name in _TABLES), _TABLES["rows"])
    instant = kind is TimeWindow
    found = [_setting(table, name, of, may_be_nothing=instant) for name, of in kind.settings.items()]
    table.refuse_others()
    return None if None in found else kind(*found)


def _setting(table: Table, name: str, of: type, *, may_be_nothing: bool) -> Any:
    if of is bool:
        return table.flag(name)
    if of is int:
        return table.number(name, needed=True)
    text = table.text(name, needed=True)
    return None if text is None else _duration(table, name, text, may_be_nothing=may_be_nothing)


def _duration(table: Table, name: str, text: str, *, may_be_nothing: bool) -> timedelta | None:
    """A length of time; None where it is wrong."""
    try:
        length = parse_duration(text)
    except ValueError as error:
        table.wrong(f"{name}: {error}")
        return None
    if length < timedelta(0) or (length == timedelta(0) and not may_be_nothing):
        table.wrong(f'{name}: "{text}" is not positive')
        return None
    return length
