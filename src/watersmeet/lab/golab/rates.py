"""How many rows per second a join takes, from what it counts.

The paper measured rates on its machine. Here a comparison and a visit of a window or bucket have a price, and
a rate is what they leave time for. So nothing depends on the machine this is run on, nor on its clock.

The price of a comparison follows from the eager nested loop with the best plan in Table 8. The price of a
visit is not in the paper. The best intervals of Fig. 4(a) tell it, since there the two prices are in balance,
but each of them tells another; see the page.
"""

from __future__ import annotations

from watersmeet.lab.golab.counted import Counting
from watersmeet.lab.golab.setting import WARM, Loads, Orders, Size, drawn, rows_per_unit

# Seconds, and comparisons that take as long as a visit.
COMPARISON, VISIT = 0.56e-6, 10

PRICES = f"""\
A comparison takes {1e6 * COMPARISON:g} µs, with which the eager nested loop with the best plan takes as many
rows per second as in Table 8. A visit of a window or bucket, to see whether rows have expired, takes as long
as {VISIT} comparisons: a price that was chosen between those that the best intervals of Fig. 4(a) ask for.
Nothing else has a price."""


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
