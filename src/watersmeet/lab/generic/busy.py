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


def busy_seconds(folder: Path) -> float:
    """Seconds all tasks took together, those of Python included: a task waits for its Python worker."""
    total = 0
    for file in folder.iterdir():
        for line in file.read_text().splitlines():
            if '"SparkListenerTaskEnd"' in line:
                total += json.loads(line).get("Task Metrics", {}).get("Executor Run Time", 0)
    return total / 1000
