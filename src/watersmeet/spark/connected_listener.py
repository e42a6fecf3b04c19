"""Listening over Spark Connect without a trace: the program may end, and the session be stopped, at any time.

Spark hears of batches in a thread that keeps the program running for as long as its session is not stopped,
and that warns when it is: in words that depend on what it was just doing. Here it is a thread that ends with
the program, and what ends it is told only where the session goes on.
"""

from __future__ import annotations

import atexit
import time
import warnings
import weakref
from collections.abc import Iterator
from threading import Thread
from typing import Any

# How long Spark may take from releasing a session to closing its client.
_CLOSING_SECONDS = 15.0


def listen_without_a_trace(spark: Any) -> None:
    """Prepare a session of Spark Connect for listeners; none is there yet, or it stays as it is."""
    bus = spark.streams._sqlb  # noqa: SLF001
    if not bus._listener_bus:  # noqa: SLF001
        _hear_in_background(bus, spark.client)
    # Spark removes listeners of a session after it has stopped it, and complains that it cannot.
    warnings.filterwarnings("ignore", r"Failed to remove the listener.*\[NO_ACTIVE_SESSION\]")


def _hear_in_background(bus: Any, client: Any) -> None:
    handle = bus._query_event_handler  # noqa: SLF001

    def hear(events: Iterator[Any]) -> None:
        Thread(target=handle, args=(_until_closed(events, bus, client),), daemon=True).start()
        # Nobody waits for it: at the end of a program that would be for ever.
        with bus._lock:  # noqa: SLF001
            bus._execution_thread = None  # noqa: SLF001

    bus._query_event_handler = hear  # noqa: SLF001
    here = weakref.ref(bus)

    def end_of_program() -> None:
        if (bus := here()) is not None:
            bus._listener_bus.clear()  # noqa: SLF001

    atexit.register(end_of_program)


def _until_closed(events: Iterator[Any], bus: Any, client: Any) -> Iterator[Any]:
    """The events; an error that comes because the session is stopped is their end."""
    try:
        yield from events
    except Exception:
        if not _closes(client):
            raise
        # Spark would ask the server to remove them.
        bus._listener_bus.clear()  # noqa: SLF001


def _closes(client: Any) -> bool:
    """Whether a client is closed, or will be in a moment: the server knows of it first."""
    until = time.monotonic() + _CLOSING_SECONDS
    while not client.is_closed and time.monotonic() < until:
        time.sleep(0.05)
    return bool(client.is_closed)
