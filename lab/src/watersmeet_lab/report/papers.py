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
        in_short: What held and what did not, in two sentences.
        simulated: What of its experiments is computed or simulated here.
        on_spark: What of it runs on Spark.
    """

    name: str
    authors: str
    about: str
    in_short: str
    simulated: str
    on_spark: str


PARTS = (
    Part(
        name="golab",
        authors="Golab and Özsu 2003",
        about="Joins of many windows: when to look, in which order, with which index",
        in_short=(
            "The cost formulas, every table of plans and the heuristics come out as printed, and "
            "counted comparisons follow the formulas. What was timed on a prototype of 2003 follows "
            "from comparisons and visits of buckets in part only: eager hash joins were faster there "
            "than any price of a visit allows."
        ),
        simulated=(
            "The algorithms themselves, one row at a time, with every comparison counted; the cost "
            "formulas beside them."
        ),
        on_spark=(
            "The order of visits and its cost model: every keyed join is planned by them, and changes "
            "its order by them while it runs (benchmarks keyed and adaptive)."
        ),
    ),
    Part(
        name="rpj",
        authors="Tao et al. 2005",
        about="Joins larger than memory that have many results early",
        in_short=(
            "The flushing rule is optimal as proved, and RPJ has more results than XJoin and HMJ at "
            "every moment we looked, reliable network or not. Its lead over an unreliable network is "
            "smaller than printed, because the others, given the same silences, catch up as well."
        ),
        simulated=(
            "All algorithms with the code that runs on Spark, over simulated pages, disks and networks."
        ),
        on_spark="RPJ, XJoin and HMJ over real files in limited memory (benchmark progressive).",
    ),
    Part(
        name="pmjoin",
        authors="Zhou et al. 2006",
        about="Where in a network joins are placed, with a plan per group of values",
        in_short=(
            "Both worked examples come out to the last digit but for one slip, and a plan per group of "
            "values pays where distributions differ. The gains of the experiments are smaller here: the"
            " workloads leave much open, and how far distributions differ decides everything."
        ),
        simulated="Plans by the cost model, some of them run in a simulated network with real packets.",
        on_spark="Example 1 as an application with sites and a mailbox (benchmark sites).",
    ),
    Part(
        name="psp",
        authors="Wang and Rundensteiner 2009",
        about="Joins on any condition, on a ring of nodes that share windows out by age",
        in_short=(
            "Nearly all of it holds: no copies, load that moves row by row, latency that falls with "
            "more nodes until the ring is too long, and adaptation that keeps it stable. The price is "
            "the messages, as the paper says."
        ),
        simulated=(
            "The ring and what it is compared with on simulated machines with clocks, queues and links."
        ),
        on_spark="Slices of windows in buckets instead of a ring, on one core and two (benchmark generic).",
    ),
    Part(
        name="semijoin",
        authors="Tran and Lee 2010",
        about="Joins between sites that send keys first, and rows only where they meet",
        in_short=(
            "Which site should do the work, and where the curves cross, is as printed. Two sentences "
            "about which semijoin is better contradict the paper's own formulas, and greedy plans are a"
            " few percent further from the best than printed."
        ),
        simulated="The six algorithms in a simulated network, and the cost formulas beside them.",
        on_spark="Three sites that exchange messages through a mailbox (benchmark sites).",
    ),
)
