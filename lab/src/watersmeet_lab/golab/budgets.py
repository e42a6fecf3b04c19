"""Fig. 4(b): how a number of hash buckets is best shared out between a fast stream and three slow ones."""

from __future__ import annotations

from collections.abc import Mapping

from watersmeet.cost.comparisons import multiway_cost
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet_lab.golab.rates import VISIT, counted_rate, counting, rate
from watersmeet_lab.golab.setting import Loads, Size, alike, listed, new_first, seeds, with_buckets
from watersmeet_lab.papers.claim import Claim, fails, grows
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

FAST, INTERVAL, ORDER = 50, 5, (0, 1, 2, 3)
# Buckets of each slow stream; None for as many as the fast one.
STRATEGIES: Mapping[str, int | None] = {"Equal": None, "1 to slow": 1, "5 to slow": 5, "10 to slow": 10}
EQUAL, ONE, FIVE, TEN = STRATEGIES
AVERAGES = tuple(range(1, 17))
# The last average in the paper's plot, where it says what is reached, and what: "over" so many rows per
# second. Had they been a thousand more, it would have said so.
PLOTTED, EQUAL_AT, ONE_AT, FIVE_AT = 13, 13, 8, 12
EQUAL_RATE, FIVE_RATE, OVER = 7000, 10_000, 1000
# Prices of a visit that are tried, in comparisons, and how many of them are hardly any.
PRICES, _FEW = range(1001), 30

_SETTING = """\
A lazy join of four windows of 100 units and 50 values every {interval} units of time; three streams have a
row per unit, the fourth has {fast}. The average is that of all four windows: with 12, "5 to slow" leaves 33
buckets to the fast stream. The fast stream comes last in the order, which is cheapest. Prices are those of
Table 8. Lines are rates by the formula, crosses by counts over {stretch} units of time, {draws} times;
verdicts go by counts. Where the paper says "over" some rate, it is taken to mean up to {over} more.
The formula spreads rows over all buckets, and does not know that 50 values fill no more than 50 of them."""

_SLOW = """\
Of 53 rows 50 are of the fast stream, and every one of them scans the slow windows and nothing else. With
equal buckets that is more than a third of all comparisons, so slow windows want buckets too: best about half
as many as the fast one. The more there are, the more it costs to have only five for each slow stream. In the
paper the fast window weighs more than its comparisons. It is fifty times as long as the others and lies in a
linked list, so it may be that a row of it took longer to reach; a price for that is not in the paper."""

_STILL = f"""\
More buckets for the fast window go on to pay until it has 50, one for each value. Visits are too cheap to
stop that: with an average of {FIVE_AT} there are {4 * FIVE_AT} of them in {INTERVAL} units of time, which
take as long as {4 * FIVE_AT * VISIT} comparisons, and the join has some sixty times as many. The rate itself
is a few percent short of the paper's."""

_FLAT = """\
Beyond an average of 8 there is little to be had from more buckets, since the slow windows, scanned whole,
make up more than nine tenths of all comparisons; but it is not lost to visits either. By the formula a visit
as dear as 400 comparisons would put the peak there. By counts the peak jumps from 13 to 7 when a visit takes
as long as some 260, with hardly a price between that gives 8, and Fig. 4(a) asks for far lower ones. A likely
reason is that with 7 the fast window has 25 buckets, over which 50 values spread evenly, and with 8 it has
29, over which they do not."""


def loads(strategy: str, average: int) -> Loads | None:
    """The streams with their buckets; None if nothing is left for the fast one."""
    slow = STRATEGIES[strategy] or average
    fast = 4 * average - 3 * slow
    return with_buckets(alike(4, FAST), slow, slow, slow, fast) if fast > 0 else None


def places(strategy: str) -> list[int]:
    """Averages that leave something for the fast stream."""
    return [average for average in AVERAGES if loads(strategy, average)]


def budgets(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Count all."""
    draws = seeds(seed, size.draws)
    cases = [(draw, name, average) for draw in draws for name in STRATEGIES for average in places(name)]
    found = {case: _counted(size, *case) for case in tracker.each(cases)}
    each = [
        {
            "rate": {name: [found[draw, name, a][0] for a in places(name)] for name in STRATEGIES},
            "comparisons": {name: [found[draw, name, a][1] for a in places(name)] for name in STRATEGIES},
        }
        for draw in draws
    ]
    return judged(size, averaged(each))


def _counted(size: Size, draw: int, name: str, average: int) -> tuple[float, float]:
    counts, orders = counting(_given(name, average), size, draw, INTERVAL), new_first(ORDER)
    return counted_rate(counts, orders), counts.comparisons(orders)


def _given(name: str, average: int) -> Loads:
    streams = loads(name, average)
    assert streams, "there are buckets for all"
    return streams


def _predicted(name: str, average: int) -> float:
    streams = _given(name, average)
    return rate(streams, multiway_cost(streams, ORDER, INTERVAL), _visits(average))


def _visits(average: int) -> float:
    return 4 * average / INTERVAL


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the claims against the figures."""
    at = {name: tuple(map(float, places(name))) for name in STRATEGIES}
    lines = [
        Line(name, at[name], tuple(_predicted(name, average) for average in places(name)))
        for name in STRATEGIES
    ]
    panel = Panel("(b) one stream 50 times as fast", "average buckets", "rows per second", tuple(lines))
    crosses = [Line(name, at[name], tuple(draws.together["rate"][name])) for name in STRATEGIES]
    chart = Chart("fig4b", "Rates while the number of buckets grows", (panel,))
    return Experiment(
        "Fig. 4(b): buckets for a fast stream",
        _SETTING.format(interval=INTERVAL, fast=FAST, stretch=size.stretch, draws=size.draws, over=OVER),
        (*_reached(draws), *_compared(draws)),
        (chart.with_measured({panel.title: crosses}),),
    )


def _rate(f: Figures[str], name: str, average: int) -> float:
    return f["rate"][name][places(name).index(average)]


def _peak(f: Figures[str], name: str) -> int:
    return max(places(name), key=lambda average: _rate(f, name, average))


def _peaks(f: Figures[str], name: str) -> dict[int, int]:
    """Where the rate is highest, by the price of a visit."""
    comparisons = dict(zip(places(name), f["comparisons"][name], strict=True))

    def time(average: int, price: int) -> float:
        return comparisons[average] + price * _visits(average)

    return {price: min(comparisons, key=lambda average: time(average, price)) for price in PRICES}


def _turns(peaks: Mapping[int, int]) -> str:
    """From which price on the highest rate is where."""
    first = {price: peak for price, peak in peaks.items() if peaks.get(price - PRICES.step) != peak}
    return ", ".join(f"{peak} from {price} on" for price, peak in first.items())


def _plotted(f: Figures[str], name: str) -> int:
    """The best average among those in the paper's plot."""
    return max((a for a in places(name) if a <= PLOTTED), key=lambda average: _rate(f, name, average))


def _reached(draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    return (
        draws.judge(
            "Equal gets faster with every bucket.",
            lambda f: f"{_rate(f, EQUAL, 1):.0f} to {_rate(f, EQUAL, AVERAGES[-1]):.0f} rows per second",
            lambda f: grows(f["rate"][EQUAL]),
        ),
        draws.judge(
            f"It reaches over {EQUAL_RATE} (up to {EQUAL_RATE + OVER}) with {EQUAL_AT} buckets.",
            lambda f: f"{_rate(f, EQUAL, EQUAL_AT):.0f}",
            lambda f: 0 < _rate(f, EQUAL, EQUAL_AT) - EQUAL_RATE <= OVER,
            known=fails(_SLOW),
        ),
        draws.judge(
            f'"5 to slow" has its maximum with an average of {FIVE_AT}, of those up to {PLOTTED} that are '
            f"plotted, and it is over {FIVE_RATE} (up to {FIVE_RATE + OVER}).",
            lambda f: (
                f"{_rate(f, FIVE, FIVE_AT):.0f} with {FIVE_AT}, at most "
                f"{_rate(f, FIVE, _plotted(f, FIVE)):.0f} with {_plotted(f, FIVE)}"
            ),
            lambda f: _plotted(f, FIVE) == FIVE_AT and 0 < _rate(f, FIVE, FIVE_AT) - FIVE_RATE <= OVER,
            known=fails(_STILL),
        ),
        draws.judge(
            f'"1 to slow" is best with an average of {ONE_AT}; more buckets for the fast stream hurt.',
            lambda f: (
                f"best with {_peak(f, ONE)}, {_rate(f, ONE, _peak(f, ONE)) / _rate(f, ONE, ONE_AT) - 1:.1%} "
                f"faster than with {ONE_AT}"
            ),
            lambda f: _peak(f, ONE) == ONE_AT,
            known=fails(_FLAT),
        ),
        draws.judge(
            f'Hardly any price of a visit puts the peak of "1 to slow" at {ONE_AT}: fewer than {_FEW} of '
            f"those from {PRICES[0]} to {PRICES[-1]} comparisons.",
            lambda f: _turns(_peaks(f, ONE)),
            lambda f: list(_peaks(f, ONE).values()).count(ONE_AT) < _FEW,
            origin="measured",
        ),
        draws.judge(
            f'"1 to slow" gains less than a tenth beyond an average of {ONE_AT}, and nothing beyond 50 '
            "buckets for the fast stream: there are no more values.",
            lambda f: f"{listed([_rate(f, ONE, a) for a in (8, 10, 12, 14, 16)])} rows per second",
            lambda f: (
                _rate(f, ONE, _peak(f, ONE)) < 1.1 * _rate(f, ONE, ONE_AT)
                and _rate(f, ONE, AVERAGES[-1]) <= _rate(f, ONE, 14)
            ),
            origin="measured",
        ),
    )


def _compared(draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    beyond = [average for average in places(TEN) if average > PLOTTED]
    plotted = [average for average in places(TEN) if average <= PLOTTED]
    uneven = [average for average in AVERAGES if average > 5]

    def fastest(f: Figures[str], average: int) -> str:
        return max(STRATEGIES, key=lambda name: _rate(f, name, average) if average in places(name) else 0.0)

    def pairs(f: Figures[str], averages: list[int]) -> str:
        return "; ".join(f"{a}: {_rate(f, FIVE, a):.0f}, {_rate(f, TEN, a):.0f}" for a in averages)

    return (
        draws.judge(
            f'"5 to slow" is the fastest of all with an average of {FIVE_AT}.',
            lambda f: ", ".join(f"{name} {_rate(f, name, FIVE_AT):.0f}" for name in STRATEGIES),
            lambda f: fastest(f, FIVE_AT) == FIVE,
            known=fails(_SLOW),
        ),
        draws.judge(
            f'"10 to slow" is slower than "5 to slow" with averages up to {PLOTTED}.',
            lambda f: pairs(f, plotted),
            lambda f: all(_rate(f, TEN, a) < _rate(f, FIVE, a) for a in plotted),
            known=fails(_SLOW),
        ),
        draws.judge(
            f'"10 to slow" is faster than "5 to slow" beyond {PLOTTED}.',
            lambda f: pairs(f, beyond),
            lambda f: all(_rate(f, TEN, a) > _rate(f, FIVE, a) for a in beyond),
        ),
        draws.judge(
            "More buckets for the large window pay: one of the uneven ways is faster than Equal with "
            "averages from 6 to 9, and above 10.",
            lambda f: "; ".join(f"{a}: {fastest(f, a)}" for a in uneven if a != 10),
            lambda f: all(fastest(f, a) != EQUAL for a in uneven if a != 10),
        ),
        draws.judge(
            'Slow windows need an index too: "1 to slow", which scans them whole, is the slowest with every '
            'average above 5 but where "10 to slow" has next to nothing left for the fast stream.',
            lambda f: f"{_rate(f, ONE, PLOTTED):.0f} with {PLOTTED}, Equal {_rate(f, EQUAL, PLOTTED):.0f}",
            lambda f: all(
                _rate(f, ONE, a) < _rate(f, name, a)
                for a in uneven
                for name in (EQUAL, FIVE, TEN)
                if a in places(name) and (name, a) != (TEN, places(TEN)[0])
            ),
            origin="measured",
        ),
    )
