"""Which batch of which query the task belongs to that runs now."""

from __future__ import annotations

from typing import NamedTuple


class RunningBatch(NamedTuple):
    """A batch: the id of the query, and the number of the batch."""

    query: str
    batch: int


def running_batch() -> RunningBatch | None:
    """What Spark says about it; None outside of a streaming query."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        return None
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    if query is None or batch is None:
        return None
    return RunningBatch(query, int(batch))
