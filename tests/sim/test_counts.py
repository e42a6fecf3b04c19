"""What sites say they hold, and what waits there, is what is really there.

Would catch: a part that keeps rows and does not say so, heads that are counted at both sides or at none, a
copy that is left out or stays after the end.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from harness.delays import two_streams
from harness.graphs import SHAPES, random_events, random_query
from harness.sites import (
    ALGORITHMS,
    arrivals,
    join_of,
    random_placed,
    random_sequences,
    random_slices,
    random_tree,
    spread,
)
from watersmeet.kernel.blob import from_blob
from watersmeet.kernel.sites.node import Addressed
from watersmeet.kernel.sites.packet import END, TIME, Packet
from watersmeet.optimize.sites.placed_wiring import placed_wiring
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.query import JoinQuery
from watersmeet.sim.link import LinkModel
from watersmeet.sim.simulation import Arrival, Simulation, encoded_size, same_links

ROWS = 100


def arrival(query: JoinQuery, stream: int, at: int) -> Arrival:
    """A hundred rows with different keys, which the other stream has too."""
    columns = {
        "ts": pa.array(range(ROWS), pa.timestamp("us", tz="UTC")),
        "key": pa.array(range(ROWS), pa.int64()),
        "value": pa.array(range(ROWS), pa.int64()),
    }
    refs = source_refs(query, stream)
    rows = pa.record_batch(
        [pa.array(range(ROWS), pa.int64()), *(columns[ref.column] for ref in refs)], [TIME, *map(named, refs)]
    )
    return Arrival(at, stream, rows, ROWS)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.value)
def test_rows_that_are_stuck_and_rows_that_are_held(algorithm: Algorithm) -> None:
    """Counted from outside: what came, and what the sites have sent each other."""
    query = two_streams()
    wiring = Sequences(((Hop(1, algorithm),), (Hop(0, algorithm),))).wiring(query, ["oslo", "bonn"])
    copied = 0

    def size(packets: list[Addressed]) -> int:
        nonlocal copied
        answers = [packet for number, packet in packets if wiring.edges[number].way == "answer"]
        copied += sum(packet.rows.num_rows for packet in answers if packet.rows is not None)
        return encoded_size(packets)

    def counts(coming: list[Arrival]) -> tuple[int, int]:
        simulation = Simulation(wiring, same_links(LinkModel(latency=0.01)), size=size)
        simulation.run(coming)
        nodes = simulation.nodes.values()
        return sum(node.held for node in nodes), sum(node.waiting for node in nodes)

    one, other = arrival(query, 0, 10), arrival(query, 1, 1_000_000)
    # The other stream is silent: all rows of this one are kept for it, and wait for it.
    assert counts([one]) == (ROWS, ROWS)
    assert copied == 0
    held, waiting = counts([one, other])
    assert (held, waiting) == (2 * ROWS + copied, 0)
    assert (copied > 0) == (algorithm in (Algorithm.SM_S1, Algorithm.SM_S1_BLOOM, Algorithm.SM_S2))
    ends = [Arrival(2_000_000, stream, None, END) for stream in range(2)]
    assert counts([one, other, *ends]) == (0, 0)


@pytest.mark.parametrize("method", ["sequences", "tree", "placed", "sliced"])
def test_what_is_kept_is_what_is_counted(method: str) -> None:
    """Any plan, whenever something is sent."""
    most = max(check(Random(f"counts {method} {number}"), method) for number in range(4))  # noqa: S311
    assert most > 10


def check(random: Random, method: str) -> int:
    """Every site counts as many rows as there are in what it would save; returns the most there were."""
    query = random_query(random, random.choice(SHAPES), 3, 0.5 if method == "sliced" else 0.1)
    join = join_of(query)
    sites = spread(random, 3)
    if method == "tree":
        wiring = random_tree(random, join, sorted(set(sites))).wiring(join, sites)
    elif method == "sliced":
        wiring = random_slices(random, join).wiring(join)
    elif method == "placed":
        wiring = placed_wiring(join, random_placed(random, join, sorted(set(sites))), sites)
    else:
        wiring = random_sequences(random, join).wiring(join, sites)
    most = 0

    def look(packets: list[Addressed]) -> int:
        nonlocal most
        for node in simulation.nodes.values():
            kept = sum(rows_in(node.save()))
            assert node.held + node.waiting == kept
            # A site that has ended may be stopped, so that is how it says it was.
            assert not (node.ended and kept)
            most = max(most, kept)
        return encoded_size(packets)

    simulation = Simulation(wiring, same_links(LinkModel(latency=1.5)), size=look)
    simulation.run(arrivals(random, join, random_events(random, 3, 14), tick=1, disorder=3))
    return most


def rows_in(kept: Any) -> Iterator[int]:
    """The rows, which are those with a time, in all that is kept; keys and filters are none."""
    if isinstance(kept, pa.RecordBatch):
        yield kept.num_rows if TIME in kept.schema.names else 0
    elif isinstance(kept, bytes):
        yield len(from_blob(kept).times)
    elif isinstance(kept, Packet):
        yield from rows_in(kept.tables)
    elif isinstance(kept, dict):
        yield from rows_in(tuple(kept.values()))
    elif isinstance(kept, tuple):
        for part in kept:
            yield from rows_in(part)
