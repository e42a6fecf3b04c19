"""Streams of random rows as files, the query that joins them, and the rows it must give back."""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import watersmeet as wm
from harness.kinds import equality, in_time
from harness.streaming import SHORT_WAYS, Feed, add_rows, row_feeds
from oracles import duck, kinds, reference
from oracles.graph import Event
from oracles.reference import Result, Row, Table

SECOND = 1_000_000
START = 1_700_000_000 * SECOND


def random_batches(
    random: Random, windows: Sequence[int], lateness: Sequence[int], *, late_rows: bool, groups: int = 40
) -> Iterator[list[list[Row]]]:
    """Batch after batch of rows for each stream, without end.

    Time moves by half the longest window per batch. Rows of a batch come in any order; within the lateness
    they reach back behind the batches before. With `late_rows` some of them reach back too far. Most
    times lie on a grid of seconds, so that ties and rows at the very end of a window are frequent.
    """
    step = max(windows) // 2
    numbers = count()
    for b in count():
        batch = []
        for stream in range(len(windows)):
            rows = []
            for group in range(groups):
                for _ in range(random.choice([0, 0, 1, 1, 2, 3])):
                    grain = random.choice([SECOND, SECOND, 1])
                    behind = lateness[stream] * (random.choice([1, 1, 1, 3]) if late_rows else 1)
                    ts = START + b * step + random.randint(-behind, step) // grain * grain
                    key = (group, random.choice("ab") if group % 2 else "a")
                    rows.append(Row(key, ts, next(numbers)))
                    if random.random() < 0.03:
                        rows.append(rows[-1])
            random.shuffle(rows)
            # Now and then a stream is silent.
            batch.append(rows if random.random() > 0.1 else [])
        yield batch


class Scenario:
    """A join of some streams whose rows are fed batch by batch."""

    def __init__(
        self,
        folder: Path,
        windows: Sequence[int] = (8, 5, 10),
        lateness: Sequence[int] = (2, 0, 3),
        *,
        seed: int = 1,
        late_rows: bool = False,
        groups: int = 40,
    ) -> None:
        """Windows and lateness in seconds; nothing is fed yet."""
        self.folder = folder
        self.windows = [window * SECOND for window in windows]
        self.lateness = [late * SECOND for late in lateness]
        random = Random(seed)  # noqa: S311
        self._to_come = random_batches(
            random, self.windows, self.lateness, late_rows=late_rows, groups=groups
        )
        self.batches: list[list[list[Row]]] = []
        self.feeds: list[Feed] = row_feeds(folder, len(windows))

    def feed(self, batches: int = 1) -> None:
        """Add the next batches: a file each for every stream."""
        for _ in range(batches):
            self.batches.append(next(self._to_come))
            add_rows(self.feeds, self.batches[-1])

    def query(
        self, spark: SparkSession, *, plain: bool = False, opened: bool = SHORT_WAYS, **options: Any
    ) -> wm.Query:
        """The join, over streams s0, s1, ...; the options are those of `wm.join`."""
        inputs = [
            wm.stream(
                f"s{i}",
                feed.plain(spark) if plain else feed.stream(spark, opened=opened),
                time="ts",
                window=f"{self.windows[i]} us",
                lateness=f"{self.lateness[i]} us",
            )
            for i, feed in enumerate(self.feeds)
        ]
        # More buckets than partitions, but fewer than usual: each takes its time in every batch.
        return wm.join(*inputs, on=["h", "k"], **{"buckets": 3} | options)

    def late(self) -> list[int]:
        """How many rows of each stream are late."""
        return self._on_time()[1]

    def tables(self) -> list[Table]:
        """The rows fed so far that are not late."""
        return [Table(window, rows) for window, rows in zip(self.windows, self._on_time()[0], strict=True)]

    def everything(self) -> list[Table]:
        """The rows fed so far."""
        rows = [[row for batch in self.batches for row in batch[i]] for i in range(len(self.windows))]
        return [Table(window, rows) for window, rows in zip(self.windows, rows, strict=True)]

    def expected(self) -> list[Result]:
        """What the join must have given back by now."""
        return duck.join(self.tables())

    def expected_full(self) -> list[tuple[int | None, ...]]:
        """What the full join of two streams must have given back when all was read, and closed."""
        return self.expected_of("full", None)

    def expected_left(self) -> list[tuple[int | None, ...]]:
        """The same of the left join."""
        return self.expected_of("outer", 1)

    def expected_of(self, name: str, optional: int | None) -> list[tuple[int | None, ...]]:
        """The same of a kind of join of two streams, with the stream that may be missing."""
        under = reference.watermarks([*self.batches, [[], []]], self.lateness, unit=1000)
        rows = [
            [Event(row.ts, row.key[0], ord(row.key[1]), None, None, row.value) for row in table.rows]
            for table in self.tables()
        ]
        same = ((equality("x", 0, "x", 1), optional), (equality("y", 0, "y", 1), optional))
        kind = kinds.Kind(name, tuple(self.windows), () if optional is None else (optional,), same)
        return in_time(kind, kinds.duck_join(kind, rows), under[-1])

    def _on_time(self) -> tuple[list[list[Row]], list[int]]:
        under = reference.watermarks(self.batches, self.lateness, unit=1000)
        return reference.on_time(self.batches, under)
