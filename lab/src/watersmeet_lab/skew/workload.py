"""Three streams with a hot key, as files of one micro-batch each, and how many results their join has.

The rows of the hot key would have too many results, so two conditions leave few of them: what is measured is
looking for partners, not handing results out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from watersmeet_lab.files import write_batch

STREAMS = 3
SCHEMA = "key bigint, ts timestamp, v double, u double"
# About one pair in 500.
NEAR = 0.001
CONDITIONS = (f"abs(s0.v - s1.v) <= {NEAR}", f"abs(s0.u - s2.v) <= {NEAR}")
_EPOCH_US = 1_700_000_000_000_000
_BATCH_US = 1_000_000
_HOT = 7


@dataclass(frozen=True)
class Skew:
    """What is generated.

    Attributes:
        batch_rows: Rows of the first stream in a batch of a second; the others have half as many.
        batches: Micro-batches.
        window_s: The windows, seconds.
        keys: Other keys.
        seed: Seed of the generator.
    """

    batch_rows: int
    batches: int = 10
    window_s: int = 2
    keys: int = 20_000
    seed: int = 20261118


def generate(skew: Skew, root: Path) -> None:
    """Write the streams."""
    for stream in range(STREAMS):
        random = np.random.default_rng([skew.seed, stream])
        for batch in range(skew.batches):
            rows = skew.batch_rows if stream == 0 else skew.batch_rows // 2
            hot = random.random(rows) < 0.5
            key = np.where(hot, _HOT, random.integers(100, 100 + skew.keys, rows))
            ts = _EPOCH_US + batch * _BATCH_US + np.sort(random.integers(0, _BATCH_US, rows))
            table = pa.table(
                {
                    "key": pa.array(key, pa.int64()),
                    "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
                    "v": pa.array(random.random(rows)),
                    "u": pa.array(random.random(rows)),
                }
            )
            write_batch(table, root / f"s{stream}", batch, compression="lz4")


def answer(skew: Skew, root: Path) -> tuple[int, int]:
    """How many results there are, and what their rows add up to, as DuckDB says.

    It finds values near to another by cells, since it would look at all pairs of the hot key too.
    """
    import duckdb

    def cells(stream: int) -> str:
        rows = f"SELECT *, epoch_us(ts) AS t, unnest([-1, 0, 1]) + floor(v / {NEAR}) AS cell"
        return f"({rows} FROM '{root}/s{stream}/*.parquet') s{stream}"

    # One after the other: the last two streams have too many pairs with one key.
    near = f"SELECT s0.*, s1.t AS t1 FROM (SELECT *, epoch_us(ts) AS t FROM '{root}/s0/*.parquet') s0"  # noqa: S608
    near += f" JOIN {cells(1)} ON s0.key = s1.key AND s1.cell = floor(s0.v / {NEAR}) WHERE {CONDITIONS[0]}"
    times = "near.t, near.t1, s2.t"
    alive = f"greatest({times}) <= least({times}) + {skew.window_s * 1_000_000}"
    total = " + ".join(f"sum(({t} - {_EPOCH_US}) * {i + 1})" for i, t in enumerate(times.split(", ")))
    sql = (
        f"WITH near AS MATERIALIZED ({near}) SELECT count(*), {total} FROM near JOIN {cells(2)} "  # noqa: S608
        f"ON near.key = s2.key AND s2.cell = floor(near.u / {NEAR}) "
        f"WHERE {CONDITIONS[1].replace('s0.', 'near.')} AND {alive}"
    )
    with duckdb.connect() as connection:
        row = connection.execute(sql).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


def total_of_results() -> str:
    """The same sum over the results, in Spark's SQL."""
    return " + ".join(f"sum((unix_micros(s{i}_ts) - {_EPOCH_US}) * {i + 1})" for i in range(STREAMS))
