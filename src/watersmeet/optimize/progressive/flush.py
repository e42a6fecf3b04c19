"""Which rows leave memory when it is full.

Every rule takes the rows in memory and how likely each kind of row is to arrive next, both by side and
partition, and how many rows should go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from watersmeet.cost.progressive import Table
from watersmeet.plan.progressive import Flush

FlushRule = Callable[[Table, Table, int], list[Flush]]


def optimal(memory: Table, arriving: Table, rows: int) -> list[Flush]:
    """Where the next arrivals are least likely to find partners (Fig. 4).

    No other choice of as many rows leaves a higher `cost.progressive.eta`, so none leads to more results
    until memory is full again (Lemma 1).

    >>> optimal([[10, 10], [10, 10]], [[0.35, 0.25], [0.10, 0.30]], 15)
    [Flush(side=0, partition=0, rows=10), Flush(side=1, partition=1, rows=5)]
    """
    # Rows wait for the *other* side's arrivals.
    waited_for = sorted((likely, i, j) for i in (0, 1) for j, likely in enumerate(arriving[i]))
    return _until(rows, ((1 - i, j, memory[1 - i][j]) for _, i, j in waited_for), whole=False)


def largest(memory: Table, _arriving: Table, rows: int) -> list[Flush]:
    """Whole partitions of one side, the largest first, as XJoin does."""
    sizes = sorted(((count, i, j) for i in (0, 1) for j, count in enumerate(memory[i])), key=_large_first)
    return _until(rows, ((i, j, count) for count, i, j in sizes), whole=True)


def adaptive_pair(memory: Table, _arriving: Table, rows: int) -> list[Flush]:
    """Whole partitions of both sides, balanced and large ones first.

    The paper names the two aims of HMJ's rule but gives no formula; this is the difference of the sides
    less their sum.
    """

    def rank(j: int) -> tuple[float, int]:
        one, other = memory[0][j], memory[1][j]
        return abs(one - other) - (one + other), j

    chosen: list[Flush] = []
    for j in sorted(range(len(memory[0])), key=rank):
        if rows <= 0:
            break
        both = [Flush(i, j, int(memory[i][j])) for i in (0, 1) if memory[i][j]]
        rows -= sum(flush.rows for flush in both)
        chosen += both
    return chosen


def _large_first(entry: Sequence[float]) -> tuple[float, float, float]:
    count, side, partition = entry
    return -count, side, partition


def _until(rows: int, offered: Iterable[tuple[int, int, float]], *, whole: bool) -> list[Flush]:
    """Take what is offered until enough rows go; the last may be divided unless it goes whole."""
    chosen = []
    for side, partition, count in offered:
        if rows <= 0:
            break
        going = int(count) if whole else min(rows, int(count))
        if going:
            chosen.append(Flush(side, partition, going))
            rows -= going
    return chosen
