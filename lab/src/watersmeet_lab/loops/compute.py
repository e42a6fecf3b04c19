"""The nested loops of all algorithms (Golab & Özsu 2003: ComputeJoin, GeneralComputeJoin, ComputeHashJoin).

New rows of one stream, the origin, are joined with the windows of the others. Loops run in an order that has
the origin anywhere in it:

    loops before the origin's    bind a row if the conditions hold; whether it is alive cannot be said yet
    the origin's loop            binds a new row if all rows bound so far are alive for it
    loops after it               bind a row if the conditions hold and it is alive for the new one

With the origin first this is ComputeJoin. The paper's tests of age accept any row of the same time as the new
one, also if it came later; ours ask which of the two came first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from watersmeet_lab.loops.arrival import Arrival, Combination
from watersmeet_lab.loops.conditions import Conditions
from watersmeet_lab.loops.window import Test, Window


@dataclass(slots=True)
class Counts:
    """What a join has done so far.

    Attributes:
        comparisons: Rows that loops have looked at, but for the outermost loop: what the cost model counts
            (Sect. 4.2 and Appendix A). A row that has expired and is still there counts like any other.
        visits: Windows or buckets that were looked into for expired rows.
    """

    comparisons: int = 0
    visits: int = 0


def compute_join(
    windows: Sequence[Window],
    order: Sequence[int],
    origin: int,
    conditions: Conditions,
    counts: Counts,
    *,
    timed: bool = True,
) -> Iterator[Combination]:
    """All results that the unseen rows of one stream have with what came before them.

    Args:
        windows: Those of all streams; new rows have been inserted.
        order: The streams, that of the outermost loop first.
        origin: The stream whose unseen rows are joined.
        conditions: What belongs together.
        counts: Where it is written down what was done.
        timed: Whether ages are tested. They must be, unless all rows in the windows are alive for all new
            ones.
    """

    def loop(
        place: int, bound: Mapping[int, Arrival], alive: Mapping[int, Test] | None
    ) -> Iterator[Combination]:
        if place == len(order):
            yield tuple(bound[stream] for stream in sorted(bound))
            return
        stream = order[place]
        value = conditions.wanted(stream, bound)
        rows = windows[stream].unseen(value) if stream == origin else windows[stream].rows(value)
        if place > 0:
            counts.comparisons += len(rows)
        for row in rows:
            if not conditions.hold(row, bound):
                continue
            if stream == origin and timed:
                tests = {other: windows[other].alive_for(row) for other in order if other != origin}
                if all(tests[other](older) for other, older in bound.items()):
                    yield from loop(place + 1, {**bound, stream: row}, tests)
            elif alive is None or alive[stream](row):
                yield from loop(place + 1, {**bound, stream: row}, alive)

    return loop(0, {}, None)
