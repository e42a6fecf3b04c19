"""A join between sites at work: all sites in one Spark application, or each in an application of its own."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from watersmeet.errors import InvalidQuery, choices
from watersmeet.plan.sites.wiring import MergeSpec, Wiring
from watersmeet.query import JoinQuery
from watersmeet.spark.dataframe import result_columns_of
from watersmeet.spark.settings import refuse_large_types, refuse_unsafe_settings
from watersmeet.spark.sites.mail_source import FORMAT, MailSource
from watersmeet.spark.sites.mailbox import CONTROL, Address, FolderMailbox
from watersmeet.spark.sites.pairing import pair
from watersmeet.spark.sites.processor import MAILED, OUTPUT_SCHEMA, RESULTS, STATUS
from watersmeet.spark.sites.results import POSTED_SCHEMA, result_schema
from watersmeet.spark.sites.ship import pack_function, post_function, site_processor, unpack_function
from watersmeet.spark.sites.sink import Sink, write_batch
from watersmeet.spark.sites.sources import prepared_source
from watersmeet.spark.sites.task import SiteTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

# Mail up to this size is fetched together with the books of the batch, larger mail is posted by the workers.
_SMALL = 1 << 20
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """What a site has sent to another so far: mail, rows in it, and bytes as they were written."""

    messages: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """A site after its last batch.

    Attributes:
        rows: Rows that came, by stream.
        late: Rows that came too late, by stream.
        results: Results so far.
        sent: What was sent, by receiver.
        held: Rows in windows.
        skipped: Mail that had come before and was not read again.
        ended: Whether all streams have ended and all results are out.
    """

    rows: dict[str, int]
    late: dict[str, int]
    results: int
    sent: dict[str, LinkStatus]
    held: int
    skipped: int
    ended: bool


@dataclass
class Deployment:
    """A running join between sites.

    Attributes:
        query: Spark's streaming query.
        sites: The sites that run here.
        status: Per site what it reported last.
    """

    query: StreamingQuery
    sites: tuple[str, ...]
    task: SiteTask
    status: dict[str, SiteStatus] = field(default_factory=dict)

    @property
    def links(self) -> dict[tuple[str, str], LinkStatus]:
        """What was sent from site to site, as far as the senders run here."""
        return {
            (site, receiver): sent
            for site, found in self.status.items()
            for receiver, sent in found.sent.items()
        }

    @property
    def refused(self) -> list[str]:
        """Mail of other deployments, or of older plans, that was set aside."""
        return FolderMailbox(self.task.mailbox).refused()

    @property
    def ended(self) -> bool:
        """Whether all streams have ended and all results of these sites are out."""
        return all(site in self.status and self.status[site].ended for site in self.sites)

    def finish(self, timeout: float | None = None) -> None:
        """Say that the streams of these sites have ended, and wait until all results are out.

        What the sources have now still counts. With sites in other applications this waits for those too.

        Args:
            timeout: Give up after so many seconds.
        """
        self.query.processAllAvailable()
        mailbox = FolderMailbox(self.task.mailbox)
        for site in self.sites:
            sources = [part for part in self.task.wiring.parts if isinstance(part, MergeSpec)]
            body = json.dumps({"end": [s.stream for s in sources if s.site == site and s.stream is not None]})
            # Always the first and only word of control: said twice, it is read once.
            mailbox.post(Address(self.task.deployment, CONTROL, site, 0), body.encode())
        self.wait(timeout)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until these sites have ended, then stop."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.ended:
            if self.query.exception() is not None or not self.query.isActive:
                # Raises what happened.
                self.query.awaitTermination()
                break
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"the sites {choices(self.sites)} have not ended in {timeout:g} s")
            time.sleep(_POLL_SECONDS)
        self.stop()

    def stop(self) -> None:
        """Stop; started again with the same checkpoint and mailbox, everything goes on."""
        self.query.stop()


def deploy(
    query: JoinQuery,
    wiring: Wiring,
    sink: Sink,
    *,
    mailbox: str,
    checkpoint: str,
    site: str | None = None,
    name: str | None = None,
    trigger: str | None = None,
) -> Deployment:
    """Start a join between sites, wired as given; the other arguments are those of `Query.deploy`."""
    if site is not None and site not in wiring.sites:
        raise InvalidQuery(f'there is no site "{site}"', f"the sites are {choices(wiring.sites)}.")
    here = wiring.sites if site is None else (site,)
    for stream in query.streams:
        if not stream.source.isStreaming:
            raise InvalidQuery(
                f'stream "{stream.name}" is a plain DataFrame',
                "a deployment reads streams.",
                "read it with readStream, or join plain DataFrames with to_dataframe().",
            )
    spark = query.streams[0].source.sparkSession
    refuse_unsafe_settings(spark.conf)
    refuse_large_types(spark.conf)
    sources = [prepared_source(query, number) for number in range(len(query.streams))]
    folder = str(Path(mailbox).absolute())
    task = SiteTask.of(query, wiring, [source.schema for source in sources], folder)
    pair(checkpoint, folder, here)
    spark.dataSource.register(MailSource)
    mail = (
        spark.readStream.format(FORMAT)
        .option("mailbox", folder)
        .option("sites", ",".join(here))
        .option("labels", ",".join(str(task.label(one)) for one in here))
        .option("deployment", task.deployment)
        .load()
    )
    packed = [mail]
    for part in wiring.parts:
        if isinstance(part, MergeSpec) and part.stream is not None and part.site in here:
            function = pack_function(task, part.stream, part.site)
            packed.append(sources[part.stream].mapInArrow(function, mail.schema))
    output = (
        reduce(lambda left, right: left.unionAll(right), packed)
        .groupBy("label")
        .transformWithStateInPandas(site_processor(task), OUTPUT_SCHEMA, "append", "none")
    )
    closing = _Closing(query, task, sink, "all" if site is None else site)
    writer = output.writeStream.foreachBatch(closing).option("checkpointLocation", checkpoint)
    if name is not None:
        writer = writer.queryName(name)
    if trigger is not None:
        writer = writer.trigger(processingTime=trigger)
    running = Deployment(writer.start(), here, task)
    closing.status = running.status
    return running


class _Closing:
    """What is done with the output of every batch."""

    def __init__(self, query: JoinQuery, task: SiteTask, sink: Sink, writer: str) -> None:
        self._query, self._task, self._sink, self._writer = query, task, sink, writer
        self.status: dict[str, SiteStatus] = {}

    def __call__(self, output: DataFrame, batch: int) -> None:
        output = output.persist()
        try:
            small = (F.col("kind") != RESULTS) & (F.length("blob") <= _SMALL)
            found = output.select(
                "kind", "site", "receiver", "number", F.when(small, F.col("blob")).alias("blob")
            ).collect()
            self._post(output, [row for row in found if row.kind == MAILED])
            if any(row.kind == RESULTS for row in found):
                write_batch(self._results(output), self._sink, self._writer, batch)
            # After results and mail: who sees that a site has ended finds everything there.
            for row in found:
                if row.kind == STATUS:
                    self.status[row.site] = _status(self._query, json.loads(row.blob))
        finally:
            output.unpersist()

    def _post(self, output: DataFrame, mail: list[Any]) -> None:
        mailbox = FolderMailbox(self._task.mailbox)
        for row in mail:
            if row.blob is not None:
                address = Address(self._task.deployment, row.site, row.receiver, row.number)
                mailbox.post(address, bytes(row.blob))
        if any(row.blob is None for row in mail):
            large = output.filter((F.col("kind") == MAILED) & (F.length("blob") > _SMALL))
            large.mapInArrow(post_function(self._task), POSTED_SCHEMA).collect()

    def _results(self, output: DataFrame) -> DataFrame:
        schema = result_schema(self._query, self._task.result_refs)
        results = output.filter(F.col("kind") == RESULTS).mapInArrow(unpack_function(self._task), schema)
        for rest in self._query.afterwards:
            results = results.filter(F.expr(rest.text))
        return results.select(*result_columns_of(self._query))


def _status(query: JoinQuery, said: dict[str, Any]) -> SiteStatus:
    def by_name(values: dict[str, int]) -> dict[str, int]:
        return {query.names[int(number)]: value for number, value in values.items()}

    sent = {receiver: LinkStatus(**totals) for receiver, totals in said["sent"].items()}
    return SiteStatus(
        by_name(said["rows"]),
        by_name(said["late"]),
        said["results"],
        sent,
        said["held"],
        said["skipped"],
        said["ended"],
    )
