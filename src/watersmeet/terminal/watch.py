"""Watching a query until it ends or somebody stops it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from watersmeet.spark.session import SparkFailed, essence
from watersmeet.terminal.interrupts import Interrupts
from watersmeet.terminal.progress import Progress

_POLL_SECONDS = 0.25


def watch(
    running: Any, progress: Progress, interrupted: Interrupts, batch_ended: Callable[[Progress], None]
) -> None:
    """Follow a streaming query to its end, and stop it whatever happens.

    Args:
        running: The query.
        progress: Brought up to date.
        interrupted: Asked whether to stop.
        batch_ended: Called after one or more batches.

    Raises:
        watersmeet.terminal.interrupts.Interrupted: Somebody stopped it.
        watersmeet.spark.session.SparkFailed: The query failed.
    """
    try:
        active = True
        while active:
            interrupted.check()
            time.sleep(_POLL_SECONDS)
            active = running.isActive  # asked before the progress, so that the last batch is not missed
            if progress.update(running):
                batch_ended(progress)
        progress.ended = time.monotonic()
        if error := running.exception():
            raise SparkFailed("the query failed", essence(str(error)))
    finally:
        running.stop()
