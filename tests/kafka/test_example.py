"""The example with three topics, by the command a user runs, against DuckDB; killed in the middle, too.

Would catch: rows lost or doubled by a kill, a record joined that cannot be decoded, results that differ from
those of another engine.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from harness import programs
from harness.broker import Broker

pytestmark = pytest.mark.kafka

EXAMPLE = Path(__file__).parents[2] / "examples" / "kafka"
TOPICS = ("orders", "payments", "shipments")
# In all topics; at full size: make test-kafka RECORDS=1500000
RECORDS = int(os.environ.get("KAFKA_RECORDS") or 60_000)
KILLS = 2

# What the records say, in another engine's words; raw has all of them, told those that were set aside.
TABLES = """
    CREATE TABLE aside AS
    SELECT stream AS topic, (content->>'kafka_partition')::INT AS partition,
           (content->>'kafka_offset')::BIGINT AS "offset", reason
    FROM told;

    CREATE TABLE judged AS
    SELECT *, CASE WHEN value IS NULL THEN 'tombstone'
                   WHEN NOT json_valid(value) THEN 'malformed'
                   WHEN coalesce(json_type(value, '$.id'), json_type(value, '$.order_id')) NOT IN
                       ('UBIGINT', 'BIGINT') THEN 'malformed' END AS problem
    FROM raw;

    CREATE TABLE usable AS
    SELECT topic, partition, "offset", value, coalesce(value->>'id', value->>'order_id')::BIGINT AS key,
           (value->>'ts')::TIMESTAMPTZ AS ts
    FROM judged WHERE problem IS NULL;

    CREATE TABLE timely AS
    FROM usable ANTI JOIN (FROM aside WHERE reason = 'late') USING (topic, partition, "offset");

    CREATE TABLE expected AS
    SELECT o.key AS id, (o.value->>'amount')::DOUBLE AS amount, p.value->>'method' AS method,
           s.value->>'carrier' AS carrier, s.ts
    FROM (FROM timely WHERE topic = 'orders') o
    JOIN (FROM timely WHERE topic = 'payments') p USING (key)
    JOIN (FROM timely WHERE topic = 'shipments') s USING (key)
    WHERE p.ts BETWEEN o.ts AND o.ts + INTERVAL 10 MINUTE AND s.ts BETWEEN o.ts AND o.ts + INTERVAL 20 MINUTE;
"""
ROWS = "SELECT id, amount, method, carrier, ts FROM"
UNUSABLE = 'SELECT topic, partition, "offset", problem FROM judged WHERE problem IS NOT NULL'
TOLD = """SELECT topic, partition, "offset", reason FROM aside WHERE reason <> 'late'"""
# Late rows, and those of them that are not far behind what their partition had sent before.
LATE = """
    SELECT topic, count(*), count(*) FILTER (newest - ts < INTERVAL 1 MINUTE)
    FROM (SELECT *, max(ts) OVER (PARTITION BY topic, partition ORDER BY "offset") AS newest FROM usable)
    JOIN aside USING (topic, partition, "offset") WHERE reason = 'late' GROUP BY topic
"""


@pytest.fixture
def job(broker: Broker, tmp_path: Path) -> Path:
    """A copy of the example whose topics are those of this broker, filled."""
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "kafka"))
    broker.remove(*TOPICS)
    filled = [sys.executable, str(folder / "fill.py"), broker.servers, "--records", str(RECORDS)]
    subprocess.run(filled, check=True, env=programs.environment())
    path = folder / "job.toml"
    text = path.read_text().replace("127.0.0.1:9092", broker.servers)
    # So that there are as many batches, whatever the size.
    path.write_text(text.replace("= 50000", f"= {RECORDS // 30}"))
    return path


def compare(broker: Broker, folder: Path) -> None:
    """Results are those of DuckDB from all records but those set aside; these are the ones that should be."""
    records = []
    for topic in TOPICS:
        found = broker.read_all(topic)
        records.append(pa.table({"topic": [topic] * len(found["value"]), **found}))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        connection.register("raw", pa.concat_tables(records))
        connection.read_parquet(f"{folder}/aside/*/*.parquet").create_view("told")
        connection.read_parquet(f"{folder}/results/*/*.parquet").create("found")
        connection.execute(TABLES)

        def rows(text: str) -> list[tuple[Any, ...]]:
            return connection.execute(text).fetchall()

        assert sum(len(table) for table in records) == RECORDS
        assert sorted(rows(TOLD)) == sorted(rows(UNUSABLE))
        assert {reason for *_, reason in rows(TOLD)} == {"malformed", "tombstone"}
        late = {topic: (count > 0, not_late) for topic, count, not_late in rows(LATE)}
        assert late == dict.fromkeys(TOPICS, (True, 0))
        assert len(rows(f"{ROWS} found")) > RECORDS / 100
        assert rows(f"{ROWS} found EXCEPT ALL {ROWS} expected LIMIT 5") == []
        assert rows(f"{ROWS} expected EXCEPT ALL {ROWS} found LIMIT 5") == []


@pytest.mark.slow
def test_results_are_those_of_duckdb(broker: Broker, job: Path) -> None:
    shown = programs.run("watersmeet", "run", job, log=job.parent.parent / "run.log", timeout=1200)
    assert " results from " in shown
    compare(broker, job.parent)


@pytest.mark.slow
def test_killed_twice_results_are_still_those_of_duckdb(broker: Broker, job: Path) -> None:
    """Python, Java and all workers die in the middle of a batch; the same command goes on."""
    log = job.parent.parent / "run.log"
    commits = job.parent / "checkpoint" / "commits"
    for _ in range(KILLS):
        done = batches(commits)
        process = programs.start("watersmeet", "run", job, log=log)
        until = time.monotonic() + 600
        while batches(commits) < done + 1:
            assert process.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < until
            time.sleep(0.05)
        kill_all(process.pid)
        process.wait()
    assert 0 < batches(commits) < 10, "it was over before it was killed"
    programs.run("watersmeet", "run", job, log=log, timeout=1200)
    compare(broker, job.parent)


def batches(commits: Path) -> int:
    return len([path for path in commits.glob("*") if path.name.isdigit()])


def kill_all(pid: int) -> None:
    """A process and all that it has started, at once."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], check=True, capture_output=True, text=True)
    parents = dict(map(int, line.split()) for line in listed.stdout.splitlines())
    family = [pid]
    for one in family:
        family += [child for child, parent in parents.items() if parent == one]
    for one in family:
        os.kill(one, signal.SIGKILL)
