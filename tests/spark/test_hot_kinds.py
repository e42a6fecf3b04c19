"""Hot keys that are spread in outer, semi and anti joins: every result once, with nulls or without.

Would catch: a row that is said to have no partner by a bucket that has not all of them, or by several; rows
of an optional stream that are dealt out; rows that linger and are gone where they are needed; rows without a
key that are lost or come twice.
"""

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from harness.hot_kinds import KINDS, change_rule, hot_join, micros, random_hot_history
from oracles.reference import assert_same_rows
from watersmeet.kernel.spreading import DEAL, GATHER, REPLICATE, REST

SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))
HISTORIES = int(os.environ.get("WATERSMEET_TEST_HISTORIES", "60"))
HOW = ("as they come", "stored", "repeated", "under changing rules")


@pytest.mark.parametrize("name", KINDS)
def test_any_history_gives_what_the_definition_says(name: str, tmp_path: Path) -> None:
    """Stored: other buckets go on after every batch. Repeated: every batch runs twice."""
    phases: Counter[str] = Counter()
    nulls = late = spread = away = 0
    for number in range(HISTORIES // len(KINDS)):
        history = random_hot_history(random := Random(f"{SEED} {name} {number}"), name)  # noqa: S311
        how = HOW[number % len(HOW)]
        options = {"stored": how == "stored", "repeated": how == "repeated"}
        buckets, adaptive = random.choice([2, 3, 5]), random.random() < 0.5
        join = hot_join(history, tmp_path / f"{number}", buckets, adaptive=adaptive, **options)
        for batch, watermark in zip(history.batches, history.watermarks, strict=True):
            if how == "under changing rules":
                change_rule(random, join)
            join.batch(batch, micros(history, watermark))
        expected = history.by_duck()
        assert_same_rows(join.results, expected)
        assert len(set(join.ids)) == len(join.ids)
        if len(history.kind.windows) == 2:
            assert_same_rows(history.expected(), expected)
        # What is counted is counted as if nothing were spread.
        plain = hot_join(history, tmp_path / f"{number} plain", buckets, None, **options)
        for batch, watermark in zip(history.batches, history.watermarks, strict=True):
            plain.batch(batch, micros(history, watermark))
        assert (plain.late, plain.found) == (join.late, join.found)
        assert not plain.phases
        assert not plain.away
        phases += join.phases
        spread += join.phases[DEAL] > 0
        away += join.away
        nulls += sum(None in result for result in expected)
        late += join.late.total()
    assert min(phases[phase] for phase in (REPLICATE, DEAL, GATHER, REST)) > 1, phases
    assert 4 * spread > HISTORIES // len(KINDS)
    assert away > 30
    assert late > 5
    assert (nulls > 100) == (name not in ("semi", "anti"))
