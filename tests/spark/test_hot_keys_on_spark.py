"""A query on Spark whose keys become hot and cool again, started again and again in the middle of it.

Would catch: notes that workers do not find or read in the wrong batch, phases that are lost with a worker,
late rows of hot keys that are counted or set aside in every bucket.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from harness.hot import SOON
from harness.scenario import SECOND, START, Scenario
from harness.streaming import SHORT_WAYS, result_values, sink_rows, to_sink
from oracles.reference import Row, assert_same_rows
from watersmeet.spark.host.hot_notes import HotNotes
from watersmeet.spark.host.metrics import BatchMetrics

WINDOWS, LATENESS = (6, 2, 9), (2, 1, 1)
STEP = 3 * SECOND
# Rows of a hot key per batch and stream.
MANY = (12, 5, 3)
HOT_KEYS, HOT_BATCHES = 3, 4

pytestmark = pytest.mark.skipif(not SHORT_WAYS, reason="keys are spread where workers find the checkpoint")


def hot_batches(random: Random, streams: int, *, nulls: bool = False) -> Iterator[list[list[Row]]]:
    """Batches without end: key after key is hot for some of them, and comes now and then later on."""
    number = value = 0
    while True:
        batch = []
        for stream, many in enumerate(MANY[:streams]):
            keys: list[int | None] = [None] * (2 * nulls)
            keys += [h for h in range(100, 130) for _ in range(random.choice([0, 0, 1]))]
            for hot in range(HOT_KEYS):
                first = 2 * hot
                keys += [hot] * (many if first <= number < first + HOT_BATCHES else random.randint(0, 1))
            rows = []
            for key in keys:
                behind = LATENESS[stream] * SECOND * (4 if random.random() < 0.05 else 1)
                value += 1
                rows.append(Row((key, "a"), START + number * STEP + random.randint(-behind, STEP), value))
            batch.append(rows)
        number += 1
        yield batch


def found_in(ran: StreamingQuery) -> list[BatchMetrics]:
    return [one for progress in ran.recentProgress for one in wm.metrics(progress)]


class HotScenario(Scenario):
    """A join whose keys are spread after a handful of rows; a left one has rows without a key as well."""

    def __init__(self, folder: Path, how: str = "inner") -> None:
        streams = 2 if how == "left" else 3
        super().__init__(folder, WINDOWS[:streams], LATENESS[:streams])
        self._to_come = hot_batches(Random(1), streams, nulls=how == "left")  # noqa: S311
        self._how = how

    def run(self, spark: SparkSession, *, spreads: bool = True) -> list[BatchMetrics]:
        """Read what was fed; returns the metrics of all batches."""
        query = self.query(spark, how=self._how).plan_with(spread_hot_keys=spreads)
        if spreads:
            query = replace(query, plan=replace(query.plan, hot_keys=SOON))
        ran = to_sink(query.to_dataframe(set_aside=True), self.folder)
        if len(ran.recentProgress) > 1:
            said = "  spread over all buckets: " in query.explain(analyze=ran)
            with_rows = [one for one in found_in(ran) if any(s.rows for s in one.streams.values())]
            assert said == (with_rows[-1].spread_keys > 0)
        return found_in(ran)

    @property
    def notes(self) -> Path:
        return self.folder / "checkpoint" / "watersmeet" / "hot-0"

    def sent(self) -> set[bool]:
        """Whether keys are spread now: of some rows are dealt out, of others not."""
        routes = HotNotes(self.notes, 1 << 40, 100).read().values()
        return {route.deals for some in routes for route in some}


def test_rows_without_partners_come_out_once_wherever_they_were_dealt_to(
    spark: SparkSession, tmp_path: Path
) -> None:
    scenario = HotScenario(tmp_path, "left")
    seen: set[bool] = set()
    spread = 0
    for _ in range(4):
        scenario.feed(2)
        spread = max([spread, *(one.spread_keys for one in scenario.run(spark))])
        seen |= scenario.sent()
    assert seen == {True, False}
    assert spread >= 1
    rows = sink_rows(spark, tmp_path)
    found = result_values(rows.filter(F.col("set_aside").isNull()).drop("set_aside"))
    assert_same_rows(found, scenario.expected_left())
    assert sum(None in one for one in found) > 20


def test_every_result_once_whatever_phase_a_start_is_in(spark: SparkSession, tmp_path: Path) -> None:
    scenario = HotScenario(tmp_path)
    seen: set[bool] = set()
    late, spread = [0, 0, 0], 0
    for start in range(7):
        scenario.feed(2)
        if start == 2:
            shutil.rmtree(scenario.notes)
            with pytest.raises(StreamingQueryException, match="to other buckets than its state says"):
                scenario.run(spark)
            # A bucket each time.
            for _ in range(2):
                with suppress(StreamingQueryException):
                    scenario.run(spark)
        found = scenario.run(spark, spreads=start != 4)
        seen |= scenario.sent()
        spread = max([spread, *(one.spread_keys for one in found)])
        late = [before + sum(one.streams[f"s{i}"].late for one in found) for i, before in enumerate(late)]
    assert seen == {True, False}
    assert spread >= 2
    rows = sink_rows(spark, tmp_path)
    results = rows.filter(F.col("set_aside").isNull()).drop("set_aside")
    assert_same_rows(result_values(results), scenario.expected())
    assert sum(scenario.late()) > 10
    aside = rows.filter(F.col("set_aside").isNotNull()).groupBy("set_aside.stream").count().toArrow()
    assert dict(zip(*(column.to_pylist() for column in aside.columns), strict=True)) == {
        f"s{i}": count for i, count in enumerate(scenario.late())
    }
    # Batches that were run in a start that failed are told by that one alone.
    assert all(told <= count for told, count in zip(late, scenario.late(), strict=True))
