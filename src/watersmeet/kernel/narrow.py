"""Looking a window up by more than the common key: by all columns it shares with the rows that are bound.

    join on host; dns and ssl share the name as well

    new dns rows  -- host and name -->  ssl  -- host -->  weird

Rows go to buckets, and lie in runs, by the key that all inputs share. Where a key has many rows, an index by
the further columns (`kernel.value_index`) finds those of them that can be partners. Where it has few, all are
looked at. Either way the values are compared afterwards, so this decides about work and never about results.

One input gives the values: the one that shares most columns with the window. What others share with it is
judged like any condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from watersmeet.kernel.combinations import Combinations
from watersmeet.kernel.gather import TooManyBytes
from watersmeet.kernel.narrow_hits import BY_ROW, INDEXED, ORDER
from watersmeet.kernel.reach import Reach
from watersmeet.kernel.run import Run
from watersmeet.kernel.value_index import hashed_values, run_values, value_index


@dataclass(frozen=True, slots=True)
class Narrowing:
    """By what the last window of a stage is looked up beside the key.

    Attributes:
        attributes: The attributes that are compared.
        source: The input whose row has the values,
        given: in these stored columns of it.
        wanted: The stored columns of the window.
    """

    attributes: tuple[int, ...]
    source: int
    given: tuple[int, ...]
    wanted: tuple[int, ...]


class Narrowed(NamedTuple):
    """What `probe` is told.

    Attributes:
        runs: The addresses of the runs looked into, those of the last window in the order of their indexes.
        table: Per run the addresses of what narrows it.
        source: The place of the window that has the values; -1 if the heads have them.
        head_values: Per head the values of its rows; nothing for each where the heads do not have them.
    """

    runs: Any
    table: Any
    source: int
    head_values: list[Any]


def narrowed(
    by: Narrowing, inputs: Sequence[int], leading: Sequence[Run], bound: Combinations | None, reach: Reach
) -> Narrowed | None:
    """Prepare the indexes for one visit; None where no run has a key with many rows.

    Args:
        by: The columns.
        inputs: The windows that are visited.
        leading: The runs of the heads.
        bound: What the rows of the only head stand for; None if they stand for themselves.
        reach: The runs of the windows.
    """
    runs = np.stack([run.addresses for run in reach.runs])
    table = np.zeros((len(runs), 3), np.uint64)
    for number in range(reach.first_run[-2], reach.first_run[-1]):
        index = value_index(reach.runs[number], by.wanted)
        if index is not None:
            runs[number] = index.addresses
            table[number, INDEXED], table[number, ORDER] = index.values.ctypes.data, index.order.ctypes.data
    if not table.any():
        return None
    source, head_values = -1, [_NOTHING] * len(leading)
    if by.source in inputs:
        source = inputs.index(by.source)
        for number in range(reach.first_run[source], reach.first_run[source + 1]):
            table[number, BY_ROW] = run_values(reach.runs[number], by.given).ctypes.data
    elif bound is not None:
        head_values = [_bound_values(bound, by)]
    else:
        head_values = [run_values(run, by.given) for run in leading]
    return Narrowed(runs, table, source, head_values)


_NOTHING = np.zeros(0, np.uint64)


def _bound_values(rows: Combinations, by: Narrowing) -> Any:
    """The values of combinations, in halves where the columns are too large."""
    try:
        return hashed_values(rows.columns(by.source, by.given))
    except TooManyBytes:
        half = len(rows) // 2
        halves = (rows.take(slice(None, half)), rows.take(slice(half, None)))
        return np.concatenate([_bound_values(part, by) for part in halves])
