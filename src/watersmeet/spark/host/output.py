"""What a group returns to Spark: rows for the user, or packed rows for the next operator; mail; and metrics.

All of it is in one schema: rows of results have neither mail nor metrics, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa

from watersmeet.kernel.bucket import Metrics
from watersmeet.kernel.ipc import to_ipc
from watersmeet.kernel.result_ids import ResultIds
from watersmeet.kernel.results import Results
from watersmeet.query.stream import RESULT_ID, RESULT_TIME, WINDOW_END, WINDOW_START
from watersmeet.spark.host.arrivals import ASIDE
from watersmeet.spark.host.blobs import PackedRows
from watersmeet.spark.host.handover import handover
from watersmeet.spark.host.metrics import METRICS_COLUMN, metric_names
from watersmeet.spark.host.set_aside import SET_ASIDE, STRUCT
from watersmeet.spark.host.task import CLOSINGS, NextOperator, ResultRows, ResultStruct, Task
from watersmeet.spark.mail.mailbox import Address

# Results are returned in frames of about this size where they come in smaller blocks: a frame costs some
# milliseconds, however small.
FRAME_BYTES = 1 << 20

MAIL_COLUMN = "__mail"
_MAIL = pa.struct(
    [("sender", pa.string()), ("receiver", pa.string()), ("number", pa.int64()), ("body", pa.binary())]
)
_TIME = pa.timestamp("us", tz="UTC")
_METRICS = pa.list_(pa.int64())


class Output(Protocol):
    """Builds what a group returns."""

    def results(self, block: Results, ids: ResultIds | None = None) -> pa.RecordBatch:
        """A block of results, and what gives ids to those of this batch, if they have any."""

    def heartbeats(self) -> Iterator[pa.RecordBatch]:
        """Signs of life for the next operator, if it depends on this one for them."""

    def set_aside(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows that were set aside."""

    def mail(self, address: Address, body: bytes) -> pa.RecordBatch:
        """One mail."""

    def status(self, sender: str, body: bytes) -> pa.RecordBatch:
        """What a bucket says of itself, as JSON; with mail, because whoever carries that takes it as well."""

    def metrics(self, values: Metrics) -> pa.RecordBatch:
        """One row of metrics."""


def in_few(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a group returns, in frames of some size: small ones that follow each other are put together."""
    small: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if small and size + batch.nbytes > FRAME_BYTES:
            yield _as_one(small)
            small, size = [], 0
        small.append(batch)
        size += batch.nbytes
    if small:
        yield _as_one(small)


def _as_one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def output_of(task: Task) -> Output:
    """The output of a task, by where its results go."""
    return (
        UserRows(task, task.output) if isinstance(task.output, ResultRows) else LinkedRows(task, task.output)
    )


def result_ids(task: Task, bucket: int, batch: int) -> ResultIds | None:
    """What gives ids to the results of a bucket's batch; None where results have none.

    Args:
        task: The join.
        bucket: The number of the bucket.
        batch: A number of this batch and no other, the same when it runs again.
    """
    rows = task.output
    if not isinstance(rows, ResultRows) or not rows.result_id:
        return None
    return ResultIds([one.name for one in rows.structs], task.buckets[bucket], batch)


class UserRows:
    """Results as the user sees them: a struct per stream, the slot in which rows met, and the result time."""

    def __init__(self, task: Task, rows: ResultRows) -> None:
        """Work out the schema once."""
        self._structs = {
            one.name: (one, pa.struct([(field.name, field.type) for field in one.fields]))
            for one in rows.structs
        }
        self._metric_names = metric_names(len(task.inputs), len(task.functions))
        self._has_mail = task.kind.sends_messages
        self._slots = rows.slots
        self._has_aside = rows.set_aside
        self._has_ids = rows.result_id
        self._names = [
            *self._structs,
            *([] if rows.slots is None else [WINDOW_START, WINDOW_END]),
            RESULT_TIME,
            *[RESULT_ID] * self._has_ids,
            *[SET_ASIDE] * self._has_aside,
            METRICS_COLUMN,
            *[MAIL_COLUMN] * self._has_mail,
        ]

    def results(self, block: Results, ids: ResultIds | None = None) -> pa.RecordBatch:
        """A block of results."""
        structs = [
            pa.StructArray.from_arrays(
                [block.columns[field.part][field.position] for field in one.fields],
                fields=list(kind),
                mask=_missing(block, one),
            )
            for one, kind in self._structs.values()
        ]
        if self._slots is not None:
            # Rows of a slot are alive to its last instant.
            ends = block.ends + 1
            structs += [pa.array(ends - self._slots.size).cast(_TIME), pa.array(ends).cast(_TIME)]
        times = pa.array(block.times).cast(_TIME)
        return self._rows(structs, times, ids=ids and ids.of([*structs, times], len(block)))

    def heartbeats(self) -> Iterator[pa.RecordBatch]:
        """None: nobody waits for them."""
        return iter(())

    def set_aside(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows without a result and without its time: Spark would drop what is older than the watermark."""
        aside = pa.StructArray.from_arrays(rows.columns, fields=list(STRUCT))
        return self._rows(self._empty(len(aside)), pa.nulls(len(aside), _TIME), aside=aside)

    def mail(self, address: Address, body: bytes) -> pa.RecordBatch:
        """One mail."""
        return self._mailed(address.sender, address.receiver, address.number, body)

    def status(self, sender: str, body: bytes) -> pa.RecordBatch:
        """What a bucket says of itself; it goes to nobody."""
        return self._mailed(sender, None, None, body)

    def metrics(self, values: Metrics) -> pa.RecordBatch:
        """One row of metrics."""
        return self._rows(self._empty(), pa.nulls(1, _TIME), metrics=_report(values, self._metric_names))

    def _mailed(self, sender: str, receiver: str | None, number: int | None, body: bytes) -> pa.RecordBatch:
        said = {"sender": sender, "receiver": receiver, "number": number, "body": body}
        return self._rows(self._empty(), pa.nulls(1, _TIME), mail=pa.array([said], _MAIL))

    def _empty(self, rows: int = 1) -> list[pa.Array]:
        slot = [] if self._slots is None else [pa.nulls(rows, _TIME)] * 2
        return [*(pa.nulls(rows, kind) for _, kind in self._structs.values()), *slot]

    def _rows(
        self,
        structs: list[pa.Array],
        times: pa.Array,
        *,
        metrics: Any = None,
        mail: Any = None,
        aside: Any = None,
        ids: Any = None,
    ) -> pa.RecordBatch:
        columns = [*structs, times]
        if self._has_ids:
            columns.append(pa.nulls(len(times), pa.string()) if ids is None else ids)
        if self._has_aside:
            columns.append(pa.nulls(len(times), STRUCT) if aside is None else aside)
        columns.append(pa.nulls(len(times), _METRICS) if metrics is None else metrics)
        if self._has_mail:
            columns.append(pa.nulls(len(times), _MAIL) if mail is None else mail)
        return pa.record_batch(columns, self._names)


class LinkedRows:
    """Results packed for the operator above, in its buckets."""

    def __init__(self, task: Task, above: NextOperator) -> None:
        """Prepare what all blocks share."""
        self._above = above
        self._labels = task.labels
        # Both operators have as many buckets, so the label of the ledger is the same.
        self._ledger = task.ledger
        self._metric_names = metric_names(len(task.inputs), len(task.functions))
        self._packed = PackedRows(handover(used=task.one_host))

    def results(self, block: Results, ids: ResultIds | None = None) -> pa.RecordBatch:
        """A block of results: the columns the operator above needs, then time and end."""
        assert ids is None, "only results for the user have ids"
        columns = [
            pa.array(block.closings) if (part, position) == CLOSINGS else block.columns[part][position]
            for part, position in self._above.columns
        ]
        spec = self._above.spec
        names = [*spec.kept.names, *(f"__{i}" for i in range(len(columns) + 2 - len(spec.kept)))]
        batch = pa.record_batch([*columns, pa.array(block.times), pa.array(block.ends)], names)
        self._packed.add_rows(self._labels, self._above.number, batch, spec)
        return self._with_metrics()

    def heartbeats(self) -> Iterator[pa.RecordBatch]:
        """One for every bucket of the operator above, and for its ledger."""
        if self._above.heartbeat:
            self._packed.add_heartbeats([*self._labels, self._ledger], self._above.number)
            yield self._with_metrics()

    def set_aside(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """For the ledger of the operator above, which hands them on."""
        self._packed.add(self._ledger, ASIDE, to_ipc([rows]))
        return self._with_metrics()

    def mail(self, address: Address, body: bytes) -> pa.RecordBatch:
        """Operators of a tree send none."""
        raise NotImplementedError

    def status(self, sender: str, body: bytes) -> pa.RecordBatch:
        """Nor do they say more than their metrics."""
        raise NotImplementedError

    def metrics(self, values: Metrics) -> pa.RecordBatch:
        """One row of metrics."""
        empty = [pa.nulls(1, kind) for kind in (pa.int32(), pa.int32(), pa.binary())]
        return pa.record_batch(
            [*empty, _report(values, self._metric_names)], ["label", "input", "blob", METRICS_COLUMN]
        )

    def _with_metrics(self) -> pa.RecordBatch:
        batch = self._packed.take()
        return batch.append_column(METRICS_COLUMN, pa.nulls(batch.num_rows, _METRICS))


def _missing(block: Results, one: ResultStruct) -> pa.Array | None:
    """In which results the row of a stream is not there; None if it is in all."""
    if one.presence is None:
        return None
    part, position = one.presence
    return block.columns[part][position].is_null()


def _report(values: Metrics, names: list[str]) -> pa.Array:
    return pa.array([[values.get(name) for name in names]], _METRICS)
