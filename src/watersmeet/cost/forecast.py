"""What a plan will need and give, from what is known about the data.

A stored row leaves when the watermark has passed its end, and the watermark is the newest time of the batch
before, less the greatest lateness. So the rows of a stream that are stored at the end of a batch span

        now - batch - lateness - T                                      now
        |------------------------------------------------------------------|

of time: rate * (T + lateness + batch). Windows leave in whole slices, which adds half a slice on average.
"""

from __future__ import annotations

from watersmeet.cost.orders import order_problem
from watersmeet.cost.progressive import first_result_seconds
from watersmeet.cost.sizes import Sizes
from watersmeet.cost.visit import COST_MODELS
from watersmeet.plan import Operator, Plan, ProbePath, Source
from watersmeet.plan.forecast import (
    Forecast,
    FunctionForecast,
    InputForecast,
    OperatorForecast,
    PathForecast,
)
from watersmeet.plan.plan import operators
from watersmeet.query.condition import Condition
from watersmeet.stats import ABSENT, Figure, Statistics


def forecast(plan: Plan, statistics: Statistics, model: str = "probes") -> Forecast:
    """Predict what a plan does.

    Args:
        plan: The plan.
        statistics: What is known about the data.
        model: The cost model for paths.
    """
    sizes = Sizes(plan.query, statistics)
    slowest = max(plan.query.streams, key=lambda stream: stream.lateness)
    lateness = slowest.lateness.total_seconds()
    batch = statistics.batch_seconds
    found = tuple(
        OperatorForecast(
            tuple(_input(plan, sizes, operator, number, lateness) for number in range(len(operator.inputs))),
            tuple(_path(operator, path, sizes, model) for path in operator.paths),
            sizes.arriving(operator.streams),
        )
        for operator in operators(plan.root)
    )
    arriving = Figure.exact(0)
    for stream in range(len(plan.query.streams)):
        arriving = arriving + sizes.rate(stream)
    shipped = Figure.exact(0)
    for operator_forecast in found:
        for one in operator_forecast.inputs:
            shipped = shipped + one.shipped
    output = sizes.arriving(plan.root.streams)
    return Forecast(
        operators=found,
        output=output,
        amplification=output / arriving,
        shipped=shipped,
        final_after=batch + lateness,
        lateness=lateness,
        held_by=slowest.name,
        waits=plan.waits(plan.root),
        batch=batch,
        functions=tuple(_function(sizes, c) for c in plan.query.conditions if c.function is not None),
        first_result_s=_first_result(sizes) if plan.endless else None,
    )


def _first_result(sizes: Sizes) -> float | None:
    """When the first two rows are expected to have met."""
    rates, match = [sizes.rate(stream) for stream in (0, 1)], sizes.match((0, 1))
    known = all(rate.is_known and rate.number > 0 for rate in rates) and match.is_known and match.number > 0
    return first_result_seconds([rate.number for rate in rates], 1 / match.number) if known else None


def _function(sizes: Sizes, condition: Condition) -> FunctionForecast:
    seconds = sizes.known_cost(condition)
    cost = ABSENT if seconds is None else Figure.estimated(seconds)
    return FunctionForecast(condition.text, cost, sizes.holds(condition))


def _input(plan: Plan, sizes: Sizes, operator: Operator, number: int, lateness: float) -> InputForecast:
    part = operator.inputs[number]
    rate, alive = sizes.arriving(part.streams), sizes.alive_together(part.streams)
    # Without the span of a batch, what one batch adds is left out; the reader is told.
    beyond = lateness + (sizes.statistics.batch_seconds.value or 0.0)
    if isinstance(part, Source) and (reach := sizes.query.reaches[part.stream]) is not None:
        beyond += reach / 1e6 / plan.time_slices / 2
    # A row of a stream that stands in several slots comes once, and is stored in each.
    rows = alive + rate * beyond * (sizes.copies if isinstance(part, Source) else 1)
    sent = plan.buckets if operator.sliced else _copies(plan, operator, number)
    stored = 1 if operator.sliced else sent
    row_bytes = sizes.row_bytes(part.streams)
    return InputForecast(rate, rows * stored, rows * row_bytes * stored, rate * row_bytes * sent)


def _copies(plan: Plan, operator: Operator, number: int) -> float:
    """In how many buckets a row of an input is needed."""
    if number not in operator.replicated:
        return 1
    if operator.segment is None:
        return plan.buckets
    # Wang & Rundensteiner 2009, Sect. 7: those segments that its own life and that of a partner touch.
    together = plan.reach(operator.inputs[0]) + plan.reach(operator.inputs[number])
    return min(plan.buckets, (operator.segment + together) / operator.segment)


def _path(operator: Operator, path: ProbePath, sizes: Sizes, model: str) -> PathForecast:
    """Combinations per new row, step by step, and what visiting costs."""
    streams = [frozenset(part.streams) for part in operator.inputs]
    own = sizes.alive_together(streams[path.head])
    matches = []
    for place in range(1, len(path.sequence)):
        bound = path.sequence[: place + 1]
        together = sizes.alive_together(frozenset[int]().union(*(streams[part] for part in bound)))
        # Before the new rows are there, nothing can be said of one of them.
        matches.append(together / own if path.head in bound and own.value else ABSENT)
    problem = order_problem(operator, sizes, COST_MODELS[model])
    cost = ABSENT if problem is None else Figure.estimated(problem.cost(path.head, path.sequence))
    return PathForecast(tuple(matches), cost)
