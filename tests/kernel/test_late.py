"""Which rows come too late, and by how much.

Would catch: rows that are told as late but joined, or dropped and not told; results of another join judged by
the watermark; a lateness of the wrong row.
"""

from random import Random

import numpy as np

from harness.kernel import columns_of, join_for, plan_for
from oracles.reference import Row


def test_rows_that_are_dropped_are_those_that_are_late() -> None:
    random = Random(18)  # noqa: S311
    for _ in range(50):
        join = join_for(plan_for([10, 10]))
        watermark = random.randint(-5, 25)
        join.on_start(watermark)
        latest: dict[int, int] = {}
        kept, dropped = [0, 0], [0, 0]
        for _ in range(4):
            part = random.randint(0, 1)
            times = [random.randint(0, 20) for _ in range(random.randint(1, 6))]
            rows = columns_of([Row((1,), ts, 0) for ts in times])
            late = join.late(part, rows)
            assert late.tolist() == [ts <= watermark for ts in times]
            list(join.on_rows(part, rows))
            dropped[part] += int(late.sum())
            kept[part] += int((~late).sum())
            behind = [watermark - ts for ts in times if ts <= watermark]
            latest = {**latest, part: max([*behind, latest.get(part, 0)])} if behind else latest
        found = join.take_metrics()
        assert [found[f"late_{part}"] for part in (0, 1)] == dropped
        assert [window.rows for window in join.windows] == kept
        assert {part: found.get(f"late_by_us_{part}") for part in latest} == latest
        assert join.take_metrics().get("late_by_us_0") is None


def test_results_of_another_join_are_never_late() -> None:
    join = join_for(plan_for([10, 10]))
    join.streams = frozenset([0])
    join.on_start(100)
    rows = columns_of([Row((1,), 50, 0)])
    assert [join.late(part, rows).tolist() for part in (0, 1)] == [[True], [False]]
    assert np.array_equal(join.late(1, rows), np.zeros(1, bool))
