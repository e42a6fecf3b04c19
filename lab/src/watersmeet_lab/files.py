"""Files that Spark's file source takes one per micro-batch, in their order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# The file source takes files by modification time, and only whole seconds are safe everywhere.
_OLDEST = 1_700_000_000


def write_batch(table: pa.Table, folder: Path, number: int, **options: Any) -> None:
    """Write a table as the file of a micro-batch; `options` are those of Parquet."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:05}.parquet"
    pq.write_table(table, path, **options)
    os.utime(path, (_OLDEST + number, _OLDEST + number))
