"""The figures of the benchmark, from outcomes: rates, ratios and their definitions."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from watersmeet_lab.keyed.case import Batch, Case, Outcome


def steady_rate(outcome: Outcome, warm: int = 2) -> float:
    """Rows per second after so many batches, to the last full one."""
    full = [batch for batch in outcome.batches if batch.rows == outcome.batches[0].rows]
    chosen = full[warm:] or full
    return sum(batch.rows for batch in chosen) / sum(batch.seconds for batch in chosen)


def overall_rate(case: Case, outcome: Outcome) -> float:
    """Rows per second of the whole run, warm-up and clean-up included."""
    return case.batches * case.workload.stream_batch_rows * case.workload.streams / outcome.seconds


def state_ratio(case: Case, outcome: Outcome) -> float:
    """Rows held over rows with end > that batch's watermark, in the worst batch from the third on."""
    times = [batch_times(case, stream) for stream in range(case.workload.streams)]
    per_batch = case.workload.stream_batch_rows
    window = round(case.window_s * 1e6)
    ratios = []
    for number, batch in enumerate(outcome.batches[: case.batches]):
        if number < 2 or batch.held is None or batch.watermark is None:
            continue
        watermark = micros(batch.watermark)
        alive = sum(int(np.sum(column[: (number + 1) * per_batch] + window > watermark)) for column in times)
        ratios.append(batch.held / alive)
    return max(ratios)


def cost_per_row(case: Case, outcome: Outcome, window_s: float) -> float:
    """Seconds per row over the batches that start after windows of `window_s` are full."""
    filled = int(np.ceil(window_s * case.workload.rate / case.workload.stream_batch_rows))
    # The watermark is a batch old, so the window keeps growing for one batch more.
    chosen: list[Batch] = outcome.batches[filled + 1 : case.batches]
    return sum(batch.seconds for batch in chosen) / sum(batch.rows for batch in chosen)


def batch_times(case: Case, stream: int) -> Any:
    """The times of all rows of a stream, batch after batch."""
    parts = [pq.read_table(path, columns=["ts"]) for path in sorted(Path(case.path(stream)).iterdir())]
    return np.concatenate([part.column("ts").cast("int64").to_numpy() for part in parts])


def micros(text: str) -> int:
    """A watermark as Spark writes it, in microseconds."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (moment - datetime.fromisoformat("1970-01-01T00:00:00+00:00")) // timedelta(microseconds=1)
