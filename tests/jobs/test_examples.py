"""Every example: by the command a user runs, or with DuckDB's answer to compare.

All in the session of the tests; the tests of job files have a job in a process of its own.

Would catch: an example that no longer runs, a job that leaves something behind or cannot go on, results that
differ from those of another engine on real data.
"""

import re
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from watersmeet.jobs import runner
from watersmeet.jobs.job import AVAILABLE_NOW, read_job
from watersmeet.spark.endpoints import write_stream

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[2] / "examples"

ANSWERS = {
    "cluster": """
        SELECT evicted.job, evicted.task, scheduled.job, scheduled.task, epoch_us(jobs.ts), epoch_us(again.ts)
        FROM evicted, scheduled, jobs, again
        WHERE evicted.machine = scheduled.machine
          AND scheduled.ts BETWEEN evicted.ts AND evicted.ts + INTERVAL 1 SECOND
          AND scheduled.priority > evicted.priority
          AND jobs.job = scheduled.job AND jobs.ts BETWEEN scheduled.ts - INTERVAL 600 SECOND AND scheduled.ts
          AND again.job = evicted.job AND again.task = evicted.task
          AND again.ts BETWEEN evicted.ts AND evicted.ts + INTERVAL 5 SECOND
    """,
    "delays": """
        WITH delayed AS (
            SELECT e.carrier, e.ts AS ewr, j.ts AS jfk, l.ts AS lga, greatest(e.ts, j.ts, l.ts) AS last
            FROM ewr e, jfk j, lga l
            WHERE e.carrier = j.carrier AND j.carrier = l.carrier
              AND e.delay >= 60 AND j.delay >= 60 AND l.delay >= 60
              AND abs(epoch_us(e.ts) - epoch_us(j.ts)) <= 1800000000
              AND greatest(e.ts, j.ts, l.ts) - least(e.ts, j.ts, l.ts) <= INTERVAL 30 MINUTE
        )
        SELECT carrier, epoch_us(ewr), epoch_us(jfk), epoch_us(lga), epoch_us(w.ts), w.visib, w.precip
        FROM delayed, weather w
        WHERE (w.visib < 3 OR w.precip > 0) AND w.ts BETWEEN last - INTERVAL 60 MINUTE AND last
    """,
    "weblog": """
        WITH met AS (
            SELECT a.host, a.ts, a.url AS apollo, c.url AS countdown, m.url AS missions,
                   greatest(a.ts, c.ts, m.ts) AS moment
            FROM apollo a, countdown c, missions m
            WHERE a.host = c.host AND c.host = m.host
              AND greatest(a.ts, c.ts, m.ts) <= least(c.ts, m.ts) + INTERVAL 10 MINUTE
        )
        SELECT host, apollo, countdown, missions, epoch_us(moment)
        FROM met
        WHERE moment <= {watermark}
          AND (SELECT count(*) FROM apollo o WHERE o.host = met.host AND o.ts > met.ts AND o.ts <= moment) < 5
    """,
}
COLUMNS = {
    "cluster": (
        "evicted.job, evicted.task, scheduled.job, scheduled.task, epoch_us(jobs.ts), epoch_us(again.ts)"
    ),
    "delays": "carrier, epoch_us(ewr), epoch_us(jfk), epoch_us(lga), epoch_us(weather), visib, precip",
    "weblog": "host, apollo_url, countdown_url, missions_url, epoch_us(result_time)",
}
TABLES = {
    "cluster": {"evicted": "evicted", "scheduled": "scheduled", "jobs": "jobs", "again": "submitted"},
    "delays": {name: name for name in ("ewr", "jfk", "lga", "weather")},
    "weblog": {name: name for name in ("apollo", "countdown", "missions")},
}


@pytest.fixture
def example(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of an example, so that the checkout stays as it is."""
    return Path(shutil.copytree(EXAMPLES / request.param, tmp_path / request.param))


@pytest.mark.parametrize("example", ANSWERS, indirect=True)
def test_results_are_those_of_duckdb(spark: SparkSession, example: Path) -> None:
    """In the session of the tests, since a Spark of its own for each takes most of a minute."""
    name = example.name
    job = read_job(example / "job.toml")
    assert job.checkpoint is not None
    writing = write_stream(
        runner._query(job, spark).to_dataframe(),
        job.sink,
        name=job.name,
        checkpoint=job.checkpoint,
        every=None,
        available_now=job.trigger == AVAILABLE_NOW,
    )
    try:
        writing.awaitTermination()
    finally:
        writing.stop()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        for table, files in TABLES[name].items():
            connection.read_parquet(f"{example / files}/*.parquet").create(table)
        # One batch, so the watermark is that of the slowest stream at its end.
        newest = min(connection.table(table).max("ts").fetchall()[0][0] for table in TABLES[name])
        watermark = f"TIMESTAMPTZ '{newest}' - INTERVAL 1 MILLISECOND"
        expected = connection.execute(ANSWERS[name].format(watermark=watermark)).fetchall()
        found = connection.read_parquet(f"{example}/results/*.parquet").project(COLUMNS[name]).fetchall()
    assert len(expected) > 10
    assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("example", ["orders"], indirect=True)
def test_the_console_shows_the_rows(command: Callable[..., str], example: Path) -> None:
    shown = command("run", str(example / "job.toml"))
    assert "10 results from 24 rows" in shown
    assert "126.0   card" in shown
    assert sorted(path.name for path in example.iterdir()) == [
        "job.toml",
        "orders",
        "payments",
        "unpaid.toml",
    ]


@pytest.mark.parametrize("example", ["orders"], indirect=True)
def test_orders_without_payments_and_rows_set_aside(command: Callable[..., str], example: Path) -> None:
    with (example / "payments" / "0.json").open("a") as payments:
        payments.write('{"order_id": 1, "method": "card", "amount": 3.0}\n')
    shown = command("run", str(example / "unpaid.toml"))
    with duckdb.connect() as connection:
        for name in ("orders", "payments"):
            connection.read_json(f"{example / name}/*.json").create(name)
        ((rows,),) = connection.execute("""
            SELECT count(*) FROM orders o WHERE NOT EXISTS (
                FROM payments p WHERE p.order_id = o.id AND p.amount >= o.amount
                AND p.ts BETWEEN o.ts AND o.ts + INTERVAL 15 MINUTE)
            AND o.ts + INTERVAL 20 MINUTE < (
                SELECT least((SELECT max(ts) FROM orders), max(ts)) FROM payments)
        """).fetchall()
        aside = connection.read_json(f"{example}/aside/*/*.json").project("stream, reason").fetchall()
    assert rows > 0
    assert f"{rows} results from 25 rows" in shown
    assert aside == [("payments", "null time")]


@pytest.mark.parametrize("example", ["cluster"], indirect=True)
def test_explain_shows_the_tree(command: Callable[..., str], example: Path) -> None:
    shown = command("explain", str(example / "job.toml"))
    assert "join of 4 streams in 3 operators" in shown
    assert "alive 605 s after ts, from the conditions on time" in shown
    assert not (example / "checkpoint").exists()


def test_names_are_matched_as_the_page_says(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """The script as it is, but for its session."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    script = runpy.run_path(str(EXAMPLES / "names" / "match.py"))
    try:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        script["main"](spark)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
        spark.catalog.dropTempView("matches")
    shown = capsys.readouterr().out
    assert "same_name(invoices.customer, transfers.payer)  50 us" in shown
    page = (EXAMPLES / "names" / "README.md").read_text()
    (table,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert shown.rstrip().endswith(table.rstrip())
