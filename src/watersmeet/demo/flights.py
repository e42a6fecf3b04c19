"""A year of departures from New York's three airports.

The rows come in the order of the schedule; their event time is when the flight left. So they come out of
order by as much as flights were delayed, which is up to a day, and cancelled flights come without a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from importlib.resources import files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from watersmeet.demo.answer import KeyedScenario
from watersmeet.demo.scenario import ROW, Feed, behind_us, times_us

WINDOW = timedelta(minutes=30)
RESULTS = 19_233

# In the year's data no departure is further behind the latest one before it at the same airport than
# 18:55, 21:46 and 15:05 hours. With these a year is joined without losing a row; with less, late rows
# would be dropped and counted.
LATENESS = {"EWR": timedelta(hours=19), "JFK": timedelta(hours=22), "LGA": timedelta(hours=16)}

_BATCHES = 13  # four weeks each
_MINUTE_US = 60_000_000


def departures() -> pa.Table:
    """The committed rows: scheduled, delay, carrier, flight, origin, dest, in order of the schedule."""
    with (files("watersmeet.demo") / "data" / "flights.parquet").open("rb") as file:
        return pq.read_table(file)


def flights() -> KeyedScenario:
    """Departures to one destination within half an hour at all three airports."""
    table = departures()
    feeds = tuple(_feed(table, origin, lateness) for origin, lateness in LATENESS.items())
    behind = np.concatenate([behind_us(times_us(feed.rows, "departed")) for feed in feeds])
    worst = timedelta(microseconds=int(behind.max()))
    story = (
        f"{len(table):,} scheduled departures from Newark (EWR), Kennedy (JFK) and LaGuardia (LGA) in 2013, "
        f"replayed in the order of the schedule. Flights leave late: {(behind > 0).mean():.0%} of the "
        f"departures arrive after a later one, up to {worst // timedelta(hours=1)} h "
        f"{worst.seconds // 60 % 60} min behind it. Which flights left for the same destination within "
        "30 minutes of each other at all three airports?"
    )
    return KeyedScenario(
        title="three airports, one year of departures",
        story=story,
        feeds=feeds,
        key="dest",
        time="departed",
        window=WINDOW,
        batches=_BATCHES,
        known_results=RESULTS,
        headings=("to", *LATENESS, "day"),
        cells=_cells,
        note=", with minutes of delay",
        no_time="cancelled",
    )


def _feed(table: pa.Table, origin: str, lateness: timedelta) -> Feed:
    rows = table.filter(pc.equal(table["origin"], origin)).drop_columns("origin")
    # The schedule is in New York's local time. It is taken as if it were UTC: the clock on the wall is
    # what the data is about, and no flight left in the hour that is skipped or in the one that comes twice.
    scheduled_us = rows["scheduled"].cast(pa.timestamp("us")).cast(pa.int64())
    departed_us = pc.add(scheduled_us, pc.multiply(rows["delay"].cast(pa.int64()), _MINUTE_US))
    rows = rows.drop_columns("scheduled")
    rows = rows.append_column("departed", departed_us.cast(pa.timestamp("us", "UTC")))
    rows = rows.append_column(ROW, pa.array(np.arange(len(rows))))
    return Feed(origin, rows, scheduled_us.to_numpy(), lateness)


def _cells(result: Mapping[str, Any]) -> tuple[str, ...]:
    first = next(iter(result.values()))
    parts = [
        f"{row['carrier']} {row['flight']:<4} {row['departed']:%H:%M} ({row['delay']:+})"
        for row in result.values()
    ]
    return (first["dest"], *parts, f"{first['departed']:%d %b}")
