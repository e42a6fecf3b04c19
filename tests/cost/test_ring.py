"""The ring's cost model against closed forms, nested loops and exhaustive search.

Would catch: a count of results where compared pairs belong, one power of the partners too many, a service
rate that forgets that nodes work at the same time, a best length beside the best one.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from random import Random

import pytest

from watersmeet.cost.ring import (
    Step,
    Times,
    central_work,
    crossing_nodes,
    intermediates,
    latency,
    latency_of_lengths,
    optimal_nodes,
    output_limit,
    output_rate,
    reaching,
    results,
    ring_work,
    service_rate,
    turning_nodes,
)
from watersmeet.errors import InvalidQuery

TIMES = Times(compare=0.0001, send=0.00001, hop=0.001)


def experiment(match_prob: float, streams: int = 3) -> list[Step]:
    """The setting of Sect. 8.2: 50 rows/s and windows of 10 s."""
    return [Step(rate=50, window=10, match_prob=match_prob)] * (streams - 1)


def random_setting(rng: Random) -> tuple[list[Step], Times]:
    steps = [
        Step(rng.uniform(1, 60), rng.uniform(1, 10), rng.choice([0.01, 0.05, 0.1]))
        for _ in range(rng.randint(1, 3))
    ]
    compare = 10 ** rng.uniform(-5, -3)
    hop = compare * 10 ** rng.uniform(0, 3)
    # Some send so slowly that the work never falls below the rounds: then N2 decides and not N1.
    send = rng.choice([0.0, 0.1 * compare, 100 * compare, 100 * hop])
    return steps, Times(compare, rng.choice([0.0, compare]), rng.choice([0.0, compare]), send, hop)


def settings(number: int) -> list[tuple[list[Step], Times]]:
    rng = Random(2009)  # noqa: S311
    return [random_setting(rng) for _ in range(number)]


def nested_loops(windows: Sequence[range], modulus: int) -> tuple[int, int, int]:
    """Pairs compared, partial results and results, where rows fit whose numbers add up to a multiple."""
    compared = partial = 0
    visiting = [0]
    for number, window in enumerate(windows):
        compared += len(visiting) * len(window)
        visiting = [row for visitor in visiting for row in window if (visitor + row) % modulus == 0]
        if number < len(windows) - 1:
            partial += len(visiting)
    return compared, partial, len(visiting)


def test_the_work_is_that_of_nested_loops() -> None:
    windows = [range(6), range(12), range(9)]
    steps = [Step(rate=len(window), window=1, match_prob=1 / 3) for window in windows]
    compared, partial, found = nested_loops(windows, modulus=3)
    assert (compared, partial, found) == (6 + 2 * 12 + 8 * 9, 2 + 8, 24)
    assert central_work(steps, Times(compare=1)) == pytest.approx(compared)
    assert intermediates(steps) == pytest.approx(partial)
    assert results(steps) == pytest.approx(found)
    # Every arriving and every partial tuple passes every node.
    sending = ring_work(steps, Times(compare=0, send=1), nodes=5)
    assert sending == pytest.approx(5 * (1 + partial))
    assert central_work(steps, Times(compare=1, insert=3, purge=4)) == pytest.approx(compared + 7)


def test_the_order_of_unequal_steps_matters() -> None:
    small, large = Step(10, 1, 0.1), Step(10, 10, 0.1)
    assert central_work([small, large], Times(compare=1)) == pytest.approx(10 + 1 * 100)
    assert central_work([large, small], Times(compare=1)) == pytest.approx(100 + 10 * 10)


@pytest.mark.parametrize("streams", [2, 3, 5, 7])
@pytest.mark.parametrize("match_prob", [0.002, 0.01, 0.05])
def test_equal_streams_follow_the_closed_forms(streams: int, match_prob: float) -> None:
    steps = experiment(match_prob, streams)
    alive, partners = 500, 500 * match_prob
    centre = central_work(steps, TIMES)
    sending = TIMES.send / (alive * TIMES.compare)
    assert intermediates(steps) == pytest.approx(sum(partners**k for k in range(1, streams - 1)))
    assert results(steps) == pytest.approx(partners ** (streams - 1))
    alone = results(steps) / centre
    assert output_limit(steps, TIMES) == pytest.approx(alone / sending)
    for nodes in (1, 4, 19):
        assert ring_work(steps, TIMES, nodes) == pytest.approx(centre * (1 + sending * nodes))
        assert service_rate(steps, TIMES, nodes) == pytest.approx(nodes / ring_work(steps, TIMES, nodes))
        assert output_rate(steps, TIMES, nodes) == pytest.approx(alone / (1 / nodes + sending))
        expected = (nodes - 1) / 2 * TIMES.hop + max(
            centre / nodes + sending * centre, streams * nodes * TIMES.hop
        )
        assert latency(steps, TIMES, nodes) == pytest.approx(expected)


def test_a_node_has_its_share_of_the_work() -> None:
    """The rounds of equation 5 aside, latency is L_PSP / N, whatever the streams."""
    for steps, times in settings(50):
        slow = Times(times.compare, times.insert, times.purge, times.send, hop=0)
        for nodes in (1, 3, 8):
            assert latency(steps, slow, nodes) == pytest.approx(ring_work(steps, slow, nodes) / nodes)


def test_longer_rings_give_more_results_up_to_a_limit() -> None:
    for steps, times in settings(100):
        rates = [output_rate(steps, times, nodes) for nodes in range(1, 60)]
        assert all(before < after for before, after in pairwise(rates))
        limit = output_limit(steps, times)
        assert rates[-1] < limit
        if math.isfinite(limit):
            assert output_rate(steps, times, 10**12) == pytest.approx(limit, rel=1e-4)
        else:
            assert rates[-1] == pytest.approx(59 * rates[0])


def test_latency_falls_and_then_rises() -> None:
    for steps, times in settings(100):
        best = optimal_nodes(steps, times)
        seconds = [latency(steps, times, nodes) for nodes in range(1, best + 40)]
        # Up to rounding: the curve is flat at its bottom.
        tiny = 1e-12 * max(seconds)
        assert all(after <= before + tiny for before, after in pairwise(seconds[:best]))
        assert all(after >= before - tiny for before, after in pairwise(seconds[best - 1 :]))
        assert seconds[-1] > seconds[best - 1]


def test_no_integer_is_better_than_the_best_length() -> None:
    decided = {"crossing": 0, "turning": 0}
    for steps, times in settings(400):
        crossing, turning = crossing_nodes(steps, times), turning_nodes(steps, times)
        decided["crossing" if crossing < turning else "turning"] += 1
        best = optimal_nodes(steps, times)
        assert best in {max(1, math.floor(min(crossing, turning))), max(1, math.ceil(min(crossing, turning)))}
        quickest = min(latency(steps, times, nodes) for nodes in range(1, 4 * best + 50))
        assert latency(steps, times, best) == pytest.approx(quickest, rel=1e-12)
    assert min(decided.values()) > 30, "both conditions are to be tried"


def test_the_two_conditions_hold_where_they_say() -> None:
    for steps, times in settings(100):
        crossing, turning = crossing_nodes(steps, times), turning_nodes(steps, times)
        centre = central_work(steps, times)
        working = centre / crossing + times.send * (1 + intermediates(steps))
        assert working == pytest.approx((len(steps) + 1) * crossing * times.hop)
        # The paper's condition, N (N - 1) / 2 = L_C / T_n, is met half a node further on, up to 1/8.
        assert turning**2 / 2 == pytest.approx(centre / times.hop)
        assert abs((turning + 0.5) * (turning - 0.5) / 2 - centre / times.hop) <= 0.126


@pytest.mark.parametrize(("match_prob", "nodes"), [(0.05, 21), (0.1, 29), (0.5, 65)])
def test_known_best_lengths(match_prob: float, nodes: int) -> None:
    """A hop that takes as long as ten comparisons; more partners call for more nodes."""
    assert optimal_nodes(experiment(match_prob), TIMES) == nodes


@pytest.mark.parametrize("nodes", [4, 14, 19])
def test_more_partners_take_longer(nodes: int) -> None:
    seconds = [latency(experiment(match_prob), TIMES, nodes) for match_prob in (0.05, 0.1, 0.5)]
    assert seconds == sorted(seconds)
    assert len(set(seconds)) == 3


def test_windows_on_different_numbers_of_nodes() -> None:
    steps = [Step(10, 4, 0.1), Step(10, 8, 0.1)]
    # 40 pairs over 2 nodes, 4 * 80 over 5, 6 for the own window over 3; sending 1 + 4; then 4 / 2 hops.
    work = Times(compare=1, insert=2, purge=4, send=0.5, hop=0.01)
    seconds = latency_of_lengths(steps, work, lengths=[2, 5], own=3)
    assert seconds == pytest.approx(6 / 3 + 40 / 2 + 4 * 80 / 5 + 0.5 * 5 + 4 / 2 * 0.01)
    # One round through each of the three windows.
    way = Times(compare=0, hop=1)
    assert latency_of_lengths(steps, way, lengths=[2, 5], own=3) == pytest.approx(2 + 5 + 3 + 4 / 2)
    for times in (work, way):
        assert latency_of_lengths(steps, times, lengths=[5, 5], own=5) == latency(steps, times, 5)


def test_a_ring_without_partners() -> None:
    steps = [Step(0, 10, 0.5), Step(10, 10, 0.5)]
    assert reaching(steps) == (1, 0, 0)
    assert output_rate(steps, Times(compare=1), nodes=3) == 0
    assert optimal_nodes(steps, TIMES) == 1


def test_nonsense_is_refused() -> None:
    steps = experiment(0.1)
    refusals: list[Callable[[], object]] = [
        lambda: Step(-1, 10, 0.5),
        lambda: Step(math.nan, 10, 0.5),
        lambda: Step(1, 0, 0.5),
        lambda: Step(1, math.inf, 0.5),
        lambda: Step(1, 10, 1.5),
        lambda: Times(compare=-1),
        lambda: Times(compare=1, hop=math.inf),
        lambda: reaching([]),
        lambda: latency(steps, TIMES, 0),
        lambda: service_rate(steps, TIMES, -2),
        lambda: optimal_nodes(steps, Times(compare=1)),
    ]
    for refusal in refusals:
        with pytest.raises(InvalidQuery):
            refusal()
