"""Two streams on a common grid of ticks, joined under fixed delays."""

from random import Random

import pyarrow as pa

from watersmeet.kernel.sites.packet import END, TIME
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.query import Column, JoinQuery, Stream, parse_duration
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.sim.fixed_delay import FixedDelay
from watersmeet.sim.link import LinkModel
from watersmeet.sim.simulation import Arrival, Measured, Simulation, same_links

MS = 1000
TICK, WINDOW, TICKS = 100 * MS, 300 * MS, 12
COLUMNS = (Column("ts", "timestamp"), Column("key", "bigint"), Column("value", "bigint"))


def two_streams() -> JoinQuery:
    """Streams a and b with windows of 300 ms, joined on a key."""
    streams = [Stream(name, COLUMNS, "ts", parse_duration(f"{WINDOW} us")) for name in "ab"]
    return join_query(streams, "key", ["a.value", "b.value"], "inner", ColumnsOnly())


def ticks(query: JoinQuery, seed: int, keys: int = 30, rows: int = 6) -> list[Arrival]:
    """Rows of random times and keys, all of a tick at its end."""
    random = Random(seed)  # noqa: S311
    found = []
    for tick in range(1, TICKS + 1):
        for stream in range(len(query.streams)):
            times = sorted(random.randrange((tick - 1) * TICK, tick * TICK) for _ in range(rows))
            columns = {
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                "key": pa.array([random.randrange(keys) for _ in times], pa.int64()),
                "value": pa.array([1000 * tick + n for n in range(rows)], pa.int64()),
            }
            refs = source_refs(query, stream)
            batch = pa.record_batch(
                [pa.array(times, pa.int64()), *(columns[ref.column] for ref in refs)],
                [TIME, *map(named, refs)],
            )
            found.append(Arrival(tick * TICK, stream, batch, tick * TICK - 1))
    # Long after the last tick, so that all rows have been removed by the rule.
    return found + [Arrival(2 * TICKS * TICK, stream, None, END) for stream in range(len(query.streams))]


def results(
    algorithm: Algorithm, seed: int, latency: int, delay: tuple[int, int] | None = None, jitter: int = 0
) -> set[tuple[int, int]]:
    """The pairs found; latency, jitter and (probe, removal) in microseconds."""
    measured, _ = run(algorithm, seed, latency, delay, jitter)
    found = [
        pair
        for batch in measured.results
        for pair in zip(batch.column("0.value").to_pylist(), batch.column("1.value").to_pylist(), strict=True)
    ]
    assert len(set(found)) == len(found)
    return set(found)


def run(
    algorithm: Algorithm, seed: int, latency: int, delay: tuple[int, int] | None = None, jitter: int = 0
) -> tuple[Measured, Simulation]:
    """Run it; both directions use the same algorithm."""
    query = two_streams()
    hops = Sequences(((Hop(1, algorithm),), (Hop(0, algorithm),)))
    simulation = Simulation(
        hops.wiring(query, ["oslo", "bonn"]),
        same_links(LinkModel(latency=latency / 1e6, jitter=jitter / 1e6)),
        seed=seed,
        delay=None if delay is None else FixedDelay(*(time / 1e6 for time in delay)),
    )
    return simulation.run(ticks(query, seed)), simulation
