"""What a join costs on a ring of nodes that share out every window by age.

Wang & Rundensteiner 2009, Sect. 5. A row that arrives visits the windows of the other streams one after the
other, and each window lies in slices on the nodes of the ring:

    arriving row -> [ step 2 ] -> partial results -> [ step 3 ] -> ... -> results
                      all N slices                     all N slices

Comparing is shared out over the nodes, sending is not: every tuple on the ring passes every node. So a longer
ring brings more results per second up to a limit, and quicker ones up to a point.

The equations are those of Sect. 5 with three corrections. Equation 1 is to count compared pairs, so the
window of a step enters it without the step's match probability; only then does equation 2 follow. N nodes
that work at the same time serve N rows in the time of equation 3. And the counts of Sect. 4.3 are one power
too high: M streams make M - 1 steps, of which the last gives results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

from watersmeet.errors import InvalidQuery


@dataclass(frozen=True, slots=True)
class Step:
    """One window that an arriving row, or what became of it, visits.

    Attributes:
        rate: Rows per second of the stream visited.
        window: Seconds that its rows live.
        match_prob: How likely a row of it belongs to what visits.
    """

    rate: float
    window: float
    match_prob: float

    def __post_init__(self) -> None:
        """Refuse numbers that no stream has."""
        _refuse_unless(self.rate >= 0 and math.isfinite(self.rate), "rate of a ring step", self.rate)
        _refuse_unless(self.window > 0 and math.isfinite(self.window), "window of a ring step", self.window)
        _refuse_unless(0 <= self.match_prob <= 1, "match probability of a ring step", self.match_prob)

    @property
    def tuples(self) -> float:
        """Rows alive in the window."""
        return self.rate * self.window

    @property
    def partners(self) -> float:
        """Rows among them that match."""
        return self.tuples * self.match_prob


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that one operation takes (Table 1).

    Attributes:
        compare: Judge one pair.
        insert: Put a row into a window.
        purge: Take a row out of it.
        send: Send and receive one tuple, on the processors.
        hop: From one node to the next, on the network.
    """

    compare: float
    insert: float = 0.0
    purge: float = 0.0
    send: float = 0.0
    hop: float = 0.0

    def __post_init__(self) -> None:
        """Refuse times that run backwards."""
        for seconds in astuple(self):
            _refuse_unless(seconds >= 0 and math.isfinite(seconds), "time of a ring operation", seconds)


def reaching(steps: Sequence[Step]) -> tuple[float, ...]:
    """Expected tuples per arriving row in front of each step, and behind the last: 1, x2, x2 x3, ...

    >>> reaching([Step(10, 2, 0.1), Step(10, 3, 0.1)])
    (1.0, 2.0, 6.0)
    """
    _refuse_unless(len(steps) > 0, "number of ring steps", 0)
    counts = [1.0]
    for step in steps:
        counts.append(counts[-1] * step.partners)
    return tuple(counts)


def intermediates(steps: Sequence[Step]) -> float:
    """Partial results per arriving row that travel the ring (Sect. 4.3)."""
    return sum(reaching(steps)[1:-1])


def results(steps: Sequence[Step]) -> float:
    """Results per arriving row (Sect. 4.3)."""
    return reaching(steps)[-1]


def central_work(steps: Sequence[Step], times: Times) -> float:
    """Seconds of work for one arriving row on a single machine: L_C of equation 1.

    >>> central_work([Step(10, 2, 0.1), Step(10, 3, 0.1)], Times(compare=1))
    80.0
    """
    pairs = sum(count * step.tuples for count, step in zip(reaching(steps), steps, strict=False))
    return times.insert + times.purge + times.compare * pairs


def sending_work(steps: Sequence[Step], times: Times) -> float:
    """Seconds that each node spends on passing on one arriving row and its partial results."""
    return times.send * (1 + intermediates(steps))


def ring_work(steps: Sequence[Step], times: Times, nodes: int) -> float:
    """Seconds of work for one arriving row over all nodes of the ring: L_PSP below equation 1."""
    _check_nodes(nodes)
    return central_work(steps, times) + nodes * sending_work(steps, times)


def service_rate(steps: Sequence[Step], times: Times, nodes: int) -> float:
    """Arriving rows per second that the ring can take: N / L_PSP (equation 3, for N nodes at work)."""
    work = ring_work(steps, times, nodes)
    return nodes / work if work > 0 else math.inf


def output_rate(steps: Sequence[Step], times: Times, nodes: int) -> float:
    """Results per second of a ring that is never idle (equation 4); grows with the ring."""
    # Without results nothing comes out, however quickly.
    return results(steps) * service_rate(steps, times, nodes) if results(steps) > 0 else 0.0


def output_limit(steps: Sequence[Step], times: Times) -> float:
    """What the output rate comes near to on ever longer rings, where nodes do nothing but pass tuples on."""
    sending = sending_work(steps, times)
    return results(steps) / sending if sending > 0 else math.inf


def latency(steps: Sequence[Step], times: Times, nodes: int) -> float:
    """Mean seconds from the arrival of a row to its results (equation 5).

    A result is found on the average node, half the ring away. It is there once that node's share of the
    work is done and the tuples have gone round; the two overlap. The M rounds are those of the paper and
    leave one to spare: a result has travelled at most M - 1.
    """
    return latency_of_lengths(steps, times, lengths=[nodes] * len(steps), own=nodes)


def latency_of_lengths(steps: Sequence[Step], times: Times, lengths: Sequence[int], own: int) -> float:
    """Equation 5 where windows are shared by different numbers of nodes.

    A round through a window passes the nodes that hold a slice of it and skips the others: the M rounds are
    one through each window. The node that counts holds a slice of every window, as the head of the ring does.

    Args:
        steps: The windows that a row visits.
        times: Seconds per operation.
        lengths: Per step the number of nodes that share its window.
        own: The number of nodes that share the window of the arriving row's own stream.
    """
    for nodes in (*lengths, own):
        _check_nodes(nodes)
    compared = sum(
        count * step.tuples / nodes
        for count, step, nodes in zip(reaching(steps)[:-1], steps, lengths, strict=True)
    )
    working = (times.insert + times.purge) / own + times.compare * compared + sending_work(steps, times)
    travelling = (own + sum(lengths)) * times.hop
    # Results are found on the nodes of the last window.
    return (lengths[-1] - 1) / 2 * times.hop + max(working, travelling)


def crossing_nodes(steps: Sequence[Step], times: Times) -> float:
    """N1 of Sect. 5.2: where a node's work takes as long as the rounds; beyond, only the rounds count."""
    if times.hop == 0:
        return math.inf
    sending = sending_work(steps, times)
    rounds = (len(steps) + 1) * times.hop
    # The positive root of  rounds * N^2 - sending * N - central_work = 0.
    root = math.sqrt(sending**2 + 4 * rounds * central_work(steps, times))
    return (sending + root) / (2 * rounds)


def turning_nodes(steps: Sequence[Step], times: Times) -> float:
    """N2 of Sect. 5.2: where one more node saves less work than the way to it costs.

    The paper sets the two terms equal, (N - 1) / 2 * T_n = L_C / N. That is where two neighbouring integers
    are equally good; the lowest point of the curve, taken here, is half a node before.
    """
    return math.sqrt(2 * central_work(steps, times) / times.hop) if times.hop > 0 else math.inf


def optimal_nodes(steps: Sequence[Step], times: Times) -> int:
    """The length of the ring with the smallest latency: beside min{N1, N2}, ties to the shorter ring.

    >>> three_way = [Step(rate=50, window=10, match_prob=0.05)] * 2
    >>> optimal_nodes(three_way, Times(compare=0.0001, send=0.00001, hop=0.001))
    21
    """
    turn = min(crossing_nodes(steps, times), turning_nodes(steps, times))
    if math.isinf(turn):
        raise InvalidQuery(
            "ring has no best length",
            "a hop takes no time, so more nodes are always better.",
            "give the time of a hop, or choose the length by the nodes there are.",
        )
    # Latency falls up to this point and rises from it on, so the best integer is next to it.
    beside = {max(1, math.floor(turn)), max(1, math.ceil(turn))}
    return min(sorted(beside), key=lambda nodes: latency(steps, times, nodes))


def _check_nodes(nodes: int) -> None:
    if nodes < 1:
        raise InvalidQuery("ring has no nodes", f"it is {nodes} nodes long.", "give it one node or more.")


def _refuse_unless(sound: bool, name: str, value: object) -> None:  # noqa: FBT001
    if not sound:
        raise InvalidQuery(
            f"{name} makes no sense", f"it is {value}.", "times and counts are finite and not negative."
        )
