"""Rows as they arrive, tick by tick, made as they are needed.

A source gives the rows that have arrived by some time. All rows of a tick come to their site at its end,
together with the promise that no row before it is missing, but for what a stream may be late:

    rows of [t - tick, t)       arrive at t       watermark t - lateness

Times are microseconds of the simulated clock. The same seed gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from watersmeet.errors import InvalidSimulation, choices
from watersmeet.kernel.sites.packet import END, TIME, USABLE
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.query import JoinQuery
from watersmeet.sim.distribution import Floats, Values, generator
from watersmeet.sim.link import SECOND
from watersmeet.sim.simulation import Arrival

Times = NDArray[np.int64]

ARRIVALS = ("steady", "poisson")
# Columns that generated rows have beside their values.
GENERATED_TIME, PAYLOAD = "ts", "payload"
TIMESTAMP = pa.timestamp("us", tz="UTC")


class Source(Protocol):
    """Rows of a stream in the order they arrive."""

    @property
    def lateness(self) -> int:
        """How much later than others of its time a row may arrive, microseconds."""

    @property
    def ended(self) -> bool:
        """Whether all rows were given."""

    def due(self, until: int) -> tuple[Times, pa.RecordBatch] | None:
        """The rows that arrive before a time and were not given before, with their own times."""


def arrivals(query: JoinQuery, sources: Sequence[Source], tick: int) -> Iterator[Arrival]:
    """What comes to the sites until all sources have ended; nothing is made before it is asked for.

    Args:
        query: What is joined; sources are in the order of its streams.
        sources: Where rows come from.
        tick: How often rows come, microseconds.
    """
    clock = 0
    while not all(source.ended for source in sources):
        clock += tick
        for stream, source in enumerate(sources):
            found = source.due(clock)
            rows = None if found is None else _rows(query, stream, *found)
            yield Arrival(clock, stream, rows, clock - 1 - source.lateness)
    for stream in range(len(sources)):
        yield Arrival(clock + tick, stream, None, END)


def _rows(query: JoinQuery, stream: int, times: Times, table: pa.RecordBatch) -> pa.RecordBatch | None:
    """What travels of some rows; those without a key can never join."""
    refs = source_refs(query, stream)
    members = [attribute.members[stream] for attribute in query.attributes]
    keys = [member.column for member in members if member is not None and member.column is not None]
    usable = np.ones(len(times), np.bool_)
    for key in keys:
        usable &= table.column(key).is_valid().to_numpy(zero_copy_only=False)
    columns = [pa.array(times), *(table.column(ref.column) for ref in refs)]
    names = [TIME, *map(named, refs)]
    if query.streams[stream].window.counts_rows:
        # They count as rows all the same.
        return pa.record_batch([*columns, pa.array(usable)], [*names, USABLE])
    rows = pa.record_batch(columns, names)
    if not usable.all():
        rows = rows.filter(pa.array(usable))
    return rows if rows.num_rows else None


@dataclass(frozen=True, slots=True)
class Generated:
    """A stream of made up rows.

    Attributes:
        rate: Rows per second.
        columns: Their values, by column. There is also the time, `ts`, and with a payload `payload`.
        payload: Bytes per row beside values and time.
        arrivals: Evenly spaced, or at random (Poisson).
        lateness: How late a row may arrive, seconds; later ones are dropped.
        disorder: Rows arrive up to so many seconds late, at random.
    """

    rate: float
    columns: Mapping[str, Values]
    payload: int = 0
    arrivals: str = "steady"
    lateness: float = 0.0
    disorder: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no stream can be."""
        for name in ("rate", "payload", "lateness", "disorder"):
            value = getattr(self, name)
            if not 0 <= value < inf:
                raise InvalidSimulation(f"{name} of a stream must be 0 or more", f"it is {value}.")
        if not self.rate:
            raise InvalidSimulation("rate of a stream must be above 0", "no row would ever come.")
        if self.arrivals not in ARRIVALS:
            raise InvalidSimulation(
                f'unknown kind of arrivals "{self.arrivals}"', hint=f"valid are {choices(ARRIVALS)}."
            )

    def frequencies(self, seed: int, stream: int) -> dict[str, Floats]:
        """How often each value of each column occurs."""
        return {
            name: values.frequencies(generator(seed, stream, number), generator(seed))
            for number, (name, values) in enumerate(self.columns.items())
        }

    def source(self, seed: int, stream: int, duration: int, epoch: int = 0) -> GeneratedSource:
        """Its rows.

        Args:
            seed: For all that is random.
            stream: The number of the stream, so that streams differ.
            duration: When the last row has come, microseconds.
            epoch: What the first instant is called, microseconds since 1970.
        """
        return GeneratedSource(self, seed, stream, duration, epoch)


@dataclass(slots=True)
class GeneratedSource:
    """Made up rows, up to where somebody has asked for them."""

    made_of: Generated
    seed: int
    stream: int
    duration: int
    epoch: int = 0
    _until: int = 0
    _given: int = 0
    _phase: float = 0.0
    _rng: np.random.Generator = field(init=False)
    _cumulated: dict[str, Floats] = field(init=False)
    _payload: bytes = field(init=False)
    # Rows that exist and have not arrived: when they do, their times and the rows.
    _waiting: tuple[Times, Times, pa.RecordBatch] | None = None

    def __post_init__(self) -> None:
        """Choose where the first row lies."""
        self._rng = generator(self.seed, self.stream)
        shares = self.made_of.frequencies(self.seed, self.stream)
        self._cumulated = {name: np.cumsum(row) for name, row in shares.items()}
        self._payload = b"x" * self.made_of.payload
        self._phase = self._rng.random() * SECOND / self.made_of.rate

    @property
    def lateness(self) -> int:
        """How much later than others of its time a row may arrive, microseconds."""
        return round(self.made_of.lateness * SECOND)

    @property
    def ended(self) -> bool:
        """Whether all rows were given."""
        return self._until >= self.duration and self._waiting is None

    def due(self, until: int) -> tuple[Times, pa.RecordBatch] | None:
        """The rows that arrive before a time and were not given before, with their own times."""
        times = self._times(min(until, self.duration))
        disorder = round(self.made_of.disorder * SECOND)
        coming = times + (self._rng.integers(0, disorder + 1, len(times)) if disorder else 0)
        rows = self._rows(times)
        if self._waiting is not None:
            before, earlier, waiting = self._waiting
            coming, times = np.concatenate([before, coming]), np.concatenate([earlier, times])
            rows = pa.concat_batches([waiting, rows])
        order = np.argsort(coming, kind="stable")
        count = int(np.searchsorted(coming[order], until))
        here, rest = order[:count], order[count:]
        self._waiting = (coming[rest], times[rest], rows.take(pa.array(rest))) if len(rest) else None
        return (times[here], rows.take(pa.array(here))) if count else None

    def _times(self, until: int) -> Times:
        """The times of the rows from where the last ones ended."""
        begin, self._until = self._until, max(until, self._until)
        if self._until == begin:
            return np.empty(0, np.int64)
        rate = self.made_of.rate / SECOND
        if self.made_of.arrivals == "poisson":
            count = int(self._rng.poisson(rate * (until - begin)))
            return np.sort(self._rng.integers(begin, until, count))
        # All rows before `until`, without those given; computed from the start, so that nothing adds up.
        last = max(self._given, ceil((until - self._phase) * rate))
        numbers = np.arange(self._given, last)
        self._given = last
        return np.minimum(self._phase + numbers / rate, until - 1).astype(np.int64)

    def _rows(self, times: Times) -> pa.RecordBatch:
        arrays = [pa.array(times + self.epoch, TIMESTAMP)]
        for cumulated in self._cumulated.values():
            drawn = np.searchsorted(cumulated, self._rng.random(len(times)), "right")
            # The last sum may be a little less than 1.
            arrays.append(pa.array(np.minimum(drawn, len(cumulated) - 1)))
        names = [GENERATED_TIME, *self._cumulated]
        if self._payload:
            arrays.append(pa.repeat(pa.scalar(self._payload, pa.binary()), len(times)))
            names.append(PAYLOAD)
        return pa.record_batch(arrays, names)


def to_clock(column: pa.Array, epoch: int) -> Times:
    """Times of a column on the simulated clock."""
    micros = pc.cast(column, pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    return np.asarray(micros.to_numpy(zero_copy_only=False)) - epoch
