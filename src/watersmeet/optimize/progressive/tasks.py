"""What is done while nothing arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from watersmeet.cost.progressive import DiskPart, PageTimes, dd_seconds, md_seconds, task_rate
from watersmeet.plan.progressive import Disk, MergeTask, RunSize, ScanTask, Standing

TaskRule = Callable[[Standing, Disk], ScanTask | MergeTask | None]


@dataclass(frozen=True, slots=True)
class FastestOutput:
    """The task with most new results per second (Sect. 5): a scan, or a merge.

    Attributes:
        times: What it takes to read a page.
        page_rows: Rows on a page.
        fan_in: How many runs of a side are merged at a time.
        scans: Whether scans are considered.
        merges: Whether merges are.
    """

    times: PageTimes = field(default_factory=PageTimes)
    page_rows: int = 102
    fan_in: int = 2
    scans: bool = True
    merges: bool = True

    def __call__(self, standing: Standing, disk: Disk) -> ScanTask | MergeTask | None:
        """The best task; None if none finds anything new."""
        best = max(self._rated(standing, disk), key=lambda rated: rated[0], default=None)
        return None if best is None else best[1]

    def _rated(self, standing: Standing, disk: Disk) -> Iterator[tuple[float, ScanTask | MergeTask]]:
        scanning = standing.scanning.tolist()
        for partition, pairs in enumerate(standing.merging.tolist()):
            parts = [self._part(disk[side][partition]) for side in (0, 1)]
            if self.scans:
                for side in (0, 1):
                    new = scanning[side][partition]
                    if new:
                        yield (
                            task_rate(new, md_seconds(parts[1 - side], self.times)),
                            ScanTask(side, partition),
                        )
            if self.merges and pairs:
                yield task_rate(pairs, dd_seconds(parts, self.times, self.fan_in)), MergeTask(partition)

    def _part(self, runs: Sequence[RunSize]) -> DiskPart:
        return DiskPart(len(runs), sum(-(-run.rows // self.page_rows) for run in runs))


def largest_in_memory(standing: Standing, _disk: Disk) -> ScanTask | None:
    """ScanTask for the largest partition in memory that has something new to find, as XJoin does."""
    waiting = [
        (-int(standing.memory[side][partition]), side, partition)
        for side in (0, 1)
        for partition in range(len(standing.merging))
        if standing.scanning[side][partition]
    ]
    if not waiting:
        return None
    _, side, partition = min(waiting)
    return ScanTask(side, partition)


def every_partition(standing: Standing, _disk: Disk) -> MergeTask | None:
    """MergeTask one partition after the other, as HMJ does."""
    for partition, pairs in enumerate(standing.merging.tolist()):
        if pairs:
            return MergeTask(partition)
    return None
