"""Fixed delays lose nothing if rows are kept long enough, and something one millisecond before.

Would catch: a removal that is early or late by a tick, or spares rows of a chunk; a probe that waits for
promises after all; a window somebody still reads when it is said to be free.

How long is long enough (Tran & Lee 2010, constraint 2 corrected): for SP-D and SM-S1 one latency, for SP-S
delta, for SM-S2 and SM-D1 delta and a latency. SM-D2 needs three latencies here: the paper sets matching
rows aside when keys come, after one latency; ours finds them in the window when the heads come.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from harness.delays import MS, results
from watersmeet.kernel.sites.packet import ENDS, TIME, times
from watersmeet.kernel.sites.store import Store
from watersmeet.plan.sites.algorithm import Algorithm

NEEDED: dict[Algorithm, Callable[[int, int], int]] = {
    Algorithm.SP_S: lambda latency, delta: delta,
    Algorithm.SP_D: lambda latency, delta: latency,
    Algorithm.SM_S1: lambda latency, delta: latency,
    Algorithm.SM_S2: lambda latency, delta: delta + latency,
    Algorithm.SM_D1: lambda latency, delta: delta + latency,
    Algorithm.SM_D2: lambda latency, delta: 3 * latency,
}
each_algorithm = pytest.mark.parametrize("algorithm", list(NEEDED), ids=lambda algorithm: algorithm.value)
# The paper's setting with ticks of 100 ms; no slack; a round trip longer than a tick.
SETTINGS = ((25 * MS, 80 * MS), (25 * MS, 25 * MS), (70 * MS, 90 * MS))


def lost(algorithm: Algorithm, seed: int, latency: int, delta: int, removal: int) -> int:
    """Results that are missing; there must be no others."""
    exact = results(algorithm, seed, latency)
    found = results(algorithm, seed, latency, (delta, removal))
    assert exact
    assert found <= exact
    return len(exact - found)


@each_algorithm
def test_nothing_is_lost_if_rows_are_kept_long_enough(algorithm: Algorithm) -> None:
    for seed, (latency, delta) in enumerate(SETTINGS):
        assert lost(algorithm, seed, latency, delta, NEEDED[algorithm](latency, delta)) == 0


@each_algorithm
def test_one_millisecond_less_is_too_short(algorithm: Algorithm) -> None:
    for seed, (latency, delta) in enumerate(SETTINGS):
        removal = NEEDED[algorithm](latency, delta) - MS
        assert any(lost(algorithm, 10 * seed + more, latency, delta, removal) for more in range(5))


@pytest.mark.parametrize("algorithm", [Algorithm.SM_S2, Algorithm.SM_D1])
def test_the_bound_in_print_is_too_short(algorithm: Algorithm) -> None:
    """The paper removes rows after delta, when these two only begin to look for them."""
    assert lost(algorithm, seed=1, latency=25 * MS, delta=80 * MS, removal=80 * MS)


@pytest.mark.parametrize("algorithm", [Algorithm.SP_S, Algorithm.SM_S2, Algorithm.SM_D1])
def test_what_comes_after_the_probe_is_lost(algorithm: Algorithm) -> None:
    exact = results(algorithm, 3, latency=90 * MS)
    found = results(algorithm, 3, latency=90 * MS, delay=(80 * MS, 1000 * MS))
    assert found < exact


@pytest.mark.parametrize("algorithm", [Algorithm.SP_S, Algorithm.SM_S2, Algorithm.SM_D1])
def test_jitter_within_delta_loses_nothing(algorithm: Algorithm) -> None:
    exact = results(algorithm, 4, latency=25 * MS)
    assert results(algorithm, 4, latency=25 * MS, delay=(80 * MS, 1000 * MS), jitter=50 * MS) == exact


def test_rows_are_removed_one_by_one_and_keep_their_numbers() -> None:
    store = Store(reach=100)
    lasts = [5, 9, 3, 8, 9, 2]
    store.insert(pa.record_batch([pa.array(range(6)), pa.array(lasts)], [TIME, ENDS]))
    store.remove(before=8)
    assert [(chunk.first, times(chunk.rows).tolist()) for chunk in store.chunks] == [(1, [1]), (3, [3, 4])]
    rows = store.numbered(np.array([0, 1, 4, 5]))
    assert rows is not None
    assert times(rows).tolist() == [1, 4]
    store.remove(before=10)
    assert store.rows == 0
