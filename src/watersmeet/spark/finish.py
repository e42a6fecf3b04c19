"""Waiting until a running query has read all that its sources have now: only then may its streams end.

The end of a stream is believed at once, so it must not overtake rows. That all was read shows in a batch that
was begun after the question, and for which the sources had nothing new to offer. That such a batch had no
rows would not do: files may be empty, or hold nothing that passes a filter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from watersmeet.errors import StillRunning
from watersmeet.spark.session import SparkFailed, essence

_LOOK_EVERY_SECONDS = 0.1


def deadline(timeout_s: float | None) -> float | None:
    """When to give up, on the clock that `wait_until` looks at."""
    return None if timeout_s is None else time.monotonic() + timeout_s


def wait_until(
    running: Any,
    until: float | None,
    done: Callable[[], bool],
    too_late: StillRunning,
    ask: Callable[[], None] = lambda: None,
) -> None:
    """Wait until something is done, as long as a query runs.

    Args:
        running: Spark's streaming query.
        until: When to give up.
        done: Whether it is done.
        too_late: What to raise then.
        ask: Called again and again while it is not done.

    Raises:
        SparkFailed: The query has failed, or was stopped.
    """
    while not done():
        if not running.isActive:
            error = running.exception()
            raise SparkFailed(
                f"the query {'has failed' if error else 'was stopped'} before its streams could end",
                essence(str(error)) if error else "streams end in a query that runs.",
                "start it again with the same checkpoint, but not with availableNow=True, and call finish.",
            )
        if until is not None and time.monotonic() > until:
            raise too_late
        ask()
        time.sleep(_LOOK_EVERY_SECONDS)


def all_read(
    running: Any, is_stream: Callable[[Any], bool], streams: Sequence[int] = (), sources: Sequence[int] = ()
) -> Callable[[], bool]:
    """A question to ask again and again: whether all was read that sources had when this was called.

    Args:
        running: Spark's streaming query.
        is_stream: Whether an offset is that of a stream, not of mail or of other things we read beside them.
        streams: The numbers of the streams it is about.
        sources: Per stream how many sources of the query it is read from, in their order. Where they are not
            those of the query, because that is not known or one source is read twice, all have to be silent.
    """
    last = running.lastProgress
    # The batch after the last known one may have begun before this. So may the first one, where none is
    # known; it may even be one of an earlier life that is run again.
    first = None if last is None else last.batchId + 1

    def silent(progress: Any) -> bool:
        offered = [one.startOffset != one.endOffset for one in progress.sources if is_stream(one.endOffset)]
        if sum(sources) != len(offered):
            return not any(offered)
        starts = [sum(sources[:stream]) for stream in range(len(sources))]
        return not any(any(offered[starts[one] : starts[one] + sources[one]]) for one in streams)

    def done() -> bool:
        nonlocal first
        for progress in running.recentProgress:
            if first is None:
                first = progress.batchId
            if progress.batchId > first and silent(progress):
                return True
        return False

    return done
