"""Random histories: which rows arrive in which batch, and under which watermark.

Times and windows are small numbers, so that ties, rows exactly at the end of a window and equal rows are
common rather than lucky.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from oracles import reference
from oracles.reference import Result, Row, Table, Window

# Rows per stream: enough for several batches, few enough that nested loops stay fast on one hot key.
_MOST_ROWS = {2: 24, 3: 14, 4: 9, 5: 6, 6: 5}

KEYS = {
    "int": lambda n: (n - 2,),
    "string": lambda n: (["", "a", "b", "ab", "a\0", "ü"][n],),
    # Pairs that are equal when written one after the other, and differ as pairs.
    "composite": lambda n: [
        ("", "ab", 1),
        ("a", "b", 1),
        ("ab", "", 1),
        ("ab", "", 2),
        ("b", "a", 1),
        ("", "", 1),
    ][n],
}


@dataclass(frozen=True)
class History:
    """What arrives: `batches[b][s]` are the rows of stream s in batch b, run under `watermarks[b]`."""

    windows: tuple[Window, ...]
    batches: list[list[list[Row]]]
    watermarks: list[int | None]

    @property
    def streams(self) -> int:
        return len(self.windows)

    def tables(self) -> list[Table]:
        """All that arrived in time."""
        rows, _ = reference.on_time(self.batches, self.watermarks)
        return [Table(window, kept) for window, kept in zip(self.windows, rows, strict=True)]

    def leaving(self, expected: Sequence[Result]) -> list[list[Result]]:
        """Batch by batch the results that leave with it, where they wait for the watermark."""
        found, before = [], None
        for mark in self.watermarks:
            reached = [] if mark is None else [r for r in expected if r[-1] <= mark]
            found.append([r for r in reached if before is None or r[-1] > before])
            before = mark
        return found

    def late(self) -> list[int]:
        """How many rows of each stream come too late."""
        return reference.on_time(self.batches, self.watermarks)[1]


@st.composite
def histories(
    draw: st.DrawFn,
    *,
    streams: Sequence[int] = (2, 3, 4, 5, 6),
    keys: Sequence[str] = tuple(KEYS),
    late_rows: bool = False,
    span: int = 40,
    longest_window: int = 25,
    different_keys: int = 3,
) -> History:
    """A history of up to six streams and eight batches, some of them empty."""
    count = draw(st.sampled_from(list(streams)))
    windows = tuple(draw(st.lists(st.integers(0, longest_window), min_size=count, max_size=count)))
    key_of = KEYS[draw(st.sampled_from(list(keys)))]
    batch_count = draw(st.integers(1, 8))
    row = st.tuples(st.integers(0, batch_count - 1), st.integers(0, different_keys - 1), st.integers(0, span))
    batches: list[list[list[Row]]] = [[[] for _ in range(count)] for _ in range(batch_count)]
    for stream in range(count):
        arrivals = draw(st.lists(row, max_size=_MOST_ROWS[count] - 1))
        for number, (batch, key, ts) in enumerate(arrivals):
            batches[batch][stream].append(Row(key_of(key), ts, 100 * stream + number))
        if arrivals and draw(st.booleans()):
            # The very same row once more, somewhere.
            _, key, ts = arrivals[0]
            twin = draw(st.integers(0, batch_count - 1))
            batches[twin][stream].append(Row(key_of(key), ts, 100 * stream))
    return History(windows, batches, draw(_watermarks(batches, span, late_rows=late_rows)))


@st.composite
def _watermarks(
    draw: st.DrawFn, batches: list[list[list[Row]]], span: int, *, late_rows: bool
) -> list[int | None]:
    """Watermarks that never fall; without late rows each stays behind all rows still to come."""
    watermarks: list[int | None] = []
    reached: int | None = None
    for b in range(len(batches)):
        to_come = [row.ts for batch in batches[b:] for rows in batch for row in rows]
        highest = span if late_rows else min(to_come, default=span) - 1
        proposed = draw(st.none() | st.integers(-5, max(-5, highest)))
        if proposed is not None and (late_rows or proposed <= highest):
            reached = proposed if reached is None else max(reached, proposed)
        watermarks.append(reached)
    return watermarks
