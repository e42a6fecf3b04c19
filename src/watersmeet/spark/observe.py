"""What a running query was seen to do, from the progress Spark keeps."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from watersmeet.errors import InvalidPlanning
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.measured import Measured, MeasuredFunction, MeasuredInput, MeasuredOperator
from watersmeet.plan.plan import operators
from watersmeet.query.keys import key_names, keys_of
from watersmeet.spark.host.metrics import BatchMetrics, metrics
from watersmeet.stats import ABSENT, Figure, Statistics, StreamStatistics


def measured(plan: Plan, running: Any) -> Measured:
    """What a plan did in the later half of the batches Spark remembers, when windows had filled.

    Args:
        plan: The plan.
        running: The `StreamingQuery` that runs it, or ran it.
    """
    if not hasattr(running, "recentProgress"):
        raise InvalidPlanning(
            "this is not a streaming query",
            f"it is {type(running).__name__}.",
            "pass what start() has returned.",
        )
    history = [
        batch for progress in running.recentProgress if (batch := _ours(plan, metrics(progress))) is not None
    ]
    with_rows = [batch for batch in history if any(s.rows for one in batch for s in one.streams.values())]
    if len(with_rows) < 2:
        reported = f"{len(with_rows)} of the last {len(running.recentProgress)} batches had rows of this join"
        raise InvalidPlanning(
            "there is nothing measured yet",
            f"{reported}, with its operators as they are planned here.",
            "two batches are needed; ask the query that was started, not one planned anew.",
        )
    later = with_rows[(len(with_rows) - 1) // 2 :]
    before = later[0]
    changes = [sum(batch[n].path_changes for batch in history) for n in range(len(before))]
    return Measured(
        tuple(
            _operator(plan, number, [batch[number] for batch in later], _seconds(later), changes[number])
            for number in range(len(before))
        ),
        len(later) - 1,
        _seconds(later) / (len(later) - 1) if len(later) > 1 else None,
        tuple(
            f"{hot.stream} {hot.key}: {hot.rows:,} rows, {hot.share:.0%} of its bucket"
            for one in with_rows[-1]
            for hot in one.hot_keys
        ),
    )


def observed_statistics(plan: Plan, running: Any) -> Statistics:
    """The same as statistics, for planning the query again."""
    seen = measured(plan, running)
    streams: dict[str, StreamStatistics] = {}
    for operator, one in zip(operators(plan.root), seen.operators, strict=True):
        for part, figures in zip(operator.inputs, one.inputs, strict=True):
            if not isinstance(part, Source) or figures.rate is None:
                continue
            rows, weight = figures.state_rows, figures.state_bytes
            streams[plan.query.names[part.stream]] = StreamStatistics(
                rate=Figure.estimated(figures.rate),
                row_bytes=Figure.estimated(weight / rows) if rows and weight is not None else ABSENT,
                distinct=_distinct(plan, operator, part.stream, figures.keys),
            )
    batch = ABSENT if seen.batch_seconds is None else Figure.estimated(seen.batch_seconds)
    asked = [one for operator in seen.operators for one in operator.functions if one.pairs]
    return Statistics(
        streams,
        conditions={one.text: Figure.estimated(max(one.held, 0.5) / one.pairs) for one in asked},
        batch_seconds=batch,
        costs={one.text: one.seconds / one.pairs for one in asked},
    )


def _distinct(plan: Plan, operator: Operator, stream: int, keys: int | None) -> dict[str, Figure]:
    """The values of the key by which an operator keeps a stream; of its other keys nothing is known."""
    if not keys or operator.key not in keys_of(plan.query):
        return {}
    return {key_names(plan.query, operator.key, stream)[0]: Figure.estimated(keys)}


def _ours(plan: Plan, found: Sequence[BatchMetrics]) -> list[BatchMetrics] | None:
    """The metrics of this plan's operators, among those of all joins of the query."""
    wanted = [[plan.input_name(part) for part in operator.inputs] for operator in operators(plan.root)]
    names = [list(one.streams) for one in found]
    places = [start for start in range(len(names)) if names[start : start + len(wanted)] == wanted]
    if len(places) > 1:
        raise InvalidPlanning(
            "it cannot be told which join is meant",
            f"the query has {len(places)} joins of {', '.join(wanted[-1])}.",
            "give the streams of one of them other names.",
        )
    return list(found[places[0] : places[0] + len(wanted)]) if places else None


def _seconds(batches: Sequence[Sequence[BatchMetrics]]) -> float:
    """The event time from the first batch to the last."""
    newest = [
        max((s.newest for one in batch for s in one.streams.values() if s.newest is not None), default=None)
        for batch in (batches[0], batches[-1])
    ]
    first, last = newest
    return (last - first).total_seconds() if isinstance(first, datetime) and last is not None else 0.0


def _operator(
    plan: Plan, number: int, batches: Sequence[BatchMetrics], seconds: float, changes: int
) -> MeasuredOperator:
    last = batches[-1]
    names = list(last.streams)

    def rate(amounts: Sequence[int]) -> float | None:
        # The first batch marks where the time starts; its own rows came before.
        return sum(amounts[1:]) / seconds if seconds > 0 else None

    inputs = tuple(
        MeasuredInput(
            rate([batch.streams[name].rows for batch in batches]),
            stream.live,
            stream.state_bytes,
            stream.keys,
            tuple(
                (tuple(names.index(visited) for visited in use.visits), use.buckets) for use in stream.paths
            ),
        )
        for name, stream in last.streams.items()
    )
    assert len(inputs) == len(operators(plan.root)[number].inputs)
    return MeasuredOperator(
        inputs,
        rate([batch.results for batch in batches]),
        rate([batch.rows_examined for batch in batches]),
        rate([batch.lookups for batch in batches]),
        changes,
        tuple(_function(text, batches) for text in last.predicates),
    )


def _function(text: str, batches: Sequence[BatchMetrics]) -> MeasuredFunction:
    asked = [batch.predicates[text] for batch in batches]
    return MeasuredFunction(
        text,
        sum(one.pairs for one in asked),
        sum(one.held for one in asked),
        sum(one.seconds for one in asked),
        sum(one.unlike for one in asked),
    )
