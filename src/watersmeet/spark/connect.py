"""Spark Connect: whether a session is one of its clients, and where its server is."""

from __future__ import annotations

from typing import Any

_HERE = ("localhost", "127.0.0.1", "::1")


def is_connected(spark: Any) -> bool:
    """Whether the driver is a server, so that Python functions of the driver run in another process."""
    return hasattr(spark, "_client")


def distant_server(spark: Any) -> str | None:
    """The machine of the server, if that is another one."""
    host = spark._client.host if is_connected(spark) else None  # noqa: SLF001
    return None if host is None or host in _HERE else str(host)
