"""Random histories: a query of any kind, its rows, their batches, watermarks, restarts and repeated batches.

A history that fails is made smaller and printed as a test. To look for more trouble:

    WATERSMEET_TEST_HISTORIES=20000 WATERSMEET_TEST_SEED=7 make test ARGS=tests/spark/test_kinds.py
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from harness.graphs import SECOND, in_batches, window_of
from harness.tree import Tree
from oracles import kinds, reference
from oracles.graph import Event, LastRows
from oracles.kinds import Kind, Result, Test
from oracles.reference import Hops, Sessions, Slots, assert_same_rows
from watersmeet.kernel.bucket import END_OF_TIME
from watersmeet.optimize.choose import choose_plan
from watersmeet.plan import Plan
from watersmeet.query import Column, JoinQuery, Stream
from watersmeet.query.condition import OnCondition
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly

KINDS = ("inner", "outer", "full", "semi", "anti")
# Rows per stream, so that loops over every combination stay fast.
_ROWS = {2: 16, 3: 10, 4: 6, 5: 5}
_COLUMNS = (("ts", "timestamp"), *((name, "bigint") for name in ("x", "y", "z", "v", "value")))


@dataclass(frozen=True)
class History:
    """A query, what arrives in which batch, and under which watermark (seconds; None before the first).

    If `stored`, there is a restart after every batch; if `repeated`, every batch runs twice.
    """

    kind: Kind
    batches: list[list[list[Event]]]
    watermarks: list[int | None]
    stored: bool = False
    repeated: bool = False

    def rows(self) -> list[list[Event]]:
        """What is not late."""
        return reference.on_time(self.batches, self.watermarks)[0]  # type: ignore[return-value, arg-type]

    def expected(self) -> list[Result]:
        """What must have come out by the last watermark: at once, or when it was reached."""
        return in_time(self.kind, kinds.join(self.kind, self.rows()), self.watermarks[-1])

    def by_duck(self) -> list[Result]:
        return in_time(self.kind, kinds.duck_join(self.kind, self.rows()), self.watermarks[-1])

    def query(self) -> JoinQuery:
        streams = [
            Stream(
                f"s{s}",
                tuple(Column(*column) for column in _COLUMNS),
                "ts",
                window_of(window),
                optional=self.kind.name == "outer" and s in self.kind.optional,
            )
            for s, window in enumerate(self.kind.windows)
        ]
        how = "inner" if self.kind.name == "outer" else self.kind.name
        shown = ["s0.value"] if how in ("semi", "anti") else [f"{stream.name}.value" for stream in streams]
        on = [OnCondition(test.text, owner) for test, owner in self.kind.conditions]
        return join_query(streams, on, shown, how, ColumnsOnly(), cross=True)

    def plan(self, buckets: int = 3) -> Plan:
        query = self.query()
        keyless = query.kind == "full" and not query.attributes
        return choose_plan(query, buckets=1 if keyless else buckets)

    def run(self, plan: Plan | None = None) -> list[Result]:
        """What the product gives back."""
        return self.tree(plan).results

    def tree(self, plan: Plan | None = None) -> Tree:
        """The product after the last batch."""
        tree = Tree(plan or self.plan(), stored=self.stored, repeated=self.repeated)
        # A slot ends a microsecond before the next: there a watermark stands for its whole second.
        slots = any(isinstance(window, Slots | Hops) for window in self.kind.windows)
        more = SECOND - 1 if slots else 0
        for batch, watermark in zip(self.batches, self.watermarks, strict=True):
            tree.batch(batch, None if watermark is None else watermark * SECOND + more)
        return tree

    def problem(self) -> str | None:
        """What is wrong with what the product gives back; None if nothing is."""
        try:
            assert_same_rows(self.run(), self.expected())
        except AssertionError as error:
            return str(error)
        return None

    def plain(self) -> tuple[list[Result], list[Result]]:
        """What comes of all rows at once, as of plain DataFrames, and what must: nothing is late there."""
        rows = [[row for batch in self.batches for row in batch[s]] for s in range(len(self.kind.windows))]
        tree = Tree(self.plan())
        tree.batch(rows, until=END_OF_TIME)
        return tree.results, kinds.join(self.kind, rows)

    def __str__(self) -> str:
        """As a test to paste."""
        tests = [f"(parsed({test.text!r}), {owner})" for test, owner in self.kind.conditions]
        return "\n".join(
            [
                "def test_history() -> None:",
                f"    conditions = ({', '.join(tests)},)",
                f"    kind = Kind({self.kind.name!r}, {self.kind.windows}, {self.kind.optional}, conditions)",
                "    batches: list[list[list[Event]]] = [",
                *(f"        {batch}," for batch in self.batches),
                "    ]",
                f"    history = History(kind, batches, {self.watermarks}, {self.stored}, {self.repeated})",
                "    assert_same_rows(history.by_duck(), history.expected())",
                "    assert history.problem() is None",
            ]
        )


def in_time(kind: Kind, results: Sequence[Result], watermark: int | None) -> list[Result]:
    """Results that have left: complete ones at once, others when the watermark has reached their time."""
    waits = kind.name in ("semi", "anti") or any(isinstance(w, Sessions | LastRows) for w in kind.windows)
    return [
        result
        for result in results
        if not (waits or None in result) or (watermark is not None and result[-1] <= watermark)
    ]


def random_history(random: Random, name: str, streams: int | None = None) -> History:
    """A history of a kind of join."""
    count = streams or (2 if name == "full" else random.choice([2, 2, 3, 3, 4]))
    windows: list[Any] = [random.choice([0, 2, 5, 9]) for _ in range(count)]
    if random.random() < 0.3:
        windows = [Slots(random.choice([2, 5, 8])) if random.random() < 0.7 else w for w in windows]
    chance = random.random()
    if chance < 0.12:
        windows = [random.choice([Hops(8, 4), Hops(6, 2), Hops(5, 5)])] * count
    elif chance < 0.3:
        windows = [Sessions(random.choice([0, 1, 3]) or 1)] * count
    optional: tuple[int, ...] = ()
    if name == "outer":
        required = random.sample(range(count), random.choice([1, 1, count - 1]))
        optional = tuple(s for s in range(count) if s not in required)
    if name != "full" and 0.3 <= chance < 0.45:
        rows = LastRows(random.choice([1, 2, 3]), random.choice([None, "x"]))
        last = max(optional) if name == "outer" else random.randrange(name != "inner", count)
        windows[last] = rows
    kind = Kind(name, tuple(windows), optional, ())
    kind = kind._replace(conditions=tuple(_random_conditions(random, kind)))
    shapes = random.choices(list(_SHAPES), [5, 2, 1, 1], k=count)
    streams_rows = [_random_rows(random, s, _ROWS[count], shape) for s, shape in enumerate(shapes)]
    batches = in_batches(random, streams_rows, random.randint(1, 6), random.choice([0, 4, 30]))
    batches += [[[] for _ in range(count)] for _ in range(random.choice([1, 2]))]
    watermarks = _random_watermarks(random, batches)
    return History(kind, batches, watermarks, random.random() < 0.4, random.random() < 0.2)


# How the rows of a stream are spread: times from and to, and how often the first key comes.
_SHAPES = {
    "even": (0, 14, 0.33),
    "skewed": (0, 14, 0.9),
    "silent after a while": (0, 4, 0.33),
    "flood": (6, 7, 0.33),
}


def _random_rows(random: Random, stream: int, count: int, shape: str) -> list[Event]:
    first, last, hot = _SHAPES[shape]

    def value() -> int | None:
        chance = random.random()
        return None if chance < 0.1 else 0 if chance < 0.1 + 0.9 * hot else random.randrange(1, 3)

    rows = [
        Event(
            random.randrange(first, last), value(), value(), value(), random.randrange(4), 1000 * stream + n
        )
        for n in range(random.randrange(count + 1))
    ]
    if rows and random.random() < 0.3:
        rows.append(rows[0])
    return rows or [Event(5, 1, 1, 1, 1, 1000 * stream)]


def _random_watermarks(random: Random, batches: list[list[list[Event]]]) -> list[int | None]:
    """Any that never fall; some make rows late."""
    found: list[int | None] = []
    reached: int | None = None
    for number in range(len(batches)):
        if random.random() < 0.75:
            to_come = [row.ts for batch in batches[number:] for rows in batch for row in rows]
            most = min(to_come, default=30) - (1 if random.random() < 0.8 else -3)
            reached = max(reached if reached is not None else -1, random.randint(-1, max(-1, most)))
        found.append(reached)
    # The last one sees to it that most of what lacks partners has left.
    last = random.choice([30, 12, 8])
    return [*found[:-1], max(last, found[-1] if found[-1] is not None else -1)]


def _random_conditions(random: Random, kind: Kind) -> list[tuple[Test, int | None]]:
    """Conditions that connect every stream with an earlier one, and some more."""
    count = len(kind.windows)
    order = sorted(range(count), key=lambda s: s in kind.optional)
    by_key = any(isinstance(window, LastRows) and window.per for window in kind.windows)
    shared = random.random() < 0.4 or by_key or isinstance(kind.windows[0], Hops | Sessions)
    found: list[tuple[Test, int | None]] = []
    for place, s in enumerate(order[1:], 1):
        before = order[:place]
        if shared:
            before = [o for o in before if o not in kind.optional] or before
        other = random.choice(before)
        test = equality("x", other, "x", s) if shared else _random_test(random, other, s)
        found.append((test, owner_of(kind, order, test)))
        if random.random() < 0.25:
            # The key of sessions, and of rows that are counted by key, is x, and nothing else may be one.
            only_x = by_key or isinstance(kind.windows[0], Sessions)
            test = _random_test(random, random.choice(order[:place]), s, equal=not only_x)
            found.append((test, owner_of(kind, order, test)))
        if s in kind.optional and place > 1 and random.random() < 0.3:
            # As in SQL, behind the ON of one stream, about others.
            i, j = random.sample(order[:place], 2)
            found.append((parsed(f"s{i}.ts <= s{j}.ts"), s))
        if random.random() < 0.15:
            found.append((_above(s, random.choice([0, 1])), None))
            found[-1] = (found[-1][0], owner_of(kind, order, found[-1][0]))
    if shared and count > 2 and not by_key and not isinstance(kind.windows[0], Sessions):
        # Two of them share more than the key of all.
        place = random.randrange(1, count)
        test = equality("y", random.choice(order[:place]), "y", order[place])
        found.append((test, owner_of(kind, order, test)))
    unique = {test.text: (test, owner) for test, owner in found}
    return [one for one in unique.values() if not (one[1] is None and len(one[0].streams) == 1 and count > 2)]


def owner_of(kind: Kind, order: Sequence[int], test: Test) -> int | None:
    if kind.name != "outer":
        return None
    last = max(test.streams, key=order.index)
    if last in kind.optional:
        return last
    return kind.optional[0] if len(test.streams) == 1 and len(kind.optional) == 1 else None


def _random_test(random: Random, i: int, j: int, *, equal: bool = True) -> Test:
    columns = ("x", "y", "z")
    kind = random.random()
    if kind < 0.7 and equal:
        return equality(random.choice(columns), i, random.choice(columns), j)
    if kind < 0.85:
        return parsed(f"abs(s{i}.v - s{j}.v) <= {random.choice([0, 1])}")
    return parsed(f"s{i}.ts <= s{j}.ts")


def equality(left: str, i: int, right: str, j: int) -> Test:
    return parsed(f"s{i}.{left} = s{j}.{right}")


def _above(stream: int, least: int) -> Test:
    return parsed(f"s{stream}.y > {least}")


# The conditions of random histories, and what they say of two values, or of one.
_TESTS: dict[str, Any] = {
    r"s(\d)\.(\w+) = s(\d)\.(\w+)": lambda a, b: a == b,
    r"s(\d)\.(\w+) <= s(\d)\.(\w+)": lambda a, b: a <= b,
    r"abs\(s(\d)\.(\w+) - s(\d)\.(\w+)\) <= 0": lambda a, b: abs(a - b) <= 0,
    r"abs\(s(\d)\.(\w+) - s(\d)\.(\w+)\) <= 1": lambda a, b: abs(a - b) <= 1,
    r"s(\d)\.(\w+) > 0": lambda a: a > 0,
    r"s(\d)\.(\w+) > 1": lambda a: a > 1,
}


def parsed(text: str) -> Test:
    """A condition as the reference join judges it."""
    for form, says in _TESTS.items():
        if found := re.fullmatch(form, text):
            streams, columns = tuple(map(int, found.groups()[::2])), found.groups()[1::2]
            return Test(text, streams, partial(_judged, says, columns))
    raise ValueError(text)


def _judged(says: Any, columns: Sequence[str], *rows: Event) -> bool | None:
    values = [getattr(row, column) for row, column in zip(rows, columns, strict=True)]
    return None if None in values else says(*values)


def smaller(history: History) -> list[History]:
    """Histories with a little less, for shrinking one that fails."""
    found = []
    for b, batch in enumerate(history.batches):
        if len(history.batches) > 1 and not any(batch):
            rest = history.batches[:b] + history.batches[b + 1 :]
            marks = history.watermarks[:b] + history.watermarks[b + 1 :]
            found.append(replace(history, batches=rest, watermarks=marks))
        for s, rows in enumerate(batch):
            for n in range(len(rows)):
                less = [*batch[:s], rows[:n] + rows[n + 1 :], *batch[s + 1 :]]
                found.append(
                    replace(history, batches=[*history.batches[:b], less, *history.batches[b + 1 :]])
                )
    for c in range(len(history.kind.conditions)):
        if history.kind.conditions[c][0].text.count("x") == 2:
            continue
        fewer = history.kind.conditions[:c] + history.kind.conditions[c + 1 :]
        found.append(replace(history, kind=history.kind._replace(conditions=fewer)))
    return found


def shrunk(history: History, fails: Any) -> History:
    """The smallest history found that still fails."""
    while True:
        for candidate in smaller(history):
            if fails(candidate):
                history = candidate
                break
        else:
            return history
