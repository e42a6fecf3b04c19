"""Driving the kernel as the Spark host does, without Spark."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from harness.histories import History
from oracles.reference import Hops, Latest, Result, Row, Sessions, Slots
from oracles.reference import Window as OracleWindow
from watersmeet.kernel import search
from watersmeet.kernel.blob import from_blob, to_blob
from watersmeet.kernel.bucket import END_OF_TIME
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.keys import Keys, encode_keys
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.kernel.operator import Kernel as OperatorKernel
from watersmeet.kernel.operator import kernel_for
from watersmeet.kernel.run import Rows
from watersmeet.optimize.choose import choose_plan
from watersmeet.plan import Plan, ProbePath
from watersmeet.plan.layout import layouts
from watersmeet.query import Column, Stream, Window
from watersmeet.query.common_window import HoppingWindow, SessionWindow
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.query.window import LatestWindow, TimeWindow, TumblingWindow

KEPT = pa.schema([("value", pa.int64())])


def plan_for(windows: Sequence[OracleWindow]) -> Plan:
    """A plan for streams s0, s1, ... with these windows in microseconds."""
    columns = (Column("k", "bigint"), Column("ts", "timestamp"), Column("value", "bigint"))
    streams = [Stream(f"s{i}", columns, "ts", _window(window)) for i, window in enumerate(windows)]
    kept = [f"{stream.name}.value" for stream in streams]
    return choose_plan(join_query(streams, "k", kept, "inner", ColumnsOnly()))


def _window(window: OracleWindow) -> Window:
    if isinstance(window, Latest):
        return LatestWindow()
    if isinstance(window, Slots):
        return TumblingWindow(timedelta(microseconds=window.size))
    if isinstance(window, Hops):
        return HoppingWindow(timedelta(microseconds=window.size), timedelta(microseconds=window.every))
    if isinstance(window, Sessions):
        return SessionWindow(timedelta(microseconds=window.gap))
    return TimeWindow(timedelta(microseconds=window))


def join_for(plan: Plan, names: Iterator[int] | None = None) -> OperatorKernel:
    """An empty kernel for the last operator of a plan; `names` are for its runs."""
    names = names or count()
    return kernel_for(plan, plan.root, layouts(plan)[plan.root], lambda: str(next(names)))


def columns_of(rows: Sequence[Row]) -> Rows:
    """Rows as the kernel takes them."""
    keys = encode_keys([pa.array(column) for column in zip(*(row.key for row in rows), strict=True)])
    times = np.array([row.ts for row in rows], np.int64)
    return Rows(
        keys, times, pa.record_batch([pa.array([row.value for row in rows], pa.int64())], schema=KEPT)
    )


@contextmanager
def result_blocks(rows: int) -> Iterator[None]:
    """Results leave in blocks of this many, so that small inputs fill several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "block_rows", lambda *_: rows)
        yield


class Kernel:
    """One bucket and the rows it has given back so far."""

    def __init__(
        self,
        windows: Sequence[OracleWindow],
        *,
        paths: Sequence[ProbePath] | None = None,
        hashed: Callable[[Any], Any] | None = None,
        stored: bool = False,
        open_limit: OpenLimit | None = None,
    ) -> None:
        """Start empty.

        `hashed` replaces the hashes of byte-encoded keys. With `stored`, all state goes through
        blobs between two batches, as it does when a bucket moves to another worker.
        """
        plan = plan_for(windows)
        if paths is not None:
            plan = replace(plan, root=replace(plan.root, paths=tuple(paths)))
        self._plan, self._names = plan, count()
        self.join = join_for(plan, self._names)
        if isinstance(self.join, MultiwayJoin):
            self.join.open_limit = open_limit
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
            new = columns_of(rows)
            if self._hashed is not None and new.keys.encoded is not None:
                hashes = np.ascontiguousarray(self._hashed(new.keys.hashes), np.uint64)
                new = replace(new, keys=Keys(hashes, new.keys.encoded))
            found += self._rows(self.join.on_rows(stream, new))
        found += self._rows(self.join.on_batch(self.join.watermark))
        self.join.on_watermark(self.join.watermark)
        if self._stored:
            store_and_load(self.join)
        self.results += found
        return found

    def all_is_here(self) -> list[Result]:
        """The results that waited for rows of which none will come."""
        self.results += self._rows(self.join.on_batch(END_OF_TIME))
        return self.results

    def restart(self) -> None:
        """Another bucket goes on from what this one keeps."""
        kept, before = decode(encode(self.join.save())), self.join
        store_and_load(before)
        self.join = join_for(self._plan, self._names)
        for window, old in zip(self.join.windows, before.windows, strict=True):
            window.runs = old.runs
        self.join.load(kept)
        self.join.watermark = before.watermark

    def _rows(self, blocks: Iterable[Any]) -> list[Result]:
        found: list[Result] = []
        slots = self._plan.query.slots
        for block in blocks:
            values = [columns[0].to_pylist() for columns in block.columns]
            ends = block.ends + 1
            slot = [] if slots is None else [(ends - slots.size).tolist(), ends.tolist()]
            found += zip(*values, *slot, block.times.tolist(), strict=True)
        return found

    def run(self, history: History) -> list[Result]:
        """All results of a history."""
        for batch, watermark in zip(history.batches, history.watermarks, strict=True):
            self.batch(batch, watermark)
        return self.results


def store_and_load(join: OperatorKernel) -> None:
    """All state goes through blobs, as it does when a bucket moves to another worker."""
    for window in join.windows:
        window.runs = [
            replace(stored, open=partial(from_blob, to_blob(stored.run))) for stored in window.runs
        ]
        window.take_changes()
