"""The experiments of Tran & Lee 2010 in the order of the paper."""

from __future__ import annotations

from functools import partial

from watersmeet_lab.papers.bench import Options, Paper, Step
from watersmeet_lab.papers.draws import Draws
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.semijoin.alike import streams_alike
from watersmeet_lab.semijoin.log import web_log
from watersmeet_lab.semijoin.one_way_claims import one_way_joins
from watersmeet_lab.semijoin.plans import Ratios, figure_8, ratios_of_plans, table_3
from watersmeet_lab.semijoin.real import real_streams
from watersmeet_lab.semijoin.simulated import Simulated

# The paper's size, which takes a few seconds.
QUERIES = 100
DRAWS = 5

_INTRODUCTION = """\
Tran, T. M. and Lee, B. S.: Distributed stream join query processing with semijoins. Distributed and
Parallel Databases 27 (2010). Streams arrive at different sites; keys can be sent ahead so that only rows
with a partner travel.

The figures here are those of the paper's cost formulas, with the slips of the printed ones mended, and for
one-way joins also measured in the simulator. The paper measured a prototype. Where it says "close" or
"constant" without a figure, the limit is ours, and so are the explanations of differences. Everything
random begins with seed {seed}."""


def paper(options: Options, *, queries: int = QUERIES, draws: int = DRAWS) -> Paper:
    """All experiments; `full` changes nothing, they have the paper's sizes anyway."""
    # Read before anything is run: a log that is not there is known at once.
    log = web_log(options.log)
    # Fig. 8 shows the distribution of what Table 3 sums up.
    ratios: list[Draws[Ratios]] = []

    def random_queries(tracker: Tracker) -> Experiment:
        ratios.append(ratios_of_plans(queries, draws, options.seed, tracker))
        return table_3(ratios[-1])

    return Paper(
        "Distributed stream joins with semijoins",
        _INTRODUCTION.format(seed=options.seed),
        "watersmeet-lab semijoin",
        (
            Step("Fig. 7, one-way joins", partial(one_way_joins, Simulated(options.seed))),
            Step("Table 3, random queries", random_queries),
            Step("Fig. 8, distribution of ratios", lambda _: figure_8(ratios[-1])),
            Step("Fig. 9, equal streams", streams_alike),
            Step("Fig. 10, web logs", lambda tracker: real_streams(log, tracker)),
        ),
    )
