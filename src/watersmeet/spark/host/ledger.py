"""The books of a whole join, kept by a group of their own: whose checkpoint it is, what sources have sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from watersmeet.errors import CheckpointMismatch
from watersmeet.kernel.bucket import Metrics
from watersmeet.plan.identity import FORMAT_VERSION, difference, other_format
from watersmeet.spark.host.pack import COUNTED
from watersmeet.spark.host.state import MANIFEST
from watersmeet.spark.host.task import Task


@dataclass
class Ledger:
    """What is remembered between batches.

    Attributes:
        identity: Which query it is.
        newest: Per input the newest time it has ever sent.
        totals: Per kind of count, and input, how many there were so far.
        idle: What idle inputs are said to have reached; gone as soon as one has rows again.
    """

    identity: str
    newest: dict[str, int] = field(default_factory=dict)
    totals: dict[str, dict[str, int]] = field(default_factory=dict)
    idle: dict[str, int] = field(default_factory=dict)

    def add(self, reports: Sequence[dict[str, Any]]) -> Metrics:
        """Add what the pack tasks of a batch saw; returns the sums of the batch."""
        values: Metrics = {}
        # A stream that has rows in the batch in which it is said to be idle is not idle.
        for report in sorted(reports, key=lambda one: one["newest"] is not None):
            number = str(report["input"])
            if report["idle"] is not None:
                self.idle[number] = report["idle"]
            for kind in COUNTED:
                name = f"{kind}_{number}"
                values[name] = (values.get(name) or 0) + report[kind]
                of_kind = self.totals.setdefault(kind, {})
                of_kind[number] = of_kind.get(number, 0) + report[kind]
            if report["newest"] is not None:
                self.newest[number] = max(self.newest.get(number, report["newest"]), report["newest"])
                self.idle.pop(number, None)
        return values

    def times(self, task: Task, watermark: int | None) -> Metrics:
        """What is known about time: the newest rows, how far the watermark is behind, and who holds it."""
        values: Metrics = {f"newest_us_{number}": newest for number, newest in self.newest.items()}
        # Spark's is zero before the first one.
        if watermark:
            behind = {number: newest - watermark for number, newest in self.newest.items()}
            values |= {f"behind_us_{number}": max(0, lag) for number, lag in behind.items()}
        streams = [i for i, spec in enumerate(task.inputs) if spec.stream is not None]
        values |= {f"lateness_us_{i}": task.inputs[i].lateness for i in streams}
        values |= {f"idle_{i}": int(str(i) in self.idle) for i in streams}
        reached = {i: self.newest[str(i)] - task.inputs[i].lateness for i in streams if str(i) in self.newest}
        reached |= {i: max(self.idle[str(i)], reached.get(i, 0)) for i in streams if str(i) in self.idle}
        if watermark is None:
            return values
        # A stream that has sent nothing yet holds the watermark at its start.
        silent = [i for i in streams if i not in reached]
        holder = silent[0] if silent else min(reached, key=lambda i: (reached[i], i), default=None)
        return values | {"holder": holder}


def keep_ledger(
    task: Task, blobs: Any, reports: dict[int, list[Any]], watermark: int | None
) -> tuple[Ledger, Metrics]:
    """Check that the checkpoint is ours, and add up what the pack tasks saw.

    Args:
        task: The join.
        blobs: The map state of the group.
        reports: What they sent.
        watermark: That of the batch; None where there is none.
    """
    stored = blobs.getValue(MANIFEST)
    ledger = Ledger(task.identity) if stored is None else Ledger(**json.loads(stored[0]))
    refuse_other_query(task, ledger.identity)
    values = ledger.add([json.loads(blob) for some in reports.values() for blob in some])
    values |= ledger.times(task, watermark)
    ledger.identity = task.identity
    blobs.updateValue(MANIFEST, (json.dumps(vars(ledger)).encode(),))
    return ledger, values


def refuse_other_query(task: Task, stored: str) -> None:
    """Stop before state of one query is read by another."""
    if stored == task.identity:
        return
    reason = difference(stored, task.identity)
    number = other_format(stored)
    if number is not None:
        raise CheckpointMismatch(
            f"the checkpoint was written by {'an earlier' if number < FORMAT_VERSION else 'a later'} version",
            f"{reason}.",
            "go on with the version that wrote it until the streams can be stopped, then start with a new "
            "checkpoint location, and let its sources begin one window earlier."
            if number < FORMAT_VERSION
            else "install the version of watersmeet that wrote it, or a later one.",
        )
    if reason:
        raise CheckpointMismatch(
            "the checkpoint was written by a different query",
            f"{reason}.",
            "restore the query, its statistics and its network as they were, or start all sites anew with "
            "empty checkpoints and an empty mailbox."
            if task.kind.sends_messages
            else "start with a new checkpoint location, or restore the query as it was.",
        )
