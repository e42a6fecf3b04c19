"""The experiments of Tao et al. 2005 in the order of the paper."""

from __future__ import annotations

from functools import partial

from watersmeet_lab.papers.bench import Options, Paper, Step
from watersmeet_lab.rpj import reliable, unreliable, variants
from watersmeet_lab.rpj.flushing import flushing
from watersmeet_lab.rpj.left_open import left_open
from watersmeet_lab.rpj.setting import FULL, QUICK, Runs

_INTRODUCTION = """\
Tao, Y., Yiu, M. L., Papadias, D., Hadjieleftheriou, M. and Mamoulis, N.: RPJ: Producing fast join results on
streams through rate-based optimization. SIGMOD 2005. Two relations that do not fit in memory arrive over a
network, and the join should have many results early. RPJ flushes the rows that are least likely to find
partners, and in silences takes the task on disk with most results per second; XJoin and HMJ are what it is
compared with. All three are the same code with other policies.

Rows, memory and disk are simulated: a page takes 10 ms after a move of the arm and 1 ms after the page
before, rows take no time. {size} What the paper leaves open, and what was chosen, stands in the sections. The
paper prints its figures as curves, so trends are compared. Where it says "similar" or "most" without a
figure, the limit is ours, and so are the explanations of differences. Everything random begins with seed
{seed}."""

_SMALLER = """\
Workloads are {smaller} times smaller than the paper's: rows, memory, keys, rows on a page and the time of a
page, so that everything but silences keeps its proportions."""
_AS_LARGE = "Workloads are as large as the paper's."


def paper(options: Options) -> Paper:
    """All experiments; `full` is the paper's size."""
    size = FULL if options.full else QUICK
    runs = Runs(size, options.seed)
    words = _AS_LARGE if size.smaller == 1 else _SMALLER.format(smaller=size.smaller)
    return Paper(
        "Joins in bounded memory",
        _INTRODUCTION.format(size=words, seed=options.seed),
        "watersmeet-lab rpj",
        (
            Step("Sect. 4.1 and 4.3, flushing policies", flushing),
            Step("Fig. 8, reliable network, results", partial(reliable.progress, runs)),
            Step("Fig. 9, reliable network, cost per result", partial(reliable.cost, runs)),
            Step("Fig. 10, unreliable network, results", partial(unreliable.progress, runs)),
            Step("Fig. 11, variants of RPJ, results", partial(variants.progress, runs)),
            Step("Fig. 12, variants of RPJ, cost per result", partial(variants.cost, runs)),
            Step("What the paper leaves open", partial(left_open, runs)),
        ),
    )
