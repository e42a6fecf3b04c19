"""RPJ and what it is compared with, each a rule for memory and a rule for silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from watersmeet.cost.progressive import arrival_probabilities
from watersmeet.errors import InvalidPlanning, choices
from watersmeet.optimize.progressive.flush import FlushRule, adaptive_pair, largest, optimal
from watersmeet.optimize.progressive.tasks import (
    FastestOutput,
    TaskRule,
    every_partition,
    largest_in_memory,
)
from watersmeet.plan.progressive import Disk, Flush, MergeTask, ScanTask, Standing


@dataclass(frozen=True, slots=True)
class Rules:
    """Two rules.

    Attributes:
        flush: Which rows leave memory.
        tasks: What is done in silence.
        least: Whether as little leaves memory as the rule allows, whatever is asked for.
    """

    flush: FlushRule
    tasks: TaskRule
    least: bool = False

    def flushes(self, standing: Standing, room: int, sizes: tuple[int, int] = (1, 1)) -> Sequence[Flush]:
        """What goes to disk; where rows differ in size, what counts is how useful they are for their size."""
        recent = [volume or 0.0 for volume in standing.recent]
        arriving = arrival_probabilities(standing.received.tolist(), recent, standing.complete)
        memory = [
            [rows * size for rows in side] for side, size in zip(standing.memory.tolist(), sizes, strict=True)
        ]
        # Rows wait for the other side's arrivals.
        useful = [
            [likely / size for likely in side] for side, size in zip(arriving, reversed(sizes), strict=True)
        ]
        chosen = self.flush(memory, useful, 1 if self.least else room)
        return [replace(flush, rows=-(-flush.rows // sizes[flush.side])) for flush in chosen]

    def task(self, standing: Standing, disk: Disk) -> ScanTask | MergeTask | None:
        """What to do while nothing arrives."""
        return self.tasks(standing, disk)


PROGRESSIVE = ("hmj", "rpj", "rpj-dd", "rpj-md", "xjoin")


def policy(name: str, best: FastestOutput | None = None) -> Rules:
    """One of `PROGRESSIVE`; `best` has what RPJ's tasks are rated by."""
    rated = best or FastestOutput()
    match name:
        case "hmj":
            return Rules(adaptive_pair, every_partition, least=True)
        case "rpj":
            return Rules(optimal, rated)
        case "rpj-dd":
            return Rules(optimal, replace(rated, scans=False))
        case "rpj-md":
            return Rules(optimal, replace(rated, merges=False))
        case "xjoin":
            return Rules(largest, largest_in_memory, least=True)
    raise InvalidPlanning(f'there is no progressive join "{name}"', "", f"valid are {choices(PROGRESSIVE)}.")
