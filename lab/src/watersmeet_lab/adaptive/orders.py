"""Every fixed order tried on the kernel alone, to know which of them are worth a run on Spark."""

from __future__ import annotations

from itertools import count, permutations
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.keys import encode_keys
from watersmeet.kernel.run import Rows
from watersmeet.plan import Plan, ProbePath
from watersmeet.plan.layout import layouts
from watersmeet_lab.adaptive.workload import Switch

Order = tuple[int, ...]


def examined_by_order(switch: Switch, root: Path, plan: Plan) -> dict[Order, tuple[int, int]]:
    """Rows examined in each half, by the order in which arriving rows visit the streams."""
    batches = [[_rows(root / name, batch) for name in switch.names] for batch in range(2 * switch.half)]
    return {
        order: _examined(switch, plan, order, batches) for order in permutations(range(len(switch.names)))
    }


def _rows(folder: Path, batch: int) -> Rows:
    table = pq.read_table(folder / f"{batch:05}.parquet").combine_chunks().to_batches()[0]
    times = table.column("ts").cast("int64").to_numpy()
    return Rows(encode_keys([table.column("key")]), times, table.select(["id"]))


def _examined(switch: Switch, plan: Plan, order: Order, batches: list[list[Rows]]) -> tuple[int, int]:
    names = count()
    join = MultiwayJoin.from_plan(plan, plan.root, layouts(plan)[plan.root], lambda: str(next(names)))
    join.paths = tuple(
        ProbePath(head, tuple(part for part in order if part != head)) for head in range(len(order))
    )
    halves = [0, 0]
    for number, batch in enumerate(batches):
        for part, rows in enumerate(batch):
            for _ in join.on_rows(part, rows):
                pass
        halves[number >= switch.half] += join.take_counts().examined
        # Spark's watermark is a batch old.
        if number:
            newest = min(int(np.max(rows.times)) for rows in batches[number - 1])
            join.on_watermark(newest - 1000)
    return halves[0], halves[1]
