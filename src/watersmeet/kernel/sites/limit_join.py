"""Heads meet the rows of a window alive at their time (Tran & Lee 2010, Sect. 3.2, "T-limit join")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from watersmeet.kernel.evaluate import evaluate, is_true
from watersmeet.kernel.keys import Keys
from watersmeet.kernel.sites.packet import ENDS, TIME, chosen, ends, keys_of, times
from watersmeet.kernel.sites.store import Store
from watersmeet.plan.sites.step import Step, column_name
from watersmeet.query.expression import Field

# Whether rows of a window are alive at some times.
Alive = Callable[[pa.RecordBatch, Any], Any]


def limit_join(
    step: Step, heads: pa.RecordBatch, store: Store, alive: Alive, keys: Keys | None = None
) -> list[pa.RecordBatch]:
    """The results of heads with rows of a window, each at the time of its head.

    Args:
        step: What must be equal, and what is kept.
        heads: Rows that are later than all they meet.
        store: The rows they may meet.
        alive: Which of these are alive at a time.
        keys: The keys of the heads, where they are known.
    """
    known = keys_of(heads, step.head_key) if keys is None else keys
    starts = times(heads)
    results = []
    for chunk, asked, rows in store.matches(known, step.window_key):
        at, came = starts[asked], times(chunk.rows)[rows]
        before = came <= at if step.ties else came < at
        if not before.any():
            continue
        meeting, partners = asked[before], chosen(chunk.rows, rows[before])
        living = alive(partners, at[before])
        if not living.all():
            meeting, partners = meeting[living], chosen(partners, living)
        found = _joined(step, chosen(heads, meeting), partners, store.reach)
        if found.num_rows:
            results.append(found)
    return results


def _joined(step: Step, heads: pa.RecordBatch, partners: pa.RecordBatch, reach: int) -> pa.RecordBatch:
    inside = set(heads.schema.names)

    def column(name: str) -> pa.Array:
        return (heads if name in inside else partners).column(name)

    def field_column(field: Field) -> pa.Array:
        return column(column_name(field.stream, field.column))

    names, columns = [TIME], [heads.column(TIME)]
    if step.ends:
        # A result lives until one of its rows ends.
        names.append(ENDS)
        columns.append(pa.array(np.minimum(ends(heads, step.head_reach), ends(partners, reach))))
    together = pa.record_batch([*columns, *map(column, step.columns)], [*names, *step.columns])
    for condition in step.conditions:
        keep = is_true(evaluate(condition, field_column), together.num_rows)
        if not keep.all():
            heads, partners, together = (chosen(rows, keep) for rows in (heads, partners, together))
    return together
