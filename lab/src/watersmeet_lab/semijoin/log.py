"""A web server's log as four streams, the way Tran & Lee 2010 used theirs (Sect. 5.3.2, "Real dataset").

The paper took four days of the log of the World Cup of 1998, one stream for each day, and joined them on the
client. We have a day of NASA's log, so a stream is a quarter of the time it spans. Its four quarters are
replayed side by side, fast enough to have the paper's rates on average. A busy quarter stays a busy one.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from watersmeet.cost.site import SiteStream
from watersmeet.errors import WatersmeetError

EXTRACT = Path("examples", "weblog")
STREAMS = 4
_SECTIONS = ("apollo", "countdown", "missions")
_NAME = "an extract of NASA's log of 1 August 1995"
_TIME_BYTES = 8
# The mean of the four rates the paper gives.
_RATE = (2370 + 3670 + 3500 + 4200) / 4


class UnreadableLog(WatersmeetError, ValueError):
    """The log is missing, or is no log."""


class Request(NamedTuple):
    """A line of the log: who, when (in seconds), and how many bytes it has as a row."""

    host: str
    time: float
    size: int


@dataclass(frozen=True, slots=True)
class WebLog:
    """Four streams from a log.

    Attributes:
        name: What it is.
        requests: How many lines it has.
        span: Seconds of a quarter, as recorded.
        speedup: How many times as fast it is replayed.
        streams: The quarters; windows are a second long until somebody chooses.
    """

    name: str
    requests: int
    span: float
    speedup: float
    streams: tuple[SiteStream, ...]


def web_log(path: Path | None) -> WebLog:
    """Read a log and measure its quarters.

    Args:
        path: A file with tab-separated values and a heading with `host` and `time`, compressed or not; or a
            folder like the example's. None for the example.
    """
    path = EXTRACT if path is None else path
    try:
        requests = sorted(_extract(path) if path.is_dir() else _file(path), key=lambda request: request.time)
    except (OSError, EOFError, KeyError, ValueError) as error:
        raise UnreadableLog(
            f'"{path}" cannot be read as a web log',
            f"{type(error).__name__}: {error}.",
            "name a tab-separated file whose heading has host and time, or run this in the project's folder.",
        ) from None
    return measured(_NAME if path == EXTRACT else path.name, requests)


def measured(name: str, requests: list[Request]) -> WebLog:
    """Cut requests, in the order of time, into quarters and measure each."""
    if len(requests) < STREAMS:
        raise UnreadableLog(f'"{name}" has too few requests', f"it has {len(requests)}.")
    start, span = requests[0].time, (requests[-1].time - requests[0].time) / STREAMS
    if span == 0:
        raise UnreadableLog(f'"{name}" spans no time', f"all requests are of second {start:g}.")
    quarters: list[list[Request]] = [[] for _ in range(STREAMS)]
    for request in requests:
        quarters[min(STREAMS - 1, int((request.time - start) / span))].append(request)
    if not all(quarters):
        raise UnreadableLog(f'"{name}" has a gap', "there is no request in one of its quarters.")
    speedup = _RATE / (len(requests) / STREAMS / span)
    streams = tuple(
        SiteStream(
            node=node,
            rate=len(quarter) / span * speedup,
            window=1.0,
            distinct=len({request.host for request in quarter}),
            full=sum(request.size for request in quarter) / len(quarter),
            partial=sum(len(request.host) for request in quarter) / len(quarter),
        )
        for node, quarter in enumerate(quarters)
    )
    return WebLog(name, len(requests), span, speedup, streams)


def _file(path: Path) -> Iterator[Request]:
    opened = gzip.open if path.suffix == ".gz" else open
    # Old logs have any byte in them, and a quotation mark is part of a URL.
    with opened(path, "rt", encoding="latin-1") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            size = sum(len(value) for value in row.values() if isinstance(value, str))
            yield Request(row["host"], float(row["time"]), size)


def _extract(folder: Path) -> Iterator[Request]:
    import pyarrow.parquet as pq

    for section in _SECTIONS:
        for row in pq.read_table(folder / section).to_pylist():
            yield Request(
                row["host"], row["ts"].timestamp(), len(row["host"]) + len(row["url"]) + _TIME_BYTES
            )
