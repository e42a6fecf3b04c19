"""A bucket looks whether packers went by what it says of its hot keys; otherwise results would be missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from watersmeet.errors import DamagedRun
from watersmeet.kernel.bucket import Bucket
from watersmeet.spark.host.hot_notes import HotNotes
from watersmeet.spark.host.hot_rows import Sent
from watersmeet.spark.host.task import Task


class HotCheck:
    """The hot keys of one bucket in a batch."""

    def __init__(self, bucket: Bucket, number: int, notes: HotNotes | None) -> None:
        """Note what packers had to go by.

        Args:
            bucket: The bucket, as it was after the batch before.
            number: Which one it is.
            notes: The notes; None where nobody knows where they are.
        """
        self._spreader, self._windows = bucket.spreader, bucket.windows
        self._number = number
        self._notes = notes
        self._routes = () if self._spreader is None else self._spreader.routes
        self._keys = np.array([route.key for route in self._routes], np.uint64)

    def rows(self, hashes: Any) -> None:
        """Rows have come that packers did not take for hot.

        Raises:
            DamagedRun: They are.
        """
        if len(self._keys) and np.isin(hashes, self._keys).any():
            self._refuse()

    def sent(self, said: Iterable[bytes]) -> None:
        """Packers have sent rows of hot keys.

        Raises:
            DamagedRun: Not in the way they had to.
        """
        for one in map(Sent.of, said):
            if self._spreader is None or one.routes != self._routes:
                self._refuse()
            self._spreader.dealt(one.dealt, self._windows)

    def end(self) -> None:
        """The batch is done: packers of the next one go by what the bucket says now."""
        if self._notes is not None and self._spreader is not None:
            self._notes.keep(self._number, self._spreader.routes)

    def _refuse(self) -> NoReturn:
        """Write the note that was missing, so that the batch can run again."""
        if self._notes is not None:
            self._notes.repair(self._number, self._routes)
            raise DamagedRun(
                "rows of a hot key were sent to other buckets than its state says",
                f"the note of bucket {self._number} in the folder watersmeet beside the checkpoint was "
                "missing, damaged or of another time; it has been written anew.",
                "start the query again: it goes on from its checkpoint. Where more notes are gone, it may "
                "have to be started once for every bucket.",
            )
        raise DamagedRun(
            "rows of hot keys of this checkpoint are spread over all buckets, and nobody can say here where "
            "the notes about them are",
            "it was written by a session on one machine.",
            "start it there, with plan_with(spread_hot_keys=False), until all windows have passed: then "
            "every row is in the bucket of its key.",
        )


def may_spread(task: Task, notes: HotNotes | None) -> bool:
    """Whether keys may be spread that are not yet: where packers can read what buckets write."""
    return notes is not None and task.one_host
