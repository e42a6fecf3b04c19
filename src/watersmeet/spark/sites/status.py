"""What sites report after every batch; kept beside their mail, so that a later start knows it at once."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watersmeet.query import JoinQuery
from watersmeet.spark.metrics import PredicateMetrics
from watersmeet.spark.private import make_folders, put_file
from watersmeet.spark.sites.task import SiteTask

_FILE = "status.json"


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """What a site has sent to another so far: mail, rows in it, and bytes as they were written."""

    messages: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """A site after its last batch.

    Attributes:
        rows: Rows that came, by stream; those that can never join too.
        late: Rows that came too late, by stream.
        aside: Rows without a time, or with one too far ahead, by stream.
        results: Results so far.
        sent: What was sent, by receiver.
        held: Rows in windows.
        waiting: Rows that wait to be put in order, or for the window they will look into.
        skipped: Mail that had come before and was not read again.
        ended: Whether all streams have ended and all results are out.
        predicates: What every Python function was asked here so far.
    """

    rows: dict[str, int]
    late: dict[str, int]
    aside: dict[str, int]
    results: int
    sent: dict[str, LinkStatus]
    held: int
    waiting: int
    skipped: int
    ended: bool
    predicates: dict[str, PredicateMetrics] = field(default_factory=dict)


def last_status(task: SiteTask, sites: Iterable[str]) -> dict[str, SiteStatus]:
    """What some sites reported last, in this life or an earlier one; zeros if they never did."""
    nothing = {"rows": {}, "late": {}, "aside": {}, "results": 0, "sent": {}}
    found = {}
    for site in sites:
        file = Path(task.mailbox) / site / _FILE
        said: dict[str, Any] = nothing | {"held": 0, "waiting": 0, "skipped": 0, "ended": False}
        # After a power loss it may be gone or empty.
        with contextlib.suppress(FileNotFoundError, ValueError):
            kept = json.loads(file.read_text())
            said = kept["said"] if kept["deployment"] == task.deployment else said
        found[site] = read_status(task.query, task, site, said)
    return found


def keep_status(task: SiteTask, site: str, said: dict[str, Any]) -> None:
    """Keep what a site reports."""
    place = make_folders(Path(task.mailbox), site)
    # Every batch writes it anew, so it need not survive a power loss.
    content = json.dumps({"deployment": task.deployment, "said": said}).encode()
    put_file(place / _FILE, content, durable=False)


def read_status(query: JoinQuery, task: SiteTask, site: str, said: dict[str, Any]) -> SiteStatus:
    """A report as users read it, with all streams of the site and all sites it may send to."""
    own = task.wiring.streams_at(site)
    receivers = [receiver for sender, receiver in task.wiring.links() if sender == site]

    def by_name(values: dict[str, int]) -> dict[str, int]:
        return {query.names[stream]: values.get(str(stream), 0) for stream in own}

    sent = {receiver: LinkStatus(**said["sent"].get(receiver, {})) for receiver in receivers}
    return SiteStatus(
        by_name(said["rows"]),
        by_name(said["late"]),
        by_name(said["aside"]),
        said["results"],
        sent,
        said["held"],
        said.get("waiting", 0),
        said["skipped"],
        said["ended"],
        {text: PredicateMetrics(**asked) for text, asked in said.get("asked", {}).items()},
    )
