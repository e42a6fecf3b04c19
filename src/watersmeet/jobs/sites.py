"""Running a job that is deployed: between sites, all of them here or one, or over slices of its windows."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from watersmeet.jobs.job import AVAILABLE_NOW, Job
from watersmeet.spark.endpoints import Endpoint
from watersmeet.spark.query import Query
from watersmeet.spark.session import SparkFailed, essence
from watersmeet.terminal.interrupts import Interrupts
from watersmeet.terminal.table import plain_table

if TYPE_CHECKING:
    from watersmeet.spark.sites.deployment import Deployment

_POLL_SECONDS = 0.1


def run_sites(
    job: Job,
    query: Query,
    sink: Endpoint | Callable[[Any, int], None],
    console: Console,
    interrupted: Interrupts,
    site: str | None,
) -> None:
    """Run the sites of a job until it ends.

    With the trigger "available now" the streams end where their sources end now, and the job when all sites
    have come to the end; those that run elsewhere are waited for.
    """
    assert job.mailbox is not None, "a job that is deployed has a mailbox"
    assert job.checkpoint is not None, "and a checkpoint"
    here = "all" if site is None else site
    to_the_end = job.trigger == AVAILABLE_NOW
    started = time.monotonic()
    deployment = query.deploy(
        sink,
        mailbox=job.mailbox,
        checkpoint=f"{job.checkpoint.rstrip('/')}/{here}",
        site=site,
        name=f"{job.name} at {here}",
        trigger=None if to_the_end else job.trigger,
    )
    try:
        with _shown(deployment, console):
            if to_the_end:
                _until(_finishing(deployment), deployment, console, interrupted)
            else:
                _until(lambda: not deployment.query.isActive, deployment, console, interrupted)
    finally:
        deployment.stop()
    if error := deployment.query.exception():
        raise SparkFailed("the query failed", essence(str(error)))
    arrived = [status.rows for status in deployment.status.values()]
    # Every slice sees all rows of a stream.
    rows = sum(max(one.get(name, 0) for one in arrived) for name in query.query.names)
    results = sum(status.results for status in deployment.status.values())
    console.print(_table(deployment))
    console.print(Text(f"{results:,} results from {rows:,} rows in {time.monotonic() - started:.1f} s"))


def _finishing(deployment: Deployment) -> Callable[[], bool]:
    """End the streams beside, since it waits; tells whether that is over, and raises what went wrong."""
    ended: Future[None] = Future()

    def finish() -> None:
        try:
            deployment.finish()
            ended.set_result(None)
        except Exception as error:  # noqa: BLE001 - raised where somebody waits for it
            ended.set_exception(error)

    threading.Thread(target=finish, daemon=True).start()
    return lambda: ended.done() and ended.result() is None


def _until(
    over: Callable[[], bool], deployment: Deployment, console: Console, interrupted: Interrupts
) -> None:
    told = ""
    while not over():
        interrupted.check()
        time.sleep(_POLL_SECONDS)
        line = _line(deployment)
        if line != told and not console.is_terminal:
            console.print(line, soft_wrap=True)
        told = line


def _line(deployment: Deployment) -> str:
    """All sites in a line, where there is no moving picture."""
    return "; ".join(
        f"{site}: {sum(status.rows.values()):,} rows, {status.results:,} results, "
        f"{sum(sent.bytes for sent in status.sent.values()):,} bytes sent"
        for site, status in sorted(deployment.status.items())
    )


@contextlib.contextmanager
def _shown(deployment: Deployment, console: Console) -> Iterator[None]:
    if not console.is_terminal:
        yield
        return
    view = partial(_table, deployment)
    with Live(console=console, get_renderable=view, refresh_per_second=4, transient=True):
        yield


def _table(deployment: Deployment) -> Table:
    table: Table = plain_table()
    for name in ("site", "rows", "late", "held", "results", "sends to", "mail", "rows sent", "bytes"):
        table.add_column(name, justify="left" if name in ("site", "sends to") else "right")
    for site, status in sorted(deployment.status.items()):
        totals = [sum(status.rows.values()), sum(status.late.values()), status.held, status.results]
        own: list[str | int] = [site, *totals]
        links: list[list[str | int]] = [
            [receiver, sent.messages, sent.rows, sent.bytes] for receiver, sent in sorted(status.sent.items())
        ]
        nothing: list[str | int] = [""] * 4
        for number, link in enumerate(links or [nothing]):
            cells = [*(own if number == 0 else [""] * len(own)), *link]
            table.add_row(*[f"{cell:,}" if isinstance(cell, int) else cell for cell in cells])
    return table
