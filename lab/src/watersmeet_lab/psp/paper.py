"""The experiments of Wang & Rundensteiner 2009 in the order of the paper."""

from __future__ import annotations

from functools import partial

from watersmeet_lab.papers.bench import Options, Paper, Step
from watersmeet_lab.psp.adapting import adapting
from watersmeet_lab.psp.compared import compared
from watersmeet_lab.psp.ring_length import ring_length
from watersmeet_lab.psp.routing import aligned, coordinated
from watersmeet_lab.psp.setting import FULL, QUICK
from watersmeet_lab.psp.throughput import throughput

_INTRODUCTION = """\
Wang, S. and Rundensteiner, E. A.: Scalable stream join processing with expensive predicates: workload
distribution and adaptation by time-slicing. EDBT 2009. Windows are cut into slices by age, and the slices lie
on a ring of nodes around which rows and partial results travel (PSP).

The paper ran a prototype on 20 machines and compared images; it prints its figures as curves. Here machines
and network are simulated: a comparison, a sent tuple and a hop take the time they are given. Its rates and
windows would give hundreds of thousands to millions of results per second, so windows are shorter and
matches rarer here. So it is trends that are compared, which is what the paper asks for. Where it says "much"
or "constant" without a figure, the limit is ours, and so are the explanations of differences. Everything
random begins with seed {seed}."""


def paper(options: Options) -> Paper:
    """All experiments; `full` is longer windows, more lengths and more draws."""
    size, seed = (FULL if options.full else QUICK), options.seed
    return Paper(
        "A ring that shares windows out by age",
        _INTRODUCTION.format(seed=seed),
        "watersmeet-lab psp",
        (
            Step("Equation 4, results per second", partial(throughput, size, seed)),
            Step("Fig. 7, three ways compared", partial(compared, size, seed)),
            Step("Fig. 8(a), (b), length of the ring", partial(ring_length, size, seed)),
            Step("Fig. 8(c), (d), aligned routing", partial(aligned, size, seed)),
            Step("Fig. 8(e), (f), coordinated routing", partial(coordinated, size, seed)),
            Step("Fig. 8(g), (h), rates that change", partial(adapting, size, seed)),
        ),
    )
