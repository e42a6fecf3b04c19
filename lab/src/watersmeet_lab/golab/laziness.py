"""Fig. 3: lazy joins while the time between two runs grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from watersmeet.cost.comparisons import general_cost, multiway_cost, naive_cost, origin_cost
from watersmeet.plot.chart import Chart, Line, Panel, Table
from watersmeet_lab.golab.rates import counting
from watersmeet_lab.golab.setting import (
    Loads,
    Orders,
    Size,
    alike,
    all_orders,
    listed,
    named,
    new_first,
    seeds,
)
from watersmeet_lab.papers.claim import Claim, flat, grows
from watersmeet_lab.papers.draws import Draws, Figures, averaged
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

LAZY, GENERAL, NAIVE = NAMES = ("lazy", "general", "naive")
CASES: Mapping[str, Loads] = {"(a) equal streams": alike(4), "(b) one ten times as fast": alike(4, 10)}
EQUAL, FAST = CASES
INTERVALS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50)
# Where the formula is looked up for its least cost, and for where curves cross.
EVERY = tuple(range(1, INTERVALS[-1] + 1))
# The paper says "small" and "large"; how near is "nearly as good".
SMALL, LARGE, _NEARLY = 5, 40, 0.02

_SETTING = """\
Four windows of 100 units, 50 values; in (b) the fourth stream is ten times as fast as the others. Every
algorithm runs the orders that the formula finds cheapest: one for all origins (lazy, with new rows outermost;
naive, as it stands), or one for each (general). Lines are the formula, as in the paper, which prints no
figures; crosses were counted with the same orders over {stretch} units of time, {draws} times. The table has
comparisons per unit of time by the formula, with whole intervals from {first} to {last}.

The formula takes loops to go on with every match in a window as long as it gets, {longest} units at the
largest interval. The paper's loops test the age of each row they look at, so they go on only with those that
were alive when the new row came, in 100 units. Where new rows are outermost, that saves much of what the
formula says; where they are not, ages can be tested only when all windows before have been gone through."""


@cache
def best_orders(loads: Loads, interval: float) -> dict[str, Orders]:
    """What each algorithm runs: the cheapest by the formula, of equal ones the first."""
    orders, streams = all_orders(loads), range(len(loads))
    return {
        LAZY: new_first(min(orders, key=lambda order: multiway_cost(loads, order, interval))),
        GENERAL: [
            min(orders, key=lambda order: (origin_cost(loads, origin, order, interval), order.index(origin)))
            for origin in streams
        ],
        NAIVE: [min(orders, key=lambda order: naive_cost(loads, order, interval))] * len(loads),
    }


@cache
def _costs(loads: Loads, interval: float) -> dict[str, float]:
    orders = all_orders(loads)
    return {
        LAZY: min(multiway_cost(loads, order, interval) for order in orders),
        GENERAL: general_cost(loads, interval),
        NAIVE: min(naive_cost(loads, order, interval) for order in orders),
    }


def formula(loads: Loads, intervals: Sequence[int] = INTERVALS) -> dict[str, list[float]]:
    """The cost model's figures, with the cheapest orders."""
    return {name: [_costs(loads, tick)[name] for tick in intervals] for name in NAMES}


def least(loads: Loads, name: str) -> tuple[float, int]:
    """The lowest cost of an algorithm by the formula, and the interval it is at."""
    return min((_costs(loads, tick)[name], tick) for tick in EVERY)


def crossing(loads: Loads) -> int | None:
    """The interval from which on naive costs less than lazy."""
    above = [tick for tick in EVERY if _costs(loads, tick)[NAIVE] >= _costs(loads, tick)[LAZY]]
    return next((tick for tick in EVERY if tick > max(above, default=0)), None)


def laziness(size: Size, seed: int, tracker: Tracker) -> Experiment:
    """Count all three."""
    draws = seeds(seed, size.draws)
    cases = [(draw, name, tick) for draw in draws for name in CASES for tick in INTERVALS]
    found = {case: _counted(size, *case) for case in tracker.each(cases)}
    each = [
        {
            case: {name: [found[draw, case, tick][name] for tick in INTERVALS] for name in NAMES}
            for case in CASES
        }
        for draw in draws
    ]
    return judged(size, averaged(each))


def _counted(size: Size, draw: int, case: str, interval: float) -> dict[str, float]:
    counts = counting(CASES[case], size, draw, interval)
    return {name: counts.comparisons(orders) for name, orders in best_orders(CASES[case], interval).items()}


def judged(size: Size, draws: Draws[Figures[str]]) -> Experiment:
    """Hold the claims against the figures."""
    model, places = {case: formula(loads) for case, loads in CASES.items()}, tuple(map(float, INTERVALS))
    panels = tuple(
        Panel(
            case,
            "interval (units of time)",
            "comparisons per unit of time",
            tuple(Line(name, places, tuple(ys)) for name, ys in curves.items()),
            log_y=True,
        )
        for case, curves in model.items()
    )
    crosses = {
        case: [Line(name, places, tuple(ys)) for name, ys in draws.together[case].items()] for case in CASES
    }
    chart = Chart("fig3", "Comparisons of lazy joins while the interval grows", panels)
    return Experiment(
        "Fig. 3: time between two runs",
        _SETTING.format(
            stretch=size.stretch,
            draws=size.draws,
            longest=100 + INTERVALS[-1],
            first=EVERY[0],
            last=EVERY[-1],
        ),
        (*_equal(model[EQUAL]), *_fast(model[FAST]), *_lowest(), *_counts(draws)),
        (chart.with_measured(crosses),),
        (_table(),),
    )


def _table() -> Table:
    rows = []
    for case, loads in CASES.items():
        for name in NAMES:
            cost, tick = least(loads, name)
            ends = [_costs(loads, end)[name] for end in (EVERY[0], EVERY[-1])]
            rows.append((case, name, *(f"{figure:.0f}" for figure in (*ends, cost)), f"{tick}"))
    head = ("streams", "algorithm", f"τ = {EVERY[0]}", f"τ = {EVERY[-1]}", "least", "at τ")
    return Table("fig3_least", head, tuple(rows))


Curves = Mapping[str, Sequence[float]]


def _ends(curves: Curves, *names: str) -> str:
    return ", ".join(f"{name} {curves[name][0]:.0f} to {curves[name][-1]:.0f}" for name in names or NAMES)


def _at(curves: Curves, interval: int) -> dict[str, float]:
    return {name: curves[name][INTERVALS.index(interval)] for name in NAMES}


def _over(figures: Mapping[str, float]) -> float:
    return figures[NAIVE] / figures[GENERAL]


def _same(curves: Curves, one: str, other: str, until: int = INTERVALS[-1]) -> bool:
    return all(
        flat([_at(curves, tick)[one], _at(curves, tick)[other]]) for tick in INTERVALS if tick <= until
    )


def _equal(model: Curves) -> tuple[Claim, ...]:
    return (
        Claim(
            "(a) Lazy and general cost the same.", _ends(model, LAZY, GENERAL), _same(model, LAZY, GENERAL)
        ),
        Claim("(a) Their cost rises steadily with the interval.", _ends(model, LAZY), grows(model[LAZY])),
        Claim(
            "(a) Naive costs more, most of all with small intervals.",
            f"{listed([n / lazy for n, lazy in zip(model[NAIVE], model[LAZY], strict=True)], '.1f')} times",
            all(n > lazy for n, lazy in zip(model[NAIVE], model[LAZY], strict=True))
            and max(model[NAIVE]) == model[NAIVE][0],
        ),
    )


def _fast(model: Curves) -> tuple[Claim, ...]:
    leaves = next(tick for tick in INTERVALS if not _same(model, LAZY, GENERAL, tick))
    last = named(best_orders(CASES[FAST], INTERVALS[-1])[GENERAL][3])
    small = [_at(model, tick) for tick in INTERVALS if tick <= SMALL]
    large = [_at(model, tick) for tick in INTERVALS if tick >= LARGE]
    return (
        Claim(
            "(b) General costs least with every interval.",
            _ends(model, GENERAL),
            all(
                _at(model, tick)[GENERAL] <= min(_at(model, tick).values()) * (1 + 1e-9) for tick in INTERVALS
            ),
        ),
        Claim(
            f"(b) Lazy costs as much as general with small intervals (up to {SMALL}).",
            f"up to {INTERVALS[INTERVALS.index(leaves) - 1]}",
            _same(model, LAZY, GENERAL, SMALL),
        ),
        Claim(
            "(b) With large ones it is best to order the fast stream last for its own rows as well.",
            f"{last}, from {leaves} on",
            last.endswith("4"),
        ),
        Claim(
            f"(b) Lazy costs most with large intervals (from {LARGE} on).",
            ", ".join(f"{name} {figure:.0f}" for name, figure in large[-1].items()),
            all(one[LAZY] == max(one.values()) for one in large),
        ),
        Claim(
            f"(b) Naive costs most with small ones (up to {SMALL}), and nearly as little as general with "
            f"large ones (within {_NEARLY:.0%}).",
            f"{_over(small[0]):.2f} and {_over(large[-1]):.3f} times as much as general",
            all(one[NAIVE] == max(one.values()) for one in small)
            and all(flat([one[NAIVE], one[GENERAL]], within=_NEARLY) for one in large),
        ),
    )


def _lowest() -> tuple[Claim, ...]:
    """What can be read off the formula and is not in the paper's words."""
    bottoms = [least(loads, NAIVE) for loads in CASES.values()]
    crossings = [crossing(loads) for loads in CASES.values()]
    return (
        Claim(
            "Naive has a best interval: (a) 7037 comparisons at about 20, (b) 27137 at 8.",
            ", ".join(f"{cost:.0f} at {tick}" for cost, tick in bottoms),
            [round(cost) for cost, _ in bottoms] == [7037, 27137]
            and abs(bottoms[0][1] - 20) <= 1
            and bottoms[1][1] == 8,
            origin="measured",
        ),
        Claim(
            "Naive costs less than lazy (a) with no interval, (b) from 15 on.",
            ", ".join("never" if tick is None else f"from {tick} on" for tick in crossings),
            crossings == [None, 15],
            origin="measured",
        ),
    )


def _counts(draws: Draws[Figures[str]]) -> tuple[Claim, ...]:
    def rises(f: Figures[str]) -> float:
        return f[EQUAL][LAZY][-1] / f[EQUAL][LAZY][0]

    def large(f: Figures[str]) -> dict[str, float]:
        return _at(f[FAST], INTERVALS[-1])

    return (
        draws.judge(
            "(a) Counted, the cost of lazy grows as windows do: half as much again with an interval of half "
            "a window (within 10%), where the formula has 2.7 times.",
            lambda f: f"{rises(f):.2f} times",
            lambda f: abs(rises(f) / 1.5 - 1) <= 0.1,
            origin="measured",
        ),
        draws.judge(
            "(b) Counted, lazy costs least of all with large intervals: ages are tested early, and that is "
            "worth more than the order that the formula prefers.",
            lambda f: ", ".join(f"{name} {figure:.0f}" for name, figure in large(f).items()),
            lambda f: large(f)[LAZY] < min(large(f)[GENERAL], large(f)[NAIVE]),
            origin="measured",
        ),
    )
