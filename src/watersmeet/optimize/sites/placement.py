r"""Placed joins as plain data (Zhou et al. 2006, Sect. 3.2, Fig. 3).

A leaf is a stream at the node where it arrives. An inner node joins its inputs at the place of the right-most
one; the others are sent there.

              join at node 0
             /      |       \
    join at node 1  S4       S1        S4 arrives at node 2, S0 and S1 at node 0, S2 at node 1:
       /   \                           sent are S0 to node 1, and its result and S4 to node 0
      S0    S2
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from watersmeet.cost.traffic import Traffic
from watersmeet.errors import InvalidQuery


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stream where it arrives.

    Attributes:
        stream: Its number.
        node: Where it arrives.
        streams: Itself.
    """

    stream: int
    node: int
    # Planning asks for the streams of a part again and again, so a part knows them from the start.
    streams: frozenset[int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Note the stream."""
        object.__setattr__(self, "streams", frozenset({self.stream}))

    @property
    def inputs(self) -> tuple[Tree, ...]:
        """None."""
        return ()

    def __str__(self) -> str:
        return f"S{self.stream}"


@dataclass(frozen=True, slots=True)
class MJoin:
    """A multi-way join of two inputs or more, at the node of the last.

    Attributes:
        inputs: What it joins.
        streams: The streams below.

    >>> inner = MJoin((Leaf(0, node=0), Leaf(2, node=1)))
    >>> tree = MJoin((inner, Leaf(4, node=2), Leaf(1, node=0)))
    >>> print(tree)
    ((S0 S2)@1 S4 S1)@0
    >>> sorted(tree.streams)
    [0, 1, 2, 4]
    """

    inputs: tuple[Tree, ...]
    streams: frozenset[int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Note the streams; each comes in once."""
        object.__setattr__(self, "streams", frozenset().union(*(part.streams for part in self.inputs)))
        if len(self.inputs) < 2:
            raise InvalidQuery("a join needs two inputs", f"it has {len(self.inputs)}.")
        if sum(len(part.streams) for part in self.inputs) > len(self.streams):
            raise InvalidQuery("a stream occurs twice in a plan", f"it joins streams {sorted(self.streams)}.")

    @property
    def node(self) -> int:
        """Where it is evaluated."""
        return self.inputs[-1].node

    def crosses(self, edge: frozenset[int]) -> bool:
        """Whether a predicate on these streams is evaluated here: they come together from several inputs."""
        return sum(bool(part.streams & edge) for part in self.inputs) > 1

    def __str__(self) -> str:
        return f"({' '.join(map(str, self.inputs))})@{self.node}"


Tree = Leaf | MJoin


@dataclass(frozen=True, slots=True)
class Placement:
    """A plan, and what it sends between nodes per time unit."""

    tree: Tree
    cost: float


def leaves(traffic: Traffic) -> list[Tree]:
    """Every stream where it arrives."""
    return [Leaf(stream, node) for stream, node in enumerate(traffic.nodes)]


def joined_at_last(parts: Iterable[Tree]) -> Tree:
    """The join of some parts at the last; a part alone needs none."""
    inputs = tuple(parts)
    return inputs[0] if len(inputs) == 1 else MJoin(inputs)


def operators(tree: Tree) -> list[MJoin]:
    """Every join of a plan, those below before those above."""
    if isinstance(tree, Leaf):
        return []
    return [*(found for part in tree.inputs for found in operators(part)), tree]
