"""What a placed plan sends between nodes (Zhou et al. 2006, Sect. 3.1): the rates of what is shipped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from watersmeet.cost.traffic import Traffic, require_known
from watersmeet.errors import InvalidQuery


class Placed(Protocol):
    """A tree of joins with a node for each part; a source has no inputs."""

    @property
    def streams(self) -> frozenset[int]:
        """The streams below."""

    @property
    def node(self) -> int:
        """Where its tuples come about."""

    @property
    def inputs(self) -> Sequence[Placed]:
        """What it joins."""


def load(traffic: Traffic, streams: frozenset[int]) -> float:
    """What sending the join of some streams to another node costs."""
    return traffic.joined(streams).rate * (len(streams) if traffic.sizes == "grow" else 1)


def communication_cost(tree: Placed, traffic: Traffic) -> float:
    """What a plan sends between nodes: every input that comes about elsewhere. The result stays."""
    if not tree.inputs:
        (stream,) = tree.streams
        require_known(tree.streams, len(traffic.nodes))
        if tree.node != traffic.nodes[stream]:
            raise InvalidQuery(
                f"stream {stream} is not at node {tree.node}", f"it arrives at node {traffic.nodes[stream]}."
            )
    if sum(len(part.streams) for part in tree.inputs) > len(tree.streams):
        raise InvalidQuery("a stream occurs twice in a plan", f"it joins streams {sorted(tree.streams)}.")
    sent = sum(load(traffic, part.streams) for part in tree.inputs if part.node != tree.node)
    return sent + sum(communication_cost(part, traffic) for part in tree.inputs)
