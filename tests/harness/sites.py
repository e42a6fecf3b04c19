"""Random joins between sites, run in the simulator."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pyarrow as pa

from harness.graphs import START, GraphQuery, filtered
from oracles.graph import Event, Events
from oracles.reference import Result
from watersmeet.kernel.sites.packet import END, TIME, USABLE
from watersmeet.plan.sites.algorithm import Algorithm
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.plan.sites.placed import At, ByValue, Input, JoinAt, Tree
from watersmeet.plan.sites.sequences import Hop, Sequences
from watersmeet.plan.sites.sliced import Sliced
from watersmeet.plan.sites.tree import LeftDeep, TwoWayHop
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import JoinQuery, RowWindow
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.sim.link import SECOND, LinkModel
from watersmeet.sim.simulation import Arrival, Measured, Outage, Simulation

ALGORITHMS = tuple(Algorithm)


def join_of(query: GraphQuery) -> JoinQuery:
    """The query, which shows of each row its value."""
    streams = query.streams()
    return join_query(streams, query.texts, [f"{s.name}.value" for s in streams], "inner", ColumnsOnly())


def arrivals(
    random: Random, join: JoinQuery, rows: Sequence[Sequence[Event]], *, tick: int, disorder: int
) -> list[Arrival]:
    """Rows as they come: every stream in ticks, rows up to `disorder` seconds late, all of them in time."""
    found = []
    for stream, events in enumerate(rows):
        arriving = sorted((event.ts + random.randint(0, disorder), n) for n, event in enumerate(events))
        due = 0
        newest = -1
        for clock in range(tick, max(e.ts for e in events) + disorder + 2 * tick, tick):
            batch = []
            while due < len(arriving) and arriving[due][0] < clock:
                batch.append(events[arriving[due][1]])
                due += 1
            newest = clock - 1 - disorder
            found.append(Arrival(clock * SECOND, stream, _rows(join, stream, batch), START + newest * SECOND))
        found.append(Arrival(found[-1].at + 1, stream, None, END))
    return sorted(found, key=lambda arrival: (arrival.at, arrival.stream))


def _rows(join: JoinQuery, stream: int, events: Sequence[Event]) -> pa.RecordBatch | None:
    refs = source_refs(join, stream)
    needed = {
        member.column for a in join.attributes if (member := a.members[stream]) is not None and member.column
    }
    usable = [
        e for e in filtered(join, stream, events) if all(getattr(e, name) is not None for name in needed)
    ]
    counted = isinstance(join.streams[stream].window, RowWindow)
    coming = events if counted else usable
    if not coming:
        return None
    columns = [pa.array([START + e.ts * SECOND for e in coming], pa.int64())]
    for ref in refs:
        if ref.column == "ts":
            columns.append(columns[0].cast(pa.timestamp("us", tz="UTC")))
        else:
            columns.append(pa.array([getattr(e, ref.column) for e in coming], pa.int64()))
    names = [TIME, *map(named, refs)]
    if counted:
        columns.append(pa.array([event in usable for event in coming]))
        names.append(USABLE)
    return pa.record_batch(columns, names)


def random_sequences(random: Random, join: JoinQuery, choices: Sequence[Algorithm] = ALGORITHMS) -> Sequences:
    """Any order along the graph, and any algorithm for every hop."""
    count = len(join.streams)
    hops = []
    for head in range(count):
        others = [stream for stream in range(count) if stream != head]
        random.shuffle(others)
        hops.append(tuple(Hop(stream, random.choice(choices)) for stream in others))
    return Sequences(tuple(hops))


def random_slices(random: Random, join: JoinQuery) -> Sliced:
    """Any order, and every window over some of the nodes."""
    streams = list(range(len(join.streams)))
    orders = [
        tuple(random.sample(others, len(others))) for head in streams if (others := _others(streams, head))
    ]
    nodes = random.randint(1, 8)
    return Sliced(tuple(orders), tuple(random.randint(1, nodes) for _ in streams))


def _others(streams: Sequence[int], head: int) -> list[int]:
    return [stream for stream in streams if stream != head]


def random_tree(random: Random, join: JoinQuery, sites: Sequence[str]) -> LeftDeep:
    """Any order, any algorithms, any of the two homes for intermediate results."""
    order = list(range(len(join.streams)))
    random.shuffle(order)
    first, *others = order
    joins = []
    for number, stream in enumerate(others):
        last = number == len(others) - 1
        home = None if last else random.choice(sites)
        joins.append(TwoWayHop(stream, random.choice(ALGORITHMS), random.choice(ALGORITHMS), home))
    return LeftDeep(first, tuple(joins))


def random_link(random: Random, tick: int) -> LinkModel:
    """Faster or slower than a tick, steady or not, sometimes failing."""
    failures = ((random.uniform(0, 10), random.uniform(10, 25)),) if random.random() < 0.3 else ()
    return LinkModel(
        latency=random.choice([0.0, 0.1 * tick, 0.9 * tick, 2.5 * tick]),
        jitter=random.choice([0.0, 0.5 * tick, 3.0 * tick]),
        bandwidth=random.choice([float("inf"), 20_000.0]),
        failures=failures,
    )


def random_outages(random: Random, sites: Sequence[str]) -> list[Outage]:
    """Stops of some sites."""
    found = []
    for site in sites:
        at = 0
        while random.random() < 0.5:
            begin = at + random.randint(1, 8 * SECOND)
            at = begin + random.randint(1, 5 * SECOND)
            found.append(Outage(site, begin, at))
    return found


def simulate(
    random: Random, wiring: Wiring, coming: Sequence[Arrival], *, tick: int, calm: bool = False
) -> tuple[Measured, Simulation]:
    """Run a wiring over a random network."""
    models = {pair: LinkModel(latency=0.0) if calm else random_link(random, tick) for pair in wiring.links()}
    simulation = Simulation(
        wiring,
        lambda one, other: models[one, other],
        seed=random.randrange(1000),
        outages=() if calm else random_outages(random, wiring.sites),
        through_bytes=True,
    )
    return simulation.run(coming), simulation


def results_of(join: JoinQuery, measured: Measured) -> list[Result]:
    """Results as the references give them."""
    found: list[Result] = []
    names = [f"{stream}.value" for stream in range(len(join.streams))]
    for batch in measured.results:
        seconds = (batch.column(TIME).to_numpy() - START) // SECOND
        values = [batch.column(name).to_numpy() for name in names]
        found += [tuple(map(int, row)) for row in zip(*values, seconds, strict=True)]
    return found


def events_of(query: GraphQuery, rows: Sequence[Sequence[Event]]) -> list[Events]:
    """What the references take."""
    return [Events(window, events) for window, events in zip(query.windows, rows, strict=True)]


def spread(random: Random, streams: int) -> list[str]:
    """Sites for streams; some share one."""
    return [f"n{random.randrange(max(2, streams))}" for _ in range(streams)]


def distinct_times(rows: Sequence[Sequence[Event]]) -> bool:
    """Whether no two rows come alive at the same time."""
    times = np.array([event.ts for events in rows for event in events])
    return len(np.unique(times)) == len(times)


def random_placed(random: Random, join: JoinQuery, sites: Sequence[str]) -> Tree:
    """Any tree of joins at any sites; on an attribute that all inputs share, split by value at random."""
    parts: list[Tree] = [At(stream) for stream in range(len(join.streams))]
    while len(parts) > 1:
        chosen = random.sample(parts, random.randint(2, len(parts)))
        parts = [part for part in parts if part not in chosen]
        shared = [
            number
            for number, attribute in enumerate(join.attributes)
            if all(part.streams & set(attribute.streams) for part in chosen)
        ]
        one_place = not any(isinstance(part, ByValue) for part in chosen)
        if shared and one_place and random.random() < 0.7:
            parts.append(_random_split(random, chosen, random.choice(shared), sites))
        else:
            parts.append(JoinAt(tuple(chosen), random.choice(sites)))
    return parts[0]


def _random_split(random: Random, chosen: Sequence[Tree], attribute: int, sites: Sequence[str]) -> ByValue:
    ways = []
    for _ in range(random.randint(1, 3)):
        left: list[JoinAt | Input] = [Input(number) for number in range(len(chosen))]
        while len(left) > 1:
            some = random.sample(left, random.randint(2, len(left)))
            left = [part for part in left if part not in some]
            left.append(JoinAt(tuple(some), random.choice(sites)))
        assert isinstance(left[0], JoinAt)
        ways.append(left[0])
    values = ((0, 1), (random.randrange(len(ways)), random.randrange(len(ways))))
    listed = random.random() < 0.8
    return ByValue(
        attribute, tuple(chosen), tuple(ways), values if listed else ((), ()), random.randrange(len(ways))
    )
