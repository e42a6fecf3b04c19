"""What a running query was seen to do, from the progress Spark keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from watersmeet.errors import InvalidPlanning
from watersmeet.plan import Operator, Plan, Source
from watersmeet.plan.measured import (
    Measured,
    MeasuredDeployment,
    MeasuredFunction,
    MeasuredInput,
    MeasuredLink,
    MeasuredOperator,
    MeasuredStream,
)
from watersmeet.plan.plan import operators
from watersmeet.query import JoinQuery
from watersmeet.query.keys import key_names, keys_of
from watersmeet.spark.host.metrics import BatchMetrics, PredicateMetrics
from watersmeet.spark.host.report import metrics
from watersmeet.stats import ABSENT, Figure, Statistics, StreamStatistics


def measured(plan: Plan, running: Any) -> Measured:
    """What a plan did in the later half of the batches Spark remembers, when windows had filled.

    Args:
        plan: The plan.
        running: The `StreamingQuery` that runs it, or ran it.
    """
    wanted = [[plan.input_name(part) for part in operator.inputs] for operator in operators(plan.root)]
    history = _history(wanted, running)
    with_rows = _with_rows(history, running)
    later = _later(with_rows)
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
        sum(one.spread_keys for one in with_rows[-1]),
    )


def measured_deployment(query: JoinQuery, running: Any) -> MeasuredDeployment:
    """The same of a join between sites, or over slices.

    Args:
        query: What is joined.
        running: The `Deployment` that runs it, or ran it.
    """
    history = _history([list(query.names)], running.query)
    later = _later(_with_rows(history, running.query))
    batches = [one for (one,) in later]
    span, last = _seconds(later), batches[-1]
    sent = _rate([batch.message_bytes for batch in batches], span)
    all_bytes = sum(link.bytes for link in running.links.values())

    def stream(name: str) -> MeasuredStream:
        mine = [batch.streams[name] for batch in batches]
        rows, size = sum(one.rows for one in mine), sum(one.row_bytes for one in mine)
        return MeasuredStream(
            name, _rate([one.rows for one in mine], span), size / rows if rows else None, mine[-1].live
        )

    return MeasuredDeployment(
        streams=tuple(stream(query.names[number]) for number in running.streams),
        output=_rate([batch.results for batch in batches], span),
        links=tuple(
            MeasuredLink(sender, receiver, sent * link.bytes / all_bytes if sent and all_bytes else sent)
            for (sender, receiver), link in running.links.items()
        ),
        bytes=sent,
        waiting=last.waiting,
        batches=len(later) - 1,
        batch_seconds=span / (len(later) - 1) if len(later) > 1 else None,
        functions=tuple(_function(text, batches) for text in last.predicates),
    )


def deployed_statistics(query: JoinQuery, running: Any) -> Statistics:
    """What a deployment has measured as statistics, for planning the query again."""
    seen = measured_deployment(query, running)
    return Statistics(
        {
            stream.name: StreamStatistics(
                rate=Figure.estimated(stream.rate),
                row_bytes=ABSENT if stream.row_bytes is None else Figure.estimated(stream.row_bytes),
            )
            for stream in seen.streams
            if stream.rate is not None
        },
        **_of_functions(seen.functions),
        batch_seconds=ABSENT if seen.batch_seconds is None else Figure.estimated(seen.batch_seconds),
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
    asked = [one for operator in seen.operators for one in operator.functions]
    return Statistics(streams, **_of_functions(asked), batch_seconds=batch)


def _of_functions(functions: Iterable[MeasuredFunction]) -> dict[str, Any]:
    """For how many pairs functions hold, and what a pair costs."""
    asked = [one for one in functions if one.pairs]
    return {
        "conditions": {one.text: Figure.estimated(max(one.accepted, 0.5) / one.pairs) for one in asked},
        "costs": {one.text: one.seconds / one.pairs for one in asked},
    }


def _distinct(plan: Plan, operator: Operator, stream: int, keys: int | None) -> dict[str, Figure]:
    """The values of the key by which an operator keeps a stream; of its other keys nothing is known."""
    if not keys or operator.key not in keys_of(plan.query):
        return {}
    return {key_names(plan.query, operator.key, stream)[0]: Figure.estimated(keys)}


def _history(wanted: list[list[str]], running: Any) -> list[list[BatchMetrics]]:
    """The metrics of some operators in all batches Spark remembers, by the names of their inputs."""
    if not hasattr(running, "recentProgress"):
        raise InvalidPlanning(
            "this is not a streaming query",
            f"it is {type(running).__name__}.",
            "pass what start() or deploy() has returned.",
        )
    found = (_ours(wanted, metrics(progress)) for progress in running.recentProgress)
    return [batch for batch in found if batch is not None]


def _with_rows(history: list[list[BatchMetrics]], running: Any) -> list[list[BatchMetrics]]:
    """The batches that had rows, with what came of their rows in batches without: in silence, or by mail."""
    found: list[list[BatchMetrics]] = []
    for batch in history:
        if any(stream.rows for one in batch for stream in one.streams.values()):
            found.append(batch)
        elif found:
            found[-1] = [_followed(one, more) for one, more in zip(found[-1], batch, strict=True)]
    if len(found) < 2:
        reported = f"{len(found)} of the last {len(running.recentProgress)} batches had rows of this join"
        raise InvalidPlanning(
            "there is nothing measured yet",
            f"{reported}, with its operators as they are planned here.",
            "two batches are needed; ask the query that was started, not one planned anew.",
        )
    return found


def _followed(one: BatchMetrics, more: BatchMetrics) -> BatchMetrics:
    """A batch together with a later one that had no rows; what is stored is told as it was with the rows."""
    counts = ("results", "rows_examined", "lookups", "path_changes", "messages", "message_bytes")
    sums = {name: getattr(one, name) + getattr(more, name) for name in counts}
    predicates = {
        text: PredicateMetrics(
            **{
                field.name: getattr(known, field.name) + getattr(more.predicates[text], field.name)
                for field in fields(PredicateMetrics)
            }
        )
        for text, known in one.predicates.items()
    }
    waiting = one.waiting if more.waiting is None else more.waiting
    return replace(one, **sums, predicates=predicates, waiting=waiting)


def _later(batches: list[list[BatchMetrics]]) -> list[list[BatchMetrics]]:
    """The later half, when windows had filled; the first of them marks where the time starts."""
    return batches[(len(batches) - 1) // 2 :]


def _rate(amounts: Sequence[int], seconds: float) -> float | None:
    """Per second; the first batch marks where the time starts, its own rows came before."""
    return sum(amounts[1:]) / seconds if seconds > 0 else None


def _ours(wanted: list[list[str]], found: Sequence[BatchMetrics]) -> list[BatchMetrics] | None:
    """The metrics of the operators that are meant, among those of all joins of the query."""
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
        return _rate(amounts, seconds)

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
        sum(one.accepted for one in asked),
        sum(one.seconds for one in asked),
        sum(one.inconsistent for one in asked),
    )
