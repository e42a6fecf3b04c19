"""Driving the kernel as the Spark host does, without Spark."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from harness.histories import History
from oracles.reference import Result, Row
from watersmeet.kernel import join as kernel_join
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.keys import Keys, encode_keys
from watersmeet.kernel.run import from_blob, to_blob
from watersmeet.kernel.window import StoredRun
from watersmeet.optimize import choose_plan
from watersmeet.plan import Plan, ProbePath
from watersmeet.query import Column, Stream
from watersmeet.query.join import join_query

KEPT = pa.schema([("value", pa.int64())])


def plan_for(windows: Sequence[int]) -> Plan:
    """A plan for streams s0, s1, ... with these windows in microseconds."""
    columns = (Column("k", "bigint"), Column("ts", "timestamp"), Column("value", "bigint"))
    streams = [
        Stream(f"s{i}", columns, "ts", timedelta(microseconds=window)) for i, window in enumerate(windows)
    ]
    return choose_plan(join_query(streams, "k", None, "inner"))


def columns_of(rows: Sequence[Row]) -> tuple[Keys, Any, pa.RecordBatch]:
    """Rows as the kernel takes them: keys, times, kept columns."""
    keys = encode_keys([pa.array(column) for column in zip(*(row.key for row in rows), strict=True)])
    times = np.array([row.ts for row in rows], np.int64)
    return keys, times, pa.record_batch([pa.array([row.value for row in rows], pa.int64())], schema=KEPT)


@contextmanager
def result_blocks(rows: int) -> Iterator[None]:
    """Results leave in blocks of this many, so that small inputs fill several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_join, "block_rows", lambda _runs: rows)
        yield


class Kernel:
    """One bucket and the rows it has given back so far."""

    def __init__(
        self,
        windows: Sequence[int],
        *,
        paths: Sequence[ProbePath] | None = None,
        hashed: Callable[[Any], Any] | None = None,
        stored: bool = False,
    ) -> None:
        """Start empty.

        `hashed` replaces the hashes of byte-encoded keys. With `stored`, all state goes through
        blobs between two batches, as it does when a bucket moves to another worker.
        """
        names = count()
        self.join = MultiwayJoin.from_plan(plan_for(windows), lambda: str(next(names)))
        if paths is not None:
            self.join.paths = tuple(paths)
        self._hashed = hashed
        self._stored = stored
        self.results: list[Result] = []

    def batch(self, batch: Sequence[Sequence[Row]], watermark: int | None = None) -> list[Result]:
        """Take one batch, let go of what has expired, and return the results of this batch."""
        if watermark is not None:
            self.join.watermark = watermark
        found: list[Result] = []
        for stream, rows in enumerate(batch):
            if not rows:
                continue
            keys, times, columns = columns_of(rows)
            if self._hashed is not None and keys.encoded is not None:
                keys = Keys(np.ascontiguousarray(self._hashed(keys.hashes), np.uint64), keys.encoded)
            for block in self.join.on_rows(stream, keys, times, columns):
                values = [part.column("value").to_pylist() for part in block.streams]
                found += zip(*values, block.times.tolist(), strict=True)
        self.join.on_watermark(self.join.watermark)
        if self._stored:
            self._store_and_load()
        self.results += found
        return found

    def run(self, history: History) -> list[Result]:
        """All results of a history."""
        for batch, watermark in zip(history.batches, history.watermarks, strict=True):
            self.batch(batch, watermark)
        return self.results

    def _store_and_load(self) -> None:
        for window in self.join.windows:
            loaded = []
            for stored in window.runs:
                run = from_blob(to_blob(stored.run))
                loaded.append(
                    StoredRun(
                        stored.id,
                        stored.slice,
                        stored.rows,
                        stored.earliest,
                        stored.latest,
                        lambda run=run: run,
                    )
                )
            window.runs = loaded
            window.take_changes()
