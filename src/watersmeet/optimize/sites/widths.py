"""How many bytes rows have on their way between sites.

Only columns travel that results show, that streams meet by or that conditions look at. Most types say how
wide a value is. `row_bytes` says it of the others, all of them together, and `key_bytes` of keys.
"""

from __future__ import annotations

from collections.abc import Iterable

from watersmeet.cost.site_bytes import TIME_BYTES, Width
from watersmeet.plan.layout import Ref
from watersmeet.plan.sites.columns import named, source_refs, step_between
from watersmeet.query import JoinQuery
from watersmeet.stats import Statistics

_FIXED = {
    "boolean": 0.125,
    "tinyint": 1.0,
    "smallint": 2.0,
    "int": 4.0,
    "float": 4.0,
    "date": 4.0,
    "bigint": 8.0,
    "double": 8.0,
    "timestamp": 8.0,
    "timestamp_ntz": 8.0,
}
_DECIMAL = 16.0
# Where a value of any length begins.
_OFFSET = 4.0
# A text that is a key, if nobody says how long keys are.
_KEY = 16.0


class Widths:
    """The widths of rows of a query."""

    def __init__(self, query: JoinQuery, statistics: Statistics) -> None:
        """Take the types of all columns that travel."""
        self._query = query
        self._columns: dict[str, float | None] = {}
        self._rows: dict[tuple[frozenset[int], bool], Width | None] = {}
        for stream in range(len(query.streams)):
            self._columns |= _columns(query, statistics, stream)

    def row(self, streams: Iterable[int], *, ends: bool = False) -> Width | None:
        """A row of a stream, or of the join of several, if it is known; asked once, remembered.

        Args:
            streams: The streams.
            ends: Whether it says until when it lives.
        """
        joined = frozenset(streams), ends
        if joined not in self._rows:
            self._rows[joined] = self._row(sorted(joined[0]), ends=ends)
        return self._rows[joined]

    def _row(self, streams: list[int], *, ends: bool) -> Width | None:
        first, *others = streams
        if others:
            step = step_between(self._query, (first,), tuple(others), ties=False, ends=ends)
            names = list(step.columns)
        else:
            names = [named(ref) for ref in source_refs(self._query, first)]
            ends = ends or self._query.streams[first].window.rows_bring_ends
        times = 1 + ends
        widths = [self._columns[name] for name in names]
        known = [width for width in widths if width is not None]
        if len(known) < len(widths):
            return None
        return Width(sum(known) + times * TIME_BYTES, len(names) + times)

    def key(self, left: Iterable[int], right: Iterable[int]) -> Width | None:
        """The key by which two sides meet."""
        step = step_between(self._query, tuple(left), tuple(right), ties=False, ends=False)
        widths = [self._columns[name] for name in step.head_key]
        if None in widths:
            return None
        # Without a key one bit is sent in its place.
        return Width(sum(width for width in widths if width is not None) or 0.125, max(1, len(widths)))


def _columns(query: JoinQuery, statistics: Statistics, stream: int) -> dict[str, float | None]:
    """The width of every column of a stream that travels, if it is known."""
    refs = source_refs(query, stream)
    known = statistics.of(query.names[stream])
    keys = {
        ref
        for ref in refs
        for number, attribute in enumerate(query.attributes)
        if (member := attribute.members[stream]) is not None
        and ref in (Ref(stream, member.column or ""), Ref(stream, f"={number}"))
    }
    widths: dict[Ref, float | None] = {ref: _fixed(_type(query, ref)) for ref in refs}
    left = known.row_bytes.value
    if left is not None:
        left = max(0.0, left - sum(width for width in widths.values() if width is not None))
    for ref in refs:
        if widths[ref] is None and ref in keys:
            width = known.key_bytes.value or _KEY
            widths[ref] = width + _OFFSET
            left = None if left is None else max(0.0, left - width)
    open_refs = [ref for ref in refs if widths[ref] is None]
    if left is not None:
        widths |= dict.fromkeys(open_refs, left / len(open_refs) + _OFFSET if open_refs else 0.0)
    return {named(ref): width for ref, width in widths.items()}


def _type(query: JoinQuery, ref: Ref) -> str:
    if ref.attribute is not None:
        return query.attributes[ref.attribute].type
    return query.streams[ref.stream].column(ref.column).type


def _fixed(kind: str) -> float | None:
    return _DECIMAL if kind.startswith("decimal") else _FIXED.get(kind)
