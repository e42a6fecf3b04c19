"""What a job file may say, and every mistake in it at once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from watersmeet.errors import WatersmeetError, choices
from watersmeet.query import parse_duration


class InvalidJob(WatersmeetError, ValueError):
    """A job file that cannot be run."""


class Table:
    """A table of a job file that notes what is wrong with it instead of stopping.

    Args:
        values: What the file says; None where it does not.
        place: Where in the file, as in ``[streams.orders]``.
        mistakes: Where to note what is wrong; shared by all tables of a file.
    """

    def __init__(self, values: Any, place: str, mistakes: list[str]) -> None:
        self._place = place
        self._mistakes = mistakes
        self._values: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
        self._read: list[str] = []
        self.given = values is not None
        if self.given and not isinstance(values, Mapping):
            self.wrong(f"must be a table, not {_kind(values)}")

    def text(self, name: str, *, needed: bool = False) -> str | None:
        """A text, which may also be written as a number."""
        value = self._take(name, needed=needed)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self.wrong(f"{name} must be a text, not {_kind(value)}")
        return None

    def number(self, name: str, *, needed: bool = False) -> int | None:
        """A positive whole number."""
        value = self._take(name, needed=needed)
        if value is None or (type(value) is int and value > 0):
            return value
        self.wrong(f"{name} must be a positive whole number, not {value!r}")
        return None

    def flag(self, name: str) -> bool:
        """True or false; false when it is left out."""
        value = self._take(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.wrong(f"{name} must be true or false, not {value!r}")
        return False

    def texts(self, name: str) -> list[str] | None:
        """A list of texts, or one."""
        value = self._take(name)
        if value is None:
            return None
        listed = value if isinstance(value, list) else [value]
        if all(isinstance(item, str) for item in listed):
            return listed
        self.wrong(f"{name} must be a text or a list of texts")
        return None

    def options(self, name: str) -> dict[str, str]:
        """A table of names and values, passed on as texts."""
        value = self._take(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or any(isinstance(item, dict | list) for item in value.values()):
            self.wrong(f"{name} must be a table of names and values")
            return {}
        return {
            key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in value.items()
        }

    def table(self, name: str, *, needed: bool = False) -> Table:
        """A table inside this one; an empty one where it is missing."""
        value = self._take(name, needed=needed)
        return Table(value, f"{self._place}.{name}" if self._place else name, self._mistakes)

    def item(self, name: str, number: int) -> Table:
        """A table in a list of them, counted from one for people."""
        place = f"{self._place}.{name}" if self._place else name
        return Table(self._values[name][number], f"{place} {number + 1}", self._mistakes)

    def raw(self, name: str) -> Any:
        """A value of any kind."""
        return self._take(name)

    def names(self) -> list[str]:
        """Every name in the table, all of them known."""
        self._read += self._values
        return list(self._values)

    def refuse_others(self) -> None:
        """Note the names nobody has read."""
        for name in self._values:
            if name not in self._read:
                close = get_close_matches(name, self._read, 1)
                hint = f'did you mean "{close[0]}"?' if close else f"valid are {choices(self._read)}."
                self.wrong(f'unknown setting "{name}"; {hint}')

    def duration(self, name: str, value: Any, *, positive: bool = False) -> timedelta | None:
        """A duration that the table has under this name; None where it is wrong."""
        try:
            found = parse_duration(value)
        except ValueError as error:
            self.wrong(f"{name}: {error}")
            return None
        if found < timedelta(0) or (positive and not found):
            self.wrong(f'{name}: "{value}" is not {"positive" if positive else "zero or more"}')
            return None
        return found

    def wrong(self, what: str) -> None:
        """Note a mistake."""
        self._mistakes.append(f"[{self._place}] {what}" if self._place else f"the file: {what}")

    def _take(self, name: str, *, needed: bool = False) -> Any:
        self._read.append(name)
        if needed and name not in self._values:
            self.wrong(f'"{name}" is missing.')
        return self._values.get(name)


def read_table(path: Path, what: str, examples: str) -> tuple[Table, list[str]]:
    """The whole of a file, and where its mistakes will be noted.

    Args:
        path: The file.
        what: What it should be, for people.
        examples: Where there are some.

    Raises:
        InvalidJob: It is missing, or not TOML.
    """
    try:
        values = tomllib.loads(path.read_text("utf-8-sig"))
    except OSError as error:
        raise InvalidJob(
            f"cannot read {path}", f"{error.strerror or error}.", f"give the path of {what}."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidJob(f"{path} is not a TOML file", f"{error}.", f"{examples} has some.") from None
    mistakes: list[str] = []
    return Table(values, "", mistakes), mistakes


def refuse_mistakes(path: Path, mistakes: list[str], examples: str) -> None:
    """Raise InvalidJob with every mistake that was noted."""
    if mistakes:
        count = f"{len(mistakes)} mistakes" if len(mistakes) > 1 else "a mistake"
        raise InvalidJob(
            f"{path} has {count}", "\n  ".join(mistakes), f"correct the file; {examples} has some."
        )


def _kind(value: Any) -> str:
    kinds = {dict: "a table", list: "a list", str: "a text", bool: "true or false", int: "a number"}
    return kinds.get(type(value), type(value).__name__)
