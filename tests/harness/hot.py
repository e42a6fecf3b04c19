"""A join whose packers go by notes about hot keys, without Spark, and histories in which keys become hot."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from harness.graphs import SECOND, GraphQuery, band, equality
from harness.tree import Tree
from oracles import reference
from oracles.graph import Event, Events
from oracles.reference import Slots
from watersmeet.kernel.hot_keys import rows_of_key
from watersmeet.kernel.operator import Kernel
from watersmeet.optimize.choose import choose_plan
from watersmeet.plan import Plan
from watersmeet.plan.hot_rule import HotRule
from watersmeet.query.join import join_query
from watersmeet.query.predicate import ColumnsOnly
from watersmeet.spark.host import pack as pack_module
from watersmeet.spark.host.arrivals import SENT, Arrivals
from watersmeet.spark.host.hot_check import HotCheck
from watersmeet.spark.host.hot_notes import HotNotes
from watersmeet.spark.host.mail_books import MailBooks
from watersmeet.spark.host.processor import worked
from watersmeet.spark.host.task import Task

# A handful of rows is hot, and cool after a batch.
SOON = HotRule(rows=6, share=0.1, times=2, cool_batches=1)


class HotJoin(Tree):
    """The buckets of a join, and the notes they leave for packers.

    `phases` counts in how many batches a key was in which phase, `late` the late rows of every stream and
    `found` the results, both as metrics tell them, and `away` in every batch the dealt rows not at home.
    """

    def __init__(self, plan: Plan, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.phases: Counter[str] = Counter()
        self.late: Counter[str] = Counter()
        self.found = self.away = 0
        super().__init__(plan, **options)

    @property
    def buckets(self) -> list[Kernel]:
        (found,) = self._joins.values()
        return found

    def restart_with(self, rule: HotRule | None) -> None:
        """Other buckets go on, with another rule."""
        state = self._state()
        (task,) = self._tasks.values()
        maker: Any = task.maker
        changed = replace(task, maker=replace(maker, plan=replace(maker.plan, hot_keys=rule)))
        self._tasks = dict.fromkeys(self._tasks, changed)
        self._go_on(state)

    def notes(self) -> HotNotes:
        """The notes as the batch that runs now finds them."""
        return HotNotes(self.folder, self._batches, retained=2)

    def _once(self, *arguments: Any, **options: Any) -> None:
        with mock.patch.object(pack_module, "hot_notes", return_value=self.notes()):
            super()._once(*arguments, **options)
        for number, bucket in enumerate(self.buckets):
            assert bucket.spreader is not None
            self.notes().keep(number, bucket.spreader.routes)
            for one in bucket.spreader.keys.values():
                self.phases[one.phase] += 1
                away = [other.windows[one.dealt] for other in self.buckets if other is not bucket]
                self.away += sum(rows_of_key(window.runs, one.key) for window in away)
            found = bucket.take_metrics()
            self.found += found["results"] or 0
            late = {name: count for name, count in found.items() if name[:5] == "late_" and count}
            self.late.update({name: count for name, count in late.items() if name[5:].isdigit()})

    def _worked(self, task: Task, bucket: int, join: Kernel, arrived: Arrivals) -> Iterator[Any]:
        blobs = dict(arrived.blobs)
        told = blobs.pop(SENT, [])
        check = HotCheck(join, bucket, self.notes())
        return worked(task, join, Arrivals(blobs, sent=told), MailBooks(), task.buckets[bucket], check)


@dataclass
class HotHistory:
    """Rows in batches, in which a key is hot now and then."""

    query: GraphQuery
    lateness: int
    batches: list[list[list[Event]]]

    @classmethod
    def random(cls, random: Random) -> "HotHistory":
        """Windows of different lengths, or bands; rows out of order, late, at the same time, far ahead."""
        count = random.choice([2, 2, 3])
        windows: list[int | Slots | None] = [random.choice([0, 1, 3, 8, Slots(5)]) for _ in range(count)]
        conditions = [equality(0, "x", i, "x") for i in range(1, count)]
        if random.random() < 0.3:
            conditions += [
                band(i, i + 1, random.randint(0, 3), random.randint(0, 6)) for i in range(count - 1)
            ]
            windows = [None if random.random() < 0.7 else window for window in windows]
        lateness, step = random.choice([0, 2]), random.choice([1, 3, 5])
        hot = [[random.randint(2, 12 if count == 2 else 8) for _ in range(count)] for _ in range(2)]
        spells = [random.random() < 0.6]
        batches: list[list[list[Event]]] = []
        for number in range(random.randint(8, 20)):
            spells.append(spells[-1] if random.random() < 0.8 else not spells[-1])
            batch = []
            for stream in range(count):
                keys = [0] * (hot[number % 7 == 6][stream] if spells[-1] else random.random() < 0.3)
                keys += [random.randint(1, 9) for _ in range(random.randint(0, 4))]
                # Another key, hot only now and then and in one stream.
                keys += [10] * (7 * (stream == 1 and random.random() < 0.2))
                batch.append([_event(random, key, number * step, step, lateness) for key in keys])
            if random.random() < 0.1:
                batch[random.randrange(count)] = []
            batches.append(batch)
        return cls(GraphQuery(tuple(windows), tuple(conditions)), lateness, batches)

    def plan(self, buckets: int, rule: HotRule | None = SOON) -> Plan:
        """The plan of the join."""
        kept = [f"s{i}.value" for i in range(len(self.query.windows))]
        made = join_query(self.query.streams(self.lateness), self.query.texts, kept, "inner", ColumnsOnly())
        return replace(choose_plan(made, buckets=buckets), hot_keys=rule)

    def watermarks(self) -> list[int | None]:
        """Under which watermark each batch runs, in microseconds from the start."""
        return reference.watermarks(self._scaled(), [self.lateness * SECOND] * self.streams, unit=1000)

    def on_time(self) -> tuple[list[Events], list[int]]:
        """The rows that are not late, and how many are."""
        kept, late = reference.on_time(self._scaled(), self.watermarks())
        windows = zip(self.query.windows, kept, strict=True)
        return [Events(w, [e._replace(ts=e.ts // SECOND) for e in rows]) for w, rows in windows], late

    @property
    def streams(self) -> int:
        return len(self.query.windows)

    def _scaled(self) -> list[Sequence[Sequence[Any]]]:
        return [
            [[event._replace(ts=event.ts * SECOND) for event in events] for events in batch]
            for batch in self.batches
        ]


def _event(random: Random, key: int, start: int, step: int, lateness: int) -> Event:
    ts = start + random.randint(-lateness, step)
    if random.random() < 0.03:
        ts += random.choice([-12, 6, 15])
    # Rows that are equal in all but their time, and some in that.
    return Event(ts, key, 0, 0, 0, random.randrange(1000))
