"""What a session of Spark Connect leaves behind when it is stopped: nothing, in whatever words it ends.

Would catch: a warning about a thread that the user never started, a program that does not end, a connection
that is lost without a word.
"""

import threading
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.connect.streaming.query import StreamingQueryListenerBus
from pyspark.sql.streaming.listener import StreamingQueryListener

from watersmeet.spark import connected_listener
from watersmeet.spark.connected_listener import listen_without_a_trace


class Bus(StreamingQueryListenerBus):
    """Spark's own, on a server that ends its answer with an error."""

    def __init__(self, said: str) -> None:
        super().__init__(SimpleNamespace(_session=None))
        self.said, self.ended = said, threading.Event()

    def _register_server_side_listener(self) -> Iterator[Any]:
        self.ended.wait(20)
        raise RuntimeError(self.said)
        yield


class Heard(StreamingQueryListener):
    def onQueryStarted(self, event: Any) -> None: ...  # noqa: N802
    def onQueryProgress(self, event: Any) -> None: ...  # noqa: N802
    def onQueryTerminated(self, event: Any) -> None: ...  # noqa: N802


def session(said: str) -> Any:
    client = SimpleNamespace(is_closed=False)
    return SimpleNamespace(client=client, streams=SimpleNamespace(_sqlb=Bus(said)))


def heard_until_the_end(spark: Any, *, stopped: bool) -> list[str]:
    """The warnings of a session that is stopped, or whose connection is lost."""
    before = set(threading.enumerate())
    bus = spark.streams._sqlb
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        listen_without_a_trace(spark)
        bus.append(Heard())
        threads = [one for one in threading.enumerate() if one not in before]
        # The server knows of the end of a session before its client does.
        bus.ended.set()
        if stopped:
            threading.Timer(0.2, setattr, (spark.client, "is_closed", True)).start()
        for thread in threads:
            thread.join(20)
    assert [thread for thread in threads if thread.is_alive()] == []
    assert bus._listener_bus == []
    return [str(one.message) for one in said]


@pytest.mark.parametrize(
    "said",
    [
        "Channel closed!",
        "cannot schedule new futures after shutdown",
        "[INVALID_HANDLE.SESSION_CLOSED] The handle is invalid. Session was closed.",
        "StatusCode.CANCELLED",
        "StatusCode.UNAVAILABLE: Stream removed",
        "[NO_ACTIVE_SESSION] No active Spark session found.",
    ],
)
def test_nothing_is_said_when_a_session_is_stopped(said: str) -> None:
    assert heard_until_the_end(session(said), stopped=True) == []


def test_a_connection_that_is_lost_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connected_listener, "_CLOSING_SECONDS", 0.1)
    (line,) = heard_until_the_end(session("Socket closed"), stopped=False)
    assert "Socket closed" in line


def test_no_thread_keeps_the_program_from_ending() -> None:
    spark = session("Channel closed!")
    before = set(threading.enumerate())
    listen_without_a_trace(spark)
    spark.streams._sqlb.append(Heard())
    for thread in [one for one in threading.enumerate() if one not in before]:
        if not thread.daemon:
            thread.join(20)
            assert not thread.is_alive()
    spark.client.is_closed = True
    spark.streams._sqlb.ended.set()
