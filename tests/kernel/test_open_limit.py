"""Windows that do not fit in memory give the same rows, looked into piece by piece.

Would catch: a combination lost or doubled between two pieces, a piece that is too large, a condition judged
before all its rows are known, a run that is never closed, a useful run that is.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from harness.histories import History, histories
from harness.kernel import Kernel
from oracles import reference
from oracles.reference import assert_same_rows
from watersmeet.kernel.open_limit import OpenLimit
from watersmeet.kernel.results import Results, gathered
from watersmeet.kernel.window import StoredRun
from watersmeet.optimize.resident_runs import Candidate, most_useful
from watersmeet.plan import ProbePath


@given(histories(late_rows=True), st.sampled_from([0, 300, 1000, 1 << 40]), st.data())
def test_piece_by_piece_gives_the_same_rows(history: History, size: int, data: st.DataObject) -> None:
    paths = [
        ProbePath(head, tuple(data.draw(st.permutations([s for s in range(history.streams) if s != head]))))
        for head in range(history.streams)
    ]
    closed: list[Sequence[StoredRun]] = []
    limit = OpenLimit(size, closed.append)
    kernel = Kernel(history.windows, paths=paths, stored=True, open_limit=limit)
    assert_same_rows(kernel.run(history), reference.join(history.tables()))
    for group in closed:
        assert len(group) == 1 or sum(run.size for run in group) * (history.streams - 1) <= size
    if size == 1 << 40:
        assert closed == []
        # Every row but the one that came last was found in a run.
        assert sum(limit.found.values()) == len(kernel.results) * (history.streams - 1)


@given(st.lists(st.tuples(st.integers(1, 9), st.none() | st.integers(0, 9)), max_size=6), st.integers(0, 40))
def test_what_stays_fits_and_is_most_useful(runs: list[tuple[int, int | None]], room: int) -> None:
    candidates = [Candidate(str(i), size, found) for i, (size, found) in enumerate(runs)]
    stay = most_useful(candidates, room)
    left = room - sum(one.size for one in candidates if one.name in stay)
    assert left >= 0
    for one in candidates:
        if one.name not in stay:
            # Whoever is less useful has not taken its place.
            better = [
                other
                for other in candidates
                if other.name in stay
                and (other.found is None or (one.found or 0) / one.size <= other.found / other.size)
            ]
            assert one.size > room - sum(other.size for other in better)


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(1, 200))
def test_small_blocks_are_put_together(sizes: list[int], most: int) -> None:
    numbers = iter(range(1000))
    blocks = []
    for size in sizes:
        values = np.array([next(numbers) for _ in range(size)], np.int64)
        blocks.append(Results(([pa.array(values)], [pa.array(values + 1), pa.array(values)]), values, values))
    found = list(gathered(blocks, most))
    assert [value for block in found for value in block.times.tolist()] == list(range(sum(sizes)))
    assert [value for block in found for value in block.columns[1][0].to_pylist()] == list(
        range(1, sum(sizes) + 1)
    )
    for one, other in pairwise(found):
        assert len(one) + len(other) > 0
        assert one.nbytes + other.nbytes > most
    assert sum(block.nbytes for block in blocks) == sum(block.nbytes for block in found)
