"""What memory and disk are worth to a join of two finite relations that do not fit in memory.

Tao et al. 2005. Both relations are hashed into partitions; of each, a part is in memory and the rest on disk.
Two questions need numbers:

*   Memory is full: which rows may go? Those with the least hope of a partner among the next arrivals. That
    hope, summed over memory, is `eta`; it decides how many results come until memory is full again.
*   Nothing arrives: which partition to join on disk meanwhile? The one with most new results per second.
    An md-task scans a disk part for partners in memory, a dd-task merges both disk parts.

Relations are numbered 0 and 1 and every table is `[relation][partition]`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.errors import InvalidQuery

Table = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class DiskPart:
    """What of a partition is on disk: sorted runs, each on pages of its own."""

    runs: int
    pages: int

    def __post_init__(self) -> None:
        """A run takes one page at least, and no run takes none."""
        sound = 0 < self.runs <= self.pages or self.runs == self.pages == 0
        _refuse_unless(sound, "disk part", f"it has {self.runs} runs on {self.pages} pages.")


@dataclass(frozen=True, slots=True)
class PageTimes:
    """Seconds to read or write a page: after a move of the arm, and after the page before."""

    random: float = 0.010
    sequential: float = 0.001

    def __post_init__(self) -> None:
        """No page comes before it is asked for."""
        _refuse_unless(min(self.random, self.sequential) >= 0, "time of a page", f"they are {self}.")


def recent_volume(before: float | None, arrived: float, decay: float = 0.5) -> float:
    """How much of a relation arrives lately, brought up to date after a unit of time (Sect. 4.2).

    Args:
        before: The volume one unit ago; None after the first.
        arrived: Rows that arrived in this unit.
        decay: How much of the past counts; lambda in the paper.

    >>> recent_volume(None, 80)
    80
    >>> recent_volume(80, 40, decay=0.75)
    70.0
    """
    _refuse_unless(0 <= decay <= 1, "decay of the recent volume", f"it is {decay}, not between 0 and 1.")
    _refuse_unless(min(arrived, before or 0) >= 0, "recent volume", f"{arrived} rows arrived after {before}.")
    return arrived if before is None else decay * before + (1 - decay) * arrived


def arrival_probabilities(
    received: Table, recent: Sequence[float], complete: Sequence[bool] = (False, False)
) -> tuple[tuple[float, ...], ...]:
    """How likely the next arrival is of a relation and falls into a partition (equation 6).

    How rows spread over partitions is learnt from all that were received; which relation sends is learnt
    from what arrived lately, since networks change. Where nothing is known, all are equally likely.

    Args:
        received: Rows ever received.
        recent: The recent volume of each relation.
        complete: Whether a relation has ended: nothing of it arrives, so the next is of the other.

    >>> arrival_probabilities([[30, 10], [20, 20]], recent=[50, 150])
    ((0.1875, 0.0625), (0.375, 0.375))
    """
    _check_tables(received)
    _refuse_unless(min(recent) >= 0, "recent volume", f"it is {min(recent)}.")
    volumes = [0.0 if ended else volume for volume, ended in zip(recent, complete, strict=True)]
    if sum(volumes) == 0:
        volumes = [0.0 if ended else 1.0 for ended in complete]
    sending = [volume / (sum(volumes) or 1.0) for volume in volumes]
    return tuple(
        tuple(likely * share for share in _shares(rows))
        for likely, rows in zip(sending, received, strict=True)
    )


def eta(memory: Table, arriving: Table) -> float:
    """Expected partners in memory of the next arrival, for one value per partition (equation 3).

    Args:
        memory: Rows in memory.
        arriving: Arrival probabilities.

    >>> round(eta([[0, 10], [10, 5]], [[0.35, 0.25], [0.10, 0.30]]), 6)
    7.75
    """
    _check_tables(memory, arriving)
    return math.fsum(
        mine * theirs
        for side in (0, 1)
        for mine, theirs in zip(memory[side], arriving[1 - side], strict=True)
    )


def expected_results(memory: Table, arriving: Table, arrivals: int, values: float = 1) -> float:
    """Results until memory is full again: `n_rslt` of equations 2 and 4.

    An arrival meets what memory holds, and of the arrivals each pair can meet once. (Equation 1 multiplies
    the pairs of arrivals by rows in memory as well, which its own explanation and equation 2 do not.)
    Numbers of arrivals are taken at their expected values, so the square of `arrivals` stands for what is,
    strictly, `arrivals * (arrivals - 1)`.

    Args:
        memory: Rows left in memory.
        arriving: Arrival probabilities.
        arrivals: How many rows arrive until then, as many as were flushed.
        values: How many values of the key share a partition.

    >>> round(expected_results([[0, 10], [10, 5]], [[0.35, 0.25], [0.10, 0.30]], arrivals=15), 6)
    141.0
    """
    _refuse_unless(arrivals >= 0, "number of arrivals", f"it is {arrivals}.")
    _refuse_unless(values > 0, "number of values in a partition", f"it is {values}.")
    meeting = math.fsum(first * second for first, second in zip(*arriving, strict=True))
    return arrivals / values * (eta(memory, arriving) + arrivals * meeting)


def first_result_seconds(rates: Sequence[float], values: float) -> float:
    """When the first result of two streams is expected: by then one pair of rows has met.

    After t seconds there are `rates[0] * t * rates[1] * t` pairs, of which one in `values` matches.

    >>> first_result_seconds([100, 25], values=10_000)
    2.0
    """
    _refuse_unless(min(rates) > 0 and values > 0, "rate of arrivals", f"they are {list(rates)}.")
    return math.sqrt(values / math.prod(rates))


def md_seconds(disk: DiskPart, times: PageTimes) -> float:
    """Time of an md-task (Sect. 5.3): scanning the disk part, one move of the arm per run.

    >>> round(md_seconds(DiskPart(runs=3, pages=10), PageTimes()), 6)
    0.037
    """
    return disk.runs * times.random + (disk.pages - disk.runs) * times.sequential


def merge_passes(runs: Sequence[int], fan_in: int) -> int:
    """How often a progressive merge reads everything until each side is one run.

    It is the number of runs that passes bring down, by the number merged at a time; the paper's formula has
    pages and twos in their places. A single run has to be read once all the same.

    >>> merge_passes([4, 3], fan_in=2), merge_passes([1, 1], fan_in=2), merge_passes([9, 28], fan_in=3)
    (2, 1, 4)
    """
    _refuse_unless(fan_in >= 2, "fan-in of a merge", f"it merges {fan_in} runs at a time.")
    _refuse_unless(min(runs) >= 0, "number of runs", f"they are {list(runs)}.")
    passes = 1
    while fan_in**passes < max(runs):
        passes += 1
    return passes


def dd_seconds(disk: Sequence[DiskPart], times: PageTimes, fan_in: int = 2) -> float:
    """Time of a dd-task (Sect. 5.3): every pass reads and writes all pages of both sides at random.

    >>> dd_seconds([DiskPart(runs=4, pages=10), DiskPart(runs=3, pages=15)], PageTimes())
    1.0
    """
    passes = merge_passes([part.runs for part in disk], fan_in)
    return 2 * times.random * sum(part.pages for part in disk) * passes


def task_rate(results: float, seconds: float) -> float:
    """New results per second that a task is expected to give: Er / Et (Sect. 5.3)."""
    _refuse_unless(min(results, seconds) >= 0, "output of a task", f"{results} results in {seconds} s.")
    if results == 0:
        return 0.0
    return results / seconds if seconds > 0 else math.inf


def _shares(rows: Sequence[float]) -> list[float]:
    total = sum(rows)
    return [count / total for count in rows] if total > 0 else [1 / len(rows)] * len(rows)


def _check_tables(*tables: Table) -> None:
    """Two relations with the same partitions, nothing negative."""
    sides = [side for table in tables for side in table]
    sound = len(sides) == 2 * len(tables) and len({len(side) for side in sides}) == 1 and len(sides[0]) > 0
    _refuse_unless(
        sound, "table of partitions", f"its sides have {[len(side) for side in sides]} partitions."
    )
    least = min(min(side) for side in sides)
    _refuse_unless(least >= 0, "table of partitions", f"it has the entry {least}.")


def _refuse_unless(sound: bool, name: str, detail: str) -> None:  # noqa: FBT001
    if not sound:
        raise InvalidQuery(f"{name} makes no sense", detail, "counts, times and shares are not negative.")
