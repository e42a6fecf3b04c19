"""Numbers of the progressive join: who arrives, what memory is worth, how long disk tasks take.

Would catch: a partner counted on its own side, results counted twice or times a number too many, a decay that
forgets at the wrong speed, merge passes counted in pages.
"""

from collections.abc import Callable
from itertools import product

import pytest

from watersmeet.cost.progressive import (
    DiskPart,
    PageTimes,
    arrival_probabilities,
    dd_seconds,
    eta,
    expected_results,
    md_seconds,
    merge_passes,
    recent_volume,
    task_rate,
)
from watersmeet.errors import InvalidQuery

Rows = list[list[float]]

# The example of Sect. 4.1: two values, ten rows each on both sides, 15 are to go.
EXAMPLE = ((0.35, 0.25), (0.10, 0.30))


def optimal(rows: Rows, arriving: Rows, flush: float) -> Rows:
    """Rows that stay if those go whose partners are least likely to arrive."""
    left = [list(side) for side in rows]
    for _, side, part in sorted((p, i, j) for i in (0, 1) for j, p in enumerate(arriving[i])):
        gone = min(flush, left[1 - side][part])
        left[1 - side][part] -= gone
        flush -= gone
    return left


def by_size(rows: Rows, flush: float, sign: int) -> Rows:
    """Rows that stay if the smallest (1) or largest (-1) partition of either side goes, then the next."""
    left = [list(side) for side in rows]
    for _, side, part in sorted((sign * n, i, j) for i in (0, 1) for j, n in enumerate(rows[i])):
        gone = min(flush, left[side][part])
        left[side][part] -= gone
        flush -= gone
    return left


def adaptive(rows: Rows, flush: float) -> Rows:
    """Rows that stay if both sides of large and balanced partitions go."""
    first, second = (list(side) for side in rows)
    for part in sorted(
        range(len(first)), key=lambda j: abs(rows[0][j] - rows[1][j]) - rows[0][j] - rows[1][j]
    ):
        both = first[part] + second[part]
        kept = 1 - min(flush, both) / both
        flush -= min(flush, both)
        first[part] *= kept
        second[part] *= kept
    return [first, second]


def test_the_example_of_the_paper() -> None:
    stay = optimal([[10, 10], [10, 10]], [list(side) for side in EXAMPLE], 15)
    assert stay == [[0, 10], [10, 5]]
    assert eta(stay, EXAMPLE) == pytest.approx(7.75)
    assert expected_results(stay, EXAMPLE, arrivals=15) == pytest.approx(141)


def test_no_other_survivors_are_worth_more() -> None:
    every = product(range(11), repeat=4)
    worths = [eta([[a, b], [c, d]], EXAMPLE) for a, b, c, d in every if a + b + c + d == 25]
    assert max(worths) == pytest.approx(7.75)
    assert min(worths) == pytest.approx(5)


POLICIES: dict[str, Callable[[Rows, Rows], Rows]] = {
    "optimal": lambda rows, arriving: optimal(rows, arriving, 10_000),
    "smallest": lambda rows, arriving: by_size(rows, 10_000, 1),
    "largest": lambda rows, arriving: by_size(rows, 10_000, -1),
    "adaptive": lambda rows, arriving: adaptive(rows, 10_000),
}


@pytest.mark.parametrize(
    ("pattern", "policy", "worth"),
    [
        ("harmony", "optimal", 2983),
        ("harmony", "smallest", 2983),
        ("harmony", "largest", 2642),
        ("harmony", "adaptive", 2642),
        ("reverse", "optimal", 1858),
        ("reverse", "largest", 1858),
        ("reverse", "adaptive", 1661),
        ("reverse", "smallest", 1517),
    ],
)
def test_policies_at_the_first_overflow(pattern: str, policy: str, worth: int) -> None:
    """Sect. 4.3 in the setting of Sect. 6: 100,000 rows in memory, 20 partitions, a tenth has to go."""
    spread = [0.01 + 0.08 / 19 * part for part in range(20)]
    other = spread if pattern == "harmony" else spread[::-1]
    arriving = [[p / 2 for p in side] for side in (spread, other)]
    rows: Rows = [[round(50_000 * p) for p in side] for side in (spread, other)]
    assert round(eta(POLICIES[policy](rows, arriving), arriving)) == worth


def test_values_that_share_a_partition_thin_out_the_results() -> None:
    memory, arriving = [[3, 4], [5, 6]], [[0.1, 0.2], [0.3, 0.4]]
    one = expected_results(memory, arriving, arrivals=100)
    assert one == pytest.approx(100 * (3 * 0.3 + 4 * 0.4 + 5 * 0.1 + 6 * 0.2 + 100 * (0.03 + 0.08)))
    assert expected_results(memory, arriving, arrivals=100, values=500) == pytest.approx(one / 500)
    assert expected_results(memory, arriving, arrivals=0) == 0


def test_probabilities_are_of_all_that_can_arrive() -> None:
    received = [[30, 10, 0], [5, 5, 10]]
    arriving = arrival_probabilities(received, recent=[20, 60])
    assert arriving[0] == pytest.approx((0.25 * 0.75, 0.25 * 0.25, 0))
    assert arriving[1] == pytest.approx((0.75 * 0.25, 0.75 * 0.25, 0.75 * 0.5))
    assert sum(map(sum, arriving)) == pytest.approx(1)


def test_probabilities_while_nothing_is_known() -> None:
    assert arrival_probabilities([[0, 0], [0, 0]], recent=[0, 0]) == ((0.25, 0.25), (0.25, 0.25))
    assert arrival_probabilities([[3, 1], [0, 0]], recent=[8, 0]) == ((0.75, 0.25), (0, 0))
    assert arrival_probabilities([[3, 1], [0, 0]], recent=[0, 0]) == ((0.375, 0.125), (0.25, 0.25))


def test_nothing_arrives_of_a_complete_relation() -> None:
    received = [[30, 10], [20, 20]]
    assert arrival_probabilities(received, [50, 150], (False, True)) == ((0.75, 0.25), (0, 0))
    # The other has paused, but there is nobody else left.
    assert arrival_probabilities(received, [50, 0], (True, False)) == ((0, 0), (0.5, 0.5))
    assert arrival_probabilities(received, [50, 150], (True, True)) == ((0, 0), (0, 0))


@pytest.mark.parametrize("decay", [0.0, 0.25, 0.5, 0.9, 1.0])
def test_the_first_unit_fades(decay: float) -> None:
    """At time t, the rows of the first unit count decay ** (t - 1)."""

    def volume(first: float, time: int) -> float:
        known: float | None = None
        for arrived in [first, 7, 3, 11, 2, 9][:time]:
            known = recent_volume(known, arrived, decay)
        assert known is not None
        return known

    for time in range(1, 7):
        assert volume(64, time) - volume(0, time) == pytest.approx(decay ** (time - 1) * 64)


def test_a_steady_volume_stays() -> None:
    assert recent_volume(40, 40, decay=0.3) == pytest.approx(40)
    assert recent_volume(0, 40, decay=0.3) == pytest.approx(28), "nothing so far is not the first unit"


@pytest.mark.parametrize(
    ("runs", "fan_in", "passes"),
    [
        ((0, 0), 2, 1),
        ((1, 1), 2, 1),
        ((2, 1), 2, 1),
        ((3, 1), 2, 2),
        ((1, 3), 2, 2),
        ((4, 3), 2, 2),
        ((5, 4), 2, 3),
        ((8, 9), 2, 4),
        ((9, 3), 3, 2),
        ((125, 1), 5, 3),  # where a logarithm in floating point gives 3.0000000000000004
        ((126, 1), 5, 4),
    ],
)
def test_merge_passes(runs: tuple[int, int], fan_in: int, passes: int) -> None:
    assert merge_passes(runs, fan_in) == passes


def test_times_of_tasks() -> None:
    times = PageTimes(random=8, sequential=1)
    assert md_seconds(DiskPart(runs=3, pages=10), times) == 3 * 8 + 7 * 1
    assert md_seconds(DiskPart(runs=0, pages=0), times) == 0
    parts = [DiskPart(runs=5, pages=40), DiskPart(runs=2, pages=10)]
    assert dd_seconds(parts, times, fan_in=2) == 2 * 8 * 50 * 3
    assert dd_seconds(parts, times, fan_in=5) == 2 * 8 * 50


def test_rates_of_tasks() -> None:
    assert task_rate(30, 2) == 15
    assert task_rate(0, 0) == task_rate(0, 3) == 0


def test_nonsense_is_refused() -> None:
    refusals: list[Callable[[], object]] = [
        lambda: DiskPart(runs=3, pages=2),
        lambda: DiskPart(runs=0, pages=2),
        lambda: DiskPart(runs=-1, pages=2),
        lambda: PageTimes(random=-1),
        lambda: recent_volume(1, 1, decay=1.5),
        lambda: recent_volume(None, -1),
        lambda: recent_volume(-1, 1),
        lambda: arrival_probabilities([[1, 2], [3, -4]], [1, 1]),
        lambda: arrival_probabilities([[1, 2], [3]], [1, 1]),
        lambda: arrival_probabilities([[], []], [1, 1]),
        lambda: arrival_probabilities([[1], [1]], [1, -1]),
        lambda: eta([[1, 2]], EXAMPLE),
        lambda: expected_results([[1, 2], [3, 4]], EXAMPLE, arrivals=-1),
        lambda: expected_results([[1, 2], [3, 4]], EXAMPLE, arrivals=1, values=0),
        lambda: merge_passes([1, 2], fan_in=1),
        lambda: merge_passes([-1, 2], fan_in=2),
        lambda: task_rate(-1, 1),
    ]
    for refusal in refusals:
        with pytest.raises(InvalidQuery):
            refusal()
