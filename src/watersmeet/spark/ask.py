"""What functions cost and how often they hold, found out by asking them about pairs of a sample."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.judge import Answers, Judge
from watersmeet.plan import Plan
from watersmeet.plan.layout import Ref
from watersmeet.query.expression import FunctionCall
from watersmeet.spark.prepare import source_columns
from watersmeet.stats import Figure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Rows of each stream that are looked at, pairs that are made of them, and seconds spent on a function.
_ROWS, _PAIRS, _SECONDS = 300, 20_000, 1.0
_BLOCK = 64


def asked_functions(plan: Plan, prepared: Sequence[DataFrame]) -> tuple[dict[str, Figure], dict[str, float]]:
    """How likely the function of a condition holds and what it costs, by the condition's text.

    Args:
        plan: The plan.
        prepared: Samples of its streams, laid out by `source_columns`.
    """
    shares: dict[str, Figure] = {}
    costs: dict[str, float] = {}
    tables: dict[int, pa.Table] = {}
    for condition in plan.query.conditions:
        call = condition.expression
        if not isinstance(call, FunctionCall):
            continue
        for stream in condition.streams:
            if stream not in tables:
                tables[stream] = prepared[stream].limit(_ROWS).toArrow().combine_chunks()
        asked = _asked(plan, call, tables)
        if asked.pairs:
            # Of a function that accepted no pair of the sample, half a pair is assumed.
            shares[condition.text] = Figure.estimated(max(asked.accepted, 0.5) / asked.pairs)
            costs[condition.text] = asked.seconds / asked.pairs
    return shares, costs


def _asked(plan: Plan, call: FunctionCall, tables: dict[int, pa.Table]) -> Answers:
    """Ask about pairs drawn at random, as long as the time allows."""
    streams = sorted({argument.stream for argument in call.arguments})
    if any(not tables[stream].num_rows for stream in streams):
        return Answers()
    random = np.random.default_rng(1)
    drawn = {stream: random.integers(0, tables[stream].num_rows, _PAIRS) for stream in streams}
    columns = []
    for argument in call.arguments:
        place = source_columns(plan, argument.stream).index(Ref(argument.stream, argument.column))
        chunks = tables[argument.stream].column(place).combine_chunks()
        columns.append((chunks, drawn[argument.stream]))
    judge = Judge(call.function)
    for first in range(0, _PAIRS, _BLOCK):
        rows = slice(first, min(_PAIRS, first + _BLOCK))
        judge.mask(
            rows.stop - first, 1, partial(_taken, [(column, drawn[rows]) for column, drawn in columns])
        )
        if judge.now.seconds > _SECONDS:
            break
    return judge.now


def _taken(columns: Sequence[tuple[pa.Array, Any]], block: slice) -> list[pa.Array]:
    return [column.take(pa.array(rows[block])) for column, rows in columns]
