"""What a running join has to say to its owner, from the metrics of its batches: once per cause, with a hint.

This is decided here, without Spark; `spark.listener` hears the batches and hands the lines to Python's
logging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from watersmeet.query.duration import describe_duration
from watersmeet.spark.host.metrics import BatchMetrics, StreamMetrics
from watersmeet.spark.settings import too_many_partitions

# A stream holds the others back when it was silent for so many batches in which others had rows, while the
# rows that are held became so many, and twice as many as before.
_SILENT_BATCHES = 5
_HELD_ROWS = 10_000
_HELD_TIMES = 2
# More than so many hot keys of a query are not told.
_HOT_KEYS = 5

_UNITS = (
    (timedelta(hours=2), timedelta(hours=1)),
    (timedelta(minutes=2), timedelta(minutes=1)),
    (timedelta(seconds=2), timedelta(seconds=1)),
    (timedelta(0), timedelta(milliseconds=1)),
)

Line = tuple[tuple[str, ...], str]


@dataclass
class Silence:
    """How long the stream that holds the watermark has had no rows.

    Attributes:
        stream: Which one.
        held: How many rows were held when it fell silent.
        batches: In how many batches since then others had rows.
    """

    stream: str
    held: int
    batches: int = 0


@dataclass
class Speaker:
    """What there is to say about one running query.

    Attributes:
        said: The causes that were told.
        newest: Per stream the newest time before the batch.
        were_idle: The streams that have ever been idle.
        silences: Per operator, by its number, who holds the watermark back.
    """

    said: set[tuple[str, ...]] = field(default_factory=set)
    newest: dict[str, datetime] = field(default_factory=dict)
    were_idle: set[str] = field(default_factory=set)
    silences: dict[int, Silence] = field(default_factory=dict)

    def lines(
        self, batch: Sequence[BatchMetrics], partitions: int | None, lost: Mapping[str, int] | None = None
    ) -> list[str]:
        """What is new in a batch.

        Args:
            batch: The metrics of all operators.
            partitions: How many shuffle partitions the query runs with; None if that was told before.
            lost: Records that were gone before they were read, by topic.
        """
        # One after the other: what was said decides what is left to say.
        of_joins = (self._causes(number, one, partitions) for number, one in enumerate(batch))
        of_topics = ((("lost", topic), _lost(topic, records)) for topic, records in (lost or {}).items())
        found = []
        for cause, text in chain(chain.from_iterable(of_joins), of_topics):
            if cause not in self.said:
                self.said.add(cause)
                found.append(text)
        for one in batch:
            self.newest |= {name: s.newest for name, s in one.streams.items() if s.newest is not None}
            self.were_idle |= {name for name, s in one.streams.items() if s.idle}
        return found

    def _causes(self, number: int, one: BatchMetrics, partitions: int | None) -> Iterator[Line]:
        for name, stream in one.streams.items():
            if stream.late:
                yield ("late", name), self._late(name, stream, _watermark(one))
            if stream.idle:
                yield ("idle", name), _idle(name)
            if stream.malformed:
                yield ("malformed", name), _malformed(name, stream.malformed)
        yield from self._held(number, one)
        for hot in one.hot_keys:
            if sum(cause[0] == "hot" for cause in self.said) < _HOT_KEYS:
                yield (
                    ("hot", hot.stream, hot.key),
                    f"key {hot.key} of {hot.stream} has {hot.rows:,} rows, {hot.share:.0%} of those in its "
                    "bucket: every row that comes for it meets all of them, and one core does it. Filter the "
                    "key out before the join, or join on one more column.",
                )
        if one.spread_keys:
            keys = "1 hot key is" if one.spread_keys == 1 else f"{one.spread_keys} hot keys are"
            yield (
                ("spread",),
                f"{keys} spread over all {one.buckets} buckets, so that all cores join the rows. "
                "plan_with(spread_hot_keys=False) keeps them together.",
            )
        if partitions is not None and too_many_partitions(partitions, one.buckets):
            yield (
                ("partitions",),
                f"{partitions} shuffle partitions for {one.buckets} buckets: most of their tasks have "
                "nothing to do, in every batch. Set spark.sql.shuffle.partitions to the number of cores and "
                "start with a new checkpoint; Spark keeps the number of the first start.",
            )

    def _late(self, name: str, stream: StreamMetrics, watermark: datetime | None) -> str:
        rows = f"{stream.late:,} {'row' if stream.late == 1 else 'rows'} of {name} came"
        joined = "was not joined" if stream.late == 1 else "were not joined"
        see = "query.to_dataframe(set_aside=True) returns such rows beside the results."
        newest = self.newest.get(name, stream.newest)
        if stream.late_by is None or newest is None or watermark is None:
            return f"{rows} too late, or after the end of their stream, and {joined}. {see}"
        needed = newest - watermark + stream.late_by
        lateness = stream.lateness or timedelta(0)
        if name in self.were_idle and needed <= lateness:
            return (
                f"{rows} after the others had gone on without it, because it was idle, and {joined}. "
                f'Give wm.stream("{name}", ...) a longer idle= if the stream should be waited for. {see}'
            )
        most = describe_duration(_rounded_up(needed))
        return (
            f"{rows} up to {most} late and {joined}; lateness is {describe_duration(lateness)}. "
            f'To join such rows, set lateness="{most}" or more in wm.stream("{name}", ...). {see}'
        )

    def _held(self, number: int, one: BatchMetrics) -> Iterator[Line]:
        """Follow who holds the watermark back, and for how long."""
        holder = one.watermark_held_by
        live = [stream.live for stream in one.streams.values()]
        if holder is None or any(some is None for some in live):
            return
        held = sum(some for some in live if some is not None)
        silence = self.silences.get(number)
        if silence is None or silence.stream != holder or one.streams[holder].rows:
            self.silences[number] = Silence(holder, held)
            return
        silence.batches += any(stream.rows for stream in one.streams.values())
        grown = held >= max(_HELD_ROWS, _HELD_TIMES * silence.held)
        if silence.batches < _SILENT_BATCHES or not grown:
            return
        newest = one.streams[holder].newest or self.newest.get(holder)
        last = (
            "has sent nothing yet" if newest is None else f"has sent nothing after {newest:%Y-%m-%d %H:%M:%S}"
        )
        yield (
            ("held", holder),
            f"{holder} {last} and holds the watermark back: {held:,} rows of all streams are kept, and more "
            f"with every batch. Look at its source; if it may be silent, say for how long the others wait: "
            f'wm.stream("{holder}", ..., idle="5 minutes").',
        )


def _watermark(one: BatchMetrics) -> datetime | None:
    """That of the batch; streams that it has overtaken are no further behind than not at all."""
    known = [
        stream.newest - stream.behind
        for stream in one.streams.values()
        if stream.newest is not None and stream.behind is not None
    ]
    return max(known, default=None)


def _idle(name: str) -> str:
    return (
        f"{name} is idle: it has sent nothing for as long as its idle= says, so the others go on without it. "
        "Rows of it that are older than theirs will be late."
    )


def _malformed(name: str, records: int) -> str:
    some = "a record" if records == 1 else f"{records:,} records"
    return (
        f"{some} of {name} could not be decoded, and {'was' if records == 1 else 'were'} not joined. "
        "query.to_dataframe(set_aside=True) returns such records beside the results."
    )


def _lost(topic: str, records: int) -> str:
    return (
        f"Kafka no longer has {records:,} of the records of {topic} that the query should have read: "
        "they have expired or were deleted, and results with them are missing. Run it more often, or have "
        "Kafka keep records for longer; wm.kafka_lost(progress) counts them."
    )


def _rounded_up(length: timedelta) -> timedelta:
    """In whole hours, minutes, seconds or milliseconds, whichever say it well."""
    unit = next(unit for least, unit in _UNITS if length >= least or not least)
    return -(-length // unit) * unit
