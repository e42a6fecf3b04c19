"""Which ages of a window each node of the ring holds (Wang & Rundensteiner 2009, Sect. 5.4, 5.5 and 6).

Slice n of a window holds the rows of ages [end of slice n-1, end of slice n): the first starts at 0, the last
ends with the window, and no age is left out or held twice.

    age 0                                      W
        |  node 1  |  node 2  |  ...  | node N |
     arrivals -> rows wander to the right -> leave

The slowest node holds up the ring, and what a node has to do follows the rows it holds. So all nodes are to
hold equally many, which are equally long slices only while rows arrive at the same rate all the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from watersmeet.errors import InvalidQuery


def node_shares(tuples: Sequence[float], lengths: Sequence[int]) -> tuple[tuple[float, ...], ...]:
    """How many rows of each stream go to each node, so that nodes hold equally many where that can be.

    Streams on few nodes are spread evenly over them. Those on more nodes then fill up the nodes that hold
    least, as water would.

    Args:
        tuples: Rows alive, per stream.
        lengths: Per stream the number of nodes, counted from the head of the ring, that may hold them.

    >>> node_shares([6, 10], lengths=[2, 4])
    ((3.0, 3.0, 0.0, 0.0), (1.0, 1.0, 4.0, 4.0))
    """
    _refuse_unless(len(tuples) == len(lengths) > 0, "list of ring lengths", f"it has {len(lengths)} entries.")
    _refuse_unless(min(lengths) >= 1, "ring length", f"it is {min(lengths)}.")
    _refuse_unless(min(tuples) >= 0, "number of rows in a window", f"it is {min(tuples)}.")
    held = [0.0] * max(lengths)
    shares: dict[int, tuple[float, ...]] = {}
    # Short rings first: their rows have nowhere else to go.
    for stream in sorted(range(len(lengths)), key=lambda number: (lengths[number], number)):
        level = _level(held[: lengths[stream]], tuples[stream])
        poured = [max(0.0, level - rows) for rows in held[: lengths[stream]]]
        shares[stream] = tuple(poured + [0.0] * (len(held) - len(poured)))
        held = [rows + more for rows, more in zip(held, shares[stream], strict=True)]
    return tuple(shares[stream] for stream in range(len(lengths)))


def slice_ends(
    window: float, shares: Sequence[float], history: Sequence[float] = (1.0,)
) -> tuple[float, ...]:
    """The age at which each node's slice of a window ends.

    Args:
        window: Seconds that rows live.
        shares: How much of the window each node is to hold, in any unit; equal shares balance the ring.
        history: Rows alive by age, or rates: equally long intervals from age 0 to the whole window. Within
            one, rows are taken to be spread evenly. One entry says that the rate never changes.

    >>> slice_ends(12, [1, 1, 1])
    (4.0, 8.0, 12.0)
    >>> slice_ends(12, [1, 1, 1], history=[20, 10])  # arrivals have doubled since
    (3.0, 6.0, 12.0)
    """
    _refuse_unless(window > 0 and math.isfinite(window), "window on a ring", f"it is {window} s.")
    _refuse_unless(len(shares) > 0 and min(shares) >= 0 < sum(shares), "share of a node", f"{list(shares)}")
    _refuse_unless(len(history) > 0 and min(history) >= 0, "history of a window", f"it is {list(history)}.")
    # An empty window can be cut anywhere: as if rows came evenly.
    counts = list(history) if sum(history) > 0 else [1.0]
    per_share = sum(counts) / sum(shares)
    last = max(node for node, share in enumerate(shares) if share > 0)
    ends: list[float] = []
    younger = 0.0
    for share in shares[:last]:
        younger += share * per_share
        ends.append(min(window, _age_with(counts, younger) * window / len(counts)))
    # Not computed: whatever the rounding, the last slice ends with the window.
    return (*ends, *[float(window)] * (len(shares) - last))


@dataclass(frozen=True, slots=True)
class Relocation:
    """How rows move when nodes join a ring that stands still for it.

    Attributes:
        flows: What each old node hands to the next old one, its oldest rows, in slices of the new ring.
        after: For each new node the old one, counted from 1, behind which it goes and which fills it.
    """

    flows: tuple[Fraction, ...]
    after: tuple[int, ...]


def relocation(nodes: int, added: int) -> Relocation:
    """How equal slices on some nodes become equal slices on more, moving rows to neighbours only (Sect. 6).

    Old node i has A/N of a new slice too much, and so have those before it: whole slices of that go to new
    nodes, the rest to the next old one. A new node goes where a whole slice has come together, not where
    more than one has, as the paper has it: the last node passes nothing on. Read backwards, nodes are
    removed.

    >>> relocation(3, added=1)
    Relocation(flows=(Fraction(1, 3), Fraction(2, 3), Fraction(0, 1)), after=(3,))
    >>> relocation(3, added=2).after
    (2, 3)
    """
    _refuse_unless(nodes >= 1, "ring length", f"it is {nodes}.")
    _refuse_unless(added >= 0, "number of added nodes", f"it is {added}.")
    flows = tuple(Fraction(added * node, nodes) % 1 for node in range(1, nodes + 1))
    after = tuple(math.ceil(Fraction(new * nodes, added)) for new in range(1, added + 1))
    return Relocation(flows, after)


def _level(held: Sequence[float], poured: float) -> float:
    """How high the lowest stand when so much has been poured over them."""
    rising = sorted(held)
    while True:
        level = (poured + sum(rising)) / len(rising)
        # The highest stays dry if the water does not reach it.
        if level >= rising[-1] or len(rising) == 1:
            return level
        rising.pop()


def _age_with(counts: Sequence[float], younger: float) -> float:
    """The smallest age, in intervals, that so many rows are younger than."""
    passed = 0.0
    for interval, count in enumerate(counts):
        if passed + count >= younger:
            return interval + (younger - passed) / count if count > 0 else float(interval)
        passed += count
    return float(len(counts))


def _refuse_unless(sound: bool, name: str, detail: str) -> None:  # noqa: FBT001
    if not sound:
        raise InvalidQuery(
            f"{name} makes no sense", detail, "counts and times are not negative, lengths 1 or more."
        )
