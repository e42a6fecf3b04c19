"""Streams of a join between sites end only when they were read, and all that was read comes out.

Would catch: an end that overtakes rows because reading failed, was interrupted or took long; an end that some
slices hear of before others; a wait that never ends because mail, or nothing at all, comes.
"""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import watersmeet as wm
from harness.scenario import Scenario
from oracles import duck
from oracles.reference import Result, assert_same_rows
from watersmeet.cli import WRONG_USE, main
from watersmeet.errors import InvalidQuery, StillRunning
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.spark import finish
from watersmeet.spark.mail.folder import FolderMailbox
from watersmeet.spark.mail.mailbox import CONTROL_SENDER, Address
from watersmeet.spark.mail.source import MailReader, knock
from watersmeet.spark.session import SparkFailed
from watersmeet.spark.sites.deployment import Deployment, deploy

SELECT = ["s0.value", "s1.value", "s2.value"]
SEQUENCES = Sequences(
    (
        (Hop(1, Algorithm.SP_D), Hop(2, Algorithm.SM_D2)),
        (Hop(0, Algorithm.SM_S1), Hop(2, Algorithm.SP_D)),
        (Hop(1, Algorithm.SM_S2), Hop(0, Algorithm.SM_D1)),
    )
)


class Ended:
    """A join of three streams at two sites, whose sink can be told to fail."""

    def __init__(self, spark: SparkSession, folder: Path, files: int) -> None:
        self.spark, self.folder = spark, folder
        self.scenario = Scenario(folder, groups=10)
        self.scenario.feed(files)
        self.batches: dict[int, list[Result]] = {}
        self.fails_at: int | None = None

    def start(self, trigger: str | None = None) -> Deployment:
        query = self.scenario.query(self.spark, select=SELECT).query
        return deploy(
            query,
            SEQUENCES.wiring(query, ("tokyo", "oslo", "oslo")),
            self._keep,
            mailbox=self.folder / "mail",
            checkpoint=self.folder / "checkpoint",
            trigger=trigger,
        )

    def _keep(self, results: DataFrame, batch: int) -> None:
        if self.fails_at is not None and batch >= self.fails_at:
            raise OSError("the disk is full")
        rows = results.selectExpr("*", "unix_micros(result_time)").drop("result_time").toArrow()
        self.batches[batch] = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))

    def check(self, running: Deployment) -> None:
        found = [row for rows in self.batches.values() for row in rows]
        expected = duck.join(self.scenario.everything())
        assert len(expected) > 100
        assert_same_rows(found, expected)
        assert not any(any(status.late.values()) for status in running.status.values())
        assert all(status.held == status.waiting == 0 for status in running.status.values())

    @property
    def ends(self) -> list[Path]:
        return list((self.folder / "mail").glob(f"*/{CONTROL_SENDER}/*.mail"))


@pytest.mark.soak
def test_nothing_ends_before_it_was_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading is slow, is interrupted, fails; and then goes on to the full result."""
    ended = Ended(spark, tmp_path, files=6)
    ended.fails_at = 2
    running = ended.start(trigger="3 seconds")
    with pytest.raises(TimeoutError, match="the sources have not been read in time") as raised:
        running.finish(timeout=2)
    assert isinstance(raised.value, StillRunning)
    assert "drain=False" in raised.value.hint
    assert ended.ends == []

    def interrupt(_seconds: float) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(finish, "time", SimpleNamespace(sleep=interrupt))
        with pytest.raises(KeyboardInterrupt):
            running.finish()
    assert ended.ends == []
    with pytest.raises(SparkFailed, match="failed before its streams could end") as failed:
        running.finish(timeout=120)
    assert "the disk is full" in failed.value.detail
    assert ended.ends == []

    ended.fails_at = None
    again = ended.start(trigger="1 second")
    again.finish(timeout=120)
    ended.check(again)


@pytest.mark.slow
def test_streams_that_never_fall_silent_end_at_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before the end counts, what comes after it is late; the last batch is committed."""
    monkeypatch.setattr(finish, "_LOOK_EVERY_SECONDS", 0.002)

    def live(name: str, site: str) -> Any:
        rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        return wm.stream(name, rows, time="timestamp", window="5 seconds", site=site)

    found: list[int] = []
    query = wm.join(live("a", "tokyo"), live("b", "oslo"), on="value", select=["a.value"])
    running = query.deploy(
        lambda results, _: found.extend(row[0] for row in results.collect()),
        mailbox=tmp_path / "mail",
        checkpoint=tmp_path / "checkpoint",
    )
    with pytest.raises(StillRunning):
        running.finish(timeout=3)
    running.finish(timeout=120, drain=False)
    assert sorted(found) == list(range(len(found)))
    tokyo = running.status["tokyo"]
    assert tokyo.rows["a"] - tokyo.late["a"] == len(found) > 0
    begun, committed = (
        max(int(file.name) for file in (tmp_path / "checkpoint" / log).iterdir() if file.name.isdigit())
        for log in ("offsets", "commits")
    )
    assert running.board.batch == committed
    assert running.query.lastProgress.batchId == committed <= begun


def test_all_sites_hear_of_the_end_in_one_batch(tmp_path: Path) -> None:
    """And a knock is something new, though it brings nothing."""
    options = {"mailbox": str(tmp_path), "deployment": "d", "sites": "a,b", "labels": "1,2"}
    reader = MailReader(options)
    mailbox = FolderMailbox(str(tmp_path))
    start = reader.initialOffset()
    assert reader.latestOffset(start, None) == start
    mailbox.post(Address("d", CONTROL_SENDER, "a", 0), b"end")
    mailbox.post(Address("d", "b", "a", 0), b"mail")
    some = reader.latestOffset(start, None)
    assert some == {"": 0, "a/b": 0}
    mailbox.post(Address("d", CONTROL_SENDER, "b", 0), b"end")
    told = reader.latestOffset(some, None)
    assert told == {"": 0, "a/b": 0, f"a/{CONTROL_SENDER}": 0, f"b/{CONTROL_SENDER}": 0}
    assert len(reader.partitions(some, told)) == 2
    knock(mailbox, ["a", "b"])
    knocked = reader.latestOffset(told, None)
    assert knocked[""] > 0
    assert knocked == told | {"": knocked[""]}
    assert reader.partitions(told, knocked) == []
    assert reader.latestOffset(knocked, None) == knocked


class Reported:
    """Looks like a streaming query; of every batch it says whether stream and mail had something new."""

    def __init__(self, batches: Iterator[tuple[int, bool, bool]]) -> None:
        self._coming = batches
        self.recentProgress: list[Any] = []

    @property
    def lastProgress(self) -> Any:  # noqa: N802 - Spark's name
        return self.recentProgress[-1] if self.recentProgress else None

    def report(self) -> None:
        number, stream, mail = next(self._coming)
        sources = [
            SimpleNamespace(startOffset="0", endOffset="1" if stream else "0"),
            SimpleNamespace(startOffset='{"": 0}', endOffset='{"": 1}' if mail else '{"": 0}'),
        ]
        self.recentProgress.append(SimpleNamespace(batchId=number, sources=sources))


@pytest.mark.parametrize(
    ("before", "after", "enough"),
    [
        # The first batch of a start may be an old one that is run again, planned when less was there.
        ([], [(7, False, True), (8, True, False), (9, False, True)], 9),
        # The batch after the last one may run already.
        ([(3, True, True)], [(4, False, True), (5, False, True)], 5),
    ],
)
def test_only_a_batch_begun_later_tells(
    before: list[tuple[int, bool, bool]], after: list[tuple[int, bool, bool]], enough: int
) -> None:
    running = Reported(iter([*before, *after]))
    for _ in before:
        running.report()
    read = finish.all_read(running, lambda offset: not offset.startswith("{"))
    for number, _, _ in after:
        running.report()
        assert read() == (number == enough)


def test_a_query_that_was_stopped_reads_nothing_more() -> None:
    running = SimpleNamespace(isActive=False, exception=lambda: None, recentProgress=[], lastProgress=None)
    with pytest.raises(SparkFailed, match="was stopped before its streams could end"):
        finish.wait_until(running, None, finish.all_read(running, bool), StillRunning("too late"))


def test_slices_run_in_one_application(spark: SparkSession, tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    scenario.feed(1)
    query = scenario.query(spark)
    streams: list[Any] = [
        wm.stream(stream.name, stream.source, time="ts", window="5 seconds") for stream in query.query.streams
    ]
    sliced = wm.join(*streams, on=["s0.value < s1.value", "s1.value < s2.value"])
    for site in ("slice-01", "tokyo"):
        with pytest.raises(InvalidQuery, match="a slice cannot run in an application of its own") as raised:
            sliced.deploy("out", mailbox=tmp_path / "mail", checkpoint=tmp_path / "checkpoint", site=site)
        assert "leave site= out" in raised.value.hint
    assert not (tmp_path / "mail").exists()


JOB = """
[streams.s0]
format = "parquet"
path = "s0"
schema = "value BIGINT, ts TIMESTAMP"
time = "ts"
window = "5 seconds"
[streams.s1]
format = "parquet"
path = "s1"
schema = "value BIGINT, ts TIMESTAMP"
time = "ts"
window = "5 seconds"
[query]
on = "s0.value < s1.value"
[sink]
format = "parquet"
path = "out"
[run]
mailbox = "mail"
checkpoint = "checkpoint"
"""


@pytest.mark.usefixtures("command")
def test_a_command_that_asks_for_one_slice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.toml").write_text(JOB)
    assert main(["run", "--site", "slice-01", str(tmp_path / "job.toml")]) == WRONG_USE
    assert "a slice cannot run in an application of its own" in capsys.readouterr().err
