"""PSMJ, the progressive sort-merge join: both sides are merged at the same time, and pairs leave on the way.

    first side    r1 r2 | r3 r4        an operation takes up to `fan_in` runs of each side, reports the
    second side   s1 s2 | s3           pairs between them that are new, and leaves one run per side;
                  -----   -----        the two are "matching": all their pairs are known
                  R1,S1   R2,s3        a side with one run keeps it, with its tag

Passes repeat until every side is a single run; at least one is needed (Tao et al., Sect. 2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from watersmeet.kernel.progressive.history import History
from watersmeet.kernel.progressive.store import DiskRun, Store


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
) -> Iterator[Any]:
    """Join what is on disk of a partition; `disk` ends with one run per side at most.

    It is consistent after every operation, so it may be left off there and taken up again later.
    """
    passes = 0
    while passes == 0 or max(len(side) for side in disk) > 1:
        done: tuple[list[DiskRun], list[DiskRun]] = ([], [])
        waiting = (list(disk[0]), list(disk[1]))
        for operation in merge_step((list(disk[0]), list(disk[1])), fan_in):
            store.read([run for side in operation for run in side])
            for one, other in product(*operation):
                if (one.tag, other.tag) not in history.matched:
                    yield from store.join(partition, one, other, history)
            products = [_merged(store, side, partition, runs, new_tag) for side, runs in enumerate(operation)]
            for side, run in enumerate(products):
                del waiting[side][: len(operation[side])]
                if run is not None:
                    done[side].append(run)
            if products[0] is not None and products[1] is not None:
                history.matched.add((products[0].tag, products[1].tag))
            for side in (0, 1):
                disk[side][:] = done[side] + waiting[side]
        passes += 1
    history.forget_others(run.tag for side in disk for run in side)


def _merged(
    store: Store, side: int, partition: int, runs: Sequence[DiskRun], new_tag: Callable[[], int]
) -> DiskRun | None:
    if len(runs) < 2:
        return runs[0] if runs else None
    return DiskRun(new_tag(), sum(run.rows for run in runs), store.merge(side, partition, runs))
