"""The ways to compute a one-way join over a network (Tran & Lee 2010, Sect. 3.1).

In a one-way join the arrivals of a first stream at node 1 look back into the window of a second stream at
node 2. The algorithms differ in where the results come out and in what travels:

    SP-S    at node 1   every row of the second stream
    SP-D    at node 2   every row of the first stream
    SM-S1   at node 1   the keys of the first stream, then the rows of the second that have one of them
    SM-S2   at node 1   the same, but node 1 remembers the keys it has asked for and node 2 keeps them current
    SM-D1   at node 2   the rows of the first stream whose key the second has, as far as node 1 was told
    SM-D2   at node 2   keys there, which of them match back, then the rows that have one of these

Three have a variant in which keys travel as a Bloom filter: about ten bits per key whatever its type, and a
few rows too many, which the join itself sorts out.
"""

from __future__ import annotations

from enum import Enum


class Algorithm(Enum):
    """A way to compute a one-way join; of equally cheap ones the first is taken."""

    SP_S = "SP-S"
    SP_D = "SP-D"
    SM_S1 = "SM-S1"
    SM_S2 = "SM-S2"
    SM_D1 = "SM-D1"
    SM_D2 = "SM-D2"
    SM_S1_BLOOM = "SM-S1-B"
    SM_D1_BLOOM = "SM-D1-B"
    SM_D2_BLOOM = "SM-D2-B"

    @property
    def at_source(self) -> bool:
        """Whether results come out where the arriving rows are, not where the window is."""
        return self in _AT_SOURCE

    @property
    def bloom(self) -> bool:
        """Whether keys travel as a Bloom filter."""
        return self.value.endswith("-B")


_AT_SOURCE = frozenset({Algorithm.SP_S, Algorithm.SM_S1, Algorithm.SM_S2, Algorithm.SM_S1_BLOOM})

# Those of the paper.
PUBLISHED = tuple(algorithm for algorithm in Algorithm if not algorithm.bloom)
