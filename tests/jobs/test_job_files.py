"""Job files: what is read, and every mistake in one go.

Would catch: a setting that is silently ignored, a mistake that hides another, a stop that loses a checkpoint.
"""

import datetime as dt
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.programs import environment
from watersmeet.jobs.job import read_job
from watersmeet.jobs.kafka import KafkaSettings, with_connector
from watersmeet.jobs.settings import InvalidJob
from watersmeet.query import RowWindow, Window
from watersmeet.query.common_window import hopping, session
from watersmeet.query.window import latest, tumbling, window_of
from watersmeet.spark.endpoints import Endpoint

GOOD = """
[streams.orders]
format = "json"
path = "in/orders"
schema = "id BIGINT, ts TIMESTAMP"
time = "ts"
window = "10 minutes"
lateness = "30 seconds"
options = { maxFilesPerTrigger = 1, multiLine = true }
statistics = { rate = 100, distinct = 5000 }

[streams.clicks]
format = "kafka"
servers = "127.0.0.1:9092"
topics = ["clicks", "more"]
schema = "id BIGINT, ts TIMESTAMP"
starting = "latest"
fail_on_data_loss = false
time = "ts"
window = { rows = 100, per_key = true }
max_future = "none"

[query]
on = "id"
select = ["orders.id"]
buckets = 4

[planning]
batch = "20 seconds"
optimizer = "by_rank"
adaptive = false
spread_hot_keys = false

[sink]
format = "parquet"
path = "/out"

[run]
checkpoint = "s3://bucket/checkpoint"
trigger = "10 seconds"
cores = 2
spark = { "spark.driver.memory" = "4g" }
"""


def read(tmp_path: Path, text: str) -> object:
    (tmp_path / "job.toml").write_text(text)
    return read_job(tmp_path / "job.toml")


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ('{ tumbling = "10 minutes" }', tumbling("10 minutes")),
        ('{ hopping = "10 minutes", every = "5 minutes" }', hopping("10 minutes", every="5 minutes")),
        ('{ session = "5 minutes" }', session("5 minutes")),
        ('"latest"', latest()),
        ('"0 seconds"', window_of("0 seconds")),
        ('{ range = "0 seconds" }', window_of("0 seconds")),
    ],
)
def test_a_window_may_be_of_any_kind(tmp_path: Path, text: str, window: Window) -> None:
    (tmp_path / "job.toml").write_text(GOOD.replace('"10 minutes"', text))
    assert read_job(tmp_path / "job.toml").streams[0].window == window


def test_kinds_of_join_and_rows_set_aside(tmp_path: Path) -> None:
    text = GOOD.replace("max_future", "optional = true\nmax_future").replace("buckets = 4", 'how = "left"')
    (tmp_path / "job.toml").write_text(text + '[set_aside]\nformat = "json"\npath = "aside"\n')
    job = read_job(tmp_path / "job.toml")
    assert ([stream.optional for stream in job.streams], job.how) == ([False, True], "left")
    assert job.set_aside == Endpoint("json", str(tmp_path / "aside"))


def test_everything_a_file_says_is_read(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(GOOD)
    job = read_job(tmp_path / "job.toml")
    orders, clicks = job.streams
    assert orders.source.path == str(tmp_path / "in/orders")
    assert orders.source.options == {"maxFilesPerTrigger": "1", "multiLine": "true"}
    assert orders.window == window_of("10 minutes")
    assert (orders.lateness, orders.max_future) == ("30 seconds", "1 day")
    assert (clicks.window, clicks.max_future, clicks.source.path) == (
        RowWindow(100, per_key=True),
        "none",
        None,
    )
    assert clicks.kafka == KafkaSettings(
        ["127.0.0.1:9092"], ["clicks", "more"], starting="latest", fail_on_data_loss=False
    )
    assert (job.on, job.select, job.buckets, job.sql) == (["id"], ["orders.id"], 4, None)
    assert (job.sink.path, job.checkpoint, job.trigger) == ("/out", "s3://bucket/checkpoint", "10 seconds")
    assert (job.cores, job.spark) == (2, {"spark.driver.memory": "4g"})
    assert (job.planning.optimizer, job.planning.adaptive) == ("by_rank", False)
    assert not job.planning.spread_hot_keys
    assert job.planning.statistics.of("orders").rate.value == 100
    assert job.planning.statistics.batch_seconds.value == 20


@pytest.mark.parametrize(
    ("old", "new", "mistake"),
    [
        ("window =", "windw =", '[streams.orders] unknown setting "windw"; did you mean "window"?'),
        ('format = "json"\n', "", '[streams.orders] "format" is missing.'),
        (
            "topics = [",
            'path = "in"\ntopics = [',
            '[streams.clicks] "path" says nothing about topics of Kafka',
        ),
        (
            'topics = ["clicks", "more"]\n',
            "",
            '[streams.clicks] "topics" is missing: say which topics of Kafka',
        ),
        ("loss = false", 'loss = "no"', "[streams.clicks] fail_on_data_loss must be true or false, not 'no'"),
        ('path = "in/orders"', 'path = "x"\ntopics = "x"', '[streams.orders] unknown setting "topics"'),
        ('"10 minutes"', '"10 parsecs"', '[streams.orders] window: unknown unit "parsecs"'),
        ("rows = 100", "rows = 0", "[streams.clicks.window] rows must be a positive whole number, not 0"),
        ("buckets = 4", 'how = "outer"', '[query] there is no join "outer"; "how" is one of "inner", "left"'),
        (
            'on = "id"\nselect = ["orders.id"]',
            'sql = "x"\nhow = "left"',
            '[query] "how" and "optional" belong',
        ),
        ("[run]", "[set_aside]\npath = 'x'\n[run]", '[set_aside] "format" is missing.'),
        ("per_key", "perkey", '[streams.clicks.window] unknown setting "perkey"; did you mean "per_key"?'),
        ("per_key = true", 'per_key = "yes"', "[streams.clicks.window] per_key must be true or false"),
        ('"10 minutes"', '"-10 minutes"', '[streams.orders] window: "-10 minutes" is not positive'),
        (
            '"10 minutes"',
            '{ tumbling = "0 s" }',
            '[streams.orders.window] tumbling: "0 s" is not positive',
        ),
        ('"10 minutes"', '{ hopping = "10 minutes" }', '[streams.orders.window] "every" is missing'),
        (
            '"10 minutes"',
            '{ session = "0 seconds" }',
            '[streams.orders.window] session: "0 seconds" is not positive',
        ),
        ('"10 seconds"', '"-5 seconds"', '[run] trigger: "-5 seconds" is not positive'),
        ('"s3://bucket/checkpoint"', '""', '[run] "checkpoint" is missing'),
        ('"30 seconds"', "true", "[streams.orders] lateness must be a text, not true or false"),
        ('on = "id"\n', "", '[query] needs either "on" or "sql"'),
        ('on = "id"\n', 'on = "id"\nsql = "x"\n', '[query] needs either "on" or "sql"'),
        ("buckets = 4", 'buckets = "4"', "[query] buckets must be a positive whole number, not '4'"),
        ('checkpoint = "s3://bucket/checkpoint"\n', "", '[run] "checkpoint" is missing'),
        ('trigger = "10 seconds"', 'trigger = "now"', '[run] trigger: cannot read "now" as a duration'),
        ("[sink]", "[sank]", 'the file: "sink" is missing.'),
        ("[sink]", "[sank]", 'the file: unknown setting "sank"; did you mean "sink"?'),
        ("{ maxFilesPerTrigger = 1, multiLine = true }", "[1]", "[streams.orders] options must be a table"),
        ("cores = 2", "cores = -2", "[run] cores must be a positive whole number"),
        ("rate = 100", "rate = -1", '[planning] rate of stream "orders" is not a number from zero up'),
        ('"by_rank"', '"magic"', '[planning] there is no optimizer "magic"'),
        ("adaptive = false", "adaptive = 3", "[planning] adaptive must be true or false"),
        ('"20 seconds"', '"soon"', '[planning] batch is not a duration detail: cannot read "soon"'),
        ("{ rate = 100, distinct = 5000 }", "7", "[planning]"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, mistake: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidJob) as caught:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert mistake in caught.value.detail
    assert caught.value.hint


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidJob) as caught:
        read(tmp_path, "[streams.a]\nformat = true\nwindw = 1\n[query]\n[run]\ncores = 0\nspeed = 9\n")
    assert caught.value.fact.endswith("has 7 mistakes")
    assert len(caught.value.detail.split("\n")) == 7


@pytest.mark.parametrize(
    ("text", "fact"), [("a = ", "is not a TOML file"), (None, "cannot read"), ("a = 1", "has 4 mistakes")]
)
def test_files_that_are_no_jobs(tmp_path: Path, text: str | None, fact: str) -> None:
    if text is not None:
        (tmp_path / "job.toml").write_text(text)
    ended = subprocess.run(
        [sys.executable, "-m", "watersmeet", "run", "job.toml"],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert fact in ended.stderr
    assert ended.stdout == ""


@pytest.mark.soak
def test_a_job_that_is_stopped_goes_on_later(command: Callable[..., str], tmp_path: Path) -> None:
    """Stopped in a process of its own; the second start reads to the end in the session of the tests."""
    stream = 'format = "rate"\noptions = { rowsPerSecond = 5 }\ntime = "timestamp"\nwindow = "1 minute"\n'
    job = (
        f"[streams.a]\n{stream}[streams.b]\n{stream}"
        "[query]\non = 'value'\nselect = ['a.value']\nbuckets = 2\n"
        "[sink]\nformat = 'json'\npath = 'out'\n"
        "[run]\ncheckpoint = 'checkpoint'\ntrigger = '1 second'\ncores = 2\n"
    )
    (tmp_path / "job.toml").write_text(job)
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "watersmeet", "run", "job.toml"],
        env=environment(TMPDIR=str(tmp_path)),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    deadline = time.monotonic() + 120
    for line in process.stdout:
        if re.search(r"[1-9]\d* results", line) or time.monotonic() > deadline:
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "Stopped.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint", "job.toml", "out"]
    before = results(tmp_path / "out")
    assert before > 0

    (tmp_path / "job.toml").write_text(job.replace("1 second", "available now"))
    command("run", str(tmp_path / "job.toml"))
    assert results(tmp_path / "out") > before, "nothing new after the restart"


def results(out: Path) -> int:
    """How many there are; they must be the first so many numbers."""
    text = " ".join(path.read_text() for path in out.glob("*.json"))
    found = [int(value) for value in re.findall(r'"value":(\d+)', text)]
    assert len(found) == len(set(found)), "a result came twice"
    assert sorted(found) == list(range(len(found))), "a result is missing"
    return len(found)


@pytest.mark.parametrize(
    ("said", "starting"),
    [
        ("2026-05-01T12:00:00Z", dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)),
        ("{ clicks = { 0 = 17 }, more = { 0 = -2 } }", {"clicks": {"0": 17}, "more": {"0": -2}}),
    ],
)
def test_where_topics_are_read_from(tmp_path: Path, said: str, starting: Any) -> None:
    (tmp_path / "job.toml").write_text(GOOD.replace('starting = "latest"', f"starting = {said}"))
    clicks = read_job(tmp_path / "job.toml").streams[1]
    assert clicks.kafka is not None
    assert clicks.kafka.starting == starting


def test_a_job_file_may_begin_with_a_mark_of_its_bytes(tmp_path: Path) -> None:
    """As editors of Windows write one."""
    (tmp_path / "job.toml").write_bytes(GOOD.encode("utf-8-sig"))
    assert len(read_job(tmp_path / "job.toml").streams) == 2


def test_a_job_with_kafka_may_bring_its_own_connector() -> None:
    """Nothing is fetched for a job that names jars or packages, or has no topics."""
    topics, files = Endpoint("kafka"), Endpoint("json", "in")
    for own in ({"spark.jars": "connector.jar"}, {"spark.jars.packages": "org:connector:1"}):
        assert with_connector(own, [files, topics, None]) == own
    assert with_connector({"spark.driver.memory": "4g"}, [files, None]) == {"spark.driver.memory": "4g"}
