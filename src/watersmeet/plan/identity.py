"""What a checkpoint remembers about the query that wrote it.

State written for one query must never be read by another. The identity holds everything that decides
what the stored runs mean; lateness and probe orders are missing on purpose, since they may change
between two starts without touching a stored row.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

from watersmeet.plan.layout import OperatorLayout, Ref
from watersmeet.plan.plan import Operator, Plan, Source, operators
from watersmeet.query import JoinQuery
from watersmeet.query.duration import describe_duration
from watersmeet.query.kind import INNER

# Raise it when the layout of runs, the key encoding, the key hash or the form of the manifest changes so that
# an earlier version would misread it, and keep a checkpoint of the new number (`tests/harness/kept.py`).
# A field with a default that is added to what is stored needs no new number.
FORMAT_VERSION = 3
# What earlier versions wrote can be read from this number on. 1 had manifests that were pickled; 2 had all
# runs in Spark's state, and none in files beside the checkpoint.
OLDEST_FORMAT = 2


def identity(plan: Plan, operator: Operator, layout: OperatorLayout) -> dict[str, Any]:
    """The identity of an operator's state, ready for JSON."""
    query = plan.query
    found: dict[str, Any] = {"band": operator.band.text} if operator.band else {}
    if routing := _routing(operator):
        found["routing"] = routing
    if operator.kind != INNER:
        found["kind"] = _kind(plan, operator)
    return found | {
        "format": FORMAT_VERSION,
        "buckets": plan.buckets,
        "streams": [
            {
                "name": plan.input_name(part),
                "time": [query.streams[stream].time for stream in part.streams],
                "window": [query.streams[s].window.identity(query.reaches[s]) for s in part.streams],
                "key": [_described(query, ref, part) for ref in spec.key],
                "columns": [_described(query, ref, part) for ref in spec.stored],
                "conditions": _conditions(query, part),
            }
            for part, spec in zip(operator.inputs, layout.inputs, strict=True)
        ],
    }


def _routing(operator: Operator) -> str:
    """Where rows without a key lie; empty where a key alone says it."""
    if operator.sliced:
        return "slices"
    if operator.segment is not None:
        return f"segments of {operator.segment} us"
    return "copies of " + ", ".join(map(str, sorted(operator.replicated))) if operator.replicated else ""


def _kind(plan: Plan, operator: Operator) -> str:
    """Which rows come out without partners."""
    names = [plan.input_name(operator.inputs[number]) for number in operator.optional]
    return f"of kind {operator.kind}" + (f" with {', '.join(names)} optional" if names else "")


def _conditions(query: JoinQuery, part: Source | Operator) -> list[str]:
    """What rows had to fulfil to be stored; a row without a value that must equal another is not."""
    filters = [f.text for f in query.filters if f.stream in part.streams]
    equalities = [attribute.text for attribute in query.attributes if attribute.among(part.streams)]
    below = [query.conditions[n].text for operator in operators(part) for n in operator.conditions]
    return [*filters, *equalities, *below]


def _described(query: JoinQuery, ref: Ref, part: Source | Operator) -> list[str]:
    """A column and its type."""
    if ref.attribute is not None:
        return [ref.text(query), query.attributes[ref.attribute].type]
    stream = query.streams[ref.stream]
    name = ref.column if isinstance(part, Source) else f"{stream.name}.{ref.column}"
    return [name, stream.column(ref.column).type]


def difference(stored: str, current: str) -> str:
    """Why a checkpoint written under `stored` cannot serve `current`; empty when it can.

    Columns added to a stream are the one change that is allowed: rows stored before it read as null there.
    """
    old, new = json.loads(stored), json.loads(current)
    if "streams" not in old or "streams" not in new:
        return "" if old == new else f"it belongs to {_named(old)}, and this is {_named(new)}"
    if (found := other_format(stored)) is not None:
        return f"its state has format {found}, and this version reads {_formats()}"
    old_names = [stream["name"] for stream in old["streams"]]
    new_names = [stream["name"] for stream in new["streams"]]
    if sorted(old_names) != sorted(new_names):
        return f"the streams were {', '.join(old_names)} and are now {', '.join(new_names)}"
    if old.get("kind") != new.get("kind"):
        was, now = (side.get("kind", f"of kind {INNER}") for side in (old, new))
        return f"the join was {was} and is now {now}"
    if old_names != new_names:
        return f"the streams were {', '.join(old_names)}, in this order, and are now {', '.join(new_names)}"
    for before, after in zip(old["streams"], new["streams"], strict=True):
        name = before["name"]
        if before["key"] != after["key"]:
            old_key, new_key = _columns(before["key"]), _columns(after["key"])
            return f'the key of stream "{name}" was {old_key} and is now {new_key}'
        for what in ("window", "time", "conditions"):
            if before[what] != after[what]:
                was, now = (_MICROSECONDS.sub(_length, "; ".join(side[what])) for side in (before, after))
                return f'{_CALLED[what]} of stream "{name}" was {was or "none"} and is now {now or "none"}'
        if [column for column in after["columns"] if column in before["columns"]] != before["columns"]:
            return (
                f'the stored columns of stream "{name}" were {_columns(before["columns"])} '
                f"and are now {_columns(after['columns'])}"
            )
    if old.get("routing") != new.get("routing"):
        was, now = (side.get("routing", "buckets by key") for side in (old, new))
        return f"rows lay in {was} and now lie in {now}"
    if old.get("band") != new.get("band"):
        was, now = (side.get("band", "nothing") for side in (old, new))
        return f"rows were found by {was} and are now found by {now}"
    if old["buckets"] != new["buckets"]:
        return f"the number of buckets was {old['buckets']} and is now {new['buckets']}"
    return ""


def other_format(stored: str) -> int | None:
    """The number of the format of a checkpoint that this version cannot read; None if it can."""
    found = json.loads(stored).get("format", FORMAT_VERSION)
    return None if OLDEST_FORMAT <= found <= FORMAT_VERSION else int(found)


def _formats() -> str:
    if OLDEST_FORMAT == FORMAT_VERSION:
        return f"format {FORMAT_VERSION}"
    return f"formats {OLDEST_FORMAT} to {FORMAT_VERSION}"


def _named(identity: dict[str, Any]) -> str:
    """What is not a join of operators says its name."""
    if "streams" in identity:
        return "a join of " + ", ".join(stream["name"] for stream in identity["streams"])
    return ", ".join(f"{what} {name}" for what, name in identity.items())


def _length(microseconds: re.Match[str]) -> str:
    return describe_duration(timedelta(microseconds=int(microseconds[1])))


_MICROSECONDS = re.compile(r"\b(\d+) us\b")
_CALLED = {"window": "the window", "time": "the time column", "conditions": "the condition"}


def _columns(columns: list[list[str]]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns)
