"""Ending streams: wait until all that is there was read, leave end markers, wait until all is found."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from watersmeet.errors import StillRunning
from watersmeet.spark.finish import all_read, deadline, wait_until
from watersmeet.spark.host.control import Told
from watersmeet.spark.private import private_folder, put_file


def finish(
    running: Any, streams: Sequence[int], sources: Sequence[int] | None, timeout_s: float | None
) -> None:
    """Tell a running query that some of its streams have ended, and wait until that is done.

    Args:
        running: Spark's streaming query.
        streams: The numbers of the streams.
        sources: Per stream how many sources of the query it is read from, in their order; None if that is not
            known, and then all have to be silent.
        timeout_s: How long to wait.
    """
    if not running.isActive and _told(running.lastProgress, streams):
        return
    until = deadline(timeout_s)
    too_late = StillRunning(
        "the query has not found all results in time",
        "it goes on looking for them.",
        "call finish again and give it longer, or leave it to itself.",
    )
    # Ticks see to it that batches follow each other.
    wait_until(running, until, all_read(running, _is_stream, streams, sources or ()), too_late)
    told = next(filter(None, (Told.read(source.endOffset) for source in running.lastProgress.sources)))
    markers = [told.marker(stream) for stream in streams]
    private_folder(Path(told.folder))
    for marker in markers:
        put_file(marker, b"", durable=False)
    # Should that take too long they stay: the query goes on, and sees them.
    wait_until(running, until, lambda: _told(running.lastProgress, streams), too_late)
    for marker in markers:
        with contextlib.suppress(OSError):
            marker.unlink()


def _is_stream(offset: Any) -> bool:
    return Told.read(offset) is None


def _told(progress: Any, streams: Sequence[int]) -> bool:
    if progress is None:
        return False
    known = [Told.read(source.endOffset) for source in progress.sources]
    return any(told is not None and told.ended.issuperset(streams) for told in known)
