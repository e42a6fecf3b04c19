"""The experiments of Golab & Özsu 2003 in the order of the paper."""

from __future__ import annotations

from functools import partial

from watersmeet_lab.golab.budgets import budgets
from watersmeet_lab.golab.intervals import intervals
from watersmeet_lab.golab.laziness import laziness
from watersmeet_lab.golab.loops import loops
from watersmeet_lab.golab.scaling import scaling
from watersmeet_lab.golab.setting import FULL, QUICK
from watersmeet_lab.golab.tables import tables
from watersmeet_lab.golab.validation import validation
from watersmeet_lab.papers.bench import Options, Paper, Step

_INTRODUCTION = """\
Golab, L. and Özsu, M. T.: Processing sliding window multi-joins in continuous queries over data streams.
VLDB 2003, in the longer form of a technical report. Several windows are joined in nested loops or with hash
buckets, at every arrival (eager) or every so often (lazy); a cost model counts comparisons, and heuristics
choose the order of the loops.

The paper's figures are of two kinds. Figs. 2 and 3 and Tables 5 to 7 come from its formulas: they are
computed again, and beside them stands what was counted when rows were drawn as in its Sect. 6.1. Table 8 and
Fig. 4 were measured in Java on a processor of 1.2 GHz. Here comparisons and visits of buckets are counted,
and each has a price; no clock is read, so figures are the same on any machine. What the paper leaves open,
and what was chosen, stands in the sections. Where it says "large" or "about" without a figure, the limit is
ours, and so are the explanations of differences. Everything random begins with seed {seed}."""


def paper(options: Options) -> Paper:
    """All experiments; `full` counts longer, ten times."""
    size, seed = (FULL if options.full else QUICK), options.seed
    return Paper(
        "Nested loops and hash buckets over sliding windows",
        _INTRODUCTION.format(seed=seed),
        "watersmeet-lab golab",
        (
            Step("Tables 2 and 3, the loops themselves", partial(loops, size, seed)),
            Step("Fig. 2, number of windows", partial(scaling, size, seed)),
            Step("Fig. 3, time between two runs", partial(laziness, size, seed)),
            Step("Tables 5, 6 and 7, plans and heuristics", partial(tables, size, seed)),
            Step("Table 8, best and worst plan", partial(validation, size, seed)),
            Step("Fig. 4(a), interval and buckets", partial(intervals, size, seed)),
            Step("Fig. 4(b), buckets for a fast stream", partial(budgets, size, seed)),
        ),
    )
