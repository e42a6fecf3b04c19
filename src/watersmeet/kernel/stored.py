"""The classes that may be written to a checkpoint and read from one: dataclasses and named tuples.

    @stored_as("asked")
    @dataclass
    class Asked: ...

Each says so itself, under a name that must never change. What is read is built without calling anything of
the class. A field that was not there when the state was written takes its default; one that is not known
here is refused, since newer code may have meant something by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar

from watersmeet.errors import CheckpointMismatch, choices

C = TypeVar("C", bound=type)

# By class its name and its fields.
STORED: dict[type, tuple[str, tuple[str, ...]]] = {}
_classes: dict[str, type] = {}


def stored_as(name: str) -> Callable[[C], C]:
    """Lets a class be stored under a name."""

    def register(cls: C) -> C:
        assert _classes.setdefault(name, cls) is cls, f'"{name}" is taken'
        STORED[cls] = name, tuple(_defaults(cls))
        return cls

    return register


def builder(name: str, written: Sequence[str]) -> Callable[[Iterable[Any]], Any]:
    """How values of fields, as they were written, become one of the class of a name."""
    cls = _classes.get(name)
    if cls is None:
        raise unlike_ours(f'it holds a "{name}", which is not known')
    known = _defaults(cls)
    later = {field: default for field, default in known.items() if field not in written}
    unknown = [field for field in written if field not in known]
    missing = [field for field, default in later.items() if default is None]
    if unknown or missing:
        found = f"has {choices(unknown)}" if unknown else f"has no {choices(missing)}"
        raise unlike_ours(f'a "{name}" {found}, unlike in this version')

    added = {field: default for field, default in later.items() if default is not None}

    def build_tuple(values: Iterable[Any]) -> Any:
        found = dict(zip(written, values, strict=True)) | {field: make() for field, make in added.items()}
        return tuple.__new__(cls, [found[field] for field in known])

    def build_record(values: Iterable[Any]) -> Any:
        made: Any = object.__new__(cls)
        for field, value in zip(written, values, strict=True):
            object.__setattr__(made, field, value)
        for field, make in added.items():
            object.__setattr__(made, field, make())
        return made

    return build_record if is_dataclass(cls) else build_tuple


def unlike_ours(detail: str) -> CheckpointMismatch:
    """Bytes were written by something else, or by another version."""
    return CheckpointMismatch(
        "stored state is not in a form that this version reads",
        f"{detail}.",
        "start with a new checkpoint location, or go on with the version that wrote it.",
    )


@cache
def _defaults(cls: Any) -> dict[str, Callable[[], Any] | None]:
    """Per field what makes its default; None if it has none."""
    if not is_dataclass(cls):
        given = cls._field_defaults
        return {field: partial(_same, given[field]) if field in given else None for field in cls._fields}
    found: dict[str, Callable[[], Any] | None] = {}
    for field in fields(cls):
        if field.default_factory is not MISSING:
            found[field.name] = field.default_factory
        else:
            found[field.name] = None if field.default is MISSING else partial(_same, field.default)
    return found


def _same(value: Any) -> Any:
    return value
