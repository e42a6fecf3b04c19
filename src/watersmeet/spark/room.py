"""A join with windows that keeps to its memory: which runs are open, and which only lie in their files.

All runs lie in files and in the durable state. A run that is open takes memory: its pages as far as they were
looked into, and the directory by which keys are found in it.
"""

from __future__ import annotations

from watersmeet.kernel.join import MultiwayJoin
from watersmeet.kernel.operator import Kernel
from watersmeet.kernel.room import Room
from watersmeet.optimize.residence import Candidate, most_useful, recently
from watersmeet.plan.plan import operators
from watersmeet.plan.progressive import Bounded
from watersmeet.spark.state import BucketState
from watersmeet.spark.task import JoinTask

# Runs are merged to one part in so many of what may be open.
_MERGED_PARTS = 4


def give_room(bounded: Bounded, join: Kernel, state: BucketState) -> None:
    """Let a join look into its windows piece by piece, where they do not fit."""
    # Windows of rows are merged whole, so they are refused with the query.
    assert isinstance(join, MultiwayJoin)
    stay = state.open_runs()
    join.room = Room(
        bounded.open_bytes, lambda runs: state.close({stored.id for stored in runs if stored.id not in stay})
    )
    join.block_bytes = bounded.block_bytes
    for window in join.windows:
        window.merge_bytes = bounded.open_bytes // _MERGED_PARTS


def staying(task: JoinTask, join: Kernel, state: BucketState) -> set[str]:
    """The runs that stay open until the next batch; how useful all are is remembered."""
    bounded = task.plan.bounded
    assert isinstance(join, MultiwayJoin)
    assert join.room is not None
    assert bounded is not None
    before, found = state.manifest.found, join.room.found
    runs = [stored for window in join.windows for stored in window.runs]
    recent = {
        stored.id: recently(before.get(stored.id), found.get(stored.id, 0))
        for stored in runs
        if stored.id in before or stored.id in found
    }
    state.manifest.found = recent
    room = bounded.resident_bytes(task.plan.buckets, len(operators(task.plan.root)))
    return most_useful((Candidate(one.id, one.size, recent.get(one.id)) for one in runs), room)
