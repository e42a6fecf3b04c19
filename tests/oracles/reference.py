"""The join as its definition reads: nested loops over plain tables, to be checked by eye.

alive(row)  =  [ts, ts + window of its table], both ends included, or to the end of its slot, or until a newer
               row of its table and key comes
result      =  one row of every table, equal keys, an instant at which all of them are alive; or all in one
               slot of those that overlap; or all in one session
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple


class Row(NamedTuple):
    """A row: its key columns, its time (any integer unit), and what the result shows of it."""

    key: tuple[Any, ...]
    ts: int
    value: int


class Slots(NamedTuple):
    """A tumbling window: time is cut into slots of this size, counted from zero."""

    size: int


class Latest(NamedTuple):
    """A window of the newest rows of each key."""


class Hops(NamedTuple):
    """Hopping windows: slots of a size, one every hop, counted from zero. All tables have the same."""

    size: int
    every: int


class Sessions(NamedTuple):
    """Sessions: rows of a key, of all tables, at most this gap from one to the next. All tables have it."""

    gap: int


Window = int | Slots | Latest | Hops | Sessions


class Table(NamedTuple):
    """The rows of one stream, in any order, and how long each of them lives."""

    window: Window
    rows: Sequence[Row]

    def alive(self, row: Row, time: int) -> bool:
        """Whether a row is alive at a time that is not before its own."""
        if isinstance(self.window, Latest):
            return not any(other.key == row.key and row.ts < other.ts <= time for other in self.rows)
        return time <= self.end(row)

    def end(self, row: Row) -> int:
        """The last instant at which a row is alive."""
        if isinstance(self.window, Slots):
            following = row.ts + 1
            while following % self.window.size:
                following += 1
            return following - 1
        assert isinstance(self.window, int)
        return row.ts + self.window


Result = tuple[int, ...]
"""The value of one row per table, begin and end of the slot where these overlap, then the result time."""


def join(tables: Sequence[Table]) -> list[Result]:
    """Every result, as often as it occurs, in no particular order."""
    results: list[Result] = []
    window = tables[0].window
    keys = {row.key for table in tables for row in table.rows if None not in row.key}
    for key in keys:
        rows_of_key = [[row for row in table.rows if row.key == key] for table in tables]
        if isinstance(window, Hops):
            results += _in_slots(rows_of_key, window)
            continue
        if isinstance(window, Sessions):
            results += _in_sessions(rows_of_key, window)
            continue
        for combination in product(*rows_of_key):
            last_start = max(row.ts for row in combination)
            if all(table.alive(row, last_start) for row, table in zip(combination, tables, strict=True)):
                results.append((*(row.value for row in combination), last_start))
    return results


def _in_slots(rows_of_key: Sequence[Sequence[Row]], slots: Hops) -> Iterator[Result]:
    """Slot after slot, from before the first row to behind the last."""
    times = [row.ts for rows in rows_of_key for row in rows]
    start = min(times) - slots.size
    start -= start % slots.every
    while start <= max(times):
        end = start + slots.size
        for combination in product(*([r for r in rows if start <= r.ts < end] for rows in rows_of_key)):
            yield (*(row.value for row in combination), start, end, max(row.ts for row in combination))
        start += slots.every


def _in_sessions(rows_of_key: Sequence[Sequence[Row]], sessions: Sessions) -> Iterator[Result]:
    """Time after time: what follows by more than the gap begins a new session."""
    times = sorted(row.ts for rows in rows_of_key for row in rows)
    while times:
        first = last = times[0]
        while times and times[0] - last <= sessions.gap:
            last = times.pop(0)
        for combination in product(*([r for r in rows if first <= r.ts <= last] for rows in rows_of_key)):
            yield (*(row.value for row in combination), last + sessions.gap)


def watermarks(
    batches: Sequence[Sequence[Sequence[Row]]], lateness: Sequence[int], unit: int = 1
) -> list[int | None]:
    """The watermark each batch runs under: that of the slowest stream, one batch old; None if there is none.

    `batches[b][s]` are the rows of stream s in batch b; a watermark moves in steps of
    `unit`.
    """
    newest: list[int | None] = [None] * len(lateness)
    under: list[int | None] = []
    reached: int | None = None
    for batch in batches:
        under.append(reached)
        for stream, rows in enumerate(batch):
            times = [row.ts for row in rows]
            if newest[stream] is not None:
                times.append(newest[stream])
            newest[stream] = max(times, default=None)
        if None not in newest:
            slowest = min(
                time // unit * unit - (late + unit) for time, late in zip(newest, lateness, strict=True)
            )
            reached = slowest if reached is None else max(reached, slowest)
    return under


def on_time(
    batches: Sequence[Sequence[Sequence[Row]]], under: Sequence[int | None]
) -> tuple[list[list[Row]], list[int]]:
    """Per stream the rows that are not late, and how many are: late means at or before the watermark."""
    streams = len(batches[0])
    kept: list[list[Row]] = [[] for _ in range(streams)]
    late = [0] * streams
    for batch, watermark in zip(batches, under, strict=True):
        for stream, rows in enumerate(batch):
            for row in rows:
                if watermark is not None and row.ts <= watermark:
                    late[stream] += 1
                else:
                    kept[stream].append(row)
    return kept, late


def assert_same_rows(actual: Iterable[Result], expected: Iterable[Result], limit: int = 10) -> None:
    """The same rows equally often; says which are missing and which are too many."""
    found, wanted = Counter(actual), Counter(expected)
    missing, surplus = wanted - found, found - wanted
    if missing or surplus:
        raise AssertionError(
            f"of {wanted.total()} rows {missing.total()} are missing, such as {list(missing)[:limit]}, "
            f"and {surplus.total()} are too many, such as {list(surplus)[:limit]}"
        )
