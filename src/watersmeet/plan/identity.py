"""What a checkpoint remembers about the query that wrote it.

State written for one query must never be read by another. The identity holds everything that decides
what the stored runs mean; lateness and probe orders are missing on purpose, since they may change
between two starts without touching a stored row.
"""

from __future__ import annotations

import json
from typing import Any

from watersmeet.plan.plan import Plan

# Raise it when the layout of runs, the key encoding or the key hash changes.
FORMAT_VERSION = 1


def identity(plan: Plan) -> dict[str, Any]:
    """The identity of a plan, ready for JSON."""
    query = plan.query
    return {
        "format": FORMAT_VERSION,
        "buckets": plan.buckets,
        "streams": [
            {
                "name": stream.name,
                "time": stream.time,
                "window_us": stream.window_us,
                "key": [[name, stream.column(name).type] for name in key],
                "columns": [[name, stream.column(name).type] for name in kept],
            }
            for stream, key, kept in zip(query.streams, query.keys, query.selected, strict=True)
        ],
    }


def difference(stored: str, current: str) -> str:
    """Why a checkpoint written under `stored` cannot serve `current`; empty when it can.

    Columns added at the end of a stream are the one change that is allowed: rows stored before it
    read as null there.
    """
    old, new = json.loads(stored), json.loads(current)
    if old["format"] != new["format"]:
        return f"the state has format {old['format']}, this version writes format {new['format']}"
    old_names = [stream["name"] for stream in old["streams"]]
    new_names = [stream["name"] for stream in new["streams"]]
    if old_names != new_names:
        return f"the streams were {', '.join(old_names)} and are now {', '.join(new_names)}"
    for before, after in zip(old["streams"], new["streams"], strict=True):
        name = before["name"]
        if before["window_us"] != after["window_us"]:
            return (
                f'the window of stream "{name}" was {before["window_us"]} us '
                f"and is now {after['window_us']} us"
            )
        if before["key"] != after["key"]:
            old_key, new_key = _columns(before["key"]), _columns(after["key"])
            return f'the key of stream "{name}" was {old_key} and is now {new_key}'
        if before["time"] != after["time"]:
            return f'the time column of stream "{name}" was {before["time"]} and is now {after["time"]}'
        if after["columns"][: len(before["columns"])] != before["columns"]:
            return (
                f'the stored columns of stream "{name}" were {_columns(before["columns"])} '
                f"and are now {_columns(after['columns'])}"
            )
    if old["buckets"] != new["buckets"]:
        return f"the number of buckets was {old['buckets']} and is now {new['buckets']}"
    return ""


def _columns(columns: list[list[str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)
