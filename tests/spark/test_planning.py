"""Planning on Spark: samples are measured, buckets change their paths, and what happens is reported.

Would catch: a change of path that loses or repeats a result, also across a restart; paths a restart
forgets; a prediction that is far from what the run does; a hot key nobody hears of.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import watersmeet as wm
from harness.streaming import Feed, result_values, sink_rows, to_sink
from oracles import duck
from oracles.reference import Row, Table, assert_same_rows
from watersmeet.cost.forecast import forecast
from watersmeet.errors import InvalidPlanning, InvalidStatistics

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
SCHEMA = "k bigint, ts timestamp, value bigint"
ARROW = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", tz="UTC")), ("value", pa.int64())])
NAMES = ("a", "b", "c")
WINDOW = 10 * SECOND
KEYS = 120
# Seconds of a batch, and rows per second of each stream.
BATCH = 5
FAST, SLOW = 120, 8


class Rates:
    """Three streams: a is steady, b is fast at first, c later."""

    def __init__(self, folder: Path) -> None:
        self.feeds = [Feed(folder / name, SCHEMA, ARROW) for name in NAMES]
        self.rows: list[list[Row]] = [[], [], []]
        self._random = np.random.default_rng(7)
        self._batch = 0

    def feed(self, batches: int, rates: tuple[int, int, int], hot: int | None = None) -> None:
        for _ in range(batches):
            for stream, rate in enumerate(rates):
                n = rate * BATCH
                keys = self._random.integers(0, KEYS, n)
                if hot is not None:
                    keys[self._random.random(n) < 0.5] = hot
                start = START + self._batch * BATCH * SECOND
                times = start + self._random.integers(0, BATCH * SECOND, n)
                first = len(self.rows[stream])
                new = [
                    Row((int(k),), int(t), first + i)
                    for i, (k, t) in enumerate(zip(keys, times, strict=True))
                ]
                self.rows[stream] += new
                self.feeds[stream].add([{"k": r.key[0], "ts": r.ts, "value": r.value} for r in new])
            self._batch += 1

    def query(self, spark: SparkSession, *, streaming: bool = True, **options: Any) -> wm.Query:
        sources = [feed.stream(spark) if streaming else feed.plain(spark) for feed in self.feeds]
        streams = [
            # Times within a batch are in no order, so the batch is the lateness.
            wm.stream(name, df, time="ts", window="10 seconds", lateness="5 seconds")
            for name, df in zip(NAMES, sources, strict=True)
        ]
        return wm.join(*streams, on="k", buckets=2, **options)

    def expected(self) -> list[tuple[int, ...]]:
        return duck.join([Table(WINDOW, rows) for rows in self.rows])


def reported(query: StreamingQuery) -> list[Any]:
    return [join for progress in query.recentProgress for join in wm.metrics(progress)]


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run with a switch of rates and a restart, and what it reported before and after."""
    folder = tmp_path_factory.mktemp("rates")
    rates = Rates(folder)
    rates.feed(5, (SLOW, FAST, SLOW))
    before = to_sink(rates.query(spark).to_dataframe(), folder)
    rates.feed(5, (SLOW, SLOW, FAST))
    after = to_sink(rates.query(spark).to_dataframe(), folder)
    return rates, folder, before, after


def test_no_result_is_lost_or_repeated_when_paths_change(spark: SparkSession, story: Any) -> None:
    rates, folder, before, after = story
    assert_same_rows(result_values(sink_rows(spark, folder)), rates.expected())
    assert sum(batch.path_changes for batch in reported(before)) > 0
    assert sum(batch.path_changes for batch in reported(after)) > 0


def test_the_small_window_is_visited_first_before_and_after_the_switch(story: Any) -> None:
    _, _, before, after = story

    def first(query: StreamingQuery) -> set[str]:
        """Which of b and c the rows of a visit first, in the last batch with rows."""
        last = [batch for batch in reported(query) if batch.streams["a"].rows][-1]
        assert sum(use.buckets for use in last.streams["a"].paths) == 2
        return {min("bc", key=use.visits.index) for use in last.streams["a"].paths}

    assert first(before) == {"c"}
    assert first(after) == {"b"}


def test_a_restart_goes_on_with_the_paths_it_had(story: Any) -> None:
    _, _, before, after = story
    last, first = reported(before)[-1], reported(after)[0]
    assert first.streams["b"].paths, "paths are reported"
    moved = first.path_changes
    same = sum(last.streams[name].paths == first.streams[name].paths for name in NAMES)
    assert same >= len(NAMES) - moved


def test_predictions_are_close_to_what_the_run_measures(spark: SparkSession, tmp_path: Path) -> None:
    """From a sample of some batches; rates, state and results within a quarter."""
    rates = Rates(tmp_path)
    rates.feed(3, (60, 90, 40))
    sample = {name: feed.plain(spark) for name, feed in zip(NAMES, rates.feeds, strict=True)}
    query = rates.query(spark, statistics=wm.statistics({}, batch="5 seconds")).analyze(sample)
    known = query.planning.statistics
    assert known.of("b").rate.number == pytest.approx(90, rel=0.05)
    assert known.of("b").distinct_of("b.k").number == pytest.approx(KEYS, rel=0.02)
    rates.feed(4, (60, 90, 40))
    running = to_sink(query.to_dataframe(), tmp_path)
    (operator,) = json.loads(query.explain(analyze=running, form="json"))["operators"]
    for part in operator["inputs"]:
        for figure in ("rate", "state_rows"):
            predicted, measured = part["expected"][figure]["value"], part["measured"][figure]
            assert predicted == pytest.approx(measured, rel=0.25), (part["name"], figure)
    output = query.explain(analyze=running).split("results  ")[-1].split()
    assert float(output[0].replace(",", "")) == pytest.approx(operator["measured"]["output"], rel=0.25)
    again = query.analyze(running)
    assert again.planning.statistics.of("c").rate.number == pytest.approx(40, rel=0.1)
    assert again.planning.statistics.of("c").distinct_of("c.k").number == pytest.approx(KEYS, rel=0.1)
    assert again.plan.choices[-1].cost is not None


def test_a_hot_key_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    rates = Rates(tmp_path)
    rates.feed(2, (40, 40, 2), hot=77)
    running = to_sink(rates.query(spark).to_dataframe(), tmp_path)
    hot = reported(running)[1].hot_keys
    assert hot[0].key == "77"
    assert hot[0].stream in NAMES
    assert 0.3 < hot[0].share <= 1
    assert "77" in rates.query(spark).explain(analyze=running).split("hot keys")[-1]


def test_a_key_alone_in_its_bucket_is_hot_if_the_keys_of_other_buckets_have_far_less(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Both keys lie in a bucket of their own. In b they have as many rows, in a one of them has far more."""
    feeds = [Feed(tmp_path / name, SCHEMA, ARROW) for name in "ab"]
    for feed, rows in zip(feeds, [{1: 200, 2: 12}, {1: 150, 2: 150}], strict=True):
        feed.add([{"k": k, "ts": START, "value": i} for k, n in rows.items() for i in range(n)])
    a, b = (wm.stream(f.folder.name, f.stream(spark), time="ts", window="1 second") for f in feeds)
    running = to_sink(wm.join(a, b, on="k", buckets=3).to_dataframe(), tmp_path)
    first = reported(running)[0]
    assert first.streams["a"].largest == 200, "they share a bucket"
    assert [(hot.stream, hot.key, hot.rows, hot.share) for hot in first.hot_keys] == [("a", "1", 200, 1.0)]


def test_plain_inputs_are_analyzed_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    rates = Rates(tmp_path)
    rates.feed(2, (40, 20, 10), hot=5)
    query = rates.query(spark, streaming=False).analyze()
    known = query.planning.statistics.of("a")
    assert known.rate.number == pytest.approx(40, rel=0.05)
    assert known.row_bytes.number == pytest.approx(48, abs=10)
    spread = known.frequencies_of("a.k")
    assert spread is not None
    assert max(spread.shares.values()) == pytest.approx(0.5, abs=0.1)
    assert_same_rows(result_values(query.to_dataframe()), rates.expected())


def table(spark: SparkSession, seed: int, rows: int, **more: Any) -> Any:
    """A minute of rows with a key k of a hundred values, and h, which follows from k."""
    random = np.random.default_rng(seed)
    keys = random.integers(0, 100, rows)
    times = START + np.sort(random.integers(0, 60 * SECOND, rows))
    columns = {
        "k": pa.array(keys, mask=random.random(rows) < more.get("null_keys", 0)),
        "h": pa.array(keys % 10),
        "ts": pa.array(times).cast(pa.timestamp("us", tz="UTC")),
    }
    if more.get("far_future"):
        columns["ts"] = pa.array([*times[1:], 4_000_000_000 * SECOND]).cast(pa.timestamp("us", tz="UTC"))
    return spark.createDataFrame(pa.table(columns))


@pytest.mark.parametrize(
    ("on", "left", "right"),
    [
        ("k", {"null_keys": 0.5}, {"null_keys": 0.5}),
        (["h", "k"], {}, {}),
        ("k", {"far_future": True}, {}),
        ("k", {"rows": 3}, {}),
    ],
    ids=["null keys", "a key of columns that depend on each other", "a row of another century", "few rows"],
)
def test_samples_are_counted_as_the_join_takes_them(
    spark: SparkSession, on: Any, left: dict[str, Any], right: dict[str, Any]
) -> None:
    """Results per second, times a minute, are the results there are."""
    a, b = (table(spark, n, **({"rows": 1500} | more)) for n, more in enumerate((left, right)))
    streams = [wm.stream(name, df, time="ts", window="5 seconds") for name, df in (("a", a), ("b", b))]
    query = wm.join(*streams, on=on).analyze()
    predicted = forecast(query.plan, query.planning.statistics).output.number * 60
    found = query.to_dataframe().count()
    assert predicted == pytest.approx(found, rel=0.25, abs=12)


def test_two_joins_of_the_same_streams_cannot_be_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    rates = Rates(tmp_path)
    rates.feed(1, (5, 5, 5))
    one, two = rates.query(spark, select=["a.value"]), rates.query(spark, select=["b.value"])
    running = to_sink(
        one.to_dataframe().select("value").unionAll(two.to_dataframe().select("value")), tmp_path
    )
    with pytest.raises(InvalidPlanning, match="which join is meant"):
        one.explain(analyze=running)
    for nonsense in (True, "x"):
        with pytest.raises(InvalidPlanning, match="not a streaming query"):
            one.explain(analyze=nonsense)


def test_what_cannot_be_analyzed_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rates = Rates(tmp_path)
    rates.feed(1, (5, 5, 5))
    query = rates.query(spark)
    with pytest.raises(InvalidStatistics, match='no sample of stream "a"') as raised:
        query.analyze()
    assert "spark.read" in raised.value.hint
    with pytest.raises(InvalidStatistics, match='no stream "z"'):
        query.analyze({"z": rates.feeds[0].plain(spark)})
    with pytest.raises(InvalidStatistics, match="is not a DataFrame"):
        query.analyze({"a": 3})
    typed = rates.feeds[0].plain(spark).selectExpr("string(k) AS k", "ts", "value")
    with pytest.raises(InvalidStatistics, match="has another type"):
        query.analyze(dict.fromkeys(NAMES, typed))
    lacking = rates.feeds[0].plain(spark).drop("value")
    with pytest.raises(InvalidStatistics, match='lacks column "value"'):
        query.analyze(dict.fromkeys(NAMES, lacking))
    other = rates.query(spark, select=["a.value"]).to_dataframe().select("value")
    ended = to_sink(other.filter("value < 0"), tmp_path)
    renamed = [
        wm.stream(f"{n}2", f.stream(spark), time="ts", window="1 second")
        for n, f in zip(NAMES, rates.feeds, strict=True)
    ]
    with pytest.raises(InvalidPlanning, match="nothing measured"):
        wm.join(*renamed, on="k").explain(analyze=ended)
