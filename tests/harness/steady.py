"""Steady streams between sites: rows of known rates, keys and bytes, for predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random

import numpy as np
import pyarrow as pa

from harness.graphs import START
from watersmeet.kernel.sites.packet import END, TIME, USABLE
from watersmeet.plan.sites.columns import named, source_refs
from watersmeet.plan.sites.wiring import Wiring
from watersmeet.query import Column, JoinQuery, RowWindow, Stream
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.sim.link import SECOND, LinkModel
from watersmeet.sim.simulation import Arrival, Simulation, same_links
from watersmeet.stats import Frequencies, Statistics
from watersmeet.stats.given import statistics

TICK = 1


@dataclass(frozen=True)
class Steady:
    """A stream: rows per second, seconds or rows of window, bytes of text, and how often each key occurs."""

    rate: float
    window: float | RowWindow
    keys: Mapping[str, Mapping[int, float]]
    text: int = 0
    site: str = ""

    def stream(self, name: str) -> Stream:
        columns = (Column("ts", "timestamp"), *(Column(key, "bigint") for key in self.keys))
        columns += (Column("text", "string"),)
        window = self.window if isinstance(self.window, RowWindow) else timedelta(seconds=self.window)
        return Stream(name, columns, "ts", window, site=self.site or None)


def even(*keys: int) -> dict[int, float]:
    """All keys equally often."""
    return {key: 1 / len(keys) for key in keys}


def query_of(streams: Mapping[str, Steady], on: Sequence[str]) -> JoinQuery:
    return join_query(
        [one.stream(name) for name, one in streams.items()],
        list(on),
        [f"{name}.text" for name in streams],
        "inner",
        ColumnsOnly(),
    )


def known(streams: Mapping[str, Steady], **more: object) -> Statistics:
    """All there is to know, with frequencies of the keys."""
    return statistics(
        {
            name: {
                "rate": one.rate,
                "row_bytes": 8 * len(one.keys) + one.text,
                "frequencies": {key: Frequencies(dict(shares)) for key, shares in one.keys.items()},
            }
            for name, one in streams.items()
        },
        batch=f"{TICK} seconds",
        **more,  # type: ignore[arg-type]
    )


def counted(
    join: JoinQuery, streams: Mapping[str, Steady], *, seconds: int, seed: int = 0
) -> list[list[Arrival]]:
    """Rows of so many seconds, tick by tick, per stream."""
    random = Random(seed)  # noqa: S311
    found = []
    for number, one in enumerate(streams.values()):
        arrivals = []
        owed = 0.0
        for tick in range(0, seconds, TICK):
            owed += one.rate * TICK
            count, owed = int(owed), owed - int(owed)
            times = sorted(random.randrange(TICK * SECOND) for _ in range(count))
            rows = _rows(random, join, number, one, [START + tick * SECOND + time for time in times])
            end = (tick + TICK) * SECOND
            arrivals.append(Arrival(end, number, rows, START + end - 1))
        found.append(arrivals)
    return found


def _rows(
    random: Random, join: JoinQuery, number: int, one: Steady, times: Sequence[int]
) -> pa.RecordBatch | None:
    if not times:
        return None
    keys = {
        key: pa.array(random.choices(list(shares), list(shares.values()), k=len(times)), pa.int64())
        for key, shares in one.keys.items()
    }
    text = pa.array([random.randbytes(one.text // 2).hex() for _ in times], pa.string())
    columns = {**keys, "text": text}
    refs = source_refs(join, number)
    arrays = [pa.array(times, pa.int64()), *(columns[ref.column] for ref in refs)]
    names = [TIME, *map(named, refs)]
    if isinstance(one.window, RowWindow):
        arrays.append(pa.array(np.ones(len(times), np.bool_)))
        names.append(USABLE)
    return pa.record_batch(arrays, names)


def bytes_per_second(
    join: JoinQuery, streams: Mapping[str, Steady], wiring: Wiring, *, warm: int, seconds: int, seed: int = 0
) -> dict[tuple[str, str], tuple[float, float]]:
    """Rows and bytes per link and second in the steady state: of a long run less those of a short one."""

    def run(length: int) -> dict[tuple[str, str], tuple[int, int]]:
        coming = [a for per in counted(join, streams, seconds=length, seed=seed) for a in per]
        coming.sort(key=lambda arrival: (arrival.at, arrival.stream))
        ends = [Arrival(coming[-1].at + 1, stream, None, END) for stream in range(len(streams))]
        simulation = Simulation(wiring, same_links(LinkModel(latency=0.01)), seed=seed)
        traffic = simulation.run([*coming, *ends]).traffic
        return {link: (one.rows, one.bytes) for link, one in traffic.items()}

    short, long = run(warm), run(warm + seconds)
    return {
        link: ((rows - short[link][0]) / seconds, (size - short[link][1]) / seconds)
        for link, (rows, size) in long.items()
    }
