"""Rows of hot keys that are spread over all buckets: every result once, whatever the phases of the key.

Would catch: a phase that begins before the watermark allows it, rows dealt out by their order, copies that
are counted, state of a key that is lost in a restart, packers that go by other notes than the state says.
"""

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from harness.hot import SOON, HotHistory, HotJoin
from oracles.graph import Event, duck_join
from oracles.reference import assert_same_rows
from watersmeet.errors import DamagedRun
from watersmeet.kernel.spreading import DEAL, GATHER, REPLICATE, REST, Route
from watersmeet.spark.host.hot_notes import HotNotes

SEED = int(os.environ.get("WATERSMEET_TEST_SEED", "1"))


def run(history: HotHistory, join: HotJoin) -> None:
    """All batches, and a look at what came of them."""
    for batch, watermark in zip(history.batches, history.watermarks(), strict=True):
        join.batch(batch, watermark)
    assert_right(history, join)


def assert_right(history: HotHistory, join: HotJoin) -> None:
    tables, _ = history.on_time()
    assert_same_rows(join.results, duck_join(tables, history.query.conditions))
    assert len(set(join.ids)) == len(join.ids)


@pytest.mark.parametrize("how", ["as they come", "stored", "repeated"])
def test_any_history_gives_what_the_definition_says(how: str, tmp_path: Path) -> None:
    """Stored: after every batch other buckets go on from what was kept. Repeated: every batch runs twice."""
    phases: Counter[str] = Counter()
    late = 0
    for number in range(16):
        history = HotHistory.random(random := Random(f"{SEED} hot {how} {number}"))  # noqa: S311
        options = {} if how == "as they come" else {how: True}
        plan = history.plan(random.choice([2, 3, 8]))
        join = HotJoin(plan, tmp_path / str(number), adaptive=random.random() < 0.5, **options)
        run(history, join)
        phases += join.phases
        if how != "repeated":
            of_streams = history.on_time()[1]
            assert [join.late[f"late_{i}"] for i in range(history.streams)] == of_streams
            late += sum(of_streams)
    assert min(phases[phase] for phase in (REPLICATE, DEAL, GATHER, REST)) > 10, phases
    assert how == "repeated" or late > 10


def test_keys_are_gathered_and_spread_again_whenever_buckets_go_on_under_another_rule(tmp_path: Path) -> None:
    """Rows that are dealt out are still alive when their key is gathered."""
    phases: Counter[str] = Counter()
    for number in range(20):
        history = HotHistory.random(random := Random(f"{SEED} rules {number}"))  # noqa: S311
        join = HotJoin(history.plan(random.choice([2, 3, 8])), tmp_path / str(number))
        for batch, watermark in zip(history.batches, history.watermarks(), strict=True):
            if random.random() < 0.25:
                join.restart_with(random.choice([None, SOON]))
            join.batch(batch, watermark)
        assert_right(history, join)
        phases += join.phases
    assert min(phases[phase] for phase in (REPLICATE, DEAL, GATHER, REST)) > 10, phases


@pytest.mark.parametrize("harm", ["deleted", "damaged", "of another time"])
def test_notes_that_do_not_say_what_the_state_says_are_noticed_and_mended(harm: str, tmp_path: Path) -> None:
    mended = 0
    for number in range(7):
        history = HotHistory.random(random := Random(f"{SEED} {harm} {number}"))  # noqa: S311
        join = HotJoin(history.plan(2), tmp_path / str(number))
        for batch, watermark in zip(history.batches, history.watermarks(), strict=True):
            for note in sorted(join.folder.glob("*")) if random.random() < 0.5 else ():
                if harm == "deleted":
                    note.unlink()
                elif harm == "damaged":
                    note.write_bytes(note.read_bytes()[:-1])
                else:
                    note.write_bytes(b"1")
                    join.notes().write(int(note.name.split("-")[0]), join._batches - 1, (Route(1, 0, True),))
            state, known = join._state(), len(join.results)
            while refused(join, batch, watermark):
                mended += 1
                del join.results[known:], join.ids[known:]
                join._go_on(state)
        assert_right(history, join)
    assert mended > 2


def refused(join: HotJoin, batch: list[list[Event]], watermark: int | None) -> bool:
    try:
        join.batch(batch, watermark)
    except DamagedRun:
        return True
    return False


def test_old_notes_go_and_the_newest_never_does(tmp_path: Path) -> None:
    routes = [(Route(5, 0, False),), (Route(5, 0, True),)]
    for batch in range(20):
        HotNotes(tmp_path, batch, retained=4).keep(3, routes[batch % 2])
    assert sorted(int(path.name.split("-")[1]) for path in tmp_path.iterdir()) == [14, 15, 16, 17, 18, 19]
    # Nothing changes for long, and a batch that runs again finds what it found.
    for batch in range(20, 60):
        HotNotes(tmp_path, batch, retained=4).keep(3, routes[1])
    assert HotNotes(tmp_path, 60, retained=4).read() == {3: routes[1]}
    assert HotNotes(tmp_path, 19, retained=4).read() == {3: routes[0]}
    HotNotes(tmp_path, 60, retained=4).keep(3, ())
    assert HotNotes(tmp_path, 61, retained=4).read() == {}
