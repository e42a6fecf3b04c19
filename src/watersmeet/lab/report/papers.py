"""The papers in the order in which they were published, and where their algorithms run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """One paper in the report.

    Attributes:
        name: Its folder in `lab/` and in `docs/experiments`.
        authors: Who wrote it, and when.
        about: What it is about.
        simulated: What of its experiments is computed or simulated here.
        on_spark: What of it runs on Spark.
    """

    name: str
    authors: str
    about: str
    simulated: str
    on_spark: str


PARTS = (
    Part(
        "golab",
        "Golab and Özsu 2003",
        "Joins of many windows: when to look, in which order, with which index",
        "The algorithms themselves, one row at a time, with every comparison counted; the cost formulas "
        "beside them.",
        "The order of visits and its cost model: every keyed join is planned by them, and changes its "
        "order by them "
        "while it runs (benchmarks keyed and adaptive).",
    ),
    Part(
        "rpj",
        "Tao et al. 2005",
        "Joins larger than memory that have many results early",
        "All algorithms with the code that runs on Spark, over simulated pages, disks and networks.",
        "RPJ, XJoin and HMJ over real files in limited memory (benchmark progressive).",
    ),
    Part(
        "pmjoin",
        "Zhou et al. 2006",
        "Where in a network joins are placed, with a plan per group of values",
        "Plans by the cost model, some of them run in a simulated network with real packets.",
        "Example 1 as an application with sites and a mailbox (benchmark sites).",
    ),
    Part(
        "psp",
        "Wang and Rundensteiner 2009",
        "Joins on any condition, on a ring of nodes that share windows out by age",
        "The ring and what it is compared with on simulated machines with clocks, queues and links.",
        "Slices of windows in buckets instead of a ring, on one core and two (benchmark generic).",
    ),
    Part(
        "semijoin",
        "Tran and Lee 2010",
        "Joins between sites that send keys first, and rows only where they meet",
        "The six algorithms in a simulated network, and the cost formulas beside them.",
        "Three sites that exchange messages through a mailbox (benchmark sites).",
    ),
)
