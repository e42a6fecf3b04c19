"""What the driver tells the Python workers: plain data, pickled with the query."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyarrow as pa

from watersmeet.plan import Operator, Plan
from watersmeet.plan.layout import OperatorLayout
from watersmeet.query.function import Function
from watersmeet.spark.labels import label_of


@dataclass(frozen=True)
class Aligned:
    """Rows go to the buckets of the segments of time in which a partner of the first input may be.

    Attributes:
        segment: The length of a segment, microseconds.
        before: How long before a row its last partner may have come.
        after: How long after it one may come; None if the row says it.
    """

    segment: int
    before: int = 0
    after: int | None = 0


@dataclass(frozen=True)
class InputTask:
    """One input of an operator as the workers see it: how its rows lie in a packed batch.

    Attributes:
        name: The stream's name, or the names of the streams whose results it is.
        kept: The Arrow schema of the stored columns, which come first in every batch.
        key: Positions of the key columns; none where rows are not placed by a key.
        time: Position of the column with the time at which a row comes alive.
        end: Position of the column with its end; None where the window says it.
        required: Positions of columns without which a row can never be in a result.
        replicated: Whether every bucket gets every row.
        aligned: How rows are routed by time; None where they are not.
        stream: Which stream of the query it is; None for results of another operator.
        clock: As which input all buckets get its times; None where they do not count them.
        key_types: The types of the key columns.
    """

    name: str
    kept: pa.Schema
    key: tuple[int, ...]
    time: int
    end: int | None = None
    required: tuple[int, ...] = ()
    replicated: bool = False
    aligned: Aligned | None = None
    stream: int | None = None
    clock: int | None = None
    key_types: tuple[pa.DataType, ...] = ()


# The times of a whole stream, which every bucket gets as one more input.
CLOCK = InputTask("clock", pa.schema([]), (), 0, replicated=True)


@dataclass(frozen=True)
class Link:
    """Where the results of an operator go: an input of another one."""

    number: int
    spec: InputTask
    heartbeat: bool


@dataclass(frozen=True)
class JoinTask:
    """One operator as the workers see it; `plan` has its DataFrames taken out.

    Attributes:
        plan: The whole plan.
        operator: The operator.
        layout: Its columns.
        inputs: Its inputs.
        identity: What its checkpoint remembers, as JSON.
        above: Where its results go; None for the last operator.
    """

    plan: Plan
    operator: Operator
    layout: OperatorLayout
    inputs: tuple[InputTask, ...]
    identity: str
    above: Link | None = None

    @property
    def name(self) -> str:
        """Short, and different for different joins: a query may hold several."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]

    def spec(self, number: int) -> InputTask:
        """How the rows of an input lie in a batch; clocks follow the inputs."""
        return self.inputs[number] if number < len(self.inputs) else CLOCK

    @property
    def functions(self) -> tuple[Function, ...]:
        """The Python functions this operator asks."""
        conditions = [self.plan.query.conditions[number] for number in self.operator.conditions]
        return tuple(one.function for one in conditions if one.function is not None)

    @property
    def labels(self) -> list[int]:
        """The label of each bucket."""
        return [label_of(bucket) for bucket in range(self.plan.buckets)]

    @property
    def ledger(self) -> int:
        """The label of the group that keeps the books: identity, dropped rows, newest times."""
        return label_of(self.plan.buckets)
