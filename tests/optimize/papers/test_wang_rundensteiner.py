"""Planning a ring: how long it is, and which node holds which ages.

Would catch: a ring that is longer than it pays or than there are nodes, slices with a gap or an overlap,
nodes that hold more than others, rows lost on the way to a longer ring.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, permutations
from random import Random

import pytest

from watersmeet.cost.ring import Times, latency, optimal_nodes
from watersmeet.errors import InvalidQuery
from watersmeet.optimize.papers.wang_rundensteiner.length import (
    RingJoin,
    mean_latency,
    query_length,
    ring_lengths,
    ring_order,
)
from watersmeet.optimize.papers.wang_rundensteiner.slicing import node_shares, relocation, slice_ends
from watersmeet.plan import ProbePath

TIMES = Times(compare=0.0001, send=0.00001, hop=0.001)


def joined(rates: Sequence[float], windows: Sequence[float], match_prob: float) -> RingJoin:
    """Streams that visit each other in the order of their numbers."""
    streams = range(len(rates))
    return RingJoin(
        tuple(rates),
        tuple(windows),
        tuple(ProbePath(head, tuple(other for other in streams if other != head)) for head in streams),
        ((match_prob,) * (len(rates) - 1),) * len(rates),
    )


def random_join(rng: Random) -> RingJoin:
    streams = rng.randint(2, 4)
    return joined(
        [rng.uniform(1, 50) for _ in range(streams)],
        [rng.uniform(1, 10) for _ in range(streams)],
        rng.uniform(0.01, 0.1),
    )


def test_one_ring_for_equal_streams_is_that_of_one() -> None:
    join = joined([50] * 3, [10] * 3, 0.05)
    assert query_length(join, TIMES, most=60) == optimal_nodes(join.steps(0), TIMES) == 21


def test_small_windows_are_shared_by_fewer_nodes() -> None:
    join = joined([50, 50, 50], [10, 1, 10], 0.05)
    large, small, other = ring_lengths(join, TIMES, most=60)
    assert small < min(large, other)
    # Windows that are alike differ by no more than it takes to meet the best total.
    same = ring_lengths(joined([50] * 3, [10] * 3, 0.05), TIMES, most=60)
    assert max(same) - min(same) <= 1


def test_one_ring_for_all_lies_between_those_of_the_streams() -> None:
    rng = Random(5)  # noqa: S311
    different = 0
    for _ in range(60):
        join = random_join(rng)
        alone = [min(80, optimal_nodes(join.steps(head), TIMES)) for head in range(len(join.rates))]
        assert min(alone) <= query_length(join, TIMES, most=80) <= max(alone)
        different += min(alone) < max(alone)
    assert different > 20


def test_the_mean_is_over_arriving_rows() -> None:
    join = joined([300, 100], [1, 40], 0.1)
    first, second = (latency(join.steps(head), TIMES, 3) for head in (0, 1))
    assert first != second
    assert mean_latency(join, TIMES, [3, 3]) == pytest.approx((3 * first + second) / 4)


def test_streams_that_weigh_least_come_first() -> None:
    paths = (ProbePath(0, (1, 2)), ProbePath(1, (0, 2)), ProbePath(2, (0, 1)))
    # Stream 0 is met with 0.5 and 0.1, stream 1 with 0.2 and 0.2, stream 2 with 0.3 and 0.1.
    probs = ((0.2, 0.3), (0.5, 0.1), (0.1, 0.2))
    join = RingJoin((10, 10, 10), (1, 1, 2), paths, probs)
    assert [join.weight(stream) for stream in range(3)] == pytest.approx([3, 2, 4])
    assert ring_order(join) == (1, 0, 2)
    assert ring_order(joined([5, 5, 5], [2, 2, 2], 0.1)) == (0, 1, 2)


def test_lengths_are_settled_one_after_the_other() -> None:
    rng = Random(7)  # noqa: S311
    unequal = 0
    for _ in range(15):
        join = random_join(rng)
        lengths = ring_lengths(join, TIMES, most=40)
        streams, order = range(len(lengths)), ring_order(join)
        for turn, stream in enumerate(order):
            earlier = order[:turn]
            trials = {
                nodes: mean_latency(join, TIMES, [lengths[s] if s in earlier else nodes for s in streams])
                for nodes in range(1, 41)
            }
            assert trials[lengths[stream]] == min(trials.values())
        # Never worse than one length for all, which is where it starts.
        one = query_length(join, TIMES, most=40)
        assert mean_latency(join, TIMES, lengths) <= mean_latency(join, TIMES, [one] * len(lengths)) + 1e-12
        unequal += len(set(lengths)) > 1
    assert unequal > 0


def rows_between(history: Sequence[float], window: float, start: float, end: float) -> float:
    """Rows of ages [start, end), spread evenly within each interval of a history."""
    width = window / len(history)
    return sum(
        count * max(0.0, min(end, (number + 1) * width) - max(start, number * width)) / width
        for number, count in enumerate(history)
    )


def random_history(rng: Random) -> list[float]:
    history = [rng.choice([0.0, 1.0, rng.uniform(0, 50)]) for _ in range(rng.randint(1, 12))]
    return history if sum(history) > 0 else [1.0]


def test_slices_abut_and_hold_their_shares() -> None:
    rng = Random(11)  # noqa: S311
    for _ in range(300):
        window = rng.uniform(0.1, 1000)
        history = random_history(rng)
        shares = [rng.choice([0.0, 1.0, rng.uniform(0, 5)]) for _ in range(rng.randint(1, 9))]
        shares[rng.randrange(len(shares))] = 1.0
        bounds = [0.0, *slice_ends(window, shares, history)]
        assert bounds[-1] == window
        assert all(start <= end for start, end in pairwise(bounds))
        held = [rows_between(history, window, start, end) for start, end in pairwise(bounds)]
        expected = [share * sum(history) / sum(shares) for share in shares]
        assert held == pytest.approx(expected, abs=1e-9 * sum(history))


@pytest.mark.parametrize("nodes", [1, 3, 7])
def test_a_steady_rate_gives_equal_slices(nodes: int) -> None:
    expected = [10 * node / nodes for node in range(1, nodes + 1)]
    for history in ([5.0], [2.0] * 6, [0.0, 0.0]):
        assert slice_ends(10, [1] * nodes, history) == pytest.approx(expected)


def test_nodes_behind_a_short_ring_hold_nothing_of_the_stream() -> None:
    assert slice_ends(9, [1, 2, 0, 0]) == (3, 9, 9, 9)
    assert slice_ends(9, [0, 1, 2]) == (0, 3, 9)


def test_all_nodes_hold_equally_many_rows() -> None:
    shares = node_shares([60, 20, 40], lengths=[4, 4, 4])
    assert shares == ((15,) * 4, (5,) * 4, (10,) * 4)
    # Streams on more nodes make up for those on few.
    assert [sum(node) for node in zip(*node_shares([6, 10], [2, 4]), strict=True)] == [4, 4, 4, 4]


def test_shares_are_as_even_as_lengths_allow() -> None:
    """No node holds more than some set of streams confined to the nodes up to it makes it."""
    rng = Random(13)  # noqa: S311
    for _ in range(200):
        tuples = [rng.choice([0.0, rng.uniform(0, 100)]) for _ in range(rng.randint(1, 5))]
        lengths = [rng.randint(1, 6) for _ in tuples]
        shares = node_shares(tuples, lengths)
        assert [sum(stream) for stream in shares] == pytest.approx(tuples)
        assert all(not any(stream[length:]) for stream, length in zip(shares, lengths, strict=True))
        assert min(min(stream) for stream in shares) >= 0
        least = max(
            sum(rows for rows, length in zip(tuples, lengths, strict=True) if length <= nodes) / nodes
            for nodes in range(1, max(lengths) + 1)
        )
        assert max(sum(node) for node in zip(*shares, strict=True)) == pytest.approx(least)


def test_shares_do_not_depend_on_the_order_of_streams() -> None:
    streams = [(6.0, 2), (10.0, 4), (3.0, 3)]
    totals = {
        tuple(
            round(sum(node), 9)
            for node in zip(*node_shares([t for t, _ in order], [n for _, n in order]), strict=True)
        )
        for order in permutations(streams)
    }
    assert len(totals) == 1


def test_known_relocations() -> None:
    grown = relocation(3, added=1)
    assert [flow * Fraction(1, 4) for flow in grown.flows] == [Fraction(1, 12), Fraction(1, 6), 0]
    assert grown.after == (3,)
    twice = relocation(3, added=2)
    assert list(twice.flows) == [Fraction(2, 3), Fraction(1, 3), 0]
    assert twice.after == (2, 3)
    assert not any(relocation(4, added=0).flows)


@pytest.mark.parametrize("nodes", range(1, 8))
@pytest.mark.parametrize("added", range(10))
def test_relocation_ends_with_equal_abutting_slices(nodes: int, added: int) -> None:
    """Carry it out on a window of length 1: old nodes give their oldest ages away, then fill new nodes."""
    moves = relocation(nodes, added)
    unit = Fraction(1, nodes + added)
    slices = []
    received = Fraction(0)
    for node in range(1, nodes + 1):
        start = Fraction(node - 1, nodes) - received
        end = Fraction(node, nodes) - moves.flows[node - 1] * unit
        behind = moves.after.count(node)
        slices.append((start, end - behind * unit))
        slices += [(end - left * unit, end - (left - 1) * unit) for left in range(behind, 0, -1)]
        received = moves.flows[node - 1] * unit
        assert 0 <= received < unit
    assert received == 0, "the last node has nobody to hand to"
    assert slices == [(place * unit, (place + 1) * unit) for place in range(nodes + added)]


def test_nonsense_is_refused() -> None:
    join = joined([5, 5], [2, 2], 0.1)
    refusals: list[Callable[[], object]] = [
        lambda: joined([5, -5], [2, 2], 0.1),
        lambda: joined([5, 5], [2, 0], 0.1),
        lambda: joined([5, 5], [2], 0.1),
        lambda: joined([5], [2], 0.1),
        lambda: RingJoin((1, 1), (1, 1), join.paths[::-1], join.match_probs),
        lambda: RingJoin((1, 1), (1, 1), join.paths, ((0.1,), (0.1, 0.1))),
        lambda: query_length(join, TIMES, most=0),
        lambda: ring_lengths(join, TIMES, most=-1),
        lambda: node_shares([1, 2], [1]),
        lambda: node_shares([], []),
        lambda: node_shares([1], [0]),
        lambda: node_shares([-1], [1]),
        lambda: slice_ends(0, [1]),
        lambda: slice_ends(10, []),
        lambda: slice_ends(10, [0, 0]),
        lambda: slice_ends(10, [2, -1]),
        lambda: slice_ends(10, [1], history=[]),
        lambda: slice_ends(10, [1], history=[3, -1]),
        lambda: relocation(0, added=1),
        lambda: relocation(3, added=-1),
    ]
    for refusal in refusals:
        with pytest.raises(InvalidQuery):
            refusal()
