"""The five joins, each said twice: to Watersmeet, and to DuckDB in SQL written by hand.

The SQL knows nothing of windows or plans. It spells out what a result is, with times as integers, so that a
mistake in how we derive windows from conditions, or conditions from windows, cannot be in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import watersmeet as wm
from watersmeet.errors import InvalidQuery, choices
from watersmeet_lab.real.datasets import CLUSTER, FLIGHTS, WEBLOG, Dataset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class RealQuery:
    """A join with a known answer.

    Attributes:
        name: What the papers' queries of this kind are called in the project.
        joins: What it looks for.
        dataset: Where its streams come from.
        known: The number of its results.
        answer: The same in DuckDB, column by column; the last column is the result time in microseconds.
        windows: The window of each stream; None where the conditions bound it.
        on: The conditions, for `wm.join`.
        select: The columns, for `wm.join`.
        sql: The whole query, for `wm.sql`, instead of the three before.
    """

    name: str
    joins: str
    dataset: Dataset
    known: int
    answer: str
    windows: Mapping[str, str | None] = field(default_factory=dict)
    on: str | tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    sql: str | None = None

    def over(self, rows: Mapping[str, DataFrame]) -> wm.Query:
        """The query on these streams."""
        if self.sql is not None:
            return wm.sql(self.sql, rows)
        streams = [
            wm.stream(name, rows[name], time="ts", window=window) for name, window in self.windows.items()
        ]
        on = self.on if isinstance(self.on, str) else list(self.on)
        return wm.join(*streams, on=on, select=self.select)


def chosen_queries(names: str | None) -> tuple[RealQuery, ...]:
    """The queries of a list such as ``"G2,F1"``, in our order; all of them for None.

    >>> [query.name for query in chosen_queries("f1, G2")]
    ['G2', 'F1']
    """
    if names is None:
        return QUERIES
    wanted = {name.strip().upper() for name in names.split(",")}
    known = [query.name for query in QUERIES]
    for name in sorted(wanted.difference(known)):
        raise InvalidQuery(f'there is no query "{name}"', "", f"the queries are {choices(known)}.")
    return tuple(query for query in QUERIES if query.name in wanted)


QUERIES = (
    RealQuery(
        "G1",
        "a task submitted, scheduled, failed",
        CLUSTER,
        26_462,
        """
        SELECT a.id, b.id, f.id, f.job, f.task, f.us
        FROM submitted a, scheduled b, failed f
        WHERE a.job = b.job AND a.task = b.task AND b.job = f.job AND b.task = f.task
          AND b.us BETWEEN a.us AND a.us + 60000000
          AND f.us BETWEEN b.us AND b.us + 300000000
        """,
        windows={"submitted": None, "scheduled": None, "failed": None},
        on=(
            "job",
            "task",
            "scheduled.ts BETWEEN submitted.ts AND submitted.ts + INTERVAL 60 SECONDS",
            "failed.ts BETWEEN scheduled.ts AND scheduled.ts + INTERVAL 300 SECONDS",
        ),
        select=("submitted.id", "scheduled.id", "failed.id", "failed.job", "failed.task"),
    ),
    RealQuery(
        "G2",
        "a task evicted for another, its job, and again",
        CLUSTER,
        51_424,
        """
        SELECT e.id, s.id, j.id, r.id, e.machine, s.priority, j.job, r.task, greatest(s.us, r.us)
        FROM evicted e, scheduled s, jobs j, submitted r
        WHERE e.machine = s.machine AND s.us BETWEEN e.us AND e.us + 1000000 AND s.priority > e.priority
          AND j.job = s.job AND j.us BETWEEN s.us - 600000000 AND s.us
          AND r.job = e.job AND r.task = e.task AND r.us BETWEEN e.us AND e.us + 5000000
        """,
        windows={"evicted": None, "scheduled": None, "jobs": None, "submitted": None},
        on=(
            "evicted.machine = scheduled.machine",
            "scheduled.ts BETWEEN evicted.ts AND evicted.ts + INTERVAL 1 SECOND",
            "scheduled.priority > evicted.priority",
            "jobs.job = scheduled.job",
            "jobs.ts BETWEEN scheduled.ts - INTERVAL 600 SECONDS AND scheduled.ts",
            "submitted.job = evicted.job AND submitted.task = evicted.task",
            "submitted.ts BETWEEN evicted.ts AND evicted.ts + INTERVAL 5 SECONDS",
        ),
        select=(
            "evicted.id",
            "scheduled.id",
            "jobs.id",
            "submitted.id",
            "evicted.machine",
            "scheduled.priority",
            "jobs.job",
            "submitted.task",
        ),
    ),
    RealQuery(
        "F1",
        "flights to one place from three airports",
        FLIGHTS,
        19_233,
        """
        SELECT e.id, j.id, l.id, e.dest, j.carrier, l.delay, greatest(e.us, j.us, l.us)
        FROM ewr e
        JOIN jfk j ON e.dest = j.dest AND e.us BETWEEN j.us - 1800000000 AND j.us + 1800000000
        JOIN lga l ON e.dest = l.dest
          AND greatest(e.us, j.us, l.us) - least(e.us, j.us, l.us) <= 1800000000
        """,
        windows=dict.fromkeys(("ewr", "jfk", "lga"), "30 minutes"),
        on="dest",
        select=("ewr.id", "jfk.id", "lga.id", "ewr.dest", "jfk.carrier", "lga.delay"),
    ),
    RealQuery(
        "F2",
        "late flights of one carrier in bad weather",
        FLIGHTS,
        167,
        """
        WITH late AS (
          SELECT e.id AS e, j.id AS j, l.id AS l, e.carrier, l.delay, greatest(e.us, j.us, l.us) AS last
          FROM (FROM ewr WHERE delay >= 60) e
          JOIN (FROM jfk WHERE delay >= 60) j
            ON e.carrier = j.carrier AND e.us BETWEEN j.us - 1800000000 AND j.us + 1800000000
          JOIN (FROM lga WHERE delay >= 60) l
            ON e.carrier = l.carrier
           AND greatest(e.us, j.us, l.us) - least(e.us, j.us, l.us) <= 1800000000
        )
        SELECT e, j, l, w.id, carrier, delay, visib, precip, last
        FROM late, weather w
        WHERE (visib < 3 OR precip > 0) AND w.us BETWEEN last - 3600000000 AND last
        """,
        sql="""
        SELECT e.id AS e, j.id AS j, l.id AS l, w.id AS w, e.carrier, l.delay, w.visib, w.precip, result_time
        FROM ewr [RANGE 30 MINUTES] e, jfk [RANGE 30 MINUTES] j, lga [RANGE 30 MINUTES] l,
             weather [RANGE 60 MINUTES] w
        WHERE e.carrier = j.carrier AND j.carrier = l.carrier
          AND e.delay >= 60 AND j.delay >= 60 AND l.delay >= 60
          AND (w.visib < 3 OR w.precip > 0)
          AND w.ts <= greatest(e.ts, j.ts, l.ts)
        """,
    ),
    RealQuery(
        "N1",
        "a host that visits three parts of a site",
        WEBLOG,
        4_001,
        """
        SELECT a.id, c.id, m.id, a.host, a.url, c.url, m.url, greatest(a.us, c.us, m.us)
        FROM apollo a, countdown c, missions m
        WHERE a.host = c.host AND c.host = m.host
          AND greatest(a.us, c.us, m.us) - least(a.us, c.us, m.us) <= 600000000
        """,
        windows=dict.fromkeys(("apollo", "countdown", "missions"), "10 minutes"),
        on="host",
        select=(
            "apollo.id",
            "countdown.id",
            "missions.id",
            "apollo.host",
            "apollo.url",
            "countdown.url",
            "missions.url",
        ),
    ),
)
