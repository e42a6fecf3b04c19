"""The durable state of a site: what its parts keep, by name, in one map.

A part hands out values that never change. What is still the same object as in the batch before is in the
map already, so that a batch writes what is new and removes what is gone. A worker that ran the batch before
has the site in memory; any other reads it from the map.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from watersmeet.errors import CheckpointMismatch, DamagedRun
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.judge import Asked
from watersmeet.kernel.sites.node import Node
from watersmeet.kernel.stored import stored_as
from watersmeet.spark.sites.task import SiteTask

_HEAD = ("head",)


@stored_as("link")
@dataclass
class LinkTotals:
    """What was sent to another site so far."""

    messages: int = 0
    rows: int = 0
    bytes: int = 0


@stored_as("site books")
@dataclass
class Books:
    """What a site remembers beside its parts.

    Attributes:
        deployment: Which query and plan it is.
        version: Different after every batch.
        names: The names in the map.
        expected: Per sender the number of its next mail.
        sent: Per receiver what was sent so far.
        rows: Per stream the rows that came, those that can never join too.
        aside: Per stream the rows without a time, or with one too far ahead.
        results: Results so far.
        skipped: Mail that had come before.
        asked: What is known about every function from asking it.
    """

    deployment: str
    version: str = ""
    names: tuple[str, ...] = ()
    expected: dict[str, int] = field(default_factory=dict)
    sent: dict[str, LinkTotals] = field(default_factory=dict)
    rows: dict[int, int] = field(default_factory=dict)
    aside: dict[int, int] = field(default_factory=dict)
    results: int = 0
    skipped: int = 0
    asked: dict[str, Asked] = field(default_factory=dict)


@dataclass
class Site:
    """A site in memory."""

    node: Node
    books: Books
    kept: dict[str, Any]


# Per site of a deployment, as it was after the batch this worker ran last.
_remembered: dict[tuple[str, str], Site] = {}


def load(values: Any, task: SiteTask, name: str) -> Site:
    """The site as it was after the last batch.

    Args:
        values: Spark's map state.
        task: What it computes.
        name: The site.
    """
    stored = values.getValue(_HEAD)
    if stored is None:
        return Site(Node(task.wiring, name), Books(task.deployment), {})
    books: Books = decode(stored[0], Books)
    if books.deployment != task.deployment:
        raise CheckpointMismatch(
            f'the checkpoint of site "{name}" was written by another query or plan',
            f"it belongs to deployment {books.deployment}, this is {task.deployment}.",
            "restore the query, its statistics and its network as they were, "
            "or start all sites anew with empty checkpoints and an empty mailbox.",
        )
    # Taken out while it changes: if this batch fails, it must not be found as it was left.
    remembered = _remembered.pop((task.deployment, name), None)
    if remembered is not None and remembered.books.version == books.version:
        return remembered
    kept = {one: _read(values, one) for one in books.names}
    node = Node(task.wiring, name)
    node.restore(kept)
    return Site(node, books, kept)


def save(values: Any, task: SiteTask, name: str, site: Site) -> None:
    """Write what changed."""
    kept = site.node.save()
    for one, value in kept.items():
        if one not in site.kept or site.kept[one] is not value:
            values.updateValue((one,), (encode(value),))
    for one in site.kept.keys() - kept.keys():
        values.removeKey((one,))
    site.kept = kept
    site.books.names = tuple(kept)
    site.books.version = uuid.uuid4().hex
    values.updateValue(_HEAD, (encode(site.books),))
    _remembered[task.deployment, name] = site


def _read(values: Any, one: str) -> Any:
    stored = values.getValue((one,))
    if stored is None:
        raise DamagedRun(
            f'the stored value "{one}" is missing',
            "the state store lists it and does not have it.",
            "restore the checkpoint from a copy.",
        )
    return decode(stored[0])
