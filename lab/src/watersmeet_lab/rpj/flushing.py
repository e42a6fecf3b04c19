"""Sect. 4.1 and 4.3: what flushing policies leave in memory when it is full for the first time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from watersmeet.cost.progressive import Table as Counts
from watersmeet.cost.progressive import eta, expected_results
from watersmeet.optimize.progressive.flush import optimal
from watersmeet.plot.chart import Table
from watersmeet.sim.progressive.arrivals import Pattern, Workload
from watersmeet_lab.papers.claim import Claim, fails
from watersmeet_lab.papers.page import Experiment
from watersmeet_lab.papers.tracker import Tracker

PATTERNS: tuple[Pattern, ...] = ("harmony", "reverse")
# Rows that leave, of the 100,000 in memory.
FLUSHED = 10_000

# The example of Sect. 4.1: two values, ten rows of each on both sides, and how likely they are to arrive.
EXAMPLE_ROWS = [[10, 10], [10, 10]]
EXAMPLE_ARRIVING = [[0.35, 0.25], [0.10, 0.30]]
EXAMPLE_FLUSHED, EXAMPLE_ETA, EXAMPLE_RESULTS = 15, 7.75, 141

_SETTING = """\
No simulation: memory of 100,000 rows is full for the first time, so it has as many rows of each side and
partition as are expected to arrive, and 10,000 leave. Shown is how many partners the next row is expected to
find in memory (eta, for one value per partition), and how many results the next 10,000 rows are expected to
have. "Smallest" and "largest" take partitions of one side by their size, "adaptive" both sides of a
partition; the last to go is divided, so that all but "all" flush the same number.

In the example of Sect. 4.1, {rows} of 40 rows leave, and optimal flush leaves eta = {eta:g} and {results:g}
results."""

_DEGENERATES = """\
When memory is full for the first time, both sides of a partition are as large under harmony, so no pair is
better balanced than another, and the rule takes the largest: the rows that are most likely to find partners.
The paper gives two aims and no formula; any rule that prefers large and balanced pairs does so."""

Cells = Iterable[tuple[int, int]]


def _without(memory: Sequence[Sequence[float]], cells: Cells, rows: float) -> list[list[float]]:
    """Memory when sides and partitions have been emptied in this order, until so many rows are gone."""
    left = [list(side) for side in memory]
    for side, partition in cells:
        going = min(rows, left[side][partition])
        left[side][partition] -= going
        rows -= going
    return left


def _by_size(memory: Counts, sign: int) -> list[tuple[int, int]]:
    cells = [(side, partition) for side in (0, 1) for partition in range(len(memory[0]))]
    return sorted(cells, key=lambda cell: (sign * memory[cell[0]][cell[1]], cell))


def _adaptive(memory: Counts, _arriving: Counts, rows: int) -> list[list[float]]:
    """Pairs go together: the last one's sides are divided alike."""
    left = [list(side) for side in memory]
    balance = [abs(one - other) - (one + other) for one, other in zip(*memory, strict=True)]
    gone = 0.0
    for partition in sorted(range(len(balance)), key=lambda j: (balance[j], j)):
        both = left[0][partition] + left[1][partition]
        share = min(1.0, (rows - gone) / both)
        gone += share * both
        for side in left:
            side[partition] *= 1 - share
    return left


def _optimal(memory: Counts, arriving: Counts, rows: int) -> list[list[float]]:
    left = [list(side) for side in memory]
    for flush in optimal(memory, arriving, rows):
        left[flush.side][flush.partition] -= flush.rows
    return left


POLICIES: Mapping[str, Callable[[Counts, Counts, int], list[list[float]]]] = {
    "all": lambda memory, _arriving, _rows: [[0.0] * len(side) for side in memory],
    "smallest": lambda memory, _arriving, rows: _without(memory, _by_size(memory, 1), rows),
    "largest": lambda memory, _arriving, rows: _without(memory, _by_size(memory, -1), rows),
    "adaptive": _adaptive,
    "optimal": _optimal,
}


def worths() -> dict[str, dict[Pattern, tuple[float, float]]]:
    """By policy and pattern: partners of the next row, and results of the next rows."""
    found: dict[str, dict[Pattern, tuple[float, float]]] = {}
    for name, policy in POLICIES.items():
        found[name] = {}
        for pattern in PATTERNS:
            workload = Workload(pattern=pattern)
            arriving = workload.shares().tolist()
            memory = [[round(workload.memory * share) for share in side] for side in arriving]
            left = policy(memory, arriving, FLUSHED)
            values = workload.keys // workload.partitions
            found[name][pattern] = eta(left, arriving), expected_results(left, arriving, FLUSHED, values)
    return found


def flushing(_tracker: Tracker) -> Experiment:
    """Compare the policies."""
    left = _optimal(EXAMPLE_ROWS, EXAMPLE_ARRIVING, EXAMPLE_FLUSHED)
    example = eta(left, EXAMPLE_ARRIVING), expected_results(left, EXAMPLE_ARRIVING, EXAMPLE_FLUSHED)
    return judged(worths(), example)


def judged(
    found: Mapping[str, Mapping[Pattern, tuple[float, float]]], example: tuple[float, float]
) -> Experiment:
    """Hold the paper's claims against the figures."""
    rows = tuple(
        (name, *(f"{figure:.0f}" for pattern in PATTERNS for figure in by_pattern[pattern]))
        for name, by_pattern in found.items()
    )
    head = ("policy", *(f"{pattern}: {what}" for pattern in PATTERNS for what in ("eta", "results")))
    setting = _SETTING.format(rows=EXAMPLE_FLUSHED, eta=example[0], results=example[1])
    return Experiment(
        "Sect. 4.1 and 4.3: flushing policies",
        setting,
        _claims({name: {p: found[name][p][0] for p in PATTERNS} for name in found}, example),
        tables=(Table("sect43", head, rows),),
    )


def _claims(worth: Mapping[str, Mapping[Pattern, float]], example: tuple[float, float]) -> tuple[Claim, ...]:
    def said(*names: str) -> str:
        return "; ".join(
            f"{pattern}: " + ", ".join(f"{name} {worth[name][pattern]:.0f}" for name in names)
            for pattern in PATTERNS
        )

    # Of those that flush as many rows.
    equal = [worth[name] for name in worth if name != "all"]
    best, worst = ({p: find(one[p] for one in equal) for p in PATTERNS} for find in (max, min))
    # Partners; sums in another order differ in their last digits.
    near = 0.5
    return (
        Claim(
            "Optimal flush leaves most, whatever the pattern.",
            said("optimal"),
            all(abs(worth["optimal"][p] - best[p]) < near for p in PATTERNS),
        ),
        Claim(
            "The example: 15 rows leave, and eta is 7.75, with 141 results to come.",
            f"{example[0]:g} and {example[1]:g}",
            abs(example[0] - EXAMPLE_ETA) < 1e-9 and abs(example[1] - EXAMPLE_RESULTS) < 1e-9,
        ),
        Claim(
            "Flush all leaves least.",
            said("all"),
            all(worth["all"][p] < worst[p] for p in PATTERNS),
        ),
        Claim(
            "Flush smallest is good for harmony, as good as optimal, and the worst for reverse.",
            said("smallest", "optimal"),
            abs(worth["smallest"]["harmony"] - best["harmony"]) < near
            and abs(worth["smallest"]["reverse"] - worst["reverse"]) < near,
        ),
        Claim(
            "Flush largest is the opposite.",
            said("largest", "optimal"),
            abs(worth["largest"]["reverse"] - best["reverse"]) < near
            and abs(worth["largest"]["harmony"] - worst["harmony"]) < near,
        ),
        Claim(
            "Adaptive flush does reasonably well for both: it is nearer to the best than to the worst.",
            said("adaptive"),
            all(2 * worth["adaptive"][p] > best[p] + worst[p] for p in PATTERNS),
            known=fails(_DEGENERATES),
        ),
    )
