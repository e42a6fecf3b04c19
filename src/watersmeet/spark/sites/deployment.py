"""A join between sites at work: all sites in one Spark application, or each in an application of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from watersmeet.errors import InvalidQuery, StillRunning, choices
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery, parse_duration
from watersmeet.spark.dataframe import result_columns_of, result_schema
from watersmeet.spark.finish import all_read, deadline, wait_until
from watersmeet.spark.settings import refuse_large_types, refuse_unsafe_settings
from watersmeet.spark.mail.source import FORMAT, MailSource, has_ends, knock, read_mail_offset
from watersmeet.spark.mail.mailbox import CONTROL, Address, FolderMailbox
from watersmeet.spark.sites.pairing import pair
from watersmeet.spark.sites.processor import MAILED, OUTPUT_SCHEMA, RESULTS, STATUS
from watersmeet.spark.sites.results import POSTED_SCHEMA
from watersmeet.spark.sites.ship import pack_function, post_function, site_processor, unpack_function
from watersmeet.spark.sites.sink import Sink, refuse_unusable_sink, write_batch
from watersmeet.spark.sites.sources import prepared_source
from watersmeet.spark.sites.status import LinkStatus, SiteStatus, keep_status, last_status, read_status
from watersmeet.spark.sites.task import SiteTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

# Mail up to this size is fetched together with the books of the batch, larger mail is posted by the workers.
_SMALL = 1 << 20


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
    status: dict[str, SiteStatus]

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
        return all(status.ended for status in self.status.values())

    def finish(self, timeout: float | None = None, *, drain: bool = True) -> None:
        """Say that the streams of these sites have ended, and wait until all results are out.

        What the sources have now is read first. Should that fail, or take too long, then nothing has ended:
        call it again, if need be after another start with the same checkpoint. With sites in other
        applications this waits for those too.

        Args:
            timeout: Give up after so many seconds.
            drain: Whether to read first what the sources have. Without it the streams end now, and rows that
                were not read yet count as late: for sources that never fall silent.

        Raises:
            watersmeet.spark.session.SparkFailed: The query failed, or was stopped.
            watersmeet.errors.StillRunning: Not all was read, or not all results are out, in time.
        """
        until = deadline(timeout)
        if not self.ended:
            if drain:
                self._read_what_is_there(until)
            mailbox = FolderMailbox(self.task.mailbox)
            for site in self.sites:
                streams = list(self.task.wiring.streams_at(site))
                # Always the first and only word of control: said twice, it is read once.
                address = Address(self.task.deployment, CONTROL, site, 0)
                mailbox.post(address, json.dumps({"end": streams}).encode())
        self._wait(until)

    def _read_what_is_there(self, until: float | None) -> None:
        """Let the sources be read up to where they are now."""
        read = all_read(self.query, lambda offset: read_mail_offset(offset) is None)
        wait_until(
            self.query,
            until,
            lambda: self._told or read(),
            StillRunning(
                "the sources have not been read in time",
                "nothing has ended, and the query goes on reading.",
                "give it longer; if the streams never fall silent, finish(drain=False) ends them now.",
            ),
            # Without anything new there would be no batch to tell that there is nothing new.
            ask=lambda: knock(self.task.mailbox, self.sites),
        )

    @property
    def _told(self) -> bool:
        """Whether the streams have ended already, by an earlier call: what comes now is late anyway."""
        last = self.query.lastProgress
        read = [] if last is None else [read_mail_offset(source.endOffset) for source in last.sources]
        return any(mail is not None and has_ends(mail, self.sites) for mail in read)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until these sites have ended, then stop.

        Raises:
            watersmeet.spark.session.SparkFailed: The query failed, or was stopped.
            watersmeet.errors.StillRunning: They have not ended in time.
        """
        self._wait(deadline(timeout))

    def _wait(self, until: float | None) -> None:
        too_late = StillRunning(
            f"the sites {choices(self.sites)} have not ended in time",
            "their streams, or those of sites they hear from, go on.",
            "wait longer, and see to it that all sites run and that finish is called at each.",
        )
        wait_until(self.query, until, lambda: self.ended, too_late)
        self.stop()

    def stop(self) -> None:
        """Stop; started again with the same checkpoint and mailbox, everything goes on."""
        self.query.stop()


def deploy(
    query: JoinQuery,
    wiring: Wiring,
    sink: Sink,
    *,
    mailbox: str | Path,
    checkpoint: str | Path,
    site: str | None = None,
    name: str | None = None,
    trigger: str | None = None,
) -> Deployment:
    """Start a join between sites, wired as given; the other arguments are those of `Query.deploy`."""
    if site is not None and wiring.sliced:
        raise InvalidQuery(
            "a slice cannot run in an application of its own",
            "which slice stores a row depends on the batch it comes in, so all need the same batches.",
            "leave site= out, or --site in a command: all slices run in one application.",
        )
    if site is not None and site not in wiring.sites:
        raise InvalidQuery(f'there is no site "{site}"', f"the sites are {choices(wiring.sites)}.")
    here = wiring.sites if site is None else (site,)
    refuse_unusable_sink(sink)
    every = None if trigger is None else _interval(trigger)
    folder = _folder(mailbox)
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
    task = SiteTask.of(query, wiring, [source.schema for source in sources], folder)
    pair(str(checkpoint), folder, here)
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
    for number, source in enumerate(sources):
        sites = tuple(one for one in here if number in wiring.streams_at(one))
        if sites:
            packed.append(source.mapInArrow(pack_function(task, number, sites), mail.schema))
    output = (
        reduce(lambda left, right: left.unionAll(right), packed)
        .groupBy("label")
        .transformWithStateInPandas(site_processor(task), OUTPUT_SCHEMA, "append", "none")
    )
    status = last_status(task, here)
    closing = _Closing(query, task, sink, "all" if site is None else site, status)
    writer = output.writeStream.foreachBatch(closing).option("checkpointLocation", str(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if every is not None:
        writer = writer.trigger(processingTime=f"{every // timedelta(milliseconds=1)} milliseconds")
    return Deployment(writer.start(), here, task, status)


def _folder(mailbox: str | Path) -> str:
    """Where mail goes."""
    if "://" in str(mailbox):
        raise InvalidQuery(
            "the mailbox is not a folder",
            f"it is {mailbox}.",
            "give a folder that is mounted at all sites.",
        )
    folder = Path(mailbox).absolute()
    if folder.exists() and not folder.is_dir():
        raise InvalidQuery("the mailbox is not a folder", f"{folder} is a file.", "name a folder.")
    return str(folder)


def _interval(trigger: str) -> timedelta:
    try:
        every = parse_duration(trigger)
    except ValueError as error:
        raise InvalidQuery(
            "trigger is not a duration", f"{error}.", 'write for example "1 second".'
        ) from None
    if every <= timedelta(0):
        raise InvalidQuery("trigger is not above zero", f"it is {trigger}.", 'write for example "1 second".')
    return every


class _Closing:
    """What is done with the output of every batch."""

    def __init__(
        self, query: JoinQuery, task: SiteTask, sink: Sink, writer: str, status: dict[str, SiteStatus]
    ) -> None:
        self._query, self._task, self._sink, self._writer = query, task, sink, writer
        self.status = status

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
                    said = json.loads(row.blob)
                    keep_status(self._task, row.site, said)
                    self.status[row.site] = read_status(self._query, self._task, row.site, said)
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
        schema = result_schema(self._query)
        results = output.filter(F.col("kind") == RESULTS).mapInArrow(unpack_function(self._task), schema)
        for rest in self._query.afterwards:
            results = results.filter(F.expr(rest.text))
        return results.select(*result_columns_of(self._query))
