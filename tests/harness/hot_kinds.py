"""Histories of outer, semi and anti joins in which a key is hot now and then.

To look for more trouble:

    WATERSMEET_TEST_HISTORIES=5000 WATERSMEET_TEST_SEED=7 make test ARGS=tests/spark/test_hot_kinds.py
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from harness.graphs import SECOND
from harness.hot import SOON, HotJoin
from harness.kinds import History, equality, owner_of, parsed
from oracles.graph import Event
from oracles.kinds import Kind, Test
from oracles.reference import Slots
from watersmeet.plan.hot_rule import HotRule

KINDS = ("left", "several optional", "several required", "semi", "anti")


def random_hot_history(random: Random, name: str) -> History:
    """Windows of different lengths; rows out of order, late, far ahead, without a key, more than once."""
    count = 2 if name == "left" else 3 if name.startswith("several") else random.choice([2, 3])
    windows = tuple(random.choice([0, 1, 3, 8, 8, Slots(5)]) for _ in range(count))
    optional: tuple[int, ...] = ()
    if name not in ("semi", "anti"):
        required = random.sample(range(count), 2 if name == "several required" else 1)
        optional = tuple(s for s in range(count) if s not in required)
    kind = Kind(name if name in ("semi", "anti") else "outer", windows, optional, ())
    kind = kind._replace(conditions=tuple(_random_conditions(random, kind)))
    batches = _random_batches(random, count)
    return History(kind, batches, _random_watermarks(random, batches))


def hot_join(
    history: History, folder: Path, buckets: int, rule: HotRule | None = SOON, **options: Any
) -> HotJoin:
    """The buckets of a history before its first batch."""
    return HotJoin(replace(history.plan(buckets), hot_keys=rule), folder, **options)


def change_rule(random: Random, join: HotJoin) -> None:
    """Now and then other buckets go on, which spread no more while rows are dealt out, or do again."""
    spreaders = [bucket.spreader for bucket in join.buckets if bucket.spreader is not None]
    if spreaders[0].rule is None:
        if random.random() < 0.15:
            join.restart_with(SOON)
    elif random.random() < (0.35 if any(route.deals for one in spreaders for route in one.routes) else 0.03):
        join.restart_with(None)


def micros(history: History, watermark: int | None) -> int | None:
    """A watermark as buckets are told it; where slots end, it stands for its whole second."""
    slots = any(isinstance(window, Slots) for window in history.kind.windows)
    return None if watermark is None else watermark * SECOND + (SECOND - 1 if slots else 0)


def _random_conditions(random: Random, kind: Kind) -> list[tuple[Test, int | None]]:
    """One key for all streams, and now and then more: of optional rows, of preserved ones, of several."""
    order = sorted(range(len(kind.windows)), key=lambda s: s in kind.optional)
    tests = [equality("x", order[0], "x", s) for s in order[1:]]
    for place, s in enumerate(order[1:], 1):
        other = random.choice(order[:place])
        more = [
            parsed(f"abs(s{other}.v - s{s}.v) <= {random.choice([0, 1])}"),
            parsed(f"s{other}.ts <= s{s}.ts"),
        ]
        # The last one may share more with another, and all still have one key in common.
        more += [equality("y", other, "y", s)] * (place > 1)
        more += [parsed(f"s{s}.y > 0")] * (s in kind.optional)
        tests += [test for test in more if random.random() < 0.25]
    # Conditions on a preserved row, which comes out whether or not it holds.
    tests += [parsed(f"s{order[0]}.y > 0")] * (len(kind.optional) == 1 and random.random() < 0.2)
    return [(test, owner_of(kind, order, test)) for test in tests]


def _random_batches(random: Random, count: int) -> list[list[list[Event]]]:
    step, disorder = random.choice([1, 3, 5]), random.choice([0, 2])
    hot = [[random.randint(1, 10 if count == 2 else 7) for _ in range(count)] for _ in range(2)]
    spell = random.random() < 0.6
    batches: list[list[list[Event]]] = []
    number = 0
    for place in range(random.randint(8, 18)):
        spell = spell if random.random() < 0.8 else not spell
        batch: list[list[Event]] = []
        for s in range(count):
            many = hot[place % 7 == 6][s]
            keys: list[int | None] = [0] * (many if spell else random.random() < 0.3)
            keys += [random.randint(1, 6) for _ in range(random.randint(0, 4))]
            keys += [10] * (7 * (random.random() < 0.1)) + [None] * (random.random() < 0.2)
            rows = []
            for key in keys:
                ts = place * step + random.randint(-disorder, step) + 20
                ts += random.choice([-12, 6, 15]) if random.random() < 0.04 else 0
                y = None if random.random() < 0.05 else random.randrange(2)
                number += 1
                rows.append(Event(ts, key, y, 0, random.randrange(3), number))
            if rows and random.random() < 0.2:
                rows.append(rows[-1])
            batch.append(rows)
        if random.random() < 0.1:
            batch[random.randrange(count)] = []
        batches.append(batch)
    return [*batches, [[] for _ in range(count)], [[] for _ in range(count)]]


def _random_watermarks(random: Random, batches: Sequence[Sequence[Sequence[Event]]]) -> list[int | None]:
    """They follow what has come, one batch later, some steps behind; the last one closes most."""
    found: list[int | None] = [None]
    newest, reached = 0, -1
    behind = random.choice([0, 1, 3])
    for batch in batches[:-1]:
        # Of rows that are dated ahead the watermark knows nothing, or it would make all others late.
        times = sorted(row.ts for rows in batch for row in rows)
        newest = max([newest, *times[: len(times) * 9 // 10]])
        if random.random() < 0.8:
            reached = max(reached, newest - behind - random.choice([0, 0, 2]))
        found.append(reached)
    return [*found[:-1], max(reached, newest + random.choice([0, 3, 30]))]
