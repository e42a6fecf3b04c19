"""Posting mail: small mail by the driver, large mail by the workers that have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from watersmeet.spark.host.ship import worker_function
from watersmeet.spark.mail.mailbox import Address, Mailbox, open_mailbox

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Mail up to this size is fetched together with the books of the batch, larger mail is posted by the workers.
SMALL = 1 << 20


def post_mail(mailbox: Mailbox, deployment: str, rows: list[Any], large: DataFrame) -> None:
    """Post the mail of a batch.

    Args:
        mailbox: Where to.
        deployment: Which query and plan it belongs to.
        rows: The mail, with bodies that are small.
        large: The mail whose bodies are not, as it left the operator.
    """
    # Mail appears in the order of its numbers: who reads it takes a gap for a loss.
    first_large: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.body is None:
            way = row.sender, row.receiver
            first_large[way] = min(row.number, first_large.get(way, row.number))

    def post_small(*, after: bool) -> None:
        for row in sorted(rows, key=lambda row: row.number):
            follows = row.number > first_large.get((row.sender, row.receiver), row.number)
            if row.body is not None and follows == after:
                mailbox.post(Address(deployment, row.sender, row.receiver, row.number), bytes(row.body))

    post_small(after=False)
    if first_large:
        post = worker_function("watersmeet.spark.mail.post", "post_batches", mailbox.address, deployment)
        large.mapInArrow(post, "bytes bigint").collect()
        post_small(after=True)


def post_batches(
    address: str, deployment: str, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Post mail where it was written; how many bytes that were comes back."""
    mailbox = open_mailbox(address)
    for batch in batches:
        sizes = [
            mailbox.post(Address(deployment, row["sender"], row["receiver"], row["number"]), row["body"])
            for row in batch.to_pylist()
        ]
        yield pa.record_batch([pa.array(sizes, pa.int64())], ["bytes"])
