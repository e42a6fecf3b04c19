"""A bucket of a join without windows, as a task asks for it."""

from __future__ import annotations

from collections.abc import Callable

from watersmeet.cost.progressive import PageTimes
from watersmeet.kernel.progressive.bucket import ALL_RUNS, ProgressiveBucket
from watersmeet.optimize.progressive.policies import policy
from watersmeet.optimize.progressive.tasks import FastestOutput
from watersmeet.spark.task import JoinTask

# Local files are mapped, mostly from memory of the system: no arm has to move.
_PAGES = PageTimes(random=0.0001, sequential=0.0001)


def new_bucket(task: JoinTask, new_id: Callable[[], str]) -> ProgressiveBucket:
    """An empty bucket of a task, with its part of the memory."""
    bounded = task.plan.bounded
    assert bounded is not None
    return ProgressiveBucket.from_plan(
        task.plan,
        task.operator,
        task.layout,
        policy(bounded.algorithm, FastestOutput(_PAGES, fan_in=ALL_RUNS)),
        bounded.bucket_bytes(task.plan.buckets),
        bounded.bits,
        new_id,
    )
