"""Rows as streams: files that Spark reads one after the other."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from watersmeet.demo.scenario import Feed, Scenario
from watersmeet.spark.endpoints import Endpoint
from watersmeet.spark.files import read_files


def write_files(scenario: Scenario, folder: Path) -> None:
    """Write every stream as one file per batch, cut at the same moments in all streams."""
    first = min(int(feed.arrival_us[0]) for feed in scenario.feeds)
    last = max(int(feed.arrival_us[-1]) for feed in scenario.feeds)
    cuts = np.linspace(first, last + 1, scenario.batches + 1)
    oldest = time.time() - scenario.batches
    for feed in scenario.feeds:
        stream_folder = folder / feed.name
        stream_folder.mkdir(parents=True)
        bounds = np.searchsorted(feed.arrival_us, cuts)
        for number, (start, end) in enumerate(pairwise(bounds)):
            path = stream_folder / f"{number:04}.parquet"
            pq.write_table(feed.rows.slice(start, end - start), path)
            # Spark takes files by age, and all of these could be written within one tick of the clock.
            os.utime(path, (oldest + number, oldest + number))


def read_feed(spark: Any, feed: Feed, folder: Path) -> Any:
    """A streaming DataFrame that takes one file in each batch."""
    files = Endpoint("parquet", str(folder / feed.name), {"maxFilesPerTrigger": "1"})
    return read_files(spark, feed.name, files, spark.read.parquet(files.path).schema)
