"""Fig. 4(a): rows per second while the time between two runs grows, with more and more hash buckets."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from watersmeet.cost.comparisons import multiway_cost
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet_lab.golab.rates import FITTED_BUCKETS, VISIT, counted_rate, counting, rate, visit_price
from watersmeet_lab.golab.setting import Loads, Size, alike, listed, new_first, seeds, with_buckets
from watersmeet_lab.papers.claim import Claim, fails, falls, grows
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

BUCKETS: Mapping[str, int] = {"NLJ": 1, "HASH2": 2, "HASH10": 10, "HASH30": 30}
LOADS: Mapping[str, Loads] = {name: with_buckets(alike(4), buckets) for name, buckets in BUCKETS.items()}
ORDER = (0, 1, 2, 3)
# The first is the time between two rows.
INTERVALS = (0.25, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 75, 100)
# Where the paper has the best interval; the price of a visit is fitted to one of these.
PRINTED: Mapping[str, float] = {"HASH2": 4, "HASH10": 15, "HASH30": 30}
FITTED = next(name for name, buckets in BUCKETS.items() if buckets == FITTED_BUCKETS)
# From which interval on rates are compared, what is "large", what is "short", and what is near.
USUAL, LARGE, SHORT, _TWICE, _GRADUAL, _NEAR = 10, 50, 5, 2.0, 0.4, 0.1

_SETTING = """\
Lazy joins of four windows of 100 units, a row per unit and stream, 50 values: nested loops, and hash joins
with 2, 10 and 30 buckets for each window. Rows are joined and expired every τ units of time. Prices are those
of Table 8: that of a visit is fitted to the best interval of {fitted}, {interval:g} units, which is therefore
not judged here. Lines are rates by the formula, crosses by counts over {stretch} units of time, {draws}
times; verdicts go by counts. The paper plots rates that it measured and prints the best intervals only."""

_GAIN = """\
Two buckets halve the comparisons, ten divide them by ten: that is the larger factor, as long as nothing but
comparisons and visits takes time. Per bucket that is added the gain falls, which may be what is meant. In
a program results and insertions take time as well, the same for any number of buckets, and that lessens every
further gain."""


def intervals(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Count all."""
    draws = seeds(seed, size.draws)
    cases = [(draw, name, interval) for draw in draws for name in BUCKETS for interval in INTERVALS]
    found = {case: _counted(size, *case) for case in tracker.each(cases)}
    each = [
        {
            "rate": {name: [found[draw, name, tick][0] for tick in INTERVALS] for name in BUCKETS},
            "comparisons": {name: [found[draw, name, tick][1] for tick in INTERVALS] for name in BUCKETS},
        }
        for draw in draws
    ]
    return judged(size, averaged(each))


def _counted(size: Size, draw: int, name: str, interval: float) -> tuple[float, float]:
    counts, orders = counting(LOADS[name], size, draw, interval), new_first(ORDER)
    return counted_rate(counts, orders), counts.comparisons(orders)


def _predicted(name: str, interval: float) -> float:
    loads = LOADS[name]
    return rate(loads, multiway_cost(loads, ORDER, interval), sum(load.buckets for load in loads) / interval)


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the claims against the figures."""
    panel = Panel(
        "(a) four equal streams",
        "interval τ (units of time)",
        "rows per second",
        tuple(Line(name, INTERVALS, tuple(_predicted(name, tick) for tick in INTERVALS)) for name in BUCKETS),
        log_x=True,
        log_y=True,
    )
    crosses = [Line(name, INTERVALS, tuple(draws.together["rate"][name])) for name in BUCKETS]
    chart = Chart("fig4a", "Rates while the interval grows", (panel,))
    return Experiment(
        "Fig. 4(a): interval and buckets",
        _SETTING.format(fitted=FITTED, interval=PRINTED[FITTED], stretch=size.stretch, draws=size.draws),
        (*_buckets(draws), *_best(draws), *_price(draws)),
        (chart.with_measured({panel.title: crosses}),),
    )


def _at(f: Figures[str], interval: float) -> list[float]:
    return [f["rate"][name][INTERVALS.index(interval)] for name in BUCKETS]


def best(f: Figures[str], name: str) -> float:
    """The interval with the highest rate."""
    rates = f["rate"][name]
    return INTERVALS[max(range(len(rates)), key=lambda place: rates[place])]


def _buckets(draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    usual = [tick for tick in INTERVALS if tick >= USUAL]

    def highest(f: Figures[str]) -> list[float]:
        return [max(f["rate"][name]) for name in BUCKETS]

    def gains(f: Figures[str]) -> list[float]:
        rates = highest(f)
        return [later / earlier for earlier, later in pairwise(rates)]

    def per_bucket(f: Figures[str]) -> list[float]:
        counts = list(BUCKETS.values())
        added = [later - earlier for earlier, later in pairwise(counts)]
        return [gain ** (1 / more) for gain, more in zip(gains(f), added, strict=True)]

    return (
        draws.judge(
            f"NLJ is slowest, and more buckets are faster: with τ from {USUAL} on, and each at its best.",
            lambda f: f"{listed(highest(f))} rows per second at best",
            lambda f: grows(highest(f)) and all(grows(_at(f, tick)) for tick in usual),
        ),
        draws.judge(
            "Very large tables do badly with small intervals: with τ = 1, 30 buckets are slower than 10.",
            lambda f: f"{listed(_at(f, 1))} rows per second",
            lambda f: _at(f, 1)[3] < _at(f, 1)[2],
        ),
        draws.judge(
            "The gain is greatest from NLJ to HASH2.",
            lambda f: f"{listed(gains(f), '.1f')} times from each to the next",
            lambda f: max(gains(f)) == gains(f)[0],
            known=fails(_GAIN),
        ),
        draws.judge(
            "The gain for each bucket that is added is greatest from NLJ to HASH2, and falls.",
            lambda f: f"{listed(per_bucket(f), '.2f')} times for each",
            lambda f: falls(per_bucket(f)),
            origin="corrected",
        ),
    )


def _best(draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    def bests(f: Figures[str]) -> list[float]:
        return [best(f, name) for name in BUCKETS]

    def loss(f: Figures[str]) -> list[float]:
        last = INTERVALS.index(LARGE)
        return [1 - f["rate"][name][-1] / f["rate"][name][last] for name in BUCKETS]

    def declines(f: Figures[str]) -> bool:
        return all(0 < share < _GRADUAL for share in loss(f))

    def near(name: str) -> Claim:
        tick = PRINTED[name]
        return draws.judge(
            f"The best τ is about {tick:g} with {BUCKETS[name]} buckets (by less than a factor of two).",
            lambda f: f"{best(f, name):g}",
            lambda f: 1 / _TWICE < best(f, name) / tick < _TWICE,
        )

    return (
        *(near(name) for name in PRINTED if name != FITTED),
        draws.judge(
            "The more buckets, the longer the best interval. (The paper says frequency, and means this.)",
            lambda f: listed(bests(f), "g"),
            lambda f: grows(bests(f)),
            origin="corrected",
        ),
        draws.judge(
            f"NLJ wants a short interval (up to {SHORT}), but not the shortest.",
            lambda f: f"{best(f, 'NLJ'):g}, the shortest is {INTERVALS[0]:g}",
            lambda f: INTERVALS[0] < best(f, "NLJ") <= SHORT,
        ),
        draws.judge(
            f"Rates fall gradually with large intervals: by less than {_GRADUAL:.0%} from {LARGE} to "
            f"{INTERVALS[-1]}.",
            lambda f: f"by {listed(loss(f), '.0%')}",
            declines,
        ),
    )


def _price(draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    derived = [visit_price(BUCKETS[name], tick) for name, tick in PRINTED.items()]

    def price(f: Figures[str], name: str) -> float:
        """Where comparisons grow by as much as visits get fewer, in comparisons."""
        counts = f["comparisons"][name]
        growth = (counts[-1] - counts[0]) / (INTERVALS[-1] - INTERVALS[0])
        return PRINTED[name] ** 2 * growth / sum(load.buckets for load in LOADS[name])

    def prices(f: Figures[str]) -> list[float]:
        return [price(f, name) for name in PRINTED]

    return (
        draws.judge(
            f"The paper's three best intervals ask for different prices of a visit, {listed(derived)} "
            f"comparisons with {', '.join(PRINTED)} (within {_NEAR:.0%} by counts): no price gives all.",
            lambda f: f"{listed(prices(f), '.1f')} comparisons; {VISIT} was taken",
            lambda f: all(
                abs(ours / asked - 1) <= _NEAR for ours, asked in zip(prices(f), derived, strict=True)
            ),
            origin="measured",
        ),
    )
