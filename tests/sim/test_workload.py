"""Workloads are what they say, the same for the same seed, and made no sooner than they are needed.

Would catch: a distribution with the wrong shape, hot spots in the wrong place, streams that share random
numbers, rows before a promise, files replayed in another order, a run that holds all its rows.
"""

import itertools
import re
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from watersmeet.errors import InvalidSimulation
from watersmeet.kernel.sites.packet import END, times
from watersmeet.sim.distribution import Floats, Values, generator
from watersmeet.sim.link import SECOND
from watersmeet.sim.replay import Replayed, profile
from watersmeet.sim.scenario import Scenario, SimStream
from watersmeet.sim.simulation import Arrival
from watersmeet.sim.workload import Generated, arrivals

TICK = SECOND // 10


def shares(values: Values, stream: int = 0) -> Floats:
    return values.frequencies(generator(1, stream, 0), generator(1))


def test_distributions_have_their_shape() -> None:
    for values in (
        Values(100),
        Values(100, "normal"),
        Values(100, "zipf"),
        Values(100, "self-similar", h=0.3),
    ):
        assert shares(values).sum() == pytest.approx(1)
    assert shares(Values(100)).max() == pytest.approx(0.01)
    # Two thirds within a sigma of the middle, a sixth of the range.
    assert shares(Values(600, "normal"))[200:400].sum() == pytest.approx(0.683, abs=0.01)
    zipf = shares(Values(100, "zipf", theta=1.5))
    assert zipf[0] / zipf[3] == pytest.approx(8)
    # The first fifth carries four fifths, and so on within it.
    assert shares(Values(100, "self-similar", h=0.2))[:20].sum() == pytest.approx(0.8)
    assert shares(Values(100, "self-similar", h=0.2))[:4].sum() == pytest.approx(0.64)
    assert shares(Values(3, "given", shares=(1, 0, 3))).tolist() == [0.25, 0, 0.75]


def test_hot_spots_lie_where_they_should() -> None:
    plain = shares(Values(50, "zipf"))
    for stream in range(3):
        assert (shares(Values(50, "zipf"), stream) == plain).all()
    moved = [shares(Values(50, "zipf", alike=False), stream) for stream in range(3)]
    assert len({int(row.argmax()) for row in moved}) == 3
    assert all((np.roll(row, -int(row.argmax())) == plain).all() for row in moved)
    alike = [shares(Values(50, "zipf", hot_spots="random"), stream) for stream in range(3)]
    assert (alike[0] == alike[1]).all()
    assert not (np.roll(alike[0], -int(alike[0].argmax())) == plain).all()
    own = [shares(Values(50, "zipf", hot_spots="random", alike=False), stream) for stream in range(2)]
    assert not (own[0] == own[1]).all()
    assert all(sorted(row) == sorted(plain) for row in (*alike, *own))


def coming(*feeds: Generated | Replayed, duration: float | None = 10, seed: int = 1) -> list[Arrival]:
    return list(arrivals_of(*feeds, duration=duration, seed=seed))


def arrivals_of(
    *feeds: Generated | Replayed, duration: float | None = 10, seed: int = 1
) -> Iterator[Arrival]:
    streams = tuple(SimStream(f"s{n}", "a", timedelta(seconds=1), feed) for n, feed in enumerate(feeds))
    scenario = Scenario(streams, "key", duration=duration, seed=seed)
    return arrivals(scenario.query, scenario.sources(), TICK)


def rows_of(found: list[Arrival], stream: int) -> list[tuple[int, ...]]:
    return [
        tuple(row.values())
        for arrival in found
        if arrival.stream == stream and arrival.rows is not None
        for row in arrival.rows.drop_columns([f"{stream}.ts"]).to_pylist()
    ]


def test_the_same_seed_gives_the_same_rows_and_streams_differ() -> None:
    feed = Generated(50, {"key": Values(20)}, arrivals="poisson", disorder=0.2, lateness=0.2)
    found, again, other = coming(feed, feed), coming(feed, feed), coming(feed, feed, seed=2)
    assert rows_of(found, 0) == rows_of(again, 0)
    assert rows_of(found, 0) != rows_of(found, 1)
    assert rows_of(found, 0) != rows_of(other, 0)


def test_rates_are_kept() -> None:
    steady, poisson = (
        Generated(33.3, {"key": Values(9)}),
        Generated(33.3, {"key": Values(9)}, arrivals="poisson"),
    )
    found = coming(steady, poisson)
    gaps = np.diff([row[0] for row in rows_of(found, 0)])
    assert abs(gaps - SECOND / 33.3).max() <= 1
    assert len(rows_of(found, 0)) in (333, 334)
    count, gaps = len(rows_of(found, 1)), np.diff([row[0] for row in rows_of(found, 1)])
    assert count == pytest.approx(333, abs=60)
    # Of exponential gaps the deviation is the mean.
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.2)


def test_values_come_as_often_as_they_should() -> None:
    found = coming(
        Generated(300, {"key": Values(4, "given", shares=(1, 2, 0, 5))}), Generated(1, {"key": Values(1)})
    )
    counts = np.bincount([row[1] for row in rows_of(found, 0)], minlength=4) / 3000
    assert counts == pytest.approx([0.125, 0.25, 0, 0.625], abs=0.03)


def test_promises_are_kept_within_the_lateness() -> None:
    feed = Generated(200, {"key": Values(5)}, disorder=0.25, lateness=0.25)
    found = [arrival for arrival in coming(feed, feed) if arrival.stream == 0]
    assert found[-1].watermark == END
    disordered = 0
    for before, arrival in itertools.pairwise(found):
        assert arrival.watermark >= before.watermark
        if arrival.rows is not None:
            assert times(arrival.rows).min() > before.watermark
            assert times(arrival.rows).max() < arrival.at
            disordered += int((np.diff(times(arrival.rows)) < 0).sum())
    assert disordered > 100
    assert sum(0 if arrival.rows is None else arrival.rows.num_rows for arrival in found) == 2000


def test_memory_does_not_grow_with_the_run() -> None:
    feed = Generated(1000, {"key": Values(50)}, payload=1000, disorder=0.3, lateness=0.3)
    endless = arrivals_of(feed, feed, duration=1e6)

    def most(ticks: int) -> int:
        before = pa.total_allocated_bytes()
        held = max(pa.total_allocated_bytes() - before for _ in itertools.islice(endless, 2 * ticks))
        return held + tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        first = most(20)
        assert most(60) < first + 200_000
    finally:
        tracemalloc.stop()


@pytest.fixture
def table() -> pa.Table:
    seconds = [1000.0, 1000.25, 1000.1, 1001.75, 1003.5]
    return pa.table({"ts": seconds, "key": ["a", "b", None, "a", "c"], "n": [1, 2, 3, 4, 5]})


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_replayed(tmp_path: Path, table: pa.Table, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        pa.csv.write_csv(table.drop_columns(["key"]).append_column("key", [[1, 2, 3, 1, 4]]), path)
    else:
        stamps = [round(second * SECOND) for second in table["ts"].to_pylist()]
        pa.parquet.write_table(table.set_column(0, "ts", pa.array(stamps, pa.timestamp("us"))), path)
    feed = Replayed(path, "ts", lateness=0.2)
    known = profile(feed, ["key"])
    assert (known.rows, known.first, known.last) == (5, 1000 * SECOND, 1003_500_000)
    assert known.values["key"] == ({1: 2, 2: 1, 3: 1, 4: 1} if ending == "csv" else {"a": 2, "b": 1, "c": 1})
    found = [arrival for arrival in coming(feed, feed, duration=None) if arrival.stream == 0]
    arrived = [(arrival.at, times(arrival.rows).tolist()) for arrival in found if arrival.rows is not None]
    # A row without a key never joins; one that is behind comes when the newest before it has come.
    late = [250_000, 100_000] if ending == "csv" else [250_000]
    expected = [(TICK, [0]), (3 * TICK, late), (18 * TICK, [1_750_000]), (36 * TICK, [3_500_000])]
    assert arrived == expected


def test_a_replay_may_end_early(tmp_path: Path, table: pa.Table) -> None:
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(table, path)
    found = coming(Replayed(path, "ts"), Replayed(path, "ts"), duration=1)
    assert [row[1:] for row in rows_of(found, 0)] == [("a", 1), ("b", 2)]


NONSENSE: dict[str, Callable[[], object]] = {
    "a column needs a value": lambda: Values(0),
    'unknown distribution "pareto"': lambda: Values(5, "pareto"),
    "theta of Zipf's": lambda: Values(5, "zipf", theta=-1),
    "h of a self-similar": lambda: Values(5, "self-similar", h=1),
    "one for each value": lambda: Values(2, "given", shares=(1, 2, 3)),
    'unknown hot spots "everywhere"': lambda: Values(5, hot_spots="everywhere"),
    "rate of a stream must be above 0": lambda: Generated(0, {"key": Values(5)}),
    'unknown kind of arrivals "bursts"': lambda: Generated(5, {"key": Values(5)}, arrivals="bursts"),
    "payload of a stream must be 0 or more": lambda: Generated(5, {"key": Values(5)}, payload=-1),
    "cannot replay rows.json": lambda: Replayed(Path("rows.json"), "ts"),
    "there is no file": lambda: Replayed(Path("nowhere.csv"), "ts"),
}


@pytest.mark.parametrize("fact", list(NONSENSE))
def test_nonsense_is_refused(fact: str) -> None:
    with pytest.raises(InvalidSimulation, match=re.escape(fact)):
        NONSENSE[fact]()
