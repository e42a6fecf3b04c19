"""The mailbox as a source of Spark: its offsets say what was read, so every mail is read exactly once.

    offset    {"": 1700000000000000000, "oslo/tokyo": 41, "oslo/@control": 0}

These are the number of the last mail read, by ``receiver/sender``. The nameless one is the last knock: Spark
runs a batch only when some source has something new, and a knock is, though it brings nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from watersmeet.spark.host.arrivals import MAIL
from watersmeet.spark.host.blobs import PACKED_SCHEMA, PackedRows
from watersmeet.spark.mail.mailbox import CONTROL_SENDER, Address, Mailbox, open_mailbox, seal

FORMAT = "watersmeet-mail"

_KNOCK = "knock"
# Mail of one way that is read at a time, so that a long silence is not made up for in one batch.
_MOST = 64


def knock(mailbox: Mailbox, sites: Sequence[str]) -> None:
    """Ask for one more batch of the application that runs some sites."""
    last = mailbox.note(sites[0], _KNOCK) or "0"
    # Something new also where the clock was set back.
    mailbox.keep_note(sites[0], _KNOCK, str(max(time.time_ns(), int(last) + 1 if last.isdecimal() else 0)))


def read_mail_offset(offset: Any) -> dict[str, int] | None:
    """An offset as in Spark's progress; None if it is of another source."""
    try:
        found = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return None
    return found if isinstance(found, dict) and "" in found else None


def has_ends(offset: dict[str, int], sites: Iterable[str]) -> bool:
    """Whether all of some sites have mail that ends their streams."""
    return all(f"{site}/{CONTROL_SENDER}" in offset for site in sites)


class MailSource(DataSource):
    """Mail for some sites.

    Options: ``mailbox``, the folder; ``sites``, their names with commas between; ``labels``, their groups;
    ``deployment``.
    """

    @classmethod
    def name(cls) -> str:
        """What the source is called."""
        return FORMAT

    def schema(self) -> str:
        """What it gives."""
        return PACKED_SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """A reader with these options."""
        return MailReader(dict(self.options))


class Range(InputPartition):
    """Mail from one site to another, by number: after the first, up to the last."""

    def __init__(self, site: str, label: int, sender: str, after: int, until: int) -> None:
        """Plain data."""
        self.site, self.label, self.sender, self.after, self.until = site, label, sender, after, until


class MailReader(DataSourceStreamReader):
    """Reads mail."""

    def __init__(self, options: dict[str, str]) -> None:
        """Remember where mail is."""
        self._mailbox = open_mailbox(options["mailbox"])
        self._deployment = options["deployment"]
        self._labels = dict(
            zip(options["sites"].split(","), map(int, options["labels"].split(",")), strict=True)
        )

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Nothing was read."""
        return {"": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: ARG002, N802
        """What is there now."""
        found = dict(start)
        for site in self._labels:
            for sender in self._mailbox.senders(site):
                way = f"{site}/{sender}"
                after = start.get(way, -1)
                last = self._mailbox.waiting(site, sender, after, self._deployment)
                if last > after:
                    found[way] = min(last, after + _MOST)
        if not has_ends(found, self._labels):
            # Streams end at all sites in one batch: slices must agree which rows came before.
            found = {way: number for way, number in found.items() if way in start or not _is_end(way)}
        return found | {"": max(start.get("", 0), self._last_knock())}

    def _last_knock(self) -> int:
        knocks = (self._mailbox.note(site, _KNOCK) or "0" for site in self._labels)
        return max(int(knock) for knock in knocks if knock.isdecimal())

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """One for every way that has mail."""
        found = []
        for way, until in end.items():
            after = start.get(way, -1)
            if way and until > after:
                site, sender = way.split("/", 1)
                found.append(Range(site, self._labels[site], sender, after, until))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The mail of a way, one packed row each."""
        assert isinstance(partition, Range)
        for number in range(partition.after + 1, partition.until + 1):
            body = self._mailbox.read(partition.site, partition.sender, number)
            packed = PackedRows()
            packed.add(
                partition.label,
                MAIL,
                seal(Address(self._deployment, partition.sender, partition.site, number), body),
            )
            yield packed.take()

    def commit(self, end: dict[str, int]) -> None:
        """Mail up to here will not be asked for again."""
        for way, until in end.items():
            if way:
                site, sender = way.split("/", 1)
                self._mailbox.discard(site, sender, until)


def _is_end(way: str) -> bool:
    return way.endswith(f"/{CONTROL_SENDER}")
