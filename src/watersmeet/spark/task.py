"""What the driver tells the Python workers: plain data, pickled with the query."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyarrow as pa

from watersmeet.plan import Plan
from watersmeet.spark.labels import label_of


@dataclass(frozen=True)
class StreamTask:
    """One stream as the workers see it.

    Attributes:
        name: The stream's name.
        kept: The Arrow schema of the stored columns, which come first in every batch.
        key: Positions of the key columns in a batch.
        time: Position of the time column.
    """

    name: str
    kept: pa.Schema
    key: tuple[int, ...]
    time: int


@dataclass(frozen=True)
class JoinTask:
    """One join as the workers see it; `plan` has its DataFrames taken out."""

    plan: Plan
    streams: tuple[StreamTask, ...]
    identity: str

    @property
    def name(self) -> str:
        """Short, and different for different joins: a query may hold several."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]

    @property
    def labels(self) -> list[int]:
        """The label of each bucket."""
        return [label_of(bucket) for bucket in range(self.plan.buckets)]

    @property
    def ledger(self) -> int:
        """The label of the group that keeps the books: identity, dropped rows, newest times."""
        return label_of(self.plan.buckets)
