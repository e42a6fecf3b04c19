"""What has come for a bucket in one batch: packed rows by input, mail by sender, streams that have ended."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from watersmeet.spark.host.handover import in_order
from watersmeet.spark.mail.mailbox import CONTROL_SENDER, unseal

if TYPE_CHECKING:
    import pandas as pd

# Inputs that are no streams: ticks and end markers, mail, rows that were set aside, what packers tell of hot
# rows.
CONTROL, MAIL, ASIDE, SENT = -1, -2, -3, -4


@dataclass
class Arrivals:
    """All of a batch.

    Attributes:
        blobs: Packed rows by input; those of hot keys by the number under which they travel.
        mail: By sender the bodies of its mail, by number.
        ended: The streams that have ended.
        aside: Packed rows that were set aside.
        sent: What packers tell of rows of hot keys.
    """

    blobs: dict[int, list[Any]] = field(default_factory=dict)
    mail: dict[str, dict[int, bytes]] = field(default_factory=lambda: defaultdict(dict))
    ended: set[int] = field(default_factory=set)
    aside: list[Any] = field(default_factory=list)
    sent: list[bytes] = field(default_factory=list)

    @classmethod
    def of_frames(cls, frames: Iterator[pd.DataFrame]) -> Arrivals:
        """As a stateful operator gets it.

        Blobs come in the order in which they were fetched. In one of their own, a batch that is run again
        does the same again.

        Raises:
            RowsGone: Rows that were left in a file are not there any more.
        """
        arrived = cls.of(
            (int(number), blob)
            for frame in frames
            for number, blob in zip(frame["input"], frame["blob"], strict=True)
        )
        return replace(arrived, blobs={number: in_order(some) for number, some in arrived.blobs.items()})

    @classmethod
    def of(cls, rows: Iterable[tuple[int, Any]]) -> Arrivals:
        """Inputs with what came for them; signs of life carry nothing."""
        arrived = cls()
        for number, blob in rows:
            if blob is None:
                continue
            if number == CONTROL:
                arrived.ended.update(json.loads(bytes(blob))["ended"])
            elif number == MAIL:
                arrived._add_mail(bytes(blob))
            elif number == ASIDE:
                arrived.aside.append(blob)
            elif number == SENT:
                arrived.sent.append(bytes(blob))
            else:
                arrived.blobs.setdefault(number, []).append(blob)
        arrived.blobs = dict(sorted(arrived.blobs.items()))
        return arrived

    def _add_mail(self, mail: bytes) -> None:
        address, body = unseal(mail, "that has come")
        if address.sender == CONTROL_SENDER:
            self.ended.update(json.loads(body)["end"])
        else:
            self.mail[address.sender][address.number] = body
