"""Progress of a join that asks functions: how many pairs, and what one takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watersmeet.spark.host.report import metrics
from watersmeet.terminal.progress import Progress


@dataclass
class AskedProgress(Progress):
    """A running join so far, with what its functions were asked.

    Attributes:
        pairs: About how many pairs of rows functions were asked.
        asked_seconds: What that took, on all cores together.
    """

    pairs: int = 0
    asked_seconds: float = 0.0

    def _add(self, progress: Any) -> None:
        super()._add(progress)
        for operator in metrics(progress):
            for asked in operator.predicates.values():
                self.pairs += asked.pairs
                self.asked_seconds += asked.seconds


def asked_line(progress: AskedProgress) -> str:
    """A batch of such a join where there is no moving picture."""
    done = f"{progress.rows / progress.expected_rows:>4.0%} " if progress.expected_rows else ""
    live = sum(stream.live for stream in progress.streams.values())
    return (
        f"{done}{progress.rows:>8,} rows {live:>6,} live {progress.results:>6,} results"
        f"  {asked_text(progress):>32}"
    )


def asked_text(progress: AskedProgress) -> str:
    """About how many pairs functions were asked.

    >>> asked_text(AskedProgress({}, pairs=2_000, asked_seconds=0.05))
    '2,000 pairs asked, 25 us each'
    """
    return f"{progress.pairs:,} pairs asked, {progress.asked_seconds / progress.pairs * 1e6:.0f} us each"
