"""A kind of bucket that nobody but a test knows: running totals by key."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from watersmeet.kernel.bucket import Bucket, Metrics, Outcome
from watersmeet.kernel.results import Results
from watersmeet.kernel.run import Rows


@dataclass
class Totals(Bucket):
    """Adds the amounts of every key, and gives out the totals that changed in a batch."""

    totals: dict[str, int] = field(default_factory=dict)
    changed_at: dict[str, int] = field(default_factory=dict)
    results: int = 0

    uses_watermark: ClassVar[bool] = False

    def on_rows(self, part: int, rows: Rows) -> Outcome:
        for row, time in zip(rows.columns.to_pylist(), rows.times.tolist(), strict=True):
            self.totals[row["key"]] = self.totals.get(row["key"], 0) + row["amount"]
            self.changed_at[row["key"]] = max(time, self.changed_at.get(row["key"], time))
        return iter(())

    def on_batch(self, until: int) -> Outcome:
        keys, times = list(self.changed_at), np.array(list(self.changed_at.values()), np.int64)
        self.results, self.changed_at = len(keys), {}
        if keys:
            totals = pa.array([self.totals[key] for key in keys], pa.int64())
            yield Results(([pa.array(keys), totals],), times, times)

    def save(self) -> dict[str, Any]:
        return {"totals": self.totals}

    def load(self, kept: dict[str, Any]) -> None:
        self.totals = kept.get("totals", {})

    def take_metrics(self) -> Metrics:
        return {"results": self.results, "live_0": len(self.totals)}


class TotalsMaker:
    """Makes them on the workers."""

    kind = Totals

    def __call__(self, number: int, new_id: Callable[[], str]) -> Totals:
        return Totals()
