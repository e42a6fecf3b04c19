"""A join between sites at work: all sites in one Spark application, or each in an application of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from watersmeet.errors import InvalidQuery, StillRunning, choices
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery
from watersmeet.query.duration import duration, seconds
from watersmeet.spark.advice import advise
from watersmeet.spark.connect import is_connected
from watersmeet.spark.dataframe import finished, placed, result_schema
from watersmeet.spark.finish import all_read, deadline, wait_until
from watersmeet.spark.host.operator import joined, packed_source
from watersmeet.spark.host.output import MAIL_COLUMN
from watersmeet.spark.listener import listen
from watersmeet.spark.mail.mailbox import CONTROL_SENDER, Address, open_mailbox
from watersmeet.spark.mail.pairing import pair
from watersmeet.spark.mail.post import SMALL, post_mail
from watersmeet.spark.mail.source import FORMAT, MailSource, has_ends, knock, read_mail_offset
from watersmeet.spark.settings import refuse_large_types, refuse_unsafe_settings
from watersmeet.spark.sink import Sink, refuse_unusable_sink, write_batch
from watersmeet.spark.sites.status import LinkStatus, SiteStatus, StatusBoard
from watersmeet.spark.sites.task import prepared_source, site_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass
class Deployment:
    """A running join between sites.

    Attributes:
        query: Spark's streaming query.
        sites: The sites that run here.
        board: What the sites reported last.
        elsewhere: Whether they report in another process, as with Spark Connect: then their notes are read.
    """

    query: StreamingQuery
    sites: tuple[str, ...]
    board: StatusBoard
    elsewhere: bool = False

    @property
    def status(self) -> dict[str, SiteStatus]:
        """Per site what it reported last."""
        if self.elsewhere:
            self.board.look_up(self.sites)
        return self.board.sites

    @property
    def streams(self) -> list[int]:
        """The numbers of the streams that arrive at these sites."""
        return sorted({stream for site in self.sites for stream in self.board.wiring.streams_at(site)})

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
        return self.board.mailbox.refused()

    @property
    def ended(self) -> bool:
        """Whether all streams have ended and all results of these sites are out."""
        return all(status.ended for status in self.status.values())

    def finish(self, timeout: str | float | timedelta | None = None, *, drain: bool = True) -> None:
        """Say that the streams of these sites have ended, and wait until all results are out.

        What the sources have now is read first: until they offer nothing new. A source that holds rows back
        for a while, such as Kafka with minOffsetsPerTrigger, has to have given them out. Should reading fail,
        or take too long, then nothing has ended: call it again, if need be after another start with the same
        checkpoint. With sites in other applications this waits for those too.

        Args:
            timeout: When to give up, as in ``"5 minutes"`` or in seconds; None waits as long as it takes.
            drain: Whether to read first what the sources have. Without it the streams end now, and rows that
                were not read yet count as late: for sources that never fall silent.

        Raises:
            watersmeet.spark.session.SparkFailed: The query failed, or was stopped.
            watersmeet.errors.StillRunning: Not all was read, or not all results are out, in time.
        """
        until = deadline(_limit(timeout))
        if not self.ended:
            if drain:
                self._read_what_is_there(until)
            for site in self.sites:
                streams = list(self.board.wiring.streams_at(site))
                # Always the first and only word of control: said twice, it is read once.
                address = Address(self.board.deployment, CONTROL_SENDER, site, 0)
                self.board.mailbox.post(address, json.dumps({"end": streams}).encode())
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
            ask=lambda: knock(self.board.mailbox, self.sites),
        )

    @property
    def _told(self) -> bool:
        """Whether the streams have ended already, by an earlier call: what comes now is late anyway."""
        last = self.query.lastProgress
        read = [] if last is None else [read_mail_offset(source.endOffset) for source in last.sources]
        return any(mail is not None and has_ends(mail, self.sites) for mail in read)

    def wait(self, timeout: str | float | timedelta | None = None) -> None:
        """Wait until these sites have ended, then stop; `timeout` is as in `finish`.

        Raises:
            watersmeet.spark.session.SparkFailed: The query failed, or was stopped.
            watersmeet.errors.StillRunning: They have not ended in time.
        """
        self._wait(deadline(_limit(timeout)))

    def _wait(self, until: float | None) -> None:
        too_late = StillRunning(
            f"the sites {choices(self.sites)} have not ended in time",
            "their streams, or streams of sites that send to them, have not ended.",
            "wait longer, and see to it that all sites run and that finish is called at each.",
        )
        wait_until(self.query, until, lambda: self.ended and self._committed, too_late)
        self.stop()

    @property
    def _committed(self) -> bool:
        """Whether the last batch that reported is complete: stopped before, it would be run again."""
        reported, last = self.board.batch, self.query.lastProgress
        return reported is None or (last is not None and last.batchId >= reported)

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
    box = open_mailbox(mailbox)
    for stream in query.streams:
        if not stream.source.isStreaming:
            raise InvalidQuery(
                f'stream "{stream.name}" is a plain DataFrame',
                "a deployment reads streams.",
                "read it with readStream, or join plain DataFrames with to_dataframe().",
            )
    spark = query.streams[0].source.sparkSession
    refuse_unsafe_settings(spark.conf, len(here))
    advise(spark, len(here))
    refuse_large_types(spark.conf)
    listen(spark)
    sources = [prepared_source(query, number) for number in range(len(query.streams))]
    task = site_task(query, wiring, [source.schema for source in sources], here)
    task = placed(task, spark)
    pair(str(checkpoint), box, here)
    spark.dataSource.register(MailSource)
    labels = dict(zip(task.buckets, task.labels, strict=True))
    mail = (
        spark.readStream.format(FORMAT)
        .option("mailbox", box.address)
        .option("sites", ",".join(here))
        .option("labels", ",".join(str(labels[one]) for one in here))
        .option("deployment", task.name)
        .load()
    )
    packed = [
        packed_source(source, task, number)
        for number, source in enumerate(sources)
        if task.inputs[number].homes
    ]
    output = joined(task, [mail, *packed], result_schema(query), running=len(here))
    board = StatusBoard(query, wiring, task.name, box)
    board.look_up(here)
    closing = _Closing(board, sink, "all" if site is None else site)
    writer = output.writeStream.foreachBatch(closing).option("checkpointLocation", str(checkpoint))
    if name is not None:
        writer = writer.queryName(name)
    if every is not None:
        writer = writer.trigger(processingTime=f"{every // timedelta(milliseconds=1)} milliseconds")
    return Deployment(writer.start(), here, board, elsewhere=is_connected(spark))


def _limit(timeout: str | float | timedelta | None) -> float | None:
    return None if timeout is None else seconds(timeout, "timeout", InvalidQuery, "5 minutes")


def _interval(trigger: str) -> timedelta:
    every = duration(trigger, "trigger", InvalidQuery, "1 second")
    if every <= timedelta(0):
        raise InvalidQuery("trigger is not above zero", f"it is {trigger}.", 'write for example "1 second".')
    return every


class _Closing:
    """What is done with the output of every batch: mail is posted, results are written, status is kept."""

    def __init__(self, board: StatusBoard, sink: Sink, writer: str) -> None:
        self._board, self._sink, self._writer = board, sink, writer

    def __call__(self, output: DataFrame, batch: int) -> None:
        output = output.persist()
        try:
            mail = F.col(MAIL_COLUMN)
            mailed = output.filter(mail.isNotNull()).select(f"{MAIL_COLUMN}.*")
            small = F.when(F.length("body") <= SMALL, F.col("body"))
            rows = mailed.withColumn("body", small).collect()
            large = mailed.filter(F.length("body") > SMALL)
            sent = [row for row in rows if row.receiver is not None]
            post_mail(self._board.mailbox, self._board.deployment, sent, large)
            said = {row.sender: json.loads(row.body) for row in rows if row.receiver is None}
            if any(one.get("new_results") for one in said.values()):
                results = output.filter(mail.isNull()).drop(MAIL_COLUMN)
                write_batch(finished(self._board.query, results), self._sink, self._writer, batch)
            # After results and mail: who sees that a site has ended finds everything there.
            self._board.batch = batch
            self._board.report(said, said.pop("", {}))
        finally:
            output.unpersist()
