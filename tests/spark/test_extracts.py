"""Queries of the papers' kind on extracts of real streams, row for row against DuckDB.

Would catch: what made-up rows do not have, such as many rows at one instant, keys that come in bursts, and
streams of very different rates.
"""

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness.streaming import to_memory

EXAMPLES = Path(__file__).parents[2] / "examples"

QUERIES: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "tasks that fail soon after they were scheduled": (
        {"a": "cluster/submitted", "b": "cluster/scheduled", "f": "cluster/failed"},
        {
            "on": [
                "job",
                "task",
                "b.ts BETWEEN a.ts AND a.ts + INTERVAL 60 SECONDS",
                "f.ts BETWEEN b.ts AND b.ts + INTERVAL 300 SECONDS",
            ]
        },
        """
        a.job = b.job AND a.task = b.task AND b.job = f.job AND b.task = f.task
        AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 60 SECOND
        AND f.ts BETWEEN b.ts AND b.ts + INTERVAL 300 SECOND
        """,
    ),
    "hosts that visit three sections of a site": (
        {"a": "weblog/apollo", "b": "weblog/countdown", "f": "weblog/missions"},
        {"on": "host", "window": "10 minutes"},
        """
        a.host = b.host AND b.host = f.host
        AND greatest(a.ts, b.ts, f.ts) - least(a.ts, b.ts, f.ts) <= INTERVAL 10 MINUTE
        """,
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_extracts_of_real_streams(spark: SparkSession, tmp_path: Path, name: str) -> None:
    folders, options, where = QUERIES[name]
    options = dict(options)
    window = options.pop("window", None)
    streams = []
    with duckdb.connect() as connection:
        for alias, folder in folders.items():
            rows = pq.read_table(EXAMPLES / folder)
            rows = rows.append_column("id", [list(range(rows.num_rows))])
            (tmp_path / alias).mkdir()
            pq.write_table(rows, tmp_path / alias / "0.parquet")
            connection.register(alias, rows)
            schema = spark.read.parquet(str(tmp_path / alias)).schema
            source = spark.readStream.schema(schema).parquet(str(tmp_path / alias))
            streams.append(wm.stream(alias, source, time="ts", window=window))
        query = f"SELECT a.id, b.id, f.id FROM a, b, f WHERE {where} ORDER BY ALL"  # noqa: S608
        expected = connection.execute(query).fetchall()
    joined = wm.join(*streams, select=["a.id", "b.id", "f.id"], **options).to_dataframe()
    _, found = to_memory(joined.drop("result_time"))
    assert len(expected) > 50
    assert sorted(map(tuple, found.collect())) == expected
