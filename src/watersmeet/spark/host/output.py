"""What an operator returns to Spark: rows for the user, or packed rows for the next operator; and metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa

from watersmeet.kernel.results import Results
from watersmeet.plan.layout import OperatorLayout, Ref
from watersmeet.query.stream import RESULT_TIME
from watersmeet.spark.blobs import PackedRows
from watersmeet.spark.labels import label_of
from watersmeet.spark.report import METRICS_COLUMN, metric_names
from watersmeet.spark.task import JoinTask, Link

# Results are returned in frames of about this size where they come in smaller blocks: a frame costs some
# milliseconds, however small.
FRAME_BYTES = 1 << 20

_TIME = pa.timestamp("us", tz="UTC")
_METRICS = pa.list_(pa.int64())


class Output(Protocol):
    """Builds the operator's output, all of it in one schema."""

    def results(self, block: Results) -> pa.RecordBatch:
        """A block of results."""

    def heartbeats(self) -> Iterator[pa.RecordBatch]:
        """Signs of life for the next operator, if it depends on this one for them."""

    def metrics(self, values: dict[str, int | None]) -> pa.RecordBatch:
        """One row of metrics."""


def output_of(task: JoinTask) -> Output:
    """The output of an operator, by where its results go."""
    return ResultRows(task) if task.above is None else LinkedRows(task, task.above)


class ResultRows:
    """Results as the user sees them: a struct per stream, and the result time."""

    def __init__(self, task: JoinTask) -> None:
        """Work out the schema once."""
        streams = task.plan.query.streams
        types = _types(task)
        # A stream of which the query keeps nothing has no column.
        self._kept = {
            stream.name: [ref for ref in task.layout.output if ref.stream == number]
            for number, stream in enumerate(streams)
            if any(ref.stream == number for ref in task.layout.output)
        }
        self._structs = {
            name: pa.struct([(ref.column, types[ref]) for ref in refs]) for name, refs in self._kept.items()
        }
        self._layout = task.layout
        self._metric_names = metric_names(len(task.inputs), len(task.functions))
        self._names = [*self._kept, RESULT_TIME, METRICS_COLUMN]

    def results(self, block: Results) -> pa.RecordBatch:
        """A block of results."""
        arrays = _by_ref(self._layout, block)
        structs = [
            pa.StructArray.from_arrays([arrays[ref] for ref in refs], fields=list(self._structs[name]))
            for name, refs in self._kept.items()
        ]
        times = pa.array(block.times).cast(_TIME)
        return pa.record_batch([*structs, times, pa.nulls(len(block), _METRICS)], self._names)

    def heartbeats(self) -> Iterator[pa.RecordBatch]:
        """None: nobody waits for them."""
        return iter(())

    def metrics(self, values: dict[str, int | None]) -> pa.RecordBatch:
        """One row of metrics."""
        empty = [pa.nulls(1, kind) for kind in self._structs.values()]
        report = _report(values, self._metric_names)
        return pa.record_batch([*empty, pa.nulls(1, _TIME), report], self._names)


class LinkedRows:
    """Results packed for the operator above, in its buckets."""

    def __init__(self, task: JoinTask, above: Link) -> None:
        """Prepare what all blocks share."""
        self._above = above
        self._layout = task.layout
        self._labels = task.labels
        # Both operators have as many buckets, so the label of the ledger is the same.
        self._ledger = label_of(task.plan.buckets)
        self._metric_names = metric_names(len(task.inputs), len(task.functions))
        self._packed = PackedRows()

    def results(self, block: Results) -> pa.RecordBatch:
        """A block of results: columns of the layout's output, then time and end."""
        arrays = _by_ref(self._layout, block)
        columns = [arrays[ref] for ref in self._layout.output]
        batch = pa.record_batch(
            [*columns, pa.array(block.times), pa.array(block.ends)],
            [f"c{i}" for i in range(len(columns))] + ["__start", "__end"],
        )
        spec = self._above.spec
        names = [*spec.kept.names, *(f"__{i}" for i in range(batch.num_columns - len(spec.kept)))]
        self._packed.add_rows(self._labels, self._above.number, batch.rename_columns(names), spec)
        return self._with_metrics()

    def heartbeats(self) -> Iterator[pa.RecordBatch]:
        """One for every bucket of the operator above, and for its ledger."""
        if self._above.heartbeat:
            self._packed.add_heartbeats([*self._labels, self._ledger], self._above.number)
            yield self._with_metrics()

    def metrics(self, values: dict[str, int | None]) -> pa.RecordBatch:
        """One row of metrics."""
        empty = [pa.nulls(1, kind) for kind in (pa.int32(), pa.int32(), pa.binary())]
        return pa.record_batch(
            [*empty, _report(values, self._metric_names)], ["label", "input", "blob", METRICS_COLUMN]
        )

    def _with_metrics(self) -> pa.RecordBatch:
        batch = self._packed.take()
        return batch.append_column(METRICS_COLUMN, pa.nulls(batch.num_rows, _METRICS))


def _types(task: JoinTask) -> dict[Ref, pa.DataType]:
    return {
        ref: spec.kept.field(position).type
        for spec, layout in zip(task.inputs, task.layout.inputs, strict=True)
        for position, ref in enumerate(layout.stored)
    }


def _by_ref(layout: OperatorLayout, block: Results) -> dict[Ref, Any]:
    """The columns of a block by what they are."""
    found: dict[Ref, Any] = {}
    for spec, columns in zip(layout.inputs, block.columns, strict=True):
        leaving = [ref for ref in spec.stored if ref in layout.output]
        found.update(zip(leaving, columns, strict=True))
    return found


def _report(values: dict[str, int | None], names: list[str]) -> pa.Array:
    return pa.array([[values.get(name) for name in names]], _METRICS)
