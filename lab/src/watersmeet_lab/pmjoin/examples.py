"""Examples 1 and 2 of Zhou et al. 2006: every figure that is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from watersmeet.cost.traffic import Feed, GraphTraffic, ValueTraffic
from watersmeet.optimize.papers.zhou.optimal import optimal
from watersmeet.optimize.papers.zhou.pmjoin import pmjoin
from watersmeet.optimize.papers.zhou.simple import simple
from watersmeet.optimize.sites.placement import leaves, operators
from watersmeet.optimize.sites.stream_join_opt import options, reducing_joins, stream_join_opt
from watersmeet.plot.chart import Table
from watersmeet_lab.papers.claim import Claim, fails
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

# Table 1: three streams at three nodes, values a, b and c; windows of half a second.
_RATES = np.array([[0.1, 0.1, 100.0], [0.03, 50.0, 0.04], [50.0, 0.01, 0.02]])
ROUTERS = ValueTraffic((1, 2, 3), _RATES, 0.5 * _RATES, "grow")

# Table 2. Selectivities were in a figure that did not survive; those of three edges follow from the printed
# rates, that of S0 and S4 must be above 1/120 for the decisions described.
FIVE = GraphTraffic(
    (Feed(10, 100, 0), Feed(35, 350, 0), Feed(25, 250, 1), Feed(30, 300, 1), Feed(15, 150, 2)),
    {
        frozenset({0, 1}): 0.01,
        frozenset({2, 3}): 0.001,
        frozenset({0, 2}): 0.004,
        frozenset({0, 4}): 0.01,
    },
)

_SETTING_1 = """\
Three routers, values a, b and c, windows of half a second. A tuple of a source is one byte, a result is
as long as its inputs together."""
_SETTING_2 = """\
Five streams at three nodes, every tuple of one size. The selectivities were in a figure that did not
survive; those between S0 and S1 (0.01), S2 and S3 (0.001), S0 and S2 (0.004) follow from the printed
rates. That between S0 and S4 must be above 1/120 and is taken to be 0.01."""
_SLIP = """\
S1 is at n0 already. What has to be sent there is S4, beside the result of S0, S2 and S3."""


class Printed(NamedTuple):
    """A figure as it is printed, and ours."""

    what: str
    text: str
    ours: float

    @property
    def agrees(self) -> bool:
        """Whether ours is the same when rounded to the digits that are printed."""
        digits = len(self.text.partition(".")[2])
        return abs(self.ours - float(self.text)) <= 0.5 * float(10**-digits) * (1 + 1e-9)


def example_1(_: Tracker) -> Experiment:
    """Rates of joins, and the cost of three schemes."""
    figures = [
        Printed(f"rate of S{_name(streams)}, {value}", text, rate)
        for streams, row in _TABLE_1.items()
        for value, text, rate in zip(("all", "a", "b", "c"), row, _rates(streams), strict=True)
    ]
    split = pmjoin(ROUTERS, ((0,), (1,), (2,)), optimal)
    by_value = dict(zip("abc", split.placements, strict=True))
    costs = [
        Printed("everything at n1", "100.1", simple(ROUTERS).cost),
        Printed("best plan for all values", "54.03", optimal(ROUTERS).cost),
        Printed("best plan for value a", "0.036", by_value["a"].cost),
        Printed("a plan for each value", "0.07", split.cost),
    ]
    trees = {value: str(placement.tree) for value, placement in by_value.items()}
    heuristic = pmjoin(ROUTERS, ((0,), (1,), (2,)), stream_join_opt)
    claims = (
        _all_agree("Table 1: rates of the streams and of their joins.", figures),
        _all_agree("Costs of the three schemes, bytes per second.", costs),
        Claim(
            "Tuples with value a go from S2 to n1 and on to n3, those with b from S3 to n1 and on to n2.",
            f"a: {trees['a']}, b: {trees['b']}, c: {trees['c']}; streams are numbered from 0",
            (trees["a"], trees["b"]) == ("((S1 S0)@1 S2)@3", "((S2 S0)@1 S1)@2"),
        ),
        Claim(
            "Algorithm 1 finds these plans.",
            f"{heuristic.cost:.4f} against {split.cost:.4f} bytes/s",
            heuristic == split,
        ),
    )
    return Experiment(
        "Example 1: three routers", _SETTING_1, claims, tables=(_table("example1", [*figures, *costs]),)
    )


def example_2(_: Tracker) -> Experiment:
    """Algorithm 1 step by step."""
    s0, s1, _s2, _s3, s4 = leaves(FIVE)
    pair, triple = frozenset({2, 3}), frozenset({0, 2, 3})
    figures = [
        Printed("rate of S0 joined with S1", "70", FIVE.joined(frozenset({0, 1})).rate),
        Printed("rate of S2 joined with S3", "15", FIVE.joined(pair).rate),
        Printed("window of S2 joined with S3", "75", FIVE.joined(pair).window),
        Printed("rate of S0, S2 and S3", "9", FIVE.joined(triple).rate),
        Printed("window of S0, S2 and S3", "30", FIVE.joined(triple).window),
    ]
    local = reducing_joins(FIVE)
    (s23,) = (part for part in local if part.streams == pair)
    plan = stream_join_opt(FIVE)
    (s023,) = (join for join in operators(plan.tree) if join.streams == triple)
    first = min(options(FIVE, [s0], [s1, s23, s4]))
    second = min(options(FIVE, [s023], [s1, s4]))
    shipped = sorted(str(part) for part in plan.tree.inputs if part.node != plan.tree.node)
    claims = (
        _all_agree("Table 2: rates and windows of intermediate results.", figures),
        Claim(
            "S2 and S3 are joined at n1 at once, S0 and S1 at n0 are not.",
            f"after the first step: {', '.join(sorted(map(str, local)))}",
            sorted(map(str, local)) == ["(S2 S3)@1", "S0", "S1", "S4"],
        ),
        Claim(
            "S0 is then sent to n1.",
            f"cheapest is {first.part} at {first.cost:.0f} tuples/s",
            (first.part, first.waits) == (s23, False),
        ),
        Claim(
            "The result and S4 then wait for a third place.",
            f"cheapest is {second.part} at {second.cost:.0f} tuples/s, place "
            f"{'left open' if second.waits else 'taken'}",
            (second.part, second.waits) == (s4, True),
        ),
        Claim(
            "In the end S1 and the result of S0, S2 and S3 are sent to n0.",
            f"sent to n{plan.tree.node}: {', '.join(shipped)}",
            "S1" in shipped,
            known=fails(_SLIP),
        ),
        Claim(
            "In the end S4 and the result of S0, S2 and S3 are sent to n0.",
            f"sent to n{plan.tree.node}: {', '.join(shipped)}; the plan sends {plan.cost:.0f} tuples/s, "
            f"everything to the fastest stream would be {simple(FIVE).cost:.0f}",
            plan.tree.node == 0 and shipped == [str(s023), "S4"],
            origin="corrected",
        ),
    )
    return Experiment(
        "Example 2: Algorithm 1 step by step", _SETTING_2, claims, tables=(_table("example2", figures),)
    )


_TABLE_1 = {
    frozenset({0}): ("100.2", "0.1", "0.1", "100"),
    frozenset({1}): ("50.07", "0.03", "50", "0.04"),
    frozenset({2}): ("50.03", "50", "0.01", "0.02"),
    frozenset({0, 1}): ("9.003", "0.003", "5", "4"),
    frozenset({0, 2}): ("7.001", "5", "0.001", "2"),
    frozenset({1, 2}): ("2.0008", "1.5", "0.5", "0.0008"),
}


def _rates(streams: frozenset[int]) -> list[float]:
    """The rate of a join, as a whole and for each value."""
    return [ROUTERS.joined(streams).rate, *(ROUTERS.only([v]).joined(streams).rate for v in range(3))]


def _name(streams: Iterable[int]) -> str:
    return ",".join(str(stream + 1) for stream in sorted(streams))


def _all_agree(text: str, figures: Sequence[Printed]) -> Claim:
    right = sum(figure.agrees for figure in figures)
    return Claim(text, f"{right} of {len(figures)} agree in all printed digits", right == len(figures))


def _table(name: str, figures: Sequence[Printed]) -> Table:
    rows = tuple((figure.what, figure.text, f"{figure.ours:.6g}") for figure in figures)
    return Table(name, ("figure", "printed", "ours"), rows)
