"""What sites report after every batch; kept beside their mail, so that a later start knows it at once."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery
from watersmeet.spark.host.metrics import PredicateMetrics
from watersmeet.spark.mail.mailbox import Mailbox

_NOTE = "status"


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """What a site has sent to another so far: mail, rows in it, and bytes as they were written."""

    messages: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteStatus:
    """A site after its last batch.

    Attributes:
        rows: Rows that came, by stream, for which the conditions on this stream alone held; those without a
            key too, those set aside not.
        late: Rows that came too late, by stream.
        aside: Rows without a time, with one too far ahead, or unusable records, by stream.
        results: Results so far.
        sent: What was sent, by receiver.
        held: Rows that are kept so that rows to come can meet them, copies included.
        waiting: Rows that wait: to be put in order, for the window they will look into, for an answer.
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


@dataclass
class StatusBoard:
    """What the sites of an application reported last.

    Attributes:
        query: What is joined.
        wiring: What runs where.
        deployment: Which query and plan it is.
        mailbox: Where reports are kept.
        sites: By site.
        batch: The last batch that reported in this life.
        life: Which start of the application it is.
    """

    query: JoinQuery
    wiring: Wiring
    deployment: str
    mailbox: Mailbox
    sites: dict[str, SiteStatus] = field(default_factory=dict)
    batch: int | None = None
    life: str = field(default_factory=lambda: uuid.uuid4().hex)

    def look_up(self, sites: Iterable[str]) -> None:
        """What some sites reported last, in this life or an earlier one; zeros if they never did."""
        for site in sites:
            said: dict[str, Any] = {}
            kept = json.loads(self.mailbox.note(site, _NOTE) or "{}")
            if kept.get("deployment") == self.deployment:
                said = kept["said"]
                if kept.get("life") == self.life:
                    self.batch = max(kept["batch"], self.batch or 0)
            self.sites[site] = self._read(site, said)

    def report(self, said: dict[str, dict[str, Any]], totals: dict[str, dict[str, int]]) -> None:
        """Keep what sites say after a batch, and what the ledger says about their streams."""
        aside = _added(totals, "null_times", "future_times", "malformed", "tombstones")
        rows = {stream: count - aside.get(stream, 0) for stream, count in totals.get("rows", {}).items()}
        came = {"rows": rows, "aside": aside}
        for site, one in said.items():
            all_said = self._known(site) | one | (came if totals else {})
            self.sites[site] = self._read(site, all_said)
            kept = {"deployment": self.deployment, "life": self.life, "batch": self.batch, "said": all_said}
            self.mailbox.keep_note(site, _NOTE, json.dumps(kept))

    def _known(self, site: str) -> dict[str, Any]:
        """What the ledger said before: it does not speak in every batch."""
        streams = self.query.names
        status = self.sites[site]
        return {
            "rows": {str(streams.index(name)): count for name, count in status.rows.items()},
            "aside": {str(streams.index(name)): count for name, count in status.aside.items()},
        }

    def _read(self, site: str, said: dict[str, Any]) -> SiteStatus:
        """A report as users read it, with all streams of the site and all sites it may send to."""
        own = self.wiring.streams_at(site)
        receivers = [receiver for sender, receiver in self.wiring.links() if sender == site]

        def by_name(what: str) -> dict[str, int]:
            return {self.query.names[s]: said.get(what, {}).get(str(s), 0) for s in own}

        sent = said.get("sent", {})
        return SiteStatus(
            rows=by_name("rows"),
            late=by_name("late"),
            aside=by_name("aside"),
            results=said.get("results", 0),
            sent={receiver: LinkStatus(**sent.get(receiver, {})) for receiver in receivers},
            held=said.get("held", 0),
            waiting=said.get("waiting", 0),
            skipped=said.get("skipped", 0),
            ended=said.get("ended", False),
            predicates={text: PredicateMetrics(**asked) for text, asked in said.get("answers", {}).items()},
        )


def _added(totals: dict[str, dict[str, int]], *kinds: str) -> dict[str, int]:
    streams = {stream for kind in kinds for stream in totals.get(kind, {})}
    return {stream: sum(totals.get(kind, {}).get(stream, 0) for kind in kinds) for stream in streams}
