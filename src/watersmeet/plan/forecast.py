"""What a plan is expected to do: plain data, computed by `cost`, shown by `explain`.

Everything is per second of event time. A figure is absent where something it is made of is not known.
"""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.stats import Figure


@dataclass(frozen=True, slots=True)
class InputForecast:
    """One input of an operator.

    Attributes:
        rate: Rows that arrive.
        state_rows: Rows stored, over all buckets.
        state_bytes: Their bytes.
        shipped: Bytes sent to the buckets.
    """

    rate: Figure
    state_rows: Figure
    state_bytes: Figure
    shipped: Figure


@dataclass(frozen=True, slots=True)
class PathForecast:
    """The path of one input.

    Attributes:
        matches: Per step the combinations one arriving row has led to; absent while it is not among them.
        cost: What all arriving rows cost, in the unit of the cost model.
    """

    matches: tuple[Figure, ...]
    cost: Figure


@dataclass(frozen=True, slots=True)
class OperatorForecast:
    """One operator: its inputs, its paths, and how many results leave it."""

    inputs: tuple[InputForecast, ...]
    paths: tuple[PathForecast, ...]
    output: Figure


@dataclass(frozen=True, slots=True)
class FunctionForecast:
    """What a function is taken to cost for a pair, seconds, and for which part of pairs it is to hold."""

    text: str
    cost: Figure
    share: Figure


@dataclass(frozen=True, slots=True)
class Forecast:
    """A whole plan.

    Attributes:
        operators: Those below before those above.
        output: Results.
        amplification: Results per input row.
        shipped: Bytes that move between machines, if each bucket is on another one.
        final_after: Seconds after its time at which a result cannot be missing any more, once its rows are
            there; absent if the span of a batch is not known.
        lateness: Seconds of it that are the lateness of `held_by`.
        held_by: The stream whose lateness holds results back.
        waits: Whether results leave only then; otherwise they leave with their last row.
        functions: What is known about Python functions.
        batch: Seconds of event time a batch spans.
        first_result_s: Seconds until the first result of a join without windows; None if that is not known.
    """

    operators: tuple[OperatorForecast, ...]
    output: Figure
    amplification: Figure
    shipped: Figure
    final_after: Figure
    lateness: float
    held_by: str
    waits: bool
    batch: Figure
    functions: tuple[FunctionForecast, ...] = ()
    first_result_s: float | None = None
