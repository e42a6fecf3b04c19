"""A batch at a site: rows and mail come in, results and mail go out."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from watersmeet.errors import DamagedMessage
from watersmeet.kernel.content import content_hashes
from watersmeet.kernel.ipc import from_ipc, to_ipc
from watersmeet.kernel.judge import Asked, judge_of
from watersmeet.kernel.sites.merge import newest
from watersmeet.kernel.sites.node import Addressed, Outcome
from watersmeet.kernel.sites.packet import END, decode, encode, times
from watersmeet.spark.frames import arrow_frame
from watersmeet.spark.sites.mail_source import MAIL
from watersmeet.spark.sites.mailbox import CONTROL, Address, seal
from watersmeet.spark.sites.state import LinkTotals, Site, load, save
from watersmeet.spark.sites.task import SiteTask

if TYPE_CHECKING:
    import pandas as pd

OUTPUT_SCHEMA = "kind string, site string, receiver string, number bigint, blob binary"
RESULTS, MAILED, STATUS = "results", "mail", "status"

# Results leave in blobs of about this many bytes.
_BLOB_BYTES = 1 << 26
# And packets in mail of about this many.
_MAIL_BYTES = 1 << 28


class SiteProcessor:
    """Runs the groups of the stateful operator, one per site."""

    def __init__(self, task: SiteTask, values: Any) -> None:
        """Nothing is loaded yet; `values` is Spark's map state."""
        self._task, self._values = task, values

    def rows(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """All that came for a site in this batch."""
        name = self._task.site(int(key[0]))
        blobs: dict[int, list[bytes]] = defaultdict(list)
        left_out: Counter[tuple[str, int]] = Counter()
        mail: dict[str, dict[int, bytes]] = defaultdict(dict)
        for frame in frames:
            for number, sender, place, blob in zip(
                frame["input"], frame["sender"], frame["number"], frame["blob"], strict=True
            ):
                if number == MAIL:
                    mail[sender][int(place)] = blob
                else:
                    blobs[int(number)].append(blob)
                    left_out.update({(why, int(number)): n for why, n in json.loads(sender).items()})
        site = load(self._values, self._task, name)
        for function in self._task.functions:
            judge_of(function).before = site.books.asked.get(function.text, Asked())
        for (why, stream), count in left_out.items():
            kept = site.books.rows if why == "unusable" else site.books.aside
            kept[stream] = kept.get(stream, 0) + count
        outcome = self._process(site, blobs, mail)
        for function in self._task.functions:
            judge_of(function).take()
            site.books.asked[function.text] = judge_of(function).before
        out = list(self._output(name, site, outcome))
        save(self._values, self._task, name, site)
        yield arrow_frame(pa.concat_batches(out))

    def _process(
        self, site: Site, blobs: dict[int, list[bytes]], mail: dict[str, dict[int, bytes]]
    ) -> Outcome:
        """Everything in an order that does not depend on the order it came in."""
        total = Outcome()
        for stream in sorted(blobs):
            rows = in_order(blobs[stream])
            site.books.rows[stream] = site.books.rows.get(stream, 0) + rows.num_rows
            if rows.num_rows:
                lateness = self._task.query.streams[stream].lateness_us
                watermark = newest(times(rows), lateness, site.node.watermark(stream))
                _add(total, site.node.on_rows(stream, rows, watermark))
        for sender in sorted(mail):
            for number in sorted(mail[sender]):
                _add(total, self._open(site, sender, number, mail[sender][number]))
        return total

    def _open(self, site: Site, sender: str, number: int, body: bytes) -> Outcome:
        expected = site.books.expected.get(sender, 0)
        if number < expected:
            site.books.skipped += 1
            return Outcome()
        if number > expected:
            raise DamagedMessage(
                f'mail {expected} from "{sender}" to "{site.node.site}" is missing',
                f"mail {number} has come.",
                "restore the mailbox, or start anew with an empty one.",
            )
        site.books.expected[sender] = number + 1
        if sender != CONTROL:
            return site.node.on_packets([(int(edge), packet) for edge, packet in decode(body)])
        total = Outcome()
        for stream in json.loads(body)["end"]:
            if stream in site.node.streams:
                _add(total, site.node.on_rows(stream, None, END))
        return total

    def _output(self, name: str, site: Site, outcome: Outcome) -> Iterator[pa.RecordBatch]:
        books = site.books
        for blob, rows in _result_blobs(outcome.results):
            books.results += rows
            yield _row(RESULTS, name, None, rows, blob)
        for receiver in sorted(outcome.messages):
            totals = books.sent.setdefault(receiver, LinkTotals())
            for packets in _in_portions(outcome.messages[receiver]):
                body = encode([(str(edge), packet) for edge, packet in packets])
                address = Address(self._task.deployment, name, receiver, totals.messages)
                yield _row(MAILED, name, receiver, totals.messages, body)
                totals.messages += 1
                totals.rows += _rows(packets)
                totals.bytes += len(seal(address, body))
        status = {
            "ended": site.node.ended,
            "rows": books.rows,
            "late": site.node.late,
            "aside": books.aside,
            "results": books.results,
            "sent": {receiver: asdict(totals) for receiver, totals in books.sent.items()},
            "skipped": books.skipped,
            "held": site.node.held,
            "waiting": site.node.waiting,
            "asked": {text: asdict(asked) for text, asked in books.asked.items()},
        }
        yield _row(STATUS, name, None, 0, json.dumps(status).encode())


def in_order(blobs: list[bytes]) -> pa.RecordBatch:
    """Rows by time and, where times are equal, by content: the same however they came.

    A batch may run twice, and rows may come in another order the second time. Mail of the first run may be
    on its way already, and speaks of rows by their order.
    """
    parts = [from_ipc(blob) for blob in blobs]
    rows = pa.concat_batches(parts) if len(parts) > 1 else parts[0]
    starts = times(rows)
    order = np.argsort(starts, kind="stable")
    if len(starts) and (np.diff(starts[order]) == 0).any():
        order = np.lexsort((content_hashes(rows.columns), starts))
    return rows.take(pa.array(order))


def _add(total: Outcome, more: Outcome) -> None:
    total.results += more.results
    for receiver, packets in more.messages.items():
        total.messages[receiver] += packets


def _rows(packets: list[Addressed]) -> int:
    return sum(packet.rows.num_rows for _, packet in packets if packet.rows is not None)


def _in_portions(packets: list[Addressed]) -> Iterator[list[Addressed]]:
    """Packets in lists that Spark can carry as one value each."""
    portion: list[Addressed] = []
    size = 0
    for edge, packet in packets:
        more = sum(table.nbytes for table in packet.tables.values())
        if portion and size + more > _MAIL_BYTES:
            yield portion
            portion, size = [], 0
        portion.append((edge, packet))
        size += more
    yield portion


def _result_blobs(results: list[pa.RecordBatch]) -> Iterator[tuple[bytes, int]]:
    waiting: list[pa.RecordBatch] = []
    for number, batch in enumerate(results):
        waiting.append(batch)
        if number == len(results) - 1 or sum(some.nbytes for some in waiting) > _BLOB_BYTES:
            yield to_ipc(waiting), sum(some.num_rows for some in waiting)
            waiting = []


def _row(kind: str, site: str, receiver: str | None, number: int, blob: bytes) -> pa.RecordBatch:
    return pa.record_batch(
        [
            pa.array([kind]),
            pa.array([site]),
            pa.array([receiver], pa.string()),
            pa.array([number], pa.int64()),
            pa.array([blob], pa.binary()),
        ],
        ["kind", "site", "receiver", "number", "blob"],
    )
