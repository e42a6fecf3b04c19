"""`make bench-peers`, on a few rows.

Would catch: rows of Nexmark that change from run to run, in other proportions or out of order, a query that
means something else on another system, a process that outlives its time, results that differ unnoticed.
"""

import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from watersmeet_lab.apart import TookTooLong, _ended
from watersmeet_lab.peers.__main__ import main
from watersmeet_lab.peers.data import Data, written
from watersmeet_lab.peers.flink import statement, table
from watersmeet_lab.peers.limit import duckdb
from watersmeet_lab.peers.nexmark import COLUMNS, LONGEST_S, Nexmark
from watersmeet_lab.peers.on_spark import chained, our_join
from watersmeet_lab.peers.outcome import Outcome
from watersmeet_lab.peers.report import Compared, as_json, chart, ratios
from watersmeet_lab.peers.rows import ROWS, WINDOW_S
from watersmeet_lab.peers.topics import records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BY_NAME = {row.name: row for row in ROWS}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Data]:
    root = tmp_path_factory.mktemp("peers")
    return {kind: written(kind, root / kind, 0.001) for kind in ("keyed", "nexmark", "people")}


def columns(made: Nexmark, stream: str) -> dict[str, np.ndarray]:
    tables = list(made.tables(stream))
    return {name: np.concatenate([one[name].to_numpy() for one in tables]) for name, _ in COLUMNS[stream]}


def test_nexmark_has_its_proportions_and_comes_in_order() -> None:
    made = Nexmark(batches=3, batch_groups=400, groups_per_s=100)
    persons, auctions, bids = (columns(made, stream) for stream in made.streams)
    assert [len(one["ts"]) for one in (persons, auctions, bids)] == [1200, 3600, 55200]
    for one in (persons, auctions, bids):
        assert (np.diff(one["ts"].astype("datetime64[us]").astype(int)) >= 0).all()
        assert (one["ts"].astype("datetime64[us]").astype(int) % 1000 == 0).all()
    assert (auctions["id"] == np.arange(3600)).all()
    open_s = (auctions["expires"] - auctions["ts"]) / np.timedelta64(1, "s")
    assert open_s.min() >= 1
    assert LONGEST_S - 0.1 < open_s.max() <= LONGEST_S
    # Nothing is about what comes later.
    assert (persons["ts"][auctions["seller"]] <= auctions["ts"]).all()
    assert (auctions["ts"][bids["auction"]] <= bids["ts"]).all()
    assert set(auctions["category"]) == set(range(10, 15))


def test_the_same_numbers_give_the_same_rows() -> None:
    made = Nexmark(batches=2, batch_groups=20)
    longer = Nexmark(batches=3, batch_groups=20)
    for stream in made.streams:
        assert list(made.tables(stream)) == list(longer.tables(stream))[:2]
    assert list(made.tables("bids")) != list(Nexmark(2, 20, seed=1).tables("bids"))


def expected(name: str, data: Data) -> int:
    """By loops over all pairs, for what is easy to say."""
    import pyarrow.parquet as pq

    rows = {stream: pq.read_table(data.whole(stream)).to_pylist() for stream in data.counts}
    found = 0
    for auction in rows["auctions"]:
        if name == "q3":
            found += auction["category"] == 10 and any(
                person["id"] == auction["seller"]
                and person["state"] in ("OR", "ID", "CA")
                and 0 <= (auction["ts"] - person["ts"]).total_seconds() <= 10
                for person in rows["persons"]
            )
        else:
            found += sum(
                bid["auction"] == auction["id"] and auction["ts"] <= bid["ts"] <= auction["expires"]
                for bid in rows["bids"]
            )
    return found


@pytest.mark.parametrize("name", ["q3", "q4"])
def test_duckdb_finds_what_loops_find(name: str, data: dict[str, Data], tmp_path: Path) -> None:
    row = BY_NAME[name]
    found = duckdb(row, data[row.data], 1, tmp_path).results
    assert found == expected(name, data[row.data]) > 0


@pytest.mark.slow
def test_ours_and_chained_joins_return_as_many_results_as_duckdb(
    data: dict[str, Data], spark: "SparkSession", one_partition: None, tmp_path: Path
) -> None:
    """On plain DataFrames, which are joined in one go."""
    for row in ROWS:
        place = data["keyed" if row.data == "topics" else row.data]
        sources = {
            side.name: spark.read.schema(side.schema).parquet(place.whole(side.name))
            for side in row.query.sides
        }
        limit = duckdb(row, place, 2, tmp_path).results
        assert (row.name, our_join(row.query, sources).count()) == (row.name, limit)
        assert (row.name, chained(row.query, sources).count()) == (row.name, limit)
        assert limit > 0


def test_every_row_is_said_in_the_words_of_flink(data: dict[str, Data]) -> None:
    in_topics = Data("", data["keyed"].counts, servers="127.0.0.1:9")
    for row in ROWS:
        place = data.get(row.data, in_topics)
        tables = [table(side, place) for side in row.query.sides]
        assert all(("'kafka'" in one) == (row.data == "topics") for one in tables)
        said = statement(row.query)
        assert said.startswith("SELECT COUNT(*), COUNT(`")
        assert said.count(" JOIN ") == (0 if row.query.slot_s else len(row.query.sides) - 1)
    four = statement(BY_NAME["four-way"].query)
    # One pair of event times bounds each join, and the other pairs are conditions.
    assert four.count("`event_time` BETWEEN") == 3
    assert four.count("`ts` BETWEEN") == 3
    assert f"INTERVAL '0 0:{WINDOW_S // 60:02}:{WINDOW_S % 60:02}' DAY TO SECOND" in four


def test_records_have_milliseconds(data: dict[str, Data]) -> None:
    import pyarrow.parquet as pq

    first = next(records(pq.read_table(data["keyed"].whole("s0"))))
    assert '"ts": "2023-11-14T22:13:20.000Z"' in first


def test_rates_ratios_and_what_differs() -> None:
    quick = Outcome(7, 10, [(0, 0), (4, 25), (6, 50), (7, 100)])
    slow = Outcome(7, 40, [(0, 0), (10, 25), (35, 100)])
    one = Compared(BY_NAME["four-way"], 100, {"ours": quick, "flink": slow, "chain": "no memory"})
    assert (quick.rate(100), quick.steady(100), slow.steady(100)) == (10, 25, 3)
    assert one.exact
    assert ratios([one]) == {"flink_ratio": round(25 / 3, 3)}
    assert [line.name for line in chart([one]).panels[0].lines] == ["Watersmeet", "Flink"]
    kept = as_json([one], {"cores": 2})["rows"][0]["systems"]
    assert (kept["chain"], kept["flink"]["steady"]) == ("no memory", 3)
    one.outcomes["duckdb"] = Outcome(8, 1)
    assert not one.exact


def test_nothing_outlives_the_time_of_a_run() -> None:
    start = time.monotonic()
    with subprocess.Popen(
        ["sh", "-c", "sleep 60 & wait"], start_new_session=True, stdout=subprocess.PIPE
    ) as process:
        with pytest.raises(TookTooLong):
            _ended(process, 0.2)
        assert process.stdout is not None
        # Ends when nobody has it open any more.
        process.stdout.read()
    assert time.monotonic() - start < 30


def test_mistakes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "q3,spark"])
    assert "there is no row or system spark" in capsys.readouterr().err
