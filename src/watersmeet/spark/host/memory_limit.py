"""What of the memory goes where.

without windows     1/2 rows that new ones look into
with windows        1/4 runs that stay open, 1/4 runs that are looked into
both                1/2 the work: of every bucket that is at work, the packed rows of the batch, the rows
                        they are unpacked to, the run they are sorted into, the blob it is stored as
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from watersmeet.errors import InvalidSettings
from watersmeet.plan.progressive import Bounded
from watersmeet.spark.master import cores_of, is_local

# How many times the packed rows of a bucket are in memory while they are worked on.
_COPIES = 6
# Other buckets may get more than the one that is looked at.
_SPREAD = 1.3


def on_executors(bounded: Bounded, conf: Any) -> Bounded:
    """The same with what the session says about executors; locally there is one."""
    master = conf.get("spark.master", "local[*]")
    if not is_local(master):
        executors = int(conf.get("spark.executor.instances", "1"))
        return replace(bounded, executors=executors, tasks=int(conf.get("spark.executor.cores", "1")))
    return replace(bounded, executors=1, tasks=cores_of(master, lambda _: None))


def refuse_large_batch(bounded: Bounded, packed: int) -> None:
    """Stop when the rows of one batch alone would take more than there is."""
    needed = packed * _COPIES * bounded.tasks
    if needed > bounded.memory // 2:
        least = int(2 * needed * _SPREAD)
        raise InvalidSettings(
            "the memory is too small for a batch",
            f"a bucket got {packed:,} bytes in one batch, and {bounded.tasks} of them are at work at a time.",
            f"give at least {least:,} bytes and start again. Smaller batches, with maxFilesPerTrigger or "
            "maxOffsetsPerTrigger, need a new checkpoint: this one is planned, and comes again as it is.",
        )
