"""How many rows per second a join takes, from what it counts.

The paper measured rates on its machine. Here a comparison and a visit of a window or bucket have a price, and
a rate is what they leave time for. So nothing depends on the machine this is run on, nor on its clock.

Neither price is in the paper. Each is fitted to one figure of it, and that figure is not judged: a visit to
the best interval with ten buckets in Fig. 4(a), a comparison to the eager nested loop with the best plan in
Table 8.
"""

from __future__ import annotations

from watersmeet.cost.comparisons import multiway_cost
from watersmeet_lab.golab.counted import Counting
from watersmeet_lab.golab.setting import (
    TABLE_5,
    WARM,
    Loads,
    Orders,
    Size,
    alike,
    all_orders,
    drawn,
    rows_per_unit,
    with_buckets,
)

# What prices are fitted to: buckets of each window and the best interval, and rows per second.
FITTED_BUCKETS, FITTED_INTERVAL, FITTED_RATE = 10, 15, 1614


def visit_price(buckets: int, interval: float) -> float:
    """The price of a visit, in comparisons, that makes an interval the best in Fig. 4(a).

    With an interval τ a unit of time has B / τ visits of B buckets. Comparisons grow as the windows do that
    loops look through, by the share τ / T: ages are tested, so no further loop runs because of it. The sum is
    least where visits fall by as much as comparisons grow.

    >>> visit_price(10, 15)
    15.75
    """
    loads = with_buckets(alike(4), buckets)
    growth = multiway_cost(loads, range(4)) / loads[0].length
    return interval**2 * growth / sum(load.buckets for load in loads)


def _comparison_price(visit: float) -> float:
    """Seconds for a comparison that give the eager nested loop of Table 8 its rate."""
    least = min(multiway_cost(TABLE_5, order) for order in all_orders(TABLE_5))
    # A row looks for expired ones in every window.
    return 1 / (FITTED_RATE * (least / rows_per_unit(TABLE_5) + visit * len(TABLE_5)))


# Comparisons that take as long as a visit, and seconds.
VISIT = round(visit_price(FITTED_BUCKETS, FITTED_INTERVAL))
COMPARISON = _comparison_price(VISIT)

PRICES = f"""\
Two things have a price, here and in Fig. 4, and both prices are fitted. A visit of a window or bucket, to see
whether rows have expired, takes as long as {VISIT} comparisons: so the best interval with {FITTED_BUCKETS}
buckets in Fig. 4(a) is the paper's, {FITTED_INTERVAL} units. A comparison takes {1e6 * COMPARISON:.2f} µs: so
the eager nested loop with the best plan takes {FITTED_RATE} rows per second by the formula. These two figures
are not judged; all others follow. Nothing else has a price."""


def counting(loads: Loads, size: Size, draw: int, interval: float | None = None) -> Counting:
    """Counts of some streams; the same rows of a draw, whatever the buckets and the interval."""
    per_unit = rows_per_unit(loads)
    rows = drawn(loads, (WARM + size.stretch) * per_unit, draw)
    return Counting(loads, rows, WARM * per_unit, interval)


def rate(loads: Loads, comparisons: float, visits: float) -> float:
    """Rows per second of all streams, from comparisons and visits per unit of time."""
    return rows_per_unit(loads) / (COMPARISON * (comparisons + VISIT * visits))


def counted_rate(counts: Counting, orders: Orders) -> float:
    """The same from counts."""
    return rate(counts.loads, counts.comparisons(orders), counts.visits)
