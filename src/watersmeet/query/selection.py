"""Which columns a result keeps, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.shared_key import names
from watersmeet.query.stream import Stream

Selection = tuple[tuple[int, str], ...]


def selection(streams: Sequence[Stream], select: Sequence[str]) -> Selection:
    """The (stream, column) pairs of a list such as ``["a.x", "b.*"]``."""
    by_name = {stream.name: index for index, stream in enumerate(streams)}
    chosen: list[tuple[int, str]] = []
    for text in names(select):
        owner, dot, column = text.partition(".")
        if not dot or owner not in by_name:
            raise InvalidQuery(
                f'cannot tell which stream "{text}" belongs to',
                "a selected column is written stream.column.",
                f"the streams are {choices(by_name)}.",
            )
        index = by_name[owner]
        found = streams[index].column_names if column == "*" else (streams[index].column(column).name,)
        chosen += [(index, name) for name in found]
    for index, name in chosen:
        if chosen.count((index, name)) > 1:
            raise InvalidQuery(
                f'"{streams[index].name}.{name}" is selected twice', "", "list every column once."
            )
    return tuple(chosen)


def kept_columns(streams: Sequence[Stream], chosen: Selection | None) -> tuple[tuple[str, ...], ...]:
    """Per stream the columns a result holds."""
    if chosen is None:
        return tuple(stream.column_names for stream in streams)
    return tuple(
        tuple(name for index, name in chosen if index == position) for position in range(len(streams))
    )
