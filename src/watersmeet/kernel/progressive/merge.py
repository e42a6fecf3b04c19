"""PSMJ, the progressive sort-merge join: both sides are merged at the same time, and pairs leave on the way.

    first side    r1 r2 | r3 r4        an operation takes up to `fan_in` runs of each side, reports the
    second side   s1 s2 | s3           pairs between them that are new, and leaves one run per side;
                  -----   -----        the two are "matching": all their pairs are known
                  R1,S1   R2,s3        a side with one run keeps it, with its tag

Passes repeat until one operation has taken all; at least one is needed (Tao et al., Sect. 2.2). Where a run
must not be larger than some size, an operation leaves several of a side, each matching each of the other, and
those that would not fill one stay as they are until there are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from watersmeet.kernel.progressive.history import History
from watersmeet.kernel.progressive.store import DiskRun, Store

# So many small runs of a side are merged though they do not fill a large one.
_MANY = 8


def merge_step(runs: Sequence[Sequence[DiskRun]], fan_in: int) -> Iterator[tuple[list[DiskRun], ...]]:
    """The operations of one pass: up to `fan_in` runs of each side at a time."""
    longest = max(len(side) for side in runs)
    for first in range(0, longest, fan_in):
        yield tuple(list(side[first : first + fan_in]) for side in runs)


def progressive_merge(
    store: Store,
    partition: int,
    disk: tuple[list[DiskRun], list[DiskRun]],
    history: History,
    fan_in: int,
    new_tag: Callable[[], int],
    most_rows: Sequence[int] | None = None,
) -> Iterator[Any]:
    """Join what is on disk of a partition; `disk` ends with one run per side at most.

    It is consistent after every operation, so it may be left off there and taken up again later. With
    `most_rows`, by side, runs are not merged to larger ones, and all have to be taken in one operation.
    """
    more = True
    while more:
        operations = list(merge_step((list(disk[0]), list(disk[1])), fan_in))
        more = len(operations) > 1
        done: tuple[list[DiskRun], list[DiskRun]] = ([], [])
        waiting = (list(disk[0]), list(disk[1]))
        for operation in operations:
            store.read([run for side in operation for run in side])
            for one in operation[0]:
                new = history.unmatched(one, operation[1])
                if new:
                    yield from store.join(partition, one, new, history)
            for side, runs in enumerate(operation):
                del waiting[side][: len(runs)]
            products = [
                [
                    _merged(store, side, partition, group, new_tag)
                    for group in _groups(runs, None if most_rows is None else most_rows[side])
                ]
                for side, runs in enumerate(operation)
            ]
            history.matched.update((one.tag, other.tag) for one, other in product(*products))
            for side, runs in enumerate(products):
                done[side].extend(runs)
                disk[side][:] = done[side] + waiting[side]
    history.forget_others(run.tag for side in disk for run in side)


def _groups(runs: Sequence[DiskRun], most_rows: int | None) -> list[list[DiskRun]]:
    """What becomes one run each: all of them, or those that fill one or are many, so that few rows move."""
    if most_rows is None:
        return [list(runs)] if runs else []
    groups: list[list[DiskRun]] = []
    group: list[DiskRun] = []
    rows = 0
    for run in runs:
        if group and rows + run.rows > most_rows:
            groups.append(group)
            group, rows = [], 0
        group.append(run)
        rows += run.rows
    return [*groups, group] if len(group) >= _MANY else [*groups, *([run] for run in group)]


def _merged(
    store: Store, side: int, partition: int, runs: Sequence[DiskRun], new_tag: Callable[[], int]
) -> DiskRun:
    if len(runs) == 1:
        return runs[0]
    return DiskRun(new_tag(), sum(run.rows for run in runs), store.merge(side, partition, runs))
