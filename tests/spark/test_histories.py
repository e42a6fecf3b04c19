"""Whole queries on Spark against both oracles, many random histories packed into each of them.

Would catch: rows lost or doubled between batches, buckets that disagree about where a key belongs, a
watermark read one batch too early, state that expires too soon, a plain join that differs from a stream.
"""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness.scenario import Scenario
from harness.streaming import result_values, to_memory
from oracles import duck, reference
from oracles.reference import assert_same_rows

# Set it to look for trouble elsewhere than last time.
SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))


@pytest.mark.parametrize(
    ("windows", "lateness", "buckets", "batches"),
    [
        pytest.param((4, 10), (2, 3), 1, 6, id="2 streams"),
        pytest.param((10, 4, 6), (0, 2, 3), 8, 6, id="3 streams"),
        pytest.param((6, 6, 6, 6), (2, 2, 2, 2), 3, 5, id="4 streams"),
        pytest.param((10, 4, 4, 6, 10), (3, 0, 2, 0, 2), 8, 4, id="5 streams"),
        pytest.param((4, 6, 4, 6, 4, 10), (2, 3, 3, 0, 0, 2), 3, 4, id="6 streams"),
    ],
)
def test_streaming_and_plain_joins_equal_both_oracles(
    spark: SparkSession,
    tmp_path: Path,
    windows: tuple[int, ...],
    lateness: tuple[int, ...],
    buckets: int,
    batches: int,
) -> None:
    scenario = Scenario(tmp_path, windows, lateness, seed=SEED, late_rows=True, groups=80)
    scenario.feed(batches)
    expected = reference.join(scenario.tables())
    assert len(expected) > 500
    assert sum(scenario.late()) > 10
    assert_same_rows(duck.join(scenario.tables()), expected)

    query, rows = to_memory(scenario.query(spark, buckets=buckets).to_dataframe())
    assert_same_rows(result_values(rows), expected)
    reports = [report for progress in query.recentProgress for report in wm.metrics(progress)]
    counted = [sum(report.streams[f"s{i}"].late for report in reports) for i in range(len(windows))]
    assert counted == scenario.late()

    # A plain join has no watermark: all rows are there, so none is late.
    plain = scenario.query(spark, plain=True, buckets=buckets).to_dataframe()
    assert_same_rows(result_values(plain), duck.join(scenario.everything()))
