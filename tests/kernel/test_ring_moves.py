"""Rows of a ring that move at once when nodes come and go (Wang & Rundensteiner 2009, Sect. 6).

Would catch: rows lost or out of order while they move, nodes that end with unequal slices.
"""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import pytest

from harness.ring import (
    Host,
    seeded,
    two_streams,
)
from watersmeet.errors import InvalidQuery
from watersmeet.kernel.ring.join import AgeWindow, Join
from watersmeet.kernel.ring.message import Row
from watersmeet.kernel.ring.predicate import PairHash
from watersmeet.kernel.ring.ring import Ring, equal_ends
from watersmeet.kernel.ring.slice import Slice
from watersmeet.optimize.papers.wang_rundensteiner.slicing import relocation


def ring_of(nodes: int, rows: int) -> Ring:
    """A window that is exactly full of evenly spaced rows, ages 0 to rows - 1."""
    join = two_streams(window=rows)
    ring = Ring(join, equal_ends(join, nodes))
    host = Host(ring, seeded(0))
    host.run([(0, time) for time in range(2 * rows)])
    return ring


@pytest.mark.parametrize(("nodes", "added"), [(3, 1), (3, 2), (1, 2), (2, 1), (4, 3), (5, 5), (7, 4)])
def test_more_nodes_and_fewer_again(nodes: int, added: int) -> None:
    """Rows move as Sect. 6 has it: 1/3 and 2/3 of a new slice for 3 -> 4, and one fills the new node."""
    rows = 4 * nodes * (nodes + added)
    ring, plan = ring_of(nodes, rows), relocation(nodes, added)
    old = list(ring.nodes)
    ends = equal_ends(ring.join, nodes + added)
    for count, after in enumerate(plan.after):
        ring.insert(after + count, ends[after + count])
    moves = ring.arrange(ring.nodes, ends)
    unit = rows // (nodes + added)
    fresh = [node for node in ring.nodes if node not in old]
    flows = [moves[one.number, other.number] for one, other in pairwise(old)]
    assert [Fraction(flow, unit) for flow in flows] == list(plan.flows[:-1])
    assert [
        moves[old[after - 1].number, node.number] for node, after in zip(fresh, plan.after, strict=True)
    ] == [unit] * added
    assert moves.total() == sum(flows) + added * unit
    assert [len(node.slices[0]) for node in ring.nodes] == [unit] * (nodes + added)

    back = ring.arrange(old, equal_ends(ring.join, nodes))
    assert back == Counter({(there, here): count for (here, there), count in moves.items()})
    assert [len(node.slices[0]) for node in ring.nodes] == [rows // nodes] * nodes


def test_three_nodes_become_four_and_five() -> None:
    ring = ring_of(3, 60)
    ring.insert(3, [60, 60])
    assert ring.arrange(ring.nodes, equal_ends(ring.join, 4)) == {(0, 1): 5, (1, 2): 10, (2, 3): 15}
    ring = ring_of(3, 60)
    ring.insert(2, [60, 60])
    ring.insert(4, [60, 60])
    assert [node.number for node in ring.nodes] == [0, 1, 3, 2, 4]
    moves = ring.arrange(ring.nodes, equal_ends(ring.join, 5))
    assert moves == {(0, 1): 8, (1, 3): 12, (1, 2): 4, (2, 4): 12}


def test_changes_that_would_lose_rows_are_refused() -> None:
    join = two_streams(window=10)
    ring = Ring(join, equal_ends(join, 2))
    ring.arrive(0, 0)
    assert ring.admit()
    with pytest.raises(InvalidQuery, match="partial results look for them"):
        ring.arrange(ring.nodes[:1], [[10, 10]])
    with pytest.raises(InvalidQuery, match="head of a ring"):
        ring.insert(0, [10, 10])
    with pytest.raises(InvalidQuery, match="no nodes"):
        Ring(join, [])
    with pytest.raises(InvalidQuery, match="takes no rows"):
        Ring(join, equal_ends(join, 2), in_flight=0)
    with pytest.raises(InvalidQuery, match="described in part"):
        Join(join.windows, join.paths[:1], join.predicate)
    with pytest.raises(InvalidQuery, match="holds no row"):
        Join((AgeWindow(0), AgeWindow(1)), join.paths, join.predicate)
    with pytest.raises(InvalidQuery, match="match probability"):
        PairHash([(0, 1)], 1.5)


def test_a_slice_grows_and_shrinks() -> None:
    """Positions stay what they are, whatever room is made."""
    part, random = Slice(), seeded(3)
    for id_ in range(500):
        part.append(Row(0, id_, id_, value=str(id_)))
        if random.random() < 0.6:
            part.move(random.randint(0, len(part)))
            part.release(random.randint(part.first, part.moved))
        ids, values = part.view(part.first, part.next)
        assert ids.tolist() == list(range(part.first, id_ + 1))
        assert [*map(int, values)] == ids.tolist()
        assert [part.row(position).id for position in range(part.first, part.next)] == ids.tolist()
        assert [row.id for row in part.held] == ids.tolist()[part.copies :]
