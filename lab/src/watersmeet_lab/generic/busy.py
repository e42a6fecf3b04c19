"""How long Spark's tasks were at work, from the log Spark itself writes."""

from __future__ import annotations

import json
from pathlib import Path


def event_log(folder: str) -> dict[str, str]:
    """Settings that make Spark write its events into a folder, as plain text."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}",
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
    }


def busy_seconds(folder: Path, since: float = 0.0) -> float:
    """Seconds all tasks took together, those of Python included: a task waits for its Python worker.

    Args:
        folder: The log.
        since: Only tasks that were started from then on, seconds.
    """
    total = 0
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            if '"SparkListenerTaskEnd"' in line:
                event = json.loads(line)
                if event["Task Info"]["Launch Time"] >= since * 1000:
                    total += event.get("Task Metrics", {}).get("Executor Run Time", 0)
    return total / 1000
