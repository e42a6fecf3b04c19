"""How many nodes share the windows of a join: quick answers, within the nodes there are.

For the arrivals of one stream the best length is known in closed form (`cost.ring.optimal_nodes`). A query
has arrivals of all its streams, and what is best for one is not for the other. Two ways out:

*   `query_length`: one length for all windows, the one with the smallest mean latency.
*   `ring_lengths`: a length for each window. All combinations are too many to try, so the paper settles one
    stream after the other (Wang & Rundensteiner 2009, Sect. 5.4), those that weigh most last, when most is
    known about the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.cost.ring import Step, Times, latency_of_lengths
from watersmeet.errors import InvalidQuery
from watersmeet.plan import ProbePath


@dataclass(frozen=True, slots=True)
class RingJoin:
    """A join as the ring sees it.

    Attributes:
        rates: Rows per second, per stream.
        windows: Seconds that rows live, per stream.
        paths: Per stream the order in which its rows visit the others.
        match_probs: Per stream the match probability of each step of its path.
    """

    rates: tuple[float, ...]
    windows: tuple[float, ...]
    paths: tuple[ProbePath, ...]
    match_probs: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        """Each stream needs all four; the steps themselves refuse impossible numbers."""
        streams = len(self.rates)
        sound = (
            streams >= 2
            and len(self.windows) == streams
            and [path.head for path in self.paths] == list(range(streams))
            and all(len(path.order) == streams - 1 for path in self.paths)
            and [len(probs) for probs in self.match_probs] == [streams - 1] * streams
        )
        if not sound:
            raise InvalidQuery(
                "join on a ring is described in part",
                f"{streams} streams have {len(self.windows)} windows, {len(self.paths)} paths and "
                f"{len(self.match_probs)} lists of match probabilities.",
                "give each of two or more streams a rate, a window, a path and a probability per step.",
            )
        for head in range(streams):
            self.steps(head)

    def steps(self, head: int) -> tuple[Step, ...]:
        """The windows that rows of a stream visit."""
        return tuple(
            Step(self.rates[stream], self.windows[stream], match_prob)
            for stream, match_prob in zip(self.paths[head].order, self.match_probs[head], strict=True)
        )

    def weight(self, stream: int) -> float:
        """Mean partners that others find in a stream's window: rate * window * mean match probability."""
        found = [
            match_prob
            for path, probs in zip(self.paths, self.match_probs, strict=True)
            for visited, match_prob in zip(path.order, probs, strict=True)
            if visited == stream
        ]
        return self.rates[stream] * self.windows[stream] * sum(found) / len(found)


def mean_latency(join: RingJoin, times: Times, lengths: Sequence[int]) -> float:
    """Mean seconds to the results of an arriving row, of whatever stream it is.

    Args:
        join: The join.
        times: Seconds per operation.
        lengths: Per stream the number of nodes that share its window.
    """
    latencies = [
        latency_of_lengths(
            join.steps(head), times, [lengths[visited] for visited in path.order], own=lengths[head]
        )
        for head, path in enumerate(join.paths)
    ]
    weights = join.rates if sum(join.rates) > 0 else (1.0,) * len(latencies)
    weighted = (weight * seconds for weight, seconds in zip(weights, latencies, strict=True))
    return sum(weighted) / sum(weights)


def query_length(join: RingJoin, times: Times, most: int) -> int:
    """The best length of one ring for all windows; of equal ones the shortest."""
    _check_most(most)
    return min(range(1, most + 1), key=lambda nodes: mean_latency(join, times, [nodes] * len(join.rates)))


def ring_order(join: RingJoin) -> tuple[int, ...]:
    """The streams in the order in which their lengths are settled: those that weigh least first."""
    return tuple(sorted(range(len(join.rates)), key=lambda stream: (join.weight(stream), stream)))


def ring_lengths(join: RingJoin, times: Times, most: int) -> tuple[int, ...]:
    """A length for each stream's window, settled in `ring_order`.

    A stream whose turn has not come is given the length under trial, so the first to be settled stands for
    all, and no turn makes the answer later than the one before.
    """
    _check_most(most)
    settled: dict[int, int] = {}

    def with_trial(nodes: int) -> list[int]:
        return [settled.get(stream, nodes) for stream in range(len(join.rates))]

    for stream in ring_order(join):
        settled[stream] = min(
            range(1, most + 1), key=lambda nodes: mean_latency(join, times, with_trial(nodes))
        )
    return tuple(with_trial(most))


def _check_most(most: int) -> None:
    if most < 1:
        raise InvalidQuery("ring has no nodes", f"at most {most} are allowed.", "allow one node or more.")
