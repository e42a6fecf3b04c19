"""Driving a whole plan as Spark does, bucket by bucket and operator by operator, without Spark.

Everything between Spark's own operators is the product's: packing, kernels, results packed for the next
operator, results as the user gets them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, LongType, StructField, StructType, TimestampType

from harness.graphs import SECOND, START, filtered
from oracles.graph import Event
from oracles.reference import Result
from watersmeet.kernel.blob import from_blob, to_blob
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.operator import Kernel
from watersmeet.kernel.window import StoredRun
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.plan import operators
from watersmeet.query.stream import RESULT_ID, added_columns
from watersmeet.spark.host.arrivals import Arrivals
from watersmeet.spark.host.mail_books import MailBooks
from watersmeet.spark.host.metrics import METRICS_COLUMN
from watersmeet.spark.host.output import output_of, result_ids
from watersmeet.spark.host.pack import pack, pack_clock
from watersmeet.spark.host.processor import worked
from watersmeet.spark.host.task import Task
from watersmeet.spark.prepare import guarded, source_columns, task_tree, times_input

Blobs = dict[int, dict[int, list[bytes]]]
State = dict[Operator, list[tuple[list[list[StoredRun]], bytes, int]]]


class Tree:
    """All buckets of all operators of a plan, and the results so far."""

    def __init__(
        self, plan: Plan, *, stored: bool = False, adaptive: bool = False, repeated: bool = False
    ) -> None:
        """Start empty.

        With `stored` all state goes through blobs between two batches, and other buckets go on from it; if
        `adaptive`, buckets choose their own paths. With `repeated` every batch runs twice from the same
        state, as after a failure, and must give the same with the same ids; the second time rows come from
        two partitions, in another order.
        """
        self._plan = plan
        self._stored, self._repeated = stored, repeated
        schemas = [self._schema(stream) for stream in range(len(plan.query.streams))]
        self._arrow = [to_arrow_schema(schema, timezone="UTC") for schema in schemas]
        plan = replace(plan, adaptive=adaptive)
        self._tasks = task_tree(plan, schemas, result_id=True)
        self._names = count()
        self._joins = {operator: self._new_buckets(operator) for operator in self._tasks}
        self.results: list[Result] = []
        self.ids: list[str] = []
        self._batches = 0

    def _new_buckets(self, operator: Operator) -> list[Kernel]:
        maker = self._tasks[operator].maker
        return [maker(bucket, lambda: str(next(self._names))) for bucket in range(self._plan.buckets)]

    def batch(
        self, batch: Sequence[Sequence[Event]], watermark: int | None = None, until: int | None = None
    ) -> None:
        """One batch through all operators.

        `watermark` is in microseconds from the start, `until` the time up to which all rows are known.
        """
        if self._repeated:
            before, known = self._state(), len(self.results)
            self._once(batch, watermark, until)
            tried, self.results = self.results[known:], self.results[:known]
            tried_ids, self.ids = self.ids[known:], self.ids[:known]
            self._go_on(before)
            random = Random(self._batches)  # noqa: S311
            shuffled = [random.sample(list(events), len(events)) for events in batch]
            self._once(shuffled, watermark, until, partitions=2)
            again = Counter(zip(self.results[known:], self.ids[known:], strict=True))
            assert again == Counter(zip(tried, tried_ids, strict=True))
        else:
            self._once(batch, watermark, until)
        self._batches += 1
        if self._stored:
            self._go_on(self._state())

    def _state(self) -> State:
        """What every bucket keeps: runs as blobs, and small values."""
        return {
            operator: [
                (
                    [
                        [replace(one, open=partial(from_blob, to_blob(one.run))) for one in window.runs]
                        for window in join.windows
                    ],
                    encode(join.save()),
                    join.watermark,
                )
                for join in joins
            ]
            for operator, joins in self._joins.items()
        }

    def _go_on(self, state: State) -> None:
        """Other buckets go on from what was kept."""
        self._joins = {operator: self._new_buckets(operator) for operator in self._tasks}
        for operator, joins in self._joins.items():
            for join, (windows, kept, watermark) in zip(joins, state[operator], strict=True):
                for window, runs in zip(join.windows, windows, strict=True):
                    window.runs = list(runs)
                    window.take_changes()
                join.load(decode(kept))
                join.watermark = watermark

    def _once(
        self,
        batch: Sequence[Sequence[Event]],
        watermark: int | None,
        until: int | None,
        partitions: int = 1,
    ) -> None:
        waiting: dict[Operator, Blobs] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
        for operator in operators(self._plan.root):
            task = self._tasks[operator]
            for number, part in enumerate(operator.inputs):
                if isinstance(part, Source):
                    for first in range(partitions):
                        rows = self._rows(part.stream, batch[part.stream][first::partitions])
                        _collect(waiting[operator], pack(task, number, iter([rows]), heartbeat=True))
            own = {part.stream for part in operator.inputs if isinstance(part, Source)}
            for stream in self._plan.counted_whole(operator):
                if stream not in own:
                    number = times_input(self._plan, operator, stream)
                    times = self._times(batch[stream])
                    _collect(waiting[operator], pack_clock(task, number, iter([times])))
            for bucket, label in enumerate(task.labels):
                join = self._joins[operator][bucket]
                if watermark is not None:
                    join.watermark = START + watermark
                self._run(operator, bucket, waiting[operator][label], waiting, until)
                join.on_watermark(join.watermark)

    def share_among(self, slices: int) -> None:
        """New rows of sliced windows go to so many buckets from now on."""
        for joins in self._joins.values():
            for join in joins:
                if join.slicing is not None:
                    join.slicing.active = slices

    def loads(self) -> list[list[list[int]]]:
        """Per operator and input the rows every bucket holds."""
        return [
            [[join.windows[i].rows for join in joins] for i in range(len(operator.inputs))]
            for operator, joins in self._joins.items()
        ]

    def held(self) -> int:
        """Rows in all windows."""
        return sum(window.rows for joins in self._joins.values() for join in joins for window in join.windows)

    def _run(
        self,
        operator: Operator,
        bucket: int,
        blobs: dict[int, list[bytes]],
        waiting: dict[Operator, Blobs],
        until: int | None,
    ) -> None:
        task: Task = self._tasks[operator]
        join = self._joins[operator][bucket]
        output = output_of(task)
        ids = result_ids(task, bucket, self._batches)
        above = next((o for o in self._tasks if operator in o.inputs), None)
        found_here = [
            *self._worked(task, bucket, join, Arrivals(dict(sorted(blobs.items())))),
            *join.on_batch(join.watermark if until is None else until),
        ]
        for block in found_here:
            found = output.results(block, ids)
            if above is not None:
                _collect(waiting[above], [found.drop_columns([METRICS_COLUMN])])
                continue
            kept = [n for n, k in zip(self._plan.query.names, self._plan.query.kept, strict=True) if k]
            values = [found.column(name).field("value").to_pylist() for name in kept]
            added = [found.column(name).cast(pa.int64()) for name in added_columns(self._plan.query.streams)]
            assert added[-1].to_pylist() == block.times.tolist()
            values += [[(t - START) // SECOND for t in column.to_pylist()] for column in added]
            self.results += zip(*values, strict=True)
            self.ids += found.column(RESULT_ID).to_pylist()

    def _worked(self, task: Task, bucket: int, join: Kernel, arrived: Arrivals) -> Iterator[Any]:
        del bucket
        return worked(task, join, arrived, MailBooks(), "")

    def _times(self, events: Sequence[Event]) -> pa.RecordBatch:
        micros = pa.array([START + event.ts * SECOND for event in events], pa.int64())
        return pa.record_batch([micros.cast(pa.timestamp("us", tz="UTC"))], ["ts"])

    def _schema(self, stream: int) -> StructType:
        columns = [
            StructField(f"c{i}", TimestampType() if ref.column == "ts" else LongType())
            for i, ref in enumerate(source_columns(self._plan, stream))
        ]
        if guarded(self._plan, self._plan.query.streams[stream]):
            columns.append(StructField("believed", BooleanType()))
        return StructType(columns)

    def _rows(self, stream: int, events: Sequence[Event]) -> pa.RecordBatch:
        events = filtered(self._plan.query, stream, events)
        columns = []
        for ref in source_columns(self._plan, stream):
            values = [getattr(event, ref.column) for event in events]
            if ref.column == "ts":
                values = [START + ts * SECOND for ts in values]
            columns.append(pa.array(values, pa.int64()))
        schema = self._arrow[stream]
        if "believed" in schema.names:
            columns.append(pa.array([True] * len(events), pa.bool_()))
        return pa.record_batch(
            [column.cast(field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )


def _collect(blobs: Blobs, batches: object) -> None:
    for batch in batches:  # type: ignore[attr-defined]
        for label, number, blob in zip(*(batch.column(i).to_pylist() for i in range(3)), strict=True):
            if blob is not None:
                blobs[label][number].append(blob)
