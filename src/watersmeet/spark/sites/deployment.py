"""A join between sites at work: all sites in one Spark application, or each in an application of its own."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from watersmeet.errors import InvalidQuery, choices
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery
from watersmeet.query.duration import duration
from watersmeet.spark.dataframe import result_columns_of, result_schema
from watersmeet.spark.session import SparkFailed, essence
from watersmeet.spark.settings import refuse_large_types, refuse_unsafe_settings
from watersmeet.spark.sites.mail_source import FORMAT, MailSource
from watersmeet.spark.sites.mailbox import CONTROL, Address, FolderMailbox
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
_POLL_SECONDS = 0.05
# How long sources are waited for that never fall silent.
_PATIENCE_SECONDS = 60.0


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

    def finish(self, timeout: float | None = None) -> None:
        """Say that the streams of these sites have ended, and wait until all results are out.

        What the sources have now still counts. A source that never falls silent is ended after a while,
        half of the timeout or a minute; rows that come later count as late. With sites in other
        applications this waits for those too.

        Args:
            timeout: Give up after so many seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self.ended:
            self._read_what_is_there(_PATIENCE_SECONDS if timeout is None else timeout / 2)
            mailbox = FolderMailbox(self.task.mailbox)
            for site in self.sites:
                streams = list(self.task.wiring.streams_at(site))
                # Always the first and only word of control: said twice, it is read once.
                address = Address(self.task.deployment, CONTROL, site, 0)
                mailbox.post(address, json.dumps({"end": streams}).encode())
        self.wait(None if deadline is None else deadline - time.monotonic())

    def _read_what_is_there(self, patience: float) -> None:
        """Let the sources be read up to where they are now; one that never falls silent is not waited for."""

        def read() -> None:
            # What went wrong is found by who waits for the end.
            with contextlib.suppress(Exception):
                self.query.processAllAvailable()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        thread.join(patience)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until these sites have ended, then stop.

        Raises:
            watersmeet.spark.session.SparkFailed: The query failed, or was stopped.
            TimeoutError: They have not ended in time.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self.ended:
            if not self.query.isActive:
                error = self.query.exception()
                raise SparkFailed(
                    "the join between sites failed" if error else "the join between sites was stopped",
                    essence(str(error)) if error else "not all streams have ended.",
                )
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
    mailbox: str | Path,
    checkpoint: str | Path,
    site: str | None = None,
    name: str | None = None,
    trigger: str | None = None,
) -> Deployment:
    """Start a join between sites, wired as given; the other arguments are those of `Query.deploy`."""
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
    every = duration(trigger, "trigger", InvalidQuery, "1 second")
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
