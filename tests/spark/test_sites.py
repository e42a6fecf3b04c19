"""Joins between sites on Spark end with exactly the rows of the definition.

Would catch: mail lost or read twice when an application stops or is killed, state that does not fit the mail,
results written twice, sites that never notice the end, plans or mail of others that are taken for our own.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession

import watersmeet as wm
from harness import programs
from harness.scenario import Scenario
from oracles import duck
from oracles.reference import Result, assert_same_rows
from watersmeet.errors import InvalidQuery, WatersmeetError
from watersmeet.optimize.sites.placed_wiring import placed_wiring
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.placed import At, ByValue, Input, JoinAt
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery
from watersmeet.spark.sites.deployment import Deployment, deploy

SITES = ("tokyo", "oslo", "bonn")
# Every kind of conversation: asking, pulling, sifting, offering, and plain rows.
SEQUENCES = Sequences(
    (
        (Hop(1, Algorithm.SM_D2), Hop(2, Algorithm.SM_S1)),
        (Hop(0, Algorithm.SM_S2), Hop(2, Algorithm.SM_D1_BLOOM)),
        (Hop(1, Algorithm.SM_D1), Hop(0, Algorithm.SP_D)),
    )
)


def started(scenario: Scenario, spark: SparkSession, wiring: Wiring) -> Deployment:
    folder = scenario.folder
    query = scenario.query(spark, select=["s0.value", "s1.value", "s2.value"]).query
    return deploy(
        query,
        wiring,
        str(folder / "out"),
        mailbox=str(folder / "mail"),
        checkpoint=str(folder / "checkpoint"),
    )


def written(folder: Path) -> list[Result]:
    """The results of all applications, with the time they came about."""
    table = ds.dataset(folder / "out", format="parquet", partitioning="hive").to_table()
    times = table.column("result_time").cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_pylist()
    values = [table.column(i).to_pylist() for i in range(3)]
    return list(zip(*values, times, strict=True))


def sequences_of(query: JoinQuery) -> Wiring:
    return SEQUENCES.wiring(query, SITES)


def by_value_of(query: JoinQuery) -> Wiring:
    """All sites join, each some of the values."""
    ways = tuple(
        JoinAt((JoinAt((Input(a), Input(b)), SITES[a]), Input(c)), SITES[c])
        for a, b, c in ((0, 1, 2), (2, 0, 1), (1, 2, 0))
    )
    tree = ByValue(0, (At(0), At(1), At(2)), ways, other=1)
    return placed_wiring(query, tree, SITES)


@pytest.mark.soak
def test_one_application_goes_on_after_a_stop(spark: SparkSession, tmp_path: Path) -> None:
    """And only with the plan it had."""
    scenario = Scenario(tmp_path, groups=20)
    scenario.feed(2)
    query = scenario.query(spark, select=["s0.value", "s1.value", "s2.value"]).query
    first = started(scenario, spark, sequences_of(query))
    first.query.processAllAvailable()
    first.stop()
    scenario.feed(1)
    other = started(scenario, spark, by_value_of(query))
    with pytest.raises(Exception, match="written by a different query"):
        other.query.processAllAvailable()
    other.stop()
    second = started(scenario, spark, sequences_of(query))
    second.finish(timeout=180)
    check(scenario, second)
    # What has ended is known to have ended, without a batch.
    third = started(scenario, spark, sequences_of(query))
    assert third.status == second.status
    third.finish(timeout=1)


def test_values_are_joined_at_different_sites(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, groups=20)
    scenario.feed(2)
    query = scenario.query(spark, select=["s0.value", "s1.value", "s2.value"])
    running = started(scenario, spark, by_value_of(query.query))
    running.query.processAllAvailable()
    scenario.feed(1)
    running.finish(timeout=180)
    check(scenario, running)
    check_reports(query, scenario, running)


def check_reports(query: wm.Query, scenario: Scenario, ended: Deployment) -> None:
    """What was measured can be read as of every other join, and planned by."""
    reports = [report for progress in ended.query.recentProgress for report in wm.metrics(progress)]
    assert sum(report.results for report in reports) == len(written(scenario.folder))
    assert sum(report.messages for report in reports) == sum(one.messages for one in ended.links.values())
    for stream in query.query.names:
        rows = [report.streams[stream].rows for report in reports]
        assert sum(rows) == sum(one.rows.get(stream, 0) for one in ended.status.values()) > 0
    assert reports[-1].waiting in (0, None)
    explained = query.explain(analyze=ended)
    assert "measured over" in explained
    assert "tokyo -> bonn bytes" in explained
    measured = json.loads(query.explain(analyze=ended, form="json"))["measured_deployment"]
    assert measured["output"] > 0
    known = query.analyze(ended).planning.statistics
    assert known.of("s0").rate.number == pytest.approx(measured["streams"][0]["rate"])
    assert known.of("s0").row_bytes.number > 8


def check(scenario: Scenario, ended: Deployment) -> None:
    """All results are there once, and nothing is left."""
    results = written(scenario.folder)
    assert_same_rows(results, duck.join(scenario.everything()))
    assert set(ended.status) == set(SITES)
    assert sum(status.results for status in ended.status.values()) == len(results)
    assert all(status.held == 0 and not any(status.late.values()) for status in ended.status.values())
    assert sum(link.bytes for link in ended.links.values()) > 0
    # What was read is gone, but for the mail of the last batch, which is removed with the next.
    left = list((scenario.folder / "mail").glob("*/*/*.mail"))
    assert len(left) <= len(ended.links) + len(SITES)


@pytest.mark.parametrize(
    ("wish", "refusal"),
    [
        ({"site": "paris"}, 'no site "paris"'),
        ({"mailbox": "s3a://bucket/mail"}, 'there is no transport "s3a"'),
        ({"mailbox": __file__}, "is a file"),
        ({"trigger": "soon"}, "trigger is not a duration"),
        ({"trigger": "0 seconds"}, "trigger is not above zero"),
        ({"sink": None}, "results cannot be written"),
    ],
    ids=str,
)
def test_what_cannot_be_deployed_is_refused_at_once(
    wish: dict[str, Any], refusal: str, spark: SparkSession, tmp_path: Path
) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed(1)
    query = scenario.query(spark).query
    folders = {name: str(tmp_path / name) for name in ("sink", "mailbox", "checkpoint")}
    with pytest.raises(WatersmeetError, match=refusal):
        deploy(query, sequences_of(query), **(folders | wish))
    assert not (tmp_path / "checkpoint").exists()


def test_plain_frames_cannot_be_deployed(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed(1)
    query = scenario.query(spark, plain=True).query
    with pytest.raises(InvalidQuery, match='stream "s0" is a plain DataFrame'):
        deploy(query, sequences_of(query), "out", mailbox="mail", checkpoint="checkpoint")


JOB = """
[query]
on = ["h", "k"]
select = ["s0.value", "s1.value", "s2.value"]
[planning.sites]
method = "sequences"
[sink]
format = "parquet"
path = "out"
[run]
mailbox = "mail"
checkpoint = "checkpoints"
trigger = "available now"
cores = 1
"""
STREAM = """
[streams.s{number}]
format = "parquet"
path = "s{number}"
schema = "h INT, k STRING, ts TIMESTAMP, value BIGINT"
options = {{ maxFilesPerTrigger = 1 }}
time = "ts"
window = "{window} seconds"
lateness = "{lateness} seconds"
site = "{site}"
"""


def run_site(folder: Path, site: str) -> subprocess.Popen[bytes]:
    with (folder / f"{site}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "watersmeet", "run", "--site", site, "job.toml"],
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env=programs.environment(),
            cwd=folder,
            start_new_session=True,
        )


@pytest.mark.soak
def test_three_applications_of_which_one_is_killed(tmp_path: Path) -> None:
    """The others wait for it, and all go on exactly when it is back."""
    windows, lateness = (8, 5, 10), (2, 0, 3)
    scenario = Scenario(tmp_path, windows, lateness, groups=20)
    scenario.feed(2)
    streams = zip(range(3), windows, lateness, SITES, strict=True)
    tables = [STREAM.format(number=n, window=w, lateness=late, site=site) for n, w, late, site in streams]
    (tmp_path / "job.toml").write_text("".join(tables) + JOB)
    running = {site: run_site(tmp_path, site) for site in SITES}
    try:
        offsets, commits = (tmp_path / "checkpoints" / "oslo" / name for name in ("offsets", "commits"))
        deadline = time.monotonic() + 240
        # In the middle of a batch that is not the first.
        while not (newest(offsets) >= 1 and newest(offsets) > newest(commits)):
            assert running["oslo"].poll() is None, (tmp_path / "oslo.log").read_text()[-3000:]
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.killpg(running["oslo"].pid, signal.SIGKILL)
        running["oslo"].wait()
        running["oslo"] = run_site(tmp_path, "oslo")
        for site, process in running.items():
            assert process.wait(300) == 0, (tmp_path / f"{site}.log").read_text()[-3000:]
    finally:
        for process in running.values():
            programs.kill(process)
    assert_same_rows(written(tmp_path), duck.join(scenario.everything()))
    assert "results from" in (tmp_path / "oslo.log").read_text()


def newest(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("[0-9]*")), default=-1)
