"""A checkpoint that an earlier version wrote is read, or refused with a way out.

Would catch: a change of what is stored, of hashes or of how rows are placed, that nobody noticed.
"""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from harness.kept import BEFORE, DATA, KINDS, run, scenario_of, unpacked
from harness.streaming import result_values
from watersmeet.errors import CheckpointMismatch
from watersmeet.plan.identity import FORMAT_VERSION, OLDEST_FORMAT
from watersmeet.spark.host.ledger import refuse_other_query

FORMATS = sorted(path.name for path in DATA.iterdir())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FORMATS)
def test_a_query_goes_on_from_a_kept_checkpoint(
    spark: SparkSession, tmp_path: Path, name: str, kind: str
) -> None:
    scenario = unpacked(name, kind, tmp_path)
    found = run(spark, scenario, kind, result_id=True).drop("result_id")
    expected = Counter(all_of(scenario, kind))
    before = scenario_of(kind, tmp_path / "before")
    before.batches = scenario.batches[:BEFORE]
    expected -= Counter(all_of(before, kind))
    assert len(expected) > 20
    assert Counter(result_values(found)) == expected


def all_of(scenario: Any, kind: str) -> list[tuple[Any, ...]]:
    return scenario.expected_full() if kind == "full" else scenario.expected()  # type: ignore[no-any-return]


def test_the_newest_format_is_kept() -> None:
    assert f"format-{FORMAT_VERSION}" in FORMATS


def test_another_format_is_refused_with_a_way_out() -> None:
    identity = {"format": FORMAT_VERSION, "streams": [], "buckets": 1}
    task: Any = SimpleNamespace(identity=json.dumps(identity), kind=SimpleNamespace(sends_messages=False))
    for number, hint in (
        (OLDEST_FORMAT - 1, "version that wrote it until"),
        (FORMAT_VERSION + 1, "install the version of watersmeet that wrote it, or a later one"),
    ):
        with pytest.raises(CheckpointMismatch) as caught:
            refuse_other_query(task, json.dumps(identity | {"format": number}))
        assert f"format {number}" in caught.value.detail
        assert hint in caught.value.hint
