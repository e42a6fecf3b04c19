"""How many sources of Spark the streams of a query are read from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watersmeet.query import Stream


def source_counts(streams: Sequence[Stream]) -> list[int] | None:
    """Per stream, in the order in which Spark lists them in its progress; None where it does not say."""
    known = [count for stream in streams if (count := _count(stream.source)) is not None]
    return known if len(known) == len(streams) else None


def _count(df: Any) -> int | None:
    # Spark Connect has the plan on the other side.
    plan = getattr(df, "_jdf", None)
    if plan is None:
        return None
    leaves = plan.queryExecution().analyzed().collectLeaves()
    return sum(bool(leaves.apply(place).isStreaming()) for place in range(leaves.size()))
