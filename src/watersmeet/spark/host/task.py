"""What the driver tells the Python workers: plain data, pickled with the query."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from itertools import count

import pyarrow as pa

from watersmeet.kernel.bucket import Bucket, BucketMaker
from watersmeet.plan.progressive import Bounded
from watersmeet.query.function import Function
from watersmeet.query.window_kind import Slots
from watersmeet.spark.host.labels import label_of


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
    """One input of a join as the workers see it: how its rows lie in a packed batch, and where they go.

    Attributes:
        name: The stream's name, or the names of the streams whose results it is.
        kept: The Arrow schema of the stored columns, which come first in every batch.
        key: Positions of the key columns; none where rows are not placed by a key.
        time: Position of the column with the time at which a row comes alive.
        end: Position of the column with its end; None where the window says it.
        content: Position of the column with the whole row as JSON, which is told of rows that are set aside;
            None where nobody asks for them.
        problem: Position of the column that says why a row cannot be used; None if all can.
        believed: Position of the column that says whether the time is not too far ahead; None believes all.
        wanted: Position of the column that says whether the conditions on this stream alone hold; None wants
            all. It, `believed` and `problem` come last: they need not travel.
        required: Positions of columns without which a row can never be in a result.
        replicated: Whether every bucket gets every row.
        homes: The numbers of the buckets that get its rows; None for all of them.
        aligned: How rows are routed by time; None where they are not.
        stream: Which stream of the query it is; None for results of another operator.
        lateness: How late its rows may be, microseconds.
        row_times: As which input all buckets get its times; None where they do not count them.
        unkeyed: As which input rows come that have no key and are kept nevertheless; None drops them.
        key_types: The types of the key columns.
    """

    name: str
    kept: pa.Schema
    key: tuple[int, ...]
    time: int
    end: int | None = None
    content: int | None = None
    problem: int | None = None
    believed: int | None = None
    wanted: int | None = None
    required: tuple[int, ...] = ()
    replicated: bool = False
    homes: tuple[int, ...] | None = None
    aligned: Aligned | None = None
    stream: int | None = None
    lateness: int = 0
    row_times: int | None = None
    unkeyed: int | None = None
    key_types: tuple[pa.DataType, ...] = ()


def without_key(spec: InputTask) -> InputTask:
    """How rows of an input lie that have no key: any bucket takes them."""
    return replace(spec, key=(), key_types=(), unkeyed=None, replicated=False, aligned=None)


# The times of a whole stream, which every bucket gets as one more input; packed alone, a second column says
# whether they are believed.
ROW_TIMES = InputTask(name="row times", kept=pa.schema([]), key=(), time=0, replicated=True)


@dataclass(frozen=True)
class ResultField:
    """A field of a result: what it is called, and where blocks of results have it."""

    name: str
    type: pa.DataType
    part: int
    position: int


@dataclass(frozen=True)
class ResultStruct:
    """The row of a stream in a result: its name, its fields, and where blocks tell whether it is there.

    `presence` is the part and the position of a column that is null where it is not; None if it always is.
    """

    name: str
    fields: tuple[ResultField, ...]
    presence: tuple[int, int] | None = None


@dataclass(frozen=True)
class ResultRows:
    """Results for the user: a struct per stream, the slot in which rows met, and the result time.

    Attributes:
        structs: The rows of the streams.
        slots: The slots in which rows meet; None where results do not say in which.
        set_aside: Whether rows that were set aside are returned too.
        result_id: Whether every result has an id.
    """

    structs: tuple[ResultStruct, ...]
    slots: Slots | None = None
    set_aside: bool = False
    result_id: bool = False


# Stands for the closings of a block among the places of its columns.
CLOSINGS = (-1, 0)


@dataclass(frozen=True)
class NextOperator:
    """Results for another operator: an input of it.

    Attributes:
        number: Which input.
        spec: How rows of that input lie in a batch.
        columns: Where blocks of results have its columns: the part, and the position there.
        heartbeat: Whether the operator depends on this one for signs of life.
    """

    number: int
    spec: InputTask
    columns: tuple[tuple[int, int], ...]
    heartbeat: bool


_numbers = count(1)


def next_number() -> int:
    """One that no join of this program has."""
    return next(_numbers)


@dataclass(frozen=True)
class Task:
    """A join, or one operator of it, as the workers see it.

    Attributes:
        identity: What its checkpoint remembers, as JSON.
        maker: Makes its buckets.
        buckets: Their names.
        inputs: Its inputs.
        output: Where its results go.
        functions: The Python functions it asks.
        memory: How it keeps to its memory; None where that has no limit.
        one_host: Whether all workers are on one host, so that packed rows and runs can lie in files.
        notes: The folder in which workers find where the checkpoint is; None where nobody can tell them.
        retained: For how many batches Spark keeps states.
        number: What its metrics are called by: no two joins of a program have the same.
        spreads_keys: Whether rows of hot keys may be in other buckets than their own.
    """

    identity: str
    maker: BucketMaker
    buckets: tuple[str, ...]
    inputs: tuple[InputTask, ...]
    output: ResultRows | NextOperator
    functions: tuple[Function, ...] = ()
    memory: Bounded | None = None
    one_host: bool = False
    notes: str | None = None
    retained: int = 100
    number: int = field(default_factory=next_number)
    spreads_keys: bool = False

    @property
    def name(self) -> str:
        """Short, and different for different joins: a query may hold several."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]

    @property
    def kind(self) -> type[Bucket]:
        """What its buckets are."""
        return self.maker.kind

    def spec(self, number: int) -> InputTask:
        """How the rows of an input lie in a batch; row times follow the inputs, then rows without a key."""
        if number < len(self.inputs):
            return self.inputs[number]
        keyed = next((spec for spec in self.inputs if spec.unkeyed == number), None)
        return ROW_TIMES if keyed is None else without_key(keyed)

    def labels_of(self, spec: InputTask) -> list[int]:
        """The groups that get the rows of an input."""
        return self.labels if spec.homes is None else [self.labels[number] for number in spec.homes]

    @property
    def labels(self) -> list[int]:
        """The group of each bucket."""
        return [label_of(bucket) for bucket in range(len(self.buckets))]

    @property
    def ledger(self) -> int:
        """The group that keeps the books: identity, dropped rows, newest times."""
        return label_of(len(self.buckets))
