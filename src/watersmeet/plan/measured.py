"""What a running plan was seen to do: plain data, gathered by a host, shown beside the forecast."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MeasuredInput:
    """One input of an operator; None where it was not measured.

    Attributes:
        rate: Rows per second of event time.
        state_rows: Rows stored at the end of the last batch.
        state_bytes: Their bytes.
        keys: Different keys among them, about.
        paths: Which ways new rows take: the order of inputs, and how many buckets go that way.
    """

    rate: float | None
    state_rows: int | None
    state_bytes: int | None
    keys: int | None
    paths: tuple[tuple[tuple[int, ...], int], ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredFunction:
    """A function: pairs asked, how many it accepted, seconds, and pairs it answered differently again."""

    text: str
    pairs: int
    accepted: int
    seconds: float
    inconsistent: int


@dataclass(frozen=True, slots=True)
class MeasuredOperator:
    """One operator; rates per second of event time, `changes` counts changed paths over all batches."""

    inputs: tuple[MeasuredInput, ...]
    output: float | None
    examined: float | None
    lookups: float | None
    changes: int
    functions: tuple[MeasuredFunction, ...] = ()


@dataclass(frozen=True, slots=True)
class Measured:
    """A whole plan.

    Attributes:
        operators: Those below before those above.
        batches: How many batches the rates are taken from.
        batch_seconds: The event time a batch spans.
        hot_keys: Keys with very many rows, in words.
        spread_keys: How many keys are spread over all buckets.
    """

    operators: tuple[MeasuredOperator, ...]
    batches: int
    batch_seconds: float | None
    hot_keys: tuple[str, ...] = ()
    spread_keys: int = 0


@dataclass(frozen=True, slots=True)
class MeasuredStream:
    """A stream of a deployed join: rows per second of event time, their bytes, and what is stored of it."""

    name: str
    rate: float | None
    row_bytes: float | None
    state_rows: int | None


@dataclass(frozen=True, slots=True)
class MeasuredLink:
    """What goes from one site to another, bytes per second of event time."""

    sender: str
    receiver: str
    bytes: float | None


@dataclass(frozen=True, slots=True)
class MeasuredDeployment:
    """A join between sites, or over slices, as far as it runs in one application.

    Attributes:
        streams: Its streams.
        output: Results per second of event time.
        links: What is sent from site to site; what is sent in all is shared out as it was so far.
        bytes: What is sent in all, per second of event time.
        waiting: Rows that wait for others, or for an answer.
        batches: How many batches the rates are taken from.
        batch_seconds: The event time a batch spans.
        functions: What Python functions were asked.
    """

    streams: tuple[MeasuredStream, ...]
    output: float | None
    links: tuple[MeasuredLink, ...]
    bytes: float | None
    waiting: int | None
    batches: int
    batch_seconds: float | None
    functions: tuple[MeasuredFunction, ...] = ()
