"""Rows of hot keys that are spread over all buckets: every result once, whatever the phases of the key.

Would catch: a phase that begins before the watermark allows it, rows dealt out by their order, copies that are
counted, state of a key that is lost in a restart, packers that go by other notes than the state says.
"""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from harness.hot import SOON, HotHistory, HotJoin
from oracles.graph import duck_join
from oracles.reference import assert_same_rows
from watersmeet.errors import DamagedRun
from watersmeet.kernel.spreading import DEAL, GATHER, REPLICATE

SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))


def run(history: HotHistory, join: HotJoin) -> None:
    """All batches, and a look at what came of them."""
    for batch, watermark in zip(history.batches, history.watermarks(), strict=True):
        join.batch(batch, watermark)
    assert_right(history, join)


def assert_right(history: HotHistory, join: HotJoin) -> None:
    tables, _ = history.on_time()
    assert_same_rows(join.results, duck_join(tables, history.query.conditions))
    assert len(set(join.ids)) == len(join.ids)


@pytest.mark.parametrize("how", ["as they come", "stored", "repeated"])
def test_any_history_gives_what_the_definition_says(how: str, tmp_path: Path) -> None:
    """Stored: after every batch other buckets go on from what was kept. Repeated: every batch runs twice."""
    phases: Counter[str] = Counter()
    late = 0
    for number in range(60):
        history = HotHistory.random(random := Random(f"{SEED} hot {how} {number}"))  # noqa: S311
        options = {} if how == "as they come" else {how: True}
        plan = history.plan(random.choice([2, 3, 8]))
        join = HotJoin(plan, tmp_path / str(number), adaptive=random.random() < 0.5, **options)
        run(history, join)
        phases += join.phases
        if how != "repeated":
            of_streams = history.on_time()[1]
            assert [join.late[f"late_{i}"] for i in range(history.streams)] == of_streams
            late += sum(of_streams)
    assert min(phases[phase] for phase in (REPLICATE, DEAL, GATHER)) > 30, phases
    assert how == "repeated" or late > 50
