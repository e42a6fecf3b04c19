"""What a running join says of its own accord: each cause once, in a line that says what to do.

Would catch: a line that never comes, comes for every batch, or comes where nothing is wrong; a lateness that
would not have been enough.
"""

import datetime as dt
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from harness.totals import TotalsMaker
from watersmeet.kernel.bucket import Metrics
from watersmeet.kernel.numbers import text_numbers
from watersmeet.spark import listener
from watersmeet.spark.host.metrics import BatchMetrics, HotKey, StreamMetrics
from watersmeet.spark.host.processor import tell_hot_key
from watersmeet.spark.host.task import InputTask, ResultRows, Task
from watersmeet.spark.listener import heard
from watersmeet.spark.speak import Speaker

NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
QUIET = StreamMetrics(
    rows=10,
    row_bytes=0,
    late=0,
    late_by=None,
    null_keys=0,
    null_times=0,
    future_times=0,
    malformed=0,
    tombstones=0,
    live=100,
    state_bytes=0,
    memory_bytes=0,
    keys=None,
    newest=NOON,
    behind=dt.timedelta(0),
    lateness=dt.timedelta(0),
    idle=False,
    largest=0,
    paths=(),
)


def batch(orders: dict[str, Any], payments: dict[str, Any], **more: Any) -> BatchMetrics:
    return BatchMetrics(
        name="watersmeet 1: orders, payments",
        batch=0,
        **{"buckets": 8, "watermark_held_by": "orders", "hot_keys": (), "spread_keys": 0} | more,
        results=0,
        rows_examined=0,
        lookups=0,
        path_changes=0,
        scans=0,
        merges=0,
        messages=0,
        message_bytes=0,
        waiting=None,
        worker_bytes=None,
        rows_examined_per_result=None,
        kernel_ms=0,
        busiest_ms=0,
        streams={"orders": replace(QUIET, **orders), "payments": replace(QUIET, **payments)},
        predicates={},
    )


def minutes(number: float) -> dt.timedelta:
    return dt.timedelta(minutes=number)


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    speaker = Speaker()
    assert [speaker.lines([batch({}, {})], 8) for _ in range(20)] == [[]] * 20


def test_late_rows_are_told_once_with_the_lateness_that_would_do() -> None:
    speaker = Speaker()
    assert not speaker.lines([batch({}, {"newest": NOON + minutes(2)})], 8)
    # The watermark is at noon: orders hold it, and payments were two minutes ahead before this batch.
    late = {"late": 51, "late_by": minutes(0.9), "newest": NOON + minutes(10), "behind": minutes(10)}
    (line,) = speaker.lines([batch({}, late)], 8)
    assert line.startswith("51 rows of payments came up to 3 min late and were not joined; lateness is 0 s.")
    assert 'set lateness="3 min" or more in wm.stream("payments", ...)' in line
    assert "set_aside=True" in line
    assert speaker.lines([batch({}, late)], 8) == []
    (other,) = speaker.lines([batch(late | {"late": 1}, late)], 8)
    assert other.startswith("1 row of orders came")


def test_rows_that_are_late_without_a_watermark() -> None:
    (line,) = Speaker().lines([batch({"behind": None}, {"late": 2, "behind": None})], 8)
    assert line.startswith("2 rows of payments came too late, or after the end of their stream")


def test_idle_streams_and_their_late_rows() -> None:
    speaker = Speaker()
    (idle,) = speaker.lines([batch({}, {"idle": True, "rows": 0})], 8)
    assert idle.startswith("payments is idle: it has sent nothing for as long as its idle= says")
    # The others are five minutes ahead by now, and its rows come in their order.
    came = {"late": 5, "late_by": minutes(4), "newest": NOON + minutes(1), "behind": minutes(0)}
    (late,) = speaker.lines([batch({"newest": NOON + minutes(6), "behind": minutes(1)}, came)], 8)
    assert "because it was idle" in late
    assert 'wm.stream("payments", ...) a longer idle=' in late


def test_a_silent_stream_is_told_when_the_state_has_grown() -> None:
    def silent(held: int, **payments: Any) -> list[BatchMetrics]:
        settings: dict[str, Any] = {"rows": 0, "live": 0} | payments
        return [batch({"live": held}, settings, watermark_held_by="payments")]

    speaker = Speaker()
    # As long as it has rows, or little is held, or the state does not grow, all is well.
    for held in (20_000, 50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000):
        assert not speaker.lines(silent(held, rows=1), 8)
    steady = Speaker()
    assert not any(steady.lines(silent(20_000), 8) for _ in range(20))
    few = Speaker()
    assert not any(few.lines(silent(held), 8) for held in range(0, 9_000, 100))
    speaker = Speaker()
    told = [line for held in range(1_000, 30_000, 1_000) for line in speaker.lines(silent(held), 8)]
    assert len(told) == 1
    assert told[0].startswith("payments has sent nothing after 2026-05-01 12:00:00 and holds the watermark")
    assert 'idle="5 minutes"' in told[0]
    never = [one for held in (1, 10**5, *range(10**6, 10**6 + 9)) for one in Speaker().lines(silent(held), 8)]
    assert never == []


def test_that_keys_are_spread_is_told_once() -> None:
    speaker = Speaker()
    (line,) = speaker.lines([batch({}, {}, spread_keys=2)], 8)
    assert line.startswith("2 hot keys are spread over all 8 buckets")
    assert not speaker.lines([batch({}, {}, spread_keys=3)], 8)


def test_hot_keys_are_told_one_by_one() -> None:
    speaker = Speaker()
    keys = tuple(HotKey("payments", str(number), 12_000, 0.6) for number in range(3))
    first, second = speaker.lines([batch({}, {}, hot_keys=keys[:2])], 8)
    assert first.startswith("key 0 of payments has 12,000 rows, 60% of those in its bucket")
    assert "join on one more column" in second
    assert len(speaker.lines([batch({}, {}, hot_keys=keys)], 8)) == 1
    many = tuple(HotKey("payments", f"many {number}", 12_000, 0.6) for number in range(100))
    assert sum(len(speaker.lines([batch({}, {}, hot_keys=(one,))], 8)) for one in many) == 2


@pytest.mark.parametrize(
    ("partitions", "buckets", "told"), [(200, 8, 1), (8, 8, 0), (100, 64, 0), (200, 0, 0), (None, 8, 0)]
)
def test_partitions_without_work(partitions: int | None, buckets: int, told: int) -> None:
    lines = Speaker().lines([batch({}, {}, buckets=buckets)], partitions)
    assert len(lines) == told
    for line in lines:
        assert line.startswith("200 shuffle partitions for 8 buckets")
        assert "spark.sql.shuffle.partitions" in line


def test_a_worker_tells_a_hot_key_once(capsys: pytest.CaptureFixture[str]) -> None:
    spec = InputTask(name="payments", kept=pa.schema([]), key=(), time=0)
    task = Task(identity="", maker=TotalsMaker(), buckets=("0",), inputs=(spec,), output=ResultRows(()))
    text: Metrics = {f"hot_text_{place}": word for place, word in enumerate(text_numbers("7"))}
    hot = text | {"hot_rows": 300, "hot_of": 1_000, "hot_input": 0}
    for found in (hot | {"hot_of": 300}, hot, hot, {"hot_rows": None}):
        tell_hot_key(task, found)
    said = "watersmeet: key 7 of payments is hot: it has 300 of the 1,000 rows in its bucket\n"
    assert capsys.readouterr().err == said


def test_a_progress_that_cannot_be_read_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    for progress in (None, 7, SimpleNamespace(observedMetrics={"watersmeet 1: a": {}}, batchId=1)):
        heard(progress)
    assert caplog.text == ""


@pytest.mark.parametrize(("told", "lines"), [({200}, 0), ({400}, 1)])
def test_partitions_that_the_session_was_warned_of_are_not_told_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, told: set[int], lines: int
) -> None:
    monkeypatch.setattr(listener, "metrics", lambda progress: [batch({}, {})])
    monkeypatch.setattr(listener, "told_partitions", told)
    states = [SimpleNamespace(numShufflePartitions=200)]
    heard(SimpleNamespace(runId=f"told {told}", name="q", id="1", stateOperators=states, sources=[]))
    assert caplog.text.count("200 shuffle partitions for 8 buckets") == lines
